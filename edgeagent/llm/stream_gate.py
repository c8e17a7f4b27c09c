"""The stream gate: decides, piece by piece, what of a model's output is text, reasoning or a call.

Text leaves as soon as it can't be the beginning of a call or of reasoning, however the tokens split it. One gate serves
one reply, in the thread that generates it. Reasoning is shown apart, never spoken and never sent back; what an engine
left of it in its text is told apart here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from edgeagent.llm.parsers.call_format import CallFormat, Found
from edgeagent.llm.protocol import (
    End,
    Error,
    LLMEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
)
from edgeagent.messages import ToolCall

#: Most families; Ministral and Magistral; Gemma 4.
PAIRS: Final = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<|channel>thought", "<channel|>"))
OPENS: Final = tuple(opens for opens, _ in PAIRS)
CLOSES: Final = tuple(closes for _, closes in PAIRS)
THINKING_MARKERS: Final = (*OPENS, *CLOSES, "<|channel>")
"""Texts that a reply must show, for the gate to see them; some are control tokens."""
_BLANKS: Final = " \t\r\n"
_SHORT: Final = 80  # so much of what may be a call is looked at letter by letter, to let prose go soon
_REST: Final = re.compile(r"""["'}\]\s]*""")
"""JSON that may be left of a call which the model closed too early."""
_MAY_END: Final = re.compile(r"[>}\])]")  # with one of these every call ends; a longer one is looked at only then
_LONG: Final = 1024
"""Characters of an open call above which it is looked at again only when more of it has come."""
_PART: Final = 16
"""A sixteenth: so much more of a long text, so that the work for it grows as its length does. A larger number tells the
end of the text sooner, and costs more."""


def ends_in_thinking(prompt: str) -> bool:
    """True if the prompt ends inside reasoning, because the template itself opens it for the model."""
    return prompt.rstrip().endswith(OPENS)


def without_empty_thinking(prompt: str) -> str:
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


class ComingText:
    """Pieces that come to a text which is held, until it is time to look at the text again."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = self._look_at = 0

    def add(self, piece: str) -> bool:
        """Adds a piece; True if it is time to look."""
        self._pieces.append(piece)
        self._length += len(piece)
        return self._length >= self._look_at

    def take(self) -> str:
        """All that has come since the last look."""
        taken, self._pieces = "".join(self._pieces), []
        return taken

    def looked(self, length: int, *, waits: bool) -> None:
        """So many characters are still held; where the text waits, it is looked at with a sixteenth more."""
        self._length = length
        self._look_at = length + length // _PART if waits else 0


class StreamGate:
    """Turns the text of a reply into LLM events.

    Reasoning that never closes goes on to the end. A closing marker without an opening one says that the whole text
    before it was reasoning: its deltas have left as text, so ``TextEnd`` and ``ThinkingEnd`` carry what is right.
    """

    def __init__(self, calls: CallFormat | None, *, thinking: bool = False) -> None:
        """Make a gate for one reply.

        Args:
            calls: How this model writes calls; None leaves calls in the text.
            thinking: The prompt has opened the reasoning already.
        """
        self._format = calls
        self.thinking = thinking
        """True if the text that comes now is reasoning."""
        self.calling = False
        """True if the text that comes now belongs to a call: it is held, and begins with an opener of the format."""
        self._has_thought = thinking
        self._retracted = False  # text that has left was reasoning after all
        self._held = ""
        self._coming = ComingText()
        self._scanned = 0  # how much of a call the format has seen
        self._text = _Channel()
        self._thought = _Channel()
        self._drafts: list[ToolCall] = []
        self._made: list[ToolCall] = []
        self._emitted = 0
        self._start_openers = calls.start_openers if calls else ()
        self._at_start = True  # a call that has no marker may begin here
        self._behind_call = False  # what is held may be the rest of the call before it
        openers = calls.openers if calls else ()
        self._closers = tuple(marker for marker in calls.markers if marker not in openers) if calls else ()
        self._markers = Markers((*openers, *OPENS, *CLOSES))

    @property
    def at_start(self) -> bool:
        """True if nothing was said since the reply began, or since the text after reasoning or a call began."""
        return self._at_start and not self._held.strip(_BLANKS)

    @property
    def called(self) -> bool:
        """True if the reply has calls; final after ``finish``."""
        return bool(self._made)

    def feed(self, text: str) -> Iterator[LLMEvent]:
        """The events that are certain once this piece has come."""
        if self._coming.add(text):
            yield from self._advance(final=False)

    def finish(self, *, aborted: bool = False) -> Iterator[LLMEvent]:
        """The events of the reply's end. An aborted reply loses what was still held."""
        if not aborted:
            yield from self._advance(final=True)
        if self.thinking and self._thought.all:
            yield ThinkingEnd(self._thought.all)
        if self._text.all or self._retracted:
            yield TextEnd(self._text.all)
        if self._drafts:
            final = [(call.name, call.arguments) for call in self._made]
            self._made = [d for d in self._drafts if (d.name, d.arguments) not in final] + self._made
            self._drafts = []
        yield from self._emit_calls()

    def _advance(self, *, final: bool) -> Iterator[LLMEvent]:
        self._held += self._coming.take()
        yield from self._read(final=final)
        self._coming.looked(len(self._held), waits=self.calling and len(self._held) > _LONG)

    def _read(self, *, final: bool) -> Iterator[LLMEvent]:
        while self._held:
            if self.calling:
                before = len(self._held)
                ends = _MAY_END.search(self._held, self._scanned)
                self._scanned = before
                if not (final or before < _SHORT or ends):
                    return
                yield from self._take_call(final)
                if len(self._held) == before:
                    return
                self._scanned = 0
                continue
            if self._behind_call:
                rest = self._rest_of_call(final)
                if rest is None:
                    return
                self._take(rest)
                self._behind_call = rest > 0
                continue
            if self._start_openers and self._at_start and not self.thinking:
                begun = self._held.lstrip(_BLANKS)
                if begun.startswith(self._start_openers):
                    self._held, self.calling = begun, True
                    continue
            found = self._markers.first.search(self._held)
            if found is None:
                certain = len(self._held) if final else len(self._held) - self._markers.begun(self._held)
                yield from self._say(self._take(certain))
                return
            yield from self._say(self._take(found.start()))
            if found[0] in OPENS:
                self._take(len(found[0]))
                self.thinking = self._has_thought = self._text.broken = True
            elif found[0] in CLOSES:
                self._take(len(found[0]))
                yield from self._close_thinking()
            else:
                self.calling = True

    def _rest_of_call(self, final: bool) -> int | None:
        """Count the held characters that are left of a call that was closed too early; None while more may come."""
        begun = _REST.match(self._held)
        at = begun.end() if begun else 0
        behind = self._held[at:]
        closer = next((closer for closer in self._closers if behind.startswith(closer)), None)
        if closer is not None:
            return at + len(closer)
        return None if not final and any(closer.startswith(behind) for closer in self._closers) else 0

    def _take_call(self, final: bool) -> Iterator[LLMEvent]:
        """Read the call that is held, if it is whole."""
        held, limit = self._held, -1
        if self.thinking:
            limit = min((at for at in map(self._held.find, CLOSES) if at >= 0), default=-1)
        if limit >= 0:  # a call that reasoning only speaks of must not hold back the answer after it
            held, final = held[:limit], True
        answer = self._format.scan(held, final=final) if self._format else None
        if answer is None:
            return
        self.calling = False
        taken = self._take(answer.end)
        if not isinstance(answer, Found):
            yield from self._say(taken)
        elif not self.thinking:
            self._at_start = self._behind_call = True
            self._text.broken = True
            self._made += answer.calls
            if not self._drafts:
                yield from self._emit_calls()
        elif all(call.raw is None for call in answer.calls):
            self._thought.broken = True
            self._drafts += answer.calls
        else:
            yield from self._say(taken)

    def _close_thinking(self) -> Iterator[LLMEvent]:
        if not self._has_thought:
            self._thought, self._text = self._text, _Channel()
            self._retracted = bool(self._thought.all)
        elif not self.thinking:
            return
        self.thinking, self._has_thought, self._at_start = False, True, True
        self._thought.broken = True
        if self._thought.all:
            yield ThinkingEnd(self._thought.all)

    def _say(self, piece: str) -> Iterator[LLMEvent]:
        if piece.strip(_BLANKS):
            self._at_start = False
        shown = (self._thought if self.thinking else self._text).add(piece)
        if shown:
            yield ThinkingDelta(shown) if self.thinking else TextDelta(shown)

    def _emit_calls(self) -> Iterator[LLMEvent]:
        for call in self._made[self._emitted :]:
            self._emitted += 1
            yield ToolCallEnd(call)

    def _take(self, count: int) -> str:
        taken, self._held = self._held[:count], self._held[count:]
        return taken


class _Channel:
    """Text as it leaves: without blanks at either end, and with one blank where something was taken out."""

    def __init__(self) -> None:
        self.all = ""
        self.broken = False
        self._blanks = ""

    def add(self, piece: str) -> str:
        """Add a piece, and return the text that can leave now."""
        piece = self._blanks + piece
        shown = piece.rstrip(_BLANKS)
        self._blanks = piece[len(shown) :]
        if not shown:
            return ""
        if not self.all:
            shown = shown.lstrip(_BLANKS)
        elif self.broken:
            bare = shown.lstrip(_BLANKS)
            blanks = shown[: len(shown) - len(bare)]
            shown = (" " if blanks and "\n" not in blanks else "\n") + bare
        self.broken = False
        self.all += shown
        return shown


# --- reasoning that an engine left in its text ------------------------------------------------------------------------


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
