"""From a request to token ids: by the model's own chat template, without forged control tokens, and with the ids of the
model's own turns.

The template's environment is the one of transformers and of llama-cpp-python's ``Jinja2ChatFormatter``, which template
authors write for. Templates expect messages and tools in the form of the OpenAI API: what happens to a tool is told in
words in front of its text, adjacent messages that strict templates refuse are joined, and messages of an app's own
roles are left out. Only the template's own text becomes a control token. What people, tools and apps supply is searched
for the markers of the vocabulary (one scan); where one occurs, a secret number takes its place while the template
renders, and the marker is tokenised afterwards in pieces that no tokeniser takes for it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from edgeagent.characters import common_length, plain_apostrophes
from edgeagent.errors import ModelError
from edgeagent.llm.earlier_turns import retold, told
from edgeagent.llm.grammar import TokenVocabulary
from edgeagent.llm.protocol import LLMRequest, ToolSpec
from edgeagent.llm.stream_gate import without_empty_thinking
from edgeagent.messages import Message, ToolCall

if TYPE_CHECKING:
    from edgeagent.llm.quirks import Adapter

Chat = list[dict[str, Any]]
"""Messages, or tools, in the form of the OpenAI API, which templates expect."""


_MARKER: Final = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?[a-z_]{2,30}>|\[/?[A-Z_]{2,30}\]|<<?/?[A-Z]{2,10}>>?")


class _Generation(jinja2.ext.Extension):
    """Passes through ``{% generation %}``, with which templates mark what training looks at."""

    tags: Final = {"generation"}  # type: ignore[misc]  # jinja2 declares a mutable class attribute

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        parser.stream.skip(1)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


class ChatTemplate:
    """One compiled template. Knows nothing of tokens; any thread may render.

    Args:
        source: The Jinja text.
        whose: The model, for error messages.

    Raises:
        ModelError: It does not compile.
    """

    def __init__(self, source: str, whose: str) -> None:
        self.source = source
        self._whose = whose
        self._started = datetime.now().astimezone()
        environment = _environment()
        environment.globals["strftime_now"] = self._strftime
        try:
            self._compiled = environment.template_class.from_code(
                environment, _compiled(source), environment.make_globals(None)
            )
        except jinja2.TemplateError as error:
            where = f" (line {error.lineno})" if isinstance(error, jinja2.TemplateSyntaxError) else ""
            raise ModelError(
                f"the chat template of {whose} does not compile: {error}{where}; choose another file of this model"
            ) from error
        except RecursionError as error:
            raise ModelError(f"the chat template of {whose} does not compile: it is nested too deep") from error
        self._no_tools = self._nothing()

    @property
    def role_markers(self) -> frozenset[str]:
        """Texts that look like markers in the template's own text, be they tokens of the vocabulary or not."""
        return frozenset(_MARKER.findall(self.source))

    def render(self, messages: Callable[[bool], Chat], tools: Chat, *, thinking: str | None, bos: str, eos: str) -> str:
        """The prompt's text.

        Args:
            messages: Gives the messages; its argument says whether the arguments of calls are JSON text rather than
                dicts. Most templates want dicts, those that join strings fail on them.
            tools: What the model may call.
            thinking: How much it should reason first ("low", "medium", "high"), where the template has a switch for
                that; None is not at all.
            bos: Text of the token that begins a text.
            eos: Text of the token that ends a turn.

        Raises:
            ModelError: The template refuses these messages, or fails.
        """
        given: dict[str, Any] = {
            "tools": tools or self._no_tools,
            "bos_token": bos,
            "eos_token": eos,
            "enable_thinking": thinking is not None,
            "thinking": thinking is not None,
            "reasoning_effort": thinking or "low",
        }
        try:
            return self._run(messages(False), given)
        except _Failure as as_dicts:
            chat = messages(True)
            if any(message.get("tool_calls") for message in chat):
                try:
                    return self._run(chat, given)
                except _Failure:
                    pass  # the first failure says what is wrong
            raise ModelError(f"the chat template of {self._whose} fails: {as_dicts}") from as_dicts.__cause__

    def _nothing(self) -> Chat | None:
        """Finds the value that a template wants in place of tools: most want None, some go through a list unasked."""
        sample: Chat = [{"role": "user", "content": "a"}]
        ways: tuple[Chat | None, ...] = (None, [])
        for nothing in ways:
            try:
                self._run(sample, {"tools": nothing, "bos_token": "", "eos_token": ""})
            except _Failure:
                continue
            return nothing
        return None

    def _run(self, chat: Chat, given: dict[str, Any]) -> str:
        try:
            return self._compiled.render(messages=chat, add_generation_prompt=True, **given)
        except Exception as error:  # a template is foreign code, and may fail in any way
            raise _Failure(str(error) or type(error).__name__) from error

    def _strftime(self, form: str) -> str:
        """The date a template asks for: when the model was made, so that the prompt's beginning stays the same."""
        return self._started.strftime(form)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    return environment


@lru_cache(maxsize=32)
def _compiled(source: str) -> CodeType:
    """Compiles a template once for all models that have the same one.

    Raises:
        jinja2.TemplateError: It does not compile.
        RecursionError: It is nested too deep.
    """
    return _environment().compile(source)


class _Failure(Exception):
    """A template raised."""


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


# --- a request in the form that templates expect ----------------------------------------------------------------------


_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})

Hide = Callable[[str], str]
"""Replaces what a text must not say to the model; see ``Guard``."""


def as_chat(system: str | None, messages: Sequence[Message], hide: Hide, *, arguments_as_text: bool = False) -> Chat:
    """The messages for a template, the system prompt first; empty replies left out."""
    chat: Chat = [{"role": "system", "content": hide(system)}] if system else []
    for message in messages:
        if message.role in _ROLES and (message.role != "assistant" or message.text or message.tool_calls):
            chat.append(_as_dict(message, hide, arguments_as_text))
    return joined(chat)


def joined(chat: Chat) -> Chat:
    """Adjacent messages of users, and adjacent ones of assistants without calls, as one."""
    whole: Chat = []
    for message in chat:
        last = whole[-1] if whole else None
        plain = "tool_calls" not in message and message["role"] in ("user", "assistant")
        if last is not None and plain and last["role"] == message["role"] and "tool_calls" not in last:
            whole[-1] = {**last, "content": "\n".join(filter(None, (last["content"], message["content"])))}
        else:
            whole.append(message)
    return whole


def as_tools(tools: Iterable[ToolSpec], hide: Hide) -> Chat:
    """The tools for a template."""
    return [
        {
            "type": "function",
            "function": {
                "name": hide(tool.name),
                "description": hide(tool.description),
                "parameters": _hidden(tool.parameters, hide),
            },
        }
        for tool in tools
    ]


def _as_dict(message: Message, hide: Hide, arguments_as_text: bool) -> dict[str, Any]:
    if message.role == "tool":
        return {
            "role": "tool",
            "content": hide(told(message)),
            "name": hide(message.name or ""),
            "tool_call_id": hide(message.call_id or ""),
        }
    # a small model has never seen a phone's apostrophe: a "don't" with it would be nothing to it
    text = plain_apostrophes(message.text) if message.role == "user" else message.text
    plain: dict[str, Any] = {"role": message.role, "content": hide(text)}
    if message.tool_calls:
        plain["tool_calls"] = [_call_as_dict(call, hide, arguments_as_text) for call in message.tool_calls]
    return plain


def _call_as_dict(call: ToolCall, hide: Hide, arguments_as_text: bool) -> dict[str, Any]:
    arguments: Any
    if call.raw is not None:
        arguments = hide(call.raw)
    else:
        arguments = _hidden(call.arguments, hide)
        if arguments_as_text:
            arguments = json.dumps(arguments, ensure_ascii=False)
    return {"id": hide(call.id), "type": "function", "function": {"name": hide(call.name), "arguments": arguments}}


def _hidden(value: Any, hide: Hide) -> Any:
    """A JSON value with every text in it hidden, keys too."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {_hidden(key, hide): _hidden(item, hide) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hidden(item, hide) for item in value]
    return value


# --- token ids --------------------------------------------------------------------------------------------------------


_SECRET_DIGITS: Final = 24
_INDEX_DIGITS: Final = 7  # more than any vocabulary has tokens
_TURNS_KEPT: Final = 32
_THINKING_OFF: Final = frozenset({None, "", "off", "none"})


def wants_thinking(request: LLMRequest) -> bool:
    """True if the model is asked to reason first."""
    return request.thinking_level not in _THINKING_OFF


class Guard:
    """Takes markers out of texts, and puts them back where they can do no harm.

    The placeholder is digits only: trimming, JSON, HTML escapes and changes of case leave it as it is. It is the same
    for the life of a model, so that equal texts stay equal, and nobody outside can know it.
    """

    def __init__(self, vocabulary: TokenVocabulary, role_markers: Iterable[str]) -> None:
        """Make one.

        Args:
            vocabulary: Its markers are hidden.
            role_markers: And these, which a template writes as plain text.
        """
        markers = sorted({*vocabulary.markers, *role_markers}, key=len, reverse=True)
        self._forgery = re.compile("|".join(map(re.escape, markers)) if markers else r"(?!)")
        self._secret = str(secrets.randbelow(9 * 10 ** (_SECRET_DIGITS - 1)) + 10 ** (_SECRET_DIGITS - 1))
        self._index = {marker: i for i, marker in enumerate(markers)}
        self._texts = markers
        self._placeholder = re.compile(f"{self._secret}([0-9]{{{_INDEX_DIGITS}}})")

    def hide(self, text: str) -> str:
        """The text with a placeholder for every marker."""
        return self._forgery.sub(lambda found: f"{self._secret}{self._index[found[0]]:0{_INDEX_DIGITS}}", text)

    def split(self, rendered: str) -> list[str]:
        """Trusted text and hidden markers in turn, beginning with (maybe empty) trusted text."""
        if self._secret not in rendered:
            return [rendered]
        parts = self._placeholder.split(rendered)
        return [self._texts[int(part)] if i % 2 else part for i, part in enumerate(parts)]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as the model sees it. ``text`` is the rendered template, with placeholders for hidden markers."""

    text: str
    ids: list[int]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A prompt and the reply to it, as they were evaluated."""

    text: str
    ids: tuple[int, ...]
    ends: tuple[tuple[int, int], ...]
    """Where a reply's tokens end: the number of ids so far and the length of the text so far."""


class Prompter:
    """Makes prompts for one loaded model. Any thread may ask for one; only the generating thread remembers turns."""

    def __init__(
        self,
        template: ChatTemplate,
        vocabulary: TokenVocabulary,
        adapter: Adapter,
        *,
        bos: str,
        eos: str,
        retells: bool = False,
    ) -> None:
        self._template = template
        self._retells = retells
        self._adapter = adapter
        self.vocabulary = vocabulary
        self._bos, self._eos = bos, eos
        self._guard = Guard(vocabulary, template.role_markers)
        self._turns: deque[_Turn] = deque(maxlen=_TURNS_KEPT)

    def make(self, request: LLMRequest) -> Prompt:
        """The request as text and as ids.

        Raises:
            ModelError: The template refuses it.
        """
        hide = self._guard.hide
        tools = as_tools(request.tools, hide)
        messages = retold(request.messages) if self._retells and request.tools else request.messages

        def chat(as_text: bool) -> Chat:
            plain = as_chat(request.system, messages, hide, arguments_as_text=as_text)
            return self._adapter.adapt(plain, tools)[0]

        text = self._template.render(
            chat,
            self._adapter.adapt([], tools)[1],
            thinking=request.thinking_level if wants_thinking(request) else None,
            bos=self._bos,
            eos=self._eos,
        )
        known, done = self._own_turn(text)
        if known:
            return Prompt(text, [*known, *self._tokenize(text[done:])])
        ids = self._tokenize(text)
        bos = self.vocabulary.bos
        return Prompt(text, ids if bos is None or ids[:1] == [bos] else [bos, *ids])

    def shown(self, prompt: Prompt) -> str:
        """The prompt's text with every hidden marker in its place again, for people to read."""
        return "".join(self._guard.split(prompt.text))

    def remember(self, prompt: Prompt, reply: str, sampled: Sequence[int], lengths: Sequence[int]) -> None:
        """Keep what was sampled, so that the next prompt repeats it token by token.

        Args:
            prompt: What was asked.
            reply: The raw text of the reply, calls and reasoning included.
            sampled: Its ids.
            lengths: For every id how long the text was after it; -1 inside a character.
        """
        ids = (*prompt.ids, *sampled)
        # History has a reply without the blanks before it, and many templates leave out the empty reasoning with which
        # they made the model answer at once. Neither is worth evaluating the reply again.
        for begin in dict.fromkeys((prompt.text, without_empty_thinking(prompt.text))):
            for text in dict.fromkeys((reply, reply.lstrip())):
                shift = len(reply) - len(text)
                ends = [
                    (len(prompt.ids) + i + 1, len(begin) + length - shift)
                    for i, length in enumerate(lengths)
                    if length >= shift
                ]
                self._turns.append(_Turn(begin + text, ids, tuple(ends)))

    def _own_turn(self, text: str) -> tuple[tuple[int, ...], int]:
        """The ids of the longest remembered turn that this text goes on from, and how much of the text they cover.

        The text must go on with a marker there: a border between tokens in the middle of words would be none to the
        tokeniser.
        """
        best: tuple[tuple[int, ...], int] = ((), 0)
        for turn in tuple(self._turns):
            common = common_length(turn.text, text) if turn.ends and turn.ends[-1][1] > best[1] else 0
            for count, length in reversed(turn.ends):
                if best[1] < length <= common and (length == len(text) or self.vocabulary.forgery.match(text, length)):
                    best = (turn.ids[:count], length)
                    break
        return best

    def _tokenize(self, rendered: str) -> list[int]:
        ids: list[int] = []
        for i, part in enumerate(self._guard.split(rendered)):
            if i % 2:
                ids += self.vocabulary.plain(part)
            elif part:
                ids += self.vocabulary.tokenize(part, markers=True)
        return ids
