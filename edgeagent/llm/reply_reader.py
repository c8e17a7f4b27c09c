"""Reading of a reply: one part is speech, another a call, and a part that is neither stays hidden.

First the model's own format is looked for (``gate``). What that leaves is read here, whichever model wrote it: calls in
another form count if nothing else is said and each of them names a tool that was offered and fits it. Otherwise what
has the shape of a call is hidden, also inside a sentence, and the loop decides what becomes of it. A result that a
model writes itself ends its reply; tags of calls are left out, and other marks of templates. Prose streams on at once.
One reader serves one reply, in the thread that generates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Final, Literal, Protocol, runtime_checkable

from edgeagent.llm.parsers.alone import NEAR, Block, Open, begins_call, calls_in, read_block
from edgeagent.llm.parsers.code_lines import read_code
from edgeagent.llm.parsers.json_calls import ARGS, CALL_ID, MISTRAL_CALLS, MISTRAL_RESULTS, PYTHON_TAG, guess_name
from edgeagent.llm.protocol import End, Error, Hidden, LLMEvent, LLMRequest, TextDelta, TextEnd, ToolCallEnd, ToolSpec
from edgeagent.llm.stream_gate import ComingText
from edgeagent.messages import PEOPLE, Message, Reading, Step, ToolCall

_LINE_BEGINS: Final = re.compile(r"\s*")
_IN_LINE: Final = re.compile(r"""[ \t]*(?P<quote>(?<!\w)["'`(])?(?=[{\[<]|\Z)""")
"""Blanks and a quotation mark inside a line, before a place where a block may begin."""
_NEXT: Final = re.compile(rf"""(?P<line>\n[ \t\r\n]*(?=[{{\[<"'`~(]|\Z))|{_IN_LINE.pattern}""")
"""The next place where a block may begin, in a line that follows or in this one."""
_OWN: Final = "the model's own format"
_OTHER: Final = "another form"
"""Parts of the chain, for people who ask why."""


@runtime_checkable
class _Checking(Protocol):
    """A tool that knows if arguments fit it, as those of an agent do."""

    def fault(self, arguments: dict[str, Any]) -> str: ...


def read_reply(events: Iterable[LLMEvent], request: LLMRequest, enough: Event | None = None) -> Iterator[LLMEvent]:
    """The events of a reply, with calls that stand alone told as calls, and what else has their shape hidden.

    Of a reply to a request without tools and results nothing is hidden, unless its tool choice is none; one that obeys
    a ``response_schema`` is left alone. What was read once is not changed by reading it again.

    Args:
        events: The reply as the model's own format was read.
        request: What it replies to.
        enough: Set when nothing that follows in the reply will be told.
    """
    if request.response_schema is not None:
        yield from events
        return
    reply = _Reply(request, enough or Event())
    try:
        yield from _read(reply, events)
    except Exception:
        yield from reply.break_off()
        raise


def _read(reply: _Reply, events: Iterable[LLMEvent]) -> Iterator[LLMEvent]:
    whole: str | None = None
    for event in events:
        reply.at_limit = isinstance(event, End) and event.stop_reason == "length"
        cut_off = isinstance(event, Error) or (isinstance(event, End) and event.stop_reason in ("error", "aborted"))
        if whole is not None:
            yield from reply.settle(whole, cut_off=cut_off)
            whole = None
        match event:
            case TextDelta(text):
                yield from reply.feed(text)
            case TextEnd(text):
                whole = text  # the event after it tells if the reply was cut off
            case ToolCallEnd(call):
                reply.own.append(call.name)
                yield event
            case Error() | End(stop_reason="error" | "aborted"):
                yield from reply.break_off()
                yield event
            case End():
                yield from reply.finish(event)
            case _:
                yield event
    if whole is not None:
        yield from reply.settle(whole)


class _Reply:
    """Text of one reply that was told, and text that is held."""

    def __init__(self, request: LLMRequest, enough: Event) -> None:
        self.own: list[str] = []
        """Names that were called in the model's own format."""
        self.at_limit = False
        """The reply ends where its tokens did: the beginning of a call may be its end."""
        self._request = request
        self._tools = {tool.name: frozenset(tool.parameters.get("properties") or ()) for tool in request.tools}
        self._results = [
            message.text
            for message in request.messages[_newest_of_people(request.messages) :]
            if message.role == "tool"
        ]
        self._hides_calls = bool(self._tools) or request.tool_choice == "none"
        self._hides = self._hides_calls or any(message.role == "tool" for message in request.messages)
        self._enough = enough
        self._begin()

    def _begin(self) -> None:
        self._fed: list[str] = []
        self._held = self._told = ""
        self._coming = ComingText()
        self._in_line = False
        """The text that is held goes on in a line that has begun."""
        self._in_sentence = False
        """A block stood inside a line, or in code."""
        self._blocks: list[Block] = []
        self._marked = self._strayed = False
        """Marks of a template were left out, and tags of calls among them."""
        self._in_result = self._over = False
        """The text that is held is a result, and what follows is told no more."""

    def feed(self, text: str) -> Iterator[LLMEvent]:
        """The events that are certain once this piece has come."""
        self._fed.append(text)
        if self._over:
            return
        if self._coming.add(text):
            yield from self._advance(final=False)

    def settle(self, text: str, *, cut_off: bool = False) -> Iterator[LLMEvent]:
        """The events of the whole text, which counts instead of its deltas. Of a reply that was cut off, text that may
        be the beginning of a call stays hidden."""
        if text != "".join(self._fed):
            self._begin()
            self._fed, self._held = [text], text
            for _ in self._advance(final=not cut_off):
                pass
        else:
            yield from self._advance(final=not cut_off)
        if cut_off:
            yield from self.break_off()
        if not self._blocks and not self._marked and (self._told or not cut_off):
            yield TextEnd(self._told)

    def break_off(self) -> Iterator[LLMEvent]:
        """The blanks that are held of a reply that was cut off; what may be the beginning of a call is nobody's."""
        self._held += self._coming.take()
        if not self._held.strip(" \t"):
            yield from self._tell(len(self._held))

    def finish(self, end: End) -> Iterator[LLMEvent]:
        """The events of the reply's end."""
        yield from self._advance(final=True)
        if not self._blocks and not self._marked:
            yield self._told_by(end, "no call stands alone in it")
            return
        yield TextEnd(self._told.rstrip() if self._says else "")
        form = ", ".join(dict.fromkeys(block.form for block in self._blocks)) or "marks of a template"
        raw = end.reading.raw if end.reading is not None else "".join(self._fed)
        end = replace(end, reading=end.reading or Reading("", raw))
        hidden = self._judge(raw)
        if hidden.outcome == "called":
            yield from map(ToolCallEnd, hidden.calls)
            hidden = replace(hidden, calls=(), faults=())
            end = replace(end, stop_reason="tool_calls" if end.stop_reason == "stop" else end.stop_reason)
        yield replace(self._told_by(end, f"{form}: {hidden.why}"), hidden=hidden)

    @property
    def _says(self) -> bool:
        """True if what was told has a word."""
        return any(map(str.isalnum, self._told))

    @property
    def _is_code(self) -> bool:
        """True if nothing stood in the reply yet but lines of code."""
        return all(block.form == "code" for block in self._blocks)

    def _told_by(self, end: End, verdict: str) -> End:
        """The end with what each part made of the reply, unless it was read before."""
        reading = end.reading
        if reading is None or not self._tools or any(step.part == _OWN for step in reading.steps):
            return end
        own = Step(_OWN, f"calls {', '.join(self.own)}" if self.own else "no call")
        return replace(end, reading=replace(reading, steps=(*reading.steps, own, Step(_OTHER, verdict))))

    def _judge(self, raw: str) -> Hidden:
        """Decides what the blocks come to. If one call fails, none counts."""
        if self.own or self._says:
            return Hidden(raw, "dropped", "hidden, because the reply says or calls something beside it")
        if self._in_sentence or self._told.strip():
            return Hidden(
                raw, "unknown", "a call inside a line or in code is never run, and the reply has no word beside it"
            )
        if self._strayed or not self._blocks:
            return Hidden(raw, "unknown", "marks of calls or results stand in it, and no word")
        written = [one for block in self._blocks for one in block.calls]
        offered = {} if self._request.tool_choice == "none" else {tool.name: tool for tool in self._request.tools}
        unknown = next((one.call for one in written if one.call.name not in offered), None)
        if unknown is not None:
            name = unknown.name or guess_name(unknown.raw or "")
            return Hidden(raw, "unknown", f"no tool that may be called has the name {name!r}")
        calls = tuple(one.call for one in written)
        faults = tuple(one.fault or _fault(offered[one.call.name], one.call) for one in written)
        if any(faults):
            why = next(f"{call.name}: {fault}" for call, fault in zip(calls, faults, strict=True) if fault)
            return Hidden(raw, "misfit", why, calls, faults)
        repeated = next((call.name for call in calls if _is_repeated(call, self._request.messages)), None)
        if repeated is not None:
            return Hidden(
                raw, "unknown", f"the call of {repeated} was made already, or stands in what a person or a tool said"
            )
        return Hidden(raw, "called", f"calls {', '.join(call.name for call in calls)}", calls, faults)

    def _advance(self, *, final: bool) -> Iterator[LLMEvent]:
        self._held += self._coming.take()
        yield from self._read(final=final)
        self._coming.looked(len(self._held), waits=len(self._held) > NEAR)

    def _read(self, *, final: bool) -> Iterator[LLMEvent]:
        while self._held:
            if self._in_result:
                told = result_in(self._held, final=final)
                if told is None:
                    return
                # A result that a tool has given is no lie: small models say it once more, with its marks.
                final = True
                self._end_here(told.strip() if any(_flat(told) == _flat(one) for one in self._results) else "")
                continue
            before = self._told[-1:]  # a quotation mark after a word opens nothing
            text, begin = before + self._held, len(before)
            place = (_IN_LINE if self._in_line else _LINE_BEGINS).match(text, begin)
            block: Block | Open | None = None
            mark: TemplateMark | Open | None = None
            if place is not None:
                quote = (place["quote"] or "") if self._in_line else None
                block = read_block(text[place.end() :], self._tools, final=final, quote=quote)
                if block is None and not self._told.strip() and not self._marked and self._is_code:
                    block = read_code(text[place.end() :], self._tools, final=final)
                mark = self._mark(text[place.end() :], final=final)
            if block == "open" or (mark == "open" and block is None):
                return
            if place is not None and self._cuts_call(text[place.end() :], block):
                self._marked = True
                self._strayed = self._strayed or not self._blocks  # behind a call it is nothing of its own
                yield from self._tell(0 if self._in_line else place.end() - begin)
                self._held = ""
                return
            if isinstance(mark, TemplateMark) and place is not None and not (block is not None and block.calls):
                yield from self._leave_out(mark, place.end() - begin)
                continue
            if block is None or place is None:  # text up to the next place
                following = next(_NEXT.finditer(text, place.end() + self._in_line if place else begin))
                self._in_line = following["line"] is None
                yield from self._tell((following.start() if self._in_line else following.end()) - begin)
                continue
            lead = place.end() - begin
            if not (block.calls and self._hides_calls):
                yield from self._tell(lead + block.end)
                continue
            self._blocks.append(block)
            self._in_sentence = self._in_sentence or self._in_line or block.is_code
            yield from self._tell(0 if self._in_line else lead)
            self._held = text[place.end() + block.end :]

    def _cuts_call(self, text: str, block: Block | None) -> bool:
        """True if the reply ends at its limit with this text, which may be the beginning of a call or of a mark."""
        if not (self.at_limit and self._hides and text) or (block is not None and block.calls):
            return False
        return begins_call(text, self._tools) or self._mark(text, final=False) == "open"

    def _mark(self, text: str, *, final: bool) -> TemplateMark | Open | None:
        return read_mark(text, final=final, beside_text=bool(self._told.strip())) if self._hides else None

    def _leave_out(self, mark: TemplateMark, lead: int) -> Iterator[LLMEvent]:
        """Takes a mark out of what is held, behind a lead of blanks. Where it opens a result, nothing is told of what
        follows but a result that a tool has given."""
        self._marked = True
        if mark.of == "turn":
            self._held = self._held[lead + mark.end :]
        elif mark.of == "call":
            self._strayed = True
            yield from self._tell(lead)
            self._held = self._held[mark.end :]
        elif self._results and not self._over:
            self._in_result = True
            self._held = self._held[lead + mark.end :]
        else:
            self._end_here("")

    def _end_here(self, text: str) -> None:
        """Tells this, and nothing else that comes."""
        self._in_result, self._over, self._held = False, True, text
        self._enough.set()

    def _tell(self, length: int) -> Iterator[LLMEvent]:
        piece, self._held = self._held[:length], self._held[length:]
        if (self._blocks or self._marked) and not self._told:
            piece = piece.lstrip()
        self._told += piece
        if piece:
            yield TextDelta(piece)


def _fault(tool: ToolSpec, call: ToolCall) -> str:
    """Why the arguments of a call do not fit its tool; empty if they do. A bare description checks nothing."""
    if call.raw is not None:
        return "its arguments are no JSON object"
    return tool.fault(call.arguments) if isinstance(tool, _Checking) else ""


def _newest_of_people(messages: Sequence[Message]) -> int:
    """The place of the message in which people last said something."""
    return max((i for i, m in enumerate(messages) if m.role == "user" and m.origin in PEOPLE), default=0)


def _flat(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _is_repeated(call: ToolCall, messages: Sequence[Message]) -> bool:
    """True if the call stands as JSON in what people said, or in a tool's result since they last said something; or if
    the model made it right before: small models write a call once more instead of its result."""
    newest = _newest_of_people(messages)
    made = next((m.tool_calls for m in reversed(messages[newest:]) if m.tool_calls), ())
    told = (
        known
        for i, message in enumerate(messages)
        if (message.role == "user" and message.origin in PEOPLE) or (message.role == "tool" and i > newest)
        for known in calls_in(message.text, call.name)
    )
    return any((known.name, known.arguments) == (call.name, call.arguments) for known in (*made, *told))


# --- marks of a template in a reply -----------------------------------------------------------------------------------


_RESULTS: Final = (
    "<tool_response",
    "<tool_result",
    "<tool_output",
    "<function_response",
    "<function_result",
    "<|tool_response",
    "<|tool_result",
    "<|tool_output",
    "<start_function_response",
    "<|observation|>",
    "<|start_of_role|>tool_response",
    "<\uff5ctool\u2581output",
    MISTRAL_RESULTS,
    "```tool_response",
    "```tool_result",
    "```tool_output",
)
"""Beginnings of results: Qwen and Hermes, Gemma, LFM2, GLM, Granite, DeepSeek, Mistral, and fences that models make of
them."""
_TEXTS: Final = (MISTRAL_CALLS, CALL_ID, ARGS, "[/TOOL_CALLS]", "[/TOOL_RESULTS]")
_TURNS: Final = (
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<eos>",
    "<s>",
    "</s>",
    "<json>",
    "</json>",
)
"""Beginnings and ends of turns, and tags around JSON, which say nothing beside a call. Beside text they are text."""
_TAGGED: Final = ("tool", "function=", "function_", "function>", "parameter", "start_function_", "end_function_")
_TAG: Final = re.compile(
    r"<[/|\uff5c]?(?:tool|function\b|function_|parameter|start_function_|end_function_)"
    r"[\w\u2581-]{0,40}(?:=[^<>\n]{0,60})?[|\uff5c]?>"
)
_TAG_BEGUN: Final = re.compile(r"<[/|\uff5c]?([\w\u2581-]{0,60}(?:=[^<>\n]{0,60})?)[|\uff5c]?")
_REST_OF_TAG: Final = re.compile(r"[^<>\n{\[]{0,80}>?")
_REST_OF_FENCE: Final = re.compile(r"\w*")
_RESULT_ENDS: Final = re.compile(r"</|\[/|<\||<tool_|<end_|<\uff5c|\n\s*```")


@dataclass(frozen=True, slots=True)
class TemplateMark:
    """The first ``end`` characters of a text are a mark. One of a result says that what follows is no speech."""

    end: int
    of: Literal["turn", "result", "call"]


def read_mark(text: str, *, final: bool, beside_text: bool) -> TemplateMark | Open | None:
    """Reads the mark at the start of a text; None if it begins otherwise.

    Code behind a python tag is a call of a tool that nobody offered: no speech either, as a result is none.

    Args:
        text: What came so far.
        final: Nothing follows.
        beside_text: Text was told before it.
    """
    turns = () if beside_text else _TURNS
    for known in turns:
        if text.startswith(known):
            return TemplateMark(len(known), "turn")
    for known in (*_RESULTS, PYTHON_TAG):
        if text.startswith(known):
            end = _opener_ends(text, known)
            goes_on = end == len(text) and not text.endswith((">", "]"))
            return "open" if goes_on and not final else TemplateMark(end, "result")
    for known in _TEXTS:
        if text.startswith(known):
            return TemplateMark(len(known), "call")
    if tag := _TAG.match(text):
        return TemplateMark(tag.end(), "call")
    return "open" if not final and _may_begin(text, turns) else None


def result_in(text: str, *, final: bool) -> str | None:
    """The result that stands behind its opener, up to its closing mark; None while more of it may come."""
    ends = _RESULT_ENDS.search(text)
    if ends is None and not final:
        return None
    return text[: ends.start()] if ends else text


def _opener_ends(text: str, known: str) -> int:
    """The place behind the mark that begins as a known one."""
    if known.endswith((">", "]")):
        return len(known)
    rest = (_REST_OF_FENCE if known.startswith("`") else _REST_OF_TAG).match(text, len(known))
    return rest.end() if rest else len(known)


def _may_begin(text: str, turns: Sequence[str]) -> bool:
    if any(known.startswith(text) for known in (*_RESULTS, *_TEXTS, *turns, PYTHON_TAG)):
        return True
    begun = _TAG_BEGUN.fullmatch(text)
    return begun is not None and any(known.startswith(begun[1]) or begun[1].startswith(known) for known in _TAGGED)
