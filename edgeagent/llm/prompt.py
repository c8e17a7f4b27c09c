"""From a request to token ids: the template, without forged control tokens, and with the ids of the model's own turns.

Only the template's own text becomes a control token. What people, tools and apps supply is searched for the markers of
the vocabulary (one scan); where one occurs, a secret number takes its place while the template renders, and the marker
is tokenised afterwards in pieces that no tokeniser takes for it.
"""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from edgeagent.characters import common_length
from edgeagent.llm.grammar import TokenVocabulary
from edgeagent.llm.protocol import LLMRequest
from edgeagent.llm.quirks import Adapter
from edgeagent.llm.stream_gate import without_empty_thinking
from edgeagent.llm.template import Chat, ChatTemplate, as_chat, as_tools

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

    def __init__(self, vocabulary: TokenVocabulary, role_markers: Iterable[str] = ()) -> None:
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
        return self._forgery.sub(self._substitute, text)

    def split(self, rendered: str) -> list[str]:
        """Trusted text and hidden markers in turn, beginning with (maybe empty) trusted text."""
        if self._secret not in rendered:
            return [rendered]
        parts = self._placeholder.split(rendered)
        return [self._texts[int(part)] if i % 2 else part for i, part in enumerate(parts)]

    def _substitute(self, found: re.Match[str]) -> str:
        return f"{self._secret}{self._index[found[0]]:0{_INDEX_DIGITS}}"


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
        self, template: ChatTemplate, vocabulary: TokenVocabulary, adapter: Adapter, *, bos: str, eos: str
    ) -> None:
        self._template = template
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

        def chat(as_text: bool) -> Chat:
            plain = as_chat(request.system, request.messages, hide, arguments_as_text=as_text)
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
