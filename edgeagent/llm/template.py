"""A model's own chat template: a request to the text that the model was trained on.

The environment is the one of transformers and of llama-cpp-python's ``Jinja2ChatFormatter``, which template authors
write for. Templates expect messages and tools in the form of the OpenAI API: what happens to a tool is told in words in
front of its text, adjacent messages that strict templates refuse are joined, and messages of an app's own roles are
left out. Knows nothing of tokens. Stateless after its construction, so any thread may render.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from edgeagent.characters import plain_apostrophes
from edgeagent.errors import ModelError
from edgeagent.llm.protocol import ToolSpec
from edgeagent.messages import Message, Status, ToolCall

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
    """One compiled template.

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
_JOINED_BY: Final = "\n"
_TOLD_AS: Final[dict[Status, str]] = {
    "error": "error: ",
    "unknown": "error: ",
    "invalid": "error: ",
    "blocked": "error: ",
    "denied": "error: ",
    "timed_out": "error: ",
    "interrupted": "interrupted: ",
    "not_run": "not run: ",
    "skipped": "not run: ",
    "declined": "not run: ",
    "outcome_unknown": "outcome unknown: ",
}

Hide = Callable[[str], str]
"""Replaces what a text must not say to the model; see ``prompt.Guard``."""


def as_chat(system: str | None, messages: Sequence[Message], hide: Hide, *, arguments_as_text: bool = False) -> Chat:
    """The messages for a template, the system prompt first."""
    chat: Chat = [{"role": "system", "content": hide(system)}] if system else []
    return chat + [_as_dict(message, hide, arguments_as_text) for message in _joined(messages)]


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


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Adjacent user messages, and adjacent assistant messages without calls, as one; empty replies left out."""
    joined: list[Message] = []
    for message in messages:
        if message.role not in _ROLES or (message.role == "assistant" and not (message.text or message.tool_calls)):
            continue
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.role == message.role
            and message.role in ("user", "assistant")
            and not (last.tool_calls or message.tool_calls)
        ):
            joined[-1] = replace(last, text=_JOINED_BY.join(filter(None, (last.text, message.text))))
        else:
            joined.append(message)
    return joined


def _as_dict(message: Message, hide: Hide, arguments_as_text: bool) -> dict[str, Any]:
    if message.role == "tool":
        told = _TOLD_AS.get(message.status, "") if message.status else ""
        return {
            "role": "tool",
            "content": hide(told + message.text),
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
