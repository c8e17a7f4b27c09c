"""The markers around a model's reasoning. Reasoning is shown apart, never spoken and never sent back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from edgeagent.llm.protocol import End, Error, LLMEvent, TextDelta, TextEnd, ThinkingDelta, ThinkingEnd

#: Most families; Ministral and Magistral; Gemma 4.
PAIRS: Final = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<|channel>thought", "<channel|>"))
OPENS: Final = tuple(opens for opens, _ in PAIRS)
CLOSES: Final = tuple(closes for _, closes in PAIRS)
MARKERS: Final = (*OPENS, *CLOSES, "<|channel>")
"""Texts that a reply must show, for the gate to see them; some are control tokens."""


def is_open(prompt: str) -> bool:
    """True if the prompt ends inside reasoning, because the template itself opens it for the model."""
    return prompt.rstrip().endswith(OPENS)


def without_empty(prompt: str) -> str:
    """The prompt without the empty reasoning at its end, with which a template tells the model not to reason."""
    bare = prompt.rstrip()
    for opens, closes in PAIRS:
        at = bare.rfind(opens)
        if at >= 0 and bare.endswith(closes) and not bare[at + len(opens) : -len(closes)].strip():
            return bare[:at]
    return prompt


class Markers:
    """Finds a marker in a text, or what may be its beginning at the end."""

    def __init__(self, markers: tuple[str, ...]) -> None:
        self.first = re.compile("|".join(map(re.escape, markers)))
        self._beginnings = {marker[:length] for marker in markers for length in range(1, len(marker))}
        self._longest = max(map(len, markers)) - 1

    def begun(self, text: str) -> int:
        """Counts the characters at the end of a text that may be the beginning of a marker."""
        lengths = range(min(self._longest, len(text)), 0, -1)
        return next((n for n in lengths if text[-n:] in self._beginnings), 0)


def thinking_apart(events: Iterable[LLMEvent]) -> Iterator[LLMEvent]:
    """The events of a reply, with reasoning that a model left in its text told as reasoning.

    Reasoning that never closes goes on to the end. A closing marker without an opening one makes reasoning of the text
    before it: its deltas have left, so ``TextEnd`` and ``ThinkingEnd`` carry what is right.
    """
    reply = _ThinkingReply()
    for event in events:
        match event:
            case TextDelta(text):
                yield from reply.feed(text)
            case TextEnd(text):
                yield from reply.settle(text)
            case ThinkingDelta(text):
                reply.apart += text
                yield event
            case ThinkingEnd(text):
                reply.apart = text
                yield reply.thinking_end()
            case End(stop_reason="error" | "aborted") | Error():
                yield event
            case End():
                yield from reply.finish()
                yield event
            case _:
                yield event


class _ThinkingReply:
    """Speech and reasoning of one reply so far."""

    _markers: Final = Markers((*OPENS, *CLOSES))

    def __init__(self) -> None:
        self.apart = ""
        """Reasoning that the model told as such."""
        self._said = self._thought = self._held = ""
        self._thinking = self._has_thought = False

    def feed(self, text: str, *, final: bool = False) -> Iterator[LLMEvent]:
        """The events that are certain once this piece has come."""
        self._held += text
        while self._held:
            found = self._markers.first.search(self._held)
            if found is None:
                certain = len(self._held) if final else len(self._held) - self._markers.begun(self._held)
                yield from self._tell(certain)
                return
            yield from self._tell(found.start())
            self._held = self._held[len(found[0]) :]
            yield from self._open() if found[0] in OPENS else self._close()

    def settle(self, text: str) -> Iterator[LLMEvent]:
        """The events of the whole text, which counts instead of its deltas."""
        whole = _ThinkingReply()
        for _ in whole.feed(text, final=True):
            pass
        if not whole._has_thought:
            self._held, self._said = "", text
            yield TextEnd(text)
            return
        self._said, self._thought, self._held = whole._said.strip(), whole._thought, ""
        self._thinking, self._has_thought = whole._thinking, True
        yield self.thinking_end()
        yield TextEnd(self._said)

    def finish(self) -> Iterator[LLMEvent]:
        """The events of the reply's end."""
        yield from self.feed("", final=True)
        if self._thinking:
            yield self.thinking_end()

    def thinking_end(self) -> ThinkingEnd:
        return ThinkingEnd(self.apart + self._thought.strip())

    def _open(self) -> Iterator[LLMEvent]:
        self._thinking = self._has_thought = True
        if self._said and not self._said.strip():
            self._said = ""
            yield TextEnd("")

    def _close(self) -> Iterator[LLMEvent]:
        if not self._has_thought:
            self._thought, self._said, self._has_thought = self._said, "", True
            yield TextEnd("")
        self._thinking = False
        yield self.thinking_end()

    def _tell(self, length: int) -> Iterator[LLMEvent]:
        piece, self._held = self._held[:length], self._held[length:]
        if self._thinking:
            self._thought += piece
        else:
            piece = piece if self._said or not self._has_thought else piece.lstrip()
            self._said += piece
        if piece:
            yield ThinkingDelta(piece) if self._thinking else TextDelta(piece)
