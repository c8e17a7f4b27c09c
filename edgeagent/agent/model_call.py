"""One model call of a run: what it holds, what streams back, and what is committed. Runs on the loop's thread."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from edgeagent import events
from edgeagent.agent.run import Run
from edgeagent.agent.run_options import returned_messages
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks import AfterLLM, BeforeLLM, FirePoint
from edgeagent.llm import End, Error, LLMRequest, TextDelta, TextEnd, ThinkingDelta, ThinkingEnd, ToolCallEnd
from edgeagent.llm.protocol import IN_WORDS, Hidden, LLMEvent, ToolChoice
from edgeagent.llm.reply_reader import read_reply
from edgeagent.llm.stream_gate import thinking_apart
from edgeagent.llm.window import check_length, check_window
from edgeagent.messages import Message, Reading, ToolCall, Usage, new_id
from edgeagent.tools import Tool

logger = logging.getLogger(__name__)
MODEL_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
"""Roles of messages that a model is shown; an app may have others."""
MAX_HIDDEN_REPLIES: Final = 1
"""Replies of one run that are hidden and followed by another turn."""
_COULD_NOT: Final = "I could not do that."
"""Said instead of a further reply that is hidden."""
_UNNAMED: Final = "the model's stream ended with an error that it does not name"


def think(
    run: Run,
    tool_choice: ToolChoice = "auto",
    *,
    messages: Sequence[Message] | None = None,
    tools: Sequence[Tool] | None = None,
) -> Message:
    """One model call, streamed. Returns the committed message, which may be empty, cut, aborted or failed.

    Args:
        messages: What the request holds instead of the history.
        tools: What it holds instead of all tools.

    A hook may end the run before the model is asked; then ``run.hook_reply`` is set and the message has no stop reason.
    After a stop that came before, the message is an aborted one that no turn has.

    Raises:
        ModelError: The model cannot answer at all.
        BaseException: What a model, ``transform_context`` or ``convert_messages`` raised, unchanged.
    """
    part = run.part
    in_words, run.turn.in_words = run.turn.in_words, False
    asked = _messages(run, part.history if messages is None else messages)
    if in_words:
        tool_choice = "none"
        asked.append(Message.user(IN_WORDS, origin="ephemeral"))
    part.tools = part.context.tool_registry = part.agent.tools
    payload = BeforeLLM(asked, list(part.tools if tools is None else tools), run.budget.hops)
    fired = part.hooks.fire(FirePoint.BEFORE_LLM, payload)
    run.tell_notices()
    if fired.reply is not None:
        run.hook_reply = fired.reply
        return Message("assistant", stop_reason=None)
    if run.stop.now() is None:  # even making a request takes time where the history is long
        offered: list[Tool] = fired.payload.tools
        request = _request(run, fired.payload.messages, offered, tool_choice)
        run.turn.tool_choice = request.tool_choice
        run.turn.offered = {tool.name: None if part.tools.get(tool.name) is tool else tool for tool in offered}
        _check_length(run, request)
        if run.stop.now() is None:
            return _committed(run, request, may_go_on=tool_choice != "none")
    return Message("assistant", stop_reason="aborted")


def _committed(run: Run, request: LLMRequest, *, may_go_on: bool) -> Message:
    """Asks the model, and commits what came back: history has the message, unless it failed without a word.

    Args:
        may_go_on: A reply that stays hidden may have another turn.
    """
    message = Message("assistant", stop_reason=None)
    run.budget.spend_turn()
    run.turn.streaming = message
    run.emit(events.MessageStart, message=message)
    reading: Reading | None = None
    try:
        message, untold, reading = _stream(run, request, message, may_go_on=may_go_on)
        message = _after(run, message, untold, reading)
    except BaseException as error:
        message = replace(run.turn.streaming, stop_reason="error", error=str(error) or type(error).__name__)
        raise
    finally:
        run.turn.streaming = None
        run.budget.usage += message.usage or Usage()
        if message.stop_reason in ("error", "aborted"):
            message = replace(message, tool_calls=())
        if message.text or message.stop_reason not in ("error", "aborted"):
            run.part.add(message)
        run.turn.reply = message
        run.emit(events.MessageEnd, message=message.copy(), reading=reading)
        run.tell_notices()
    return message


def _messages(run: Run, history: Sequence[Message]) -> list[Message]:
    """Copies of the history, with what belongs to this request only."""
    options = run.part.options
    messages = run.part.copies.of(history)
    if options.get_ephemeral_messages is not None:
        try:
            messages += returned_messages(options.get_ephemeral_messages(), "ephemeral")
        except BaseException:  # the builder's code; the request does without (S0)
            logger.exception("get_ephemeral_messages raised")
    if options.transform_context is not None:
        messages = _listed("transform_context", options.transform_context(messages))
    return messages


def _request(run: Run, messages: list[Message], tools: Sequence[Tool], tool_choice: ToolChoice) -> LLMRequest:
    options = run.part.options
    if options.convert_messages is not None:
        messages = _listed("convert_messages", options.convert_messages(messages))
    for message in messages:
        if not isinstance(message, Message):
            raise EdgeAgentError(f"a request can't hold {type(message).__name__}; hooks and callbacks return Messages")
    return LLMRequest(
        system=run.part.system,
        messages=[message for message in messages if message.role in MODEL_ROLES],
        tools=list(tools),
        tool_choice=_tool_choice(run, tools, tool_choice),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        thinking_level=options.thinking_level,
        response_schema=run.part.context.response_schema,
    )


def _listed(callback: str, made: object) -> list[Message]:
    """Returns the list that a callback made of a request's messages.

    Raises:
        EdgeAgentError: It is no list.
    """
    if not isinstance(made, Iterable):
        raise EdgeAgentError(f"{callback} returned {type(made).__name__}; it should return a list of Messages")
    return list(made)


def _tool_choice(run: Run, tools: Sequence[Tool], asked: ToolChoice) -> ToolChoice:
    """Returns the loop's choice, unless the options say more. Without tools no model can be made to call one."""
    wanted = run.part.options.tool_choice
    if "none" in (asked, wanted):
        return "none"
    return "required" if wanted == "required_first" and run.budget.calls == 0 and tools else asked


def _check_length(run: Run, request: LLMRequest) -> None:
    """Refuses a request that does not fit into the model's window, or into less that the session allows."""
    llm, limit = run.part.llm, run.part.context.max_context_tokens
    if run.stop.now():
        return
    if limit is not None and limit < llm.context_window:
        check_length(llm.count_tokens(request), request.max_tokens, limit, f"max_context_tokens={limit}")
    else:
        check_window(llm, request, sizes=run.sizes)


def _stream(
    run: Run, request: LLMRequest, message: Message, *, may_go_on: bool
) -> tuple[Message, bool, Reading | None]:
    """Tells what streams back as it comes. Text that was not told is in the message only if the reply has come to its
    end: of one that fails it is not kept.

    Args:
        may_go_on: A reply that stays hidden may have another turn.

    Returns:
        The message, True if its text was not told yet, and how the reply was read.
    """
    if run.stop.now():  # while somebody was told that it begins: a long request costs time even to refuse
        return replace(message, stop_reason="aborted"), False, None
    untold = _holds_text(run)
    text = ""
    calls: tuple[ToolCall, ...] = ()
    with _streaming(run, request) as stream:
        for event in stream:
            match event:
                case TextDelta(delta):
                    text += delta
                    if untold and not _holds_text(run, text):
                        untold, delta = False, text
                    if not untold:
                        message = replace(message, text=text, tool_calls=calls)
                        run.turn.streaming = message
                        run.emit(events.MessageUpdate, channel="text", delta=delta, message=message.copy())
                case ThinkingDelta(delta):
                    message = replace(message, thinking=message.thinking + delta, tool_calls=calls)
                    run.turn.streaming = message
                    run.emit(events.MessageUpdate, channel="thinking", delta=delta, message=message.copy())
                case ToolCallEnd(call):
                    # a model may use an id twice; results are matched by it, so it is ours
                    calls += (replace(call.copy(), id=new_id("call"), result=None, agent=None),)
                case Error(why, usage):
                    return replace(message, stop_reason="error", error=why or _UNNAMED, usage=usage), untold, None
                case End("error" | "aborted" as reason, usage, reading):
                    error = _UNNAMED if reason == "error" else None
                    return replace(message, stop_reason=reason, error=error, usage=usage), untold, reading
                case End(reason, usage, reading, hidden):
                    message = replace(message, text=text, tool_calls=calls, stop_reason=reason, usage=usage)
                    if hidden is not None:
                        message = _hide(run, message, hidden, may_go_on=may_go_on)
                        untold = untold or not text  # then nothing was told: what stands in its place is told whole
                    return message, untold, reading
                case TextEnd(text):  # the whole text; a late </think> may have made reasoning of what came before it
                    if not untold:
                        message = replace(message, text=text)
                case ThinkingEnd(thinking):
                    message = replace(message, thinking=thinking)
    return replace(message, stop_reason="error", error="the model's stream ended without saying why"), untold, None


@contextmanager
def _streaming(run: Run, request: LLMRequest) -> Iterator[Iterator[LLMEvent]]:
    """The events of the reply; the model is free at the end. An error keeps its frames, and with them a stream that
    nobody closes."""
    stream = run.part.llm.stream(request, run.stop.signal)
    try:
        yield _until_stopped(run, read_reply(thinking_apart(stream), request))
    finally:
        if isinstance(stream, Generator):
            stream.close()


def _until_stopped(run: Run, stream: Iterable[LLMEvent]) -> Iterator[LLMEvent]:
    """The events of a reply, with one token more after a stop at most: a model may not heed it."""
    late = False
    for event in stream:
        if run.stop.now() and isinstance(event, TextDelta | ThinkingDelta | ToolCallEnd):
            if late:
                yield End("aborted")
                return
            late = True
        yield event


def _hide(run: Run, message: Message, hidden: Hidden, *, may_go_on: bool) -> Message:
    """Keeps a hidden reply in history, and decides how it goes on: a misfit is an invalid call that the model sees,
    an unknown name is answered in words with the next turn, and a second such reply is the end of it."""
    message = replace(message, raw=hidden.raw)
    if hidden.outcome in ("called", "dropped"):
        return message
    run.turn.hidden_replies += 1
    if run.turn.hidden_replies > MAX_HIDDEN_REPLIES or not may_go_on:
        return replace(message, text=_COULD_NOT, stop_reason="stop")  # also of one that was cut: nothing goes on
    if hidden.outcome == "unknown":
        run.turn.in_words = True
        return message
    calls = tuple(replace(call.copy(), id=new_id("call")) for call in hidden.calls)
    run.turn.faults = {call.id: fault for call, fault in zip(calls, hidden.faults, strict=True)}
    return replace(message, tool_calls=calls, stop_reason="tool_calls" if message.stop_reason == "stop" else "length")


def _after(run: Run, message: Message, untold: bool, reading: Reading | None) -> Message:
    """AFTER_LLM may replace text and calls; untold text is told now, unless nobody has vouched for it."""
    if message.stop_reason in ("error", "aborted"):
        return message
    shown = AfterLLM(message.text, tuple(call.copy() for call in message.tool_calls), run.budget.hops, reading)
    fired = run.part.hooks.fire(FirePoint.AFTER_LLM, shown)
    said: AfterLLM = fired.payload
    if fired.reply is not None:
        run.hook_reply = fired.reply
    calls = _with_ids(message.tool_calls, said.tool_calls) if fired.replaced else message.tool_calls
    reason = message.stop_reason
    if reason in ("stop", "tool_calls"):
        reason = "tool_calls" if calls else "stop"
    text = "" if fired.unjudged and untold else said.text
    if said.in_words and not (text or calls):
        run.turn.hidden_replies += 1
        run.turn.in_words = run.turn.hidden_replies <= MAX_HIDDEN_REPLIES
        if not run.turn.in_words:  # the model calls though it was told not to
            run.hook_reply = _COULD_NOT
    run.turn.in_words = run.turn.in_words and not (text or calls)  # a hook has said or called something instead
    if not any(run.turn.faults.get(call.id) and call in message.tool_calls for call in calls):
        run.turn.faults = {}  # a hook has mended what did not fit, or left it out: the gates check the rest
    if (text, calls, reason) != (message.text, message.tool_calls, message.stop_reason):
        message = replace(message, text=text, tool_calls=calls, stop_reason=reason)
    run.turn.streaming = message
    if message.text and untold:
        said_aloud = run.part.context.spoken
        delta = message.text if said_aloud is None else said_aloud(message.text)
        run.emit(events.MessageUpdate, channel="text", delta=delta, message=message.copy())
    return message


def _holds_text(run: Run, text: str = "") -> bool:
    """True while a text that begins so may not be told."""
    return run.part.context.spoken is not None or run.part.hooks.holds(text)


def _with_ids(known: Sequence[ToolCall], calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Copies of a hook's calls, each with an id that no other call has. Arguments count before the model's own text."""
    free = {call.id for call in known}
    given = []
    for call in calls:
        raw = None if call.arguments else call.raw
        if call.id in free:
            free.remove(call.id)
            given.append(replace(call.copy(), raw=raw))
        else:
            given.append(replace(call.copy(), id=new_id("call"), raw=raw))
    return tuple(given)
