"""The gate on a reply's first token: an improbable call is not begun, a probable one is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from edgeagent import LlamaLLM, Message, tool
from edgeagent.errors import ModelError
from edgeagent.llm import (
    End,
    EngineSettings,
    Error,
    LLMRequest,
    ToolCallEnd,
    call_threshold,
    reading_threshold,
)
from edgeagent.messages import Origin, Reading, Status, ToolCall, ToolResult
from edgeagent.models import CallGate, language_models
from tests.llm.random_models import cut

OPENERS = ("{", "[", "`", "<")
CALL = '{"name": "look", "arguments": {}}'
PROMPTS = [f"go {number}" for number in range(20)]
FAMILY = cut("granite4")  # has tags


@tool
def look() -> str:
    """Look."""
    return "a cube"


@tool(read_only=True)
def depth(unit: str = "m") -> str:
    """Measure the depth of the water."""
    return "4 m"


READS = '{"name": "depth", "arguments": {}}'


def ask(text: str = "go", **options: Any) -> LLMRequest:
    return LLMRequest(**{"messages": [Message.user(text)], "tools": [look], "max_tokens": 40, **options})


def read(llm: LlamaLLM, request: LLMRequest) -> Reading:
    *_, end = llm.stream(request, Event())
    assert isinstance(end, End)
    assert end.reading is not None
    return end.reading


@pytest.fixture
def gated(scripted_file: Callable[..., Path]) -> Iterator[Callable[..., LlamaLLM]]:
    """Makes models that write a script behind a gate."""
    made: list[LlamaLLM] = []

    def make(gate: float | CallGate, *script: str, temperature: float = 0.0, reading: float | None = None) -> LlamaLLM:
        thresholds = gate
        if isinstance(gate, float) and reading is not None:
            thresholds = CallGate(first=gate, reading=reading, later=gate)
        made.append(LlamaLLM(scripted_file(script, FAMILY), call_gate=thresholds, temperature=temperature))
        return made[-1]

    yield make
    for llm in made:
        llm.close()


@pytest.mark.parametrize(
    ("begin", "temperature"),
    [([CALL], 0.0), ([CALL], 1.0), (["\n", CALL], 0.0), (["```", f"json\n{CALL}\n```"], 0.0), (["<tools>"], 0.0)],
    ids=["bare", "sampled", "after a blank", "a fence", "a block"],
)
def test_below_the_threshold_no_form_is_begun(
    gated: Callable[..., LlamaLLM], begin: list[str], temperature: float
) -> None:
    reading = read(gated(2.0, *begin, temperature=temperature), ask())
    assert reading.openers_masked
    assert reading.raw.strip()[:1].isalnum()  # nor a sign in front of JSON, nor nothing


def test_instead_of_an_improbable_call_words_are_asked_for(gated: Callable[..., LlamaLLM]) -> None:
    """The hint stands at the tail: what is before it is not evaluated again."""
    llm = gated(2.0, CALL)
    request = ask()
    before = llm.rendered(request)
    reading = read(llm, request)
    assert "Answer in words." in reading.prompt
    assert reading.prompt.startswith(before[: before.rindex("go") + 2])
    assert reading.opener_probability is not None
    assert 0 < llm.stats.evaluated_tokens < llm.stats.prompt_tokens / 2


@pytest.mark.parametrize(
    "script",
    [READS, f"[{READS}, {READS}]", f"```json\n{READS}\n```", '{"name": "depth", "arguments": {"unit": 3}}'],
    ids=["one", "two", "a fence", "a misfit"],
)
def test_an_improbable_call_that_only_reads_is_made(gated: Callable[..., LlamaLLM], script: str) -> None:
    *_, end = gated(2.0, script, reading=0.25).stream(ask(tools=[look, depth], max_tokens=80), Event())
    assert isinstance(end, End)
    assert end.hidden is not None
    assert end.hidden.outcome == ("misfit" if "unit" in script else "called")
    assert end.reading is not None
    assert end.reading.opener_threshold == 0.25


@pytest.mark.parametrize(
    "script",
    [
        CALL,
        "{" + CALL + "}",
        f"[{READS}, {CALL}]",
        READS.replace("depth", "height"),
        '{"depth": 4}',
        READS + " I read it.",
    ],
    ids=["another tool", "doubled braces", "another tool, too", "no tool", "no call", "not alone"],
)
def test_of_an_improbable_reply_that_does_anything_else_nothing_is_told(
    gated: Callable[..., LlamaLLM], script: str
) -> None:
    *events, end = gated(2.0, script, reading=0.25).stream(ask(tools=[look, depth], max_tokens=80), Event())
    assert isinstance(end, End)
    assert end.reading is not None
    assert "Answer in words." in end.reading.prompt
    assert not [event for event in events if isinstance(event, ToolCallEnd)]
    assert not script.startswith(end.reading.raw[:5])


def test_after_a_result_reading_is_as_doubtful_as_anything(gated: Callable[..., LlamaLLM]) -> None:
    called = Message.assistant("", [ToolCall("call_1", "look")])
    messages = [Message.user("go"), called, Message.tool(ToolResult("call_1", "look", "ok", "a cube"))]
    reading = read(gated(2.0, READS, reading=0.25), ask(messages=messages, tools=[look, depth], max_tokens=80))
    assert "Answer in words." in reading.prompt


def test_a_doubtful_reply_that_is_stopped_is_not_asked_for_again(gated: Callable[..., LlamaLLM]) -> None:
    stop, llm = Event(), gated(2.0, CALL, reading=0.25)
    events = llm.stream(ask(tools=[look, depth]), stop)
    stop.set()
    *_, end = events
    assert isinstance(end, End)
    assert end.stop_reason == "aborted"


@pytest.mark.parametrize("script", [READS, "[laughs] I looked.", f"{READS}\n<tool_call>{CALL}</tool_call> and"])
@pytest.mark.parametrize("fails", [False, True], ids=["stopped", "failed"])
def test_of_a_doubtful_reply_that_is_cut_off_nothing_is_told(
    gated: Callable[..., LlamaLLM], monkeypatch: pytest.MonkeyPatch, script: str, fails: bool
) -> None:
    """Nobody knows what it would have come to: neither its text counts, nor a call with the template's tags."""
    stop, llm, request = Event(), gated(2.0, script, reading=0.25), ask(tools=[look, depth], max_tokens=80)
    before = llm.count_tokens(request)
    assert llm._loaded is not None
    engine, vocabulary = llm._loaded.engine, llm._loaded.prompter.vocabulary
    decode = engine.decode

    def cut(ids: Sequence[int]) -> bool:
        written = b"".join(map(vocabulary.piece, [*engine.evaluated, *ids][before:]))
        if len(written) > len(script) - 6:
            if fails:
                raise ModelError("llama.cpp can't go on")
            stop.set()
        return decode(ids)

    monkeypatch.setattr(engine, "decode", cut)
    (event,) = llm.stream(request, stop)
    assert isinstance(event, Error if fails else End)
    assert event.usage.output_tokens > 2


def test_a_reply_that_begins_with_words_is_left_alone(gated: Callable[..., LlamaLLM]) -> None:
    reading = read(gated(2.0, "Hello there"), ask())
    assert reading.raw.startswith("Hello there")
    assert "Answer in words." not in reading.prompt


def test_a_full_window_has_no_room_for_the_hint(gated: Callable[..., LlamaLLM]) -> None:
    llm = gated(2.0, CALL)
    room = llm.context_window - llm.count_tokens(ask())
    reading = read(llm, ask(max_tokens=room))
    assert reading.openers_masked
    assert "Answer in words." not in reading.prompt


TAGGED = ("<tool_call>", f"\n{CALL}\n", "</tool_call>")
ONLY_TAGGED = CallGate(first=0, reading=0, later=0, tagged=2)


@pytest.mark.parametrize("gate", [2.0, CallGate(first=2, reading=2, later=2)], ids=["a number", "a gate"])
def test_a_call_with_the_tags_of_the_template_needs_a_threshold_of_its_own(
    gated: Callable[..., LlamaLLM], gate: float | CallGate
) -> None:
    reading = read(gated(gate, *TAGGED), ask())
    assert not reading.openers_masked
    assert reading.opener_threshold == 0
    assert reading.raw.startswith("<tool_call>")


def test_below_its_threshold_a_call_with_tags_becomes_words(gated: Callable[..., LlamaLLM]) -> None:
    reading = read(gated(ONLY_TAGGED, *TAGGED), ask())
    assert reading.openers_masked
    assert reading.opener_threshold == 2
    assert "Answer in words." in reading.prompt
    assert reading.raw.strip()[:1].isalnum()


def test_an_improbable_call_with_tags_is_not_made_though_its_tool_reads(gated: Callable[..., LlamaLLM]) -> None:
    gate = CallGate(first=2, reading=0, later=0, tagged=2)
    reading = read(gated(gate, "<tool_call>", f"\n{READS}\n", "</tool_call>"), ask(tools=[look, depth]))
    assert not reading.raw.startswith("<tool_call>")


def test_the_threshold_of_tags_is_none_of_calls_without_them(gated: Callable[..., LlamaLLM]) -> None:
    assert read(gated(ONLY_TAGGED, CALL), ask()).raw.startswith(CALL[:9])


@pytest.mark.parametrize(
    ("said", "is_free"),
    [("For how long?", True), ("Did you mean the sofa? Say yes.", True), ("I see.", False)],
    ids=repr,
)
def test_who_answers_a_question_of_the_model_may_be_given_a_call(
    gated: Callable[..., LlamaLLM], said: str, is_free: bool
) -> None:
    aside = Message.user("temp=21", origin="ephemeral")
    messages = [Message.user("set a timer"), Message.assistant(said), Message.user("go"), aside]
    assert read(gated(ONLY_TAGGED, *TAGGED), ask(messages=messages)).raw.startswith("<tool_call>") == is_free


@pytest.mark.parametrize("status", ["ok", "invalid"])
def test_after_a_result_a_call_with_tags_is_free(gated: Callable[..., LlamaLLM], status: Status) -> None:
    called = Message.assistant("", [ToolCall("call_1", "look")])
    messages = [Message.user("go"), called, Message.tool(ToolResult("call_1", "look", status, "a cube"))]
    assert read(gated(ONLY_TAGGED, *TAGGED), ask(messages=messages)).raw.startswith("<tool_call>")


def test_a_result_has_a_threshold_of_its_own(babble_file: Path) -> None:
    llm = LlamaLLM(babble_file)
    said, called = Message.user("go"), Message.assistant("", [ToolCall("call_1", "look")])
    result = Message.tool(ToolResult("call_1", "look", "ok", "a cube"))
    first, later, again = (
        read(llm, ask(messages=messages)).opener_threshold
        for messages in (
            [said],
            [said, called, result, Message.user("temp=21", origin="ephemeral")],
            [said, called, result, Message.assistant("A cube."), said],
        )
    )
    assert first == again
    assert later != first
    llm.close()


@tool
def level_bed() -> str:
    """Measure how level the print bed is."""


@tool
def print_model(name: Literal["gear", "vase"], copies: int = 1) -> str:
    """Print a model."""


@tool
def fly_over(place: Literal["meadow"]) -> str:
    """Take a picture from above."""


@tool
def is_hot(part: str) -> str:
    """Whether a part of the printer is hot."""


PRINTER = [level_bed, print_model, is_hot, fly_over]


@pytest.mark.parametrize(
    "text",
    [
        "Check that the bed is level, please.",
        "could you measure the bed",
        "take the vase",
        "print two",
        "look, just level the beds",
        "can you print a vase?",
        "Fly over the meadow.",
        "fly two meters ahead",
    ],
)
def test_a_command_for_what_a_tool_can_do_has_a_lower_threshold(text: str) -> None:
    gate = CallGate(first=0.9, asked=0.5, reading=0.8, later=1)
    request = LLMRequest(messages=[Message.user(text)], tools=PRINTER)
    assert call_threshold(gate, request) == 0.5
    assert call_threshold(replace(gate, asked=1), request) == 0.9


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("tell me a joke", "user"),
        ("tell me how many beds there are", "user"),
        ("Don't check the bed.", "user"),
        ("make sure nobody moves the bed", "user"),
        ("let me check the bed", "user"),
        ("stay away from the bed", "user"),
        ("The bed is level.", "user"),
        ("Is the bed any good?", "user"),
        ("print is dead", "user"),
        ("what type of object are you", "user"),
        ("", "user"),
        ("level bed has ended: it is level", "follow_up"),
        ("Check the bed.", "continuation"),
    ],
)
def test_no_other_sentence_has_it(text: str, origin: Origin) -> None:
    request = LLMRequest(messages=[Message.user(text, origin=origin)], tools=PRINTER)
    assert call_threshold(CallGate(first=0.9, asked=0.5, reading=0.8, later=1), request) == 0.9


def _odd(kind: str) -> dict[str, Any]:
    """A schema that no tool of ours has, and an app's or a server's may."""
    inner: dict[str, Any] = {"type": "object"}
    whole: dict[str, Any] = {"type": "object", "properties": {"inner": inner}}
    match kind:
        case "deep" | "deepest":
            for _ in range(900 if kind == "deep" else 50_000):
                whole = {"type": "object", "properties": {"inner": whole}}
        case "holds itself":
            inner["properties"] = {"again": whole}
        case "refers to itself":
            whole["$defs"] = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
        case "no names":
            whole["properties"] = {("x", "y"): inner}
    return whole


@pytest.mark.parametrize("kind", ["deep", "deepest", "holds itself", "refers to itself", "no names"])
def test_a_schema_that_can_not_be_read_tells_nothing_of_a_tool_and_raises_nothing(kind: str) -> None:
    gate = CallGate(first=0.9, asked=0.5, reading=0.8, later=1)
    odd: Any = SimpleNamespace(name="level_bed", description="", parameters=_odd(kind))
    request = LLMRequest(messages=[Message.user("level the bed")], tools=[odd, print_model])
    assert call_threshold(gate, request) == 0.5
    assert call_threshold(gate, replace(request, messages=[Message.user("print the vase")])) == 0.5


@pytest.mark.parametrize(
    ("text", "made", "statuses"),
    [
        ("check the bed", 1, ["ok"]),
        ("it is crooked, check the bed", 1, ["ok"]),
        ("Thank you, now check the bed, please.", 1, ["ok"]),
        ("Hey Martin, check the bed and the nozzle", 1, ["ok"]),
        ("print the vase, ten centimetres high", 1, ["ok"]),
        ("check the bed and print the gear", 2, ["ok", "error"]),
        ("vase, please, and check the bed", 2, ["ok", "error"]),
        ("check the bed, print the gear, then turn it", 3, ["ok", "ok", "invalid", "ok"]),
        ("drive two and a half meters, then print", 2, ["ok", "ok"]),
        ("if the bed is level, print the gear", 2, ["ok", "ok"]),
        ("go and check the bed", 1, ["ok"]),
    ],
)
def test_after_as_many_calls_as_were_asked_for_the_threshold_is_another(
    text: str, made: int, statuses: list[Status]
) -> None:
    gate = CallGate(first=0.9, reading=0.8, later=1, further=0.4)
    messages, asked = [Message.user("hello"), Message.assistant("Hi."), Message.user(text)], list[float]()
    for number, status in enumerate(statuses):
        call = ToolCall(f"call_{number}", "level_bed")
        messages += [Message.assistant("", [call]), Message.tool(ToolResult(call.id, call.name, status, "done"))]
        if status != "invalid":  # such a call is tried again
            asked.append(call_threshold(gate, LLMRequest(messages=messages, tools=PRINTER)))
    assert asked == [0.4] * (made - 1) + [1]


def test_each_place_that_a_tool_knows_is_asked_for() -> None:
    gate = CallGate(first=0.9, reading=0.8, later=1, further=0.4)
    called = Message.assistant("", [ToolCall("call_1", "go_to")])
    result = Message.tool(ToolResult("call_1", "go_to", "ok", "done"))
    schema = {"type": "object", "properties": {"place": {"enum": ["hall", "living_room"]}}}
    tool: Any = SimpleNamespace(name="go_to", description="", parameters=schema)
    for text, threshold in (("go to the hall and the living room", 0.4), ("go to the hall, the usual way", 1)):
        request = LLMRequest(messages=[Message.user(text), called, result], tools=[tool])
        assert call_threshold(gate, request) == threshold


def test_what_was_asked_for_before_a_question_of_the_models_is_still_asked_for() -> None:
    gate = CallGate(first=0.9, reading=0.8, later=1, further=0.4)
    called = Message.assistant("", [ToolCall("call_1", "print_model")])
    result = Message.tool(ToolResult("call_1", "print_model", "ok", "done"))
    asked = [Message.user("print the gear and check the bed"), Message.assistant("How many?"), Message.user("four")]
    assert call_threshold(gate, LLMRequest(messages=[*asked, called, result], tools=PRINTER)) == 0.4


GOING_ON = CallGate(first=0.9, asked=0.6, reading=0.8, later=1, following=0.5)


def following(text: str, reply: str = "I printed the vase.") -> LLMRequest:
    messages = [Message.user("print the vase"), Message.assistant(reply), Message.user(text)]
    return LLMRequest(messages=messages, tools=PRINTER)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("again", 0.5),
        ("and the gear", 0.5),
        ("half of that", 0.5),
        ("check the bed", 0.5),
        ("good", 0.9),
        ("thank you", 0.9),
        ("the vase is red", 0.9),
        ("don't print it", 0.9),
        ("how are you?", 0.9),
        ("that was the vase?", 0.9),
        ("Thanks, well done.", 0.9),
        ("you must be tired", 0.9),
        ("well done", 0.9),
        ("no", 0.9),
        ("tell me a joke", 0.9),
        ("guten Morgen", 0.9),
        ("no, the gear", 0.5),
        ("well done, now print the gear", 0.5),
        ("can you print the gear?", 0.5),
    ],
)
def test_what_is_said_after_a_reply_has_a_threshold_of_its_own(text: str, threshold: float) -> None:
    assert call_threshold(GOING_ON, following(text)) == threshold
    first = replace(following(text), messages=[Message.user(text)])
    assert call_threshold(GOING_ON, first) == call_threshold(replace(GOING_ON, following=1), first)


def test_the_answer_to_a_question_has_it_unless_it_is_a_no() -> None:
    assert call_threshold(GOING_ON, following("good", "The vase or the gear?")) == 0.5
    assert call_threshold(GOING_ON, following("no thanks", "Shall I print on?")) == 0.9


def test_a_question_after_a_reply_may_be_answered_by_reading() -> None:
    assert reading_threshold(GOING_ON, following("how hot is it?")) == 0.5
    assert reading_threshold(GOING_ON, ask("how hot is it?")) == 0.8


@pytest.mark.parametrize("text", ["thank you", "don't print it"])
def test_talk_after_a_reply_reads_as_seldom_as_before(text: str) -> None:
    assert reading_threshold(GOING_ON, following(text)) == 0.8


def test_what_only_an_app_said_before_is_no_reply() -> None:
    messages = [replace(Message.assistant("a hint"), origin="ephemeral"), Message.user("again")]
    assert call_threshold(GOING_ON, LLMRequest(messages=messages, tools=PRINTER)) == 0.9


def test_a_reply_that_is_continued_has_the_threshold_of_a_first_one() -> None:
    request = following("Go on.")
    continued = replace(request.messages[-1], origin="continuation")
    assert call_threshold(GOING_ON, replace(request, messages=[*request.messages[:-1], continued])) == 0.9


def test_who_was_told_of_earlier_turns_is_asked_for_words_whatever_the_reply_began_with(
    scripted_file: Callable[..., Path],
) -> None:
    """Else it recites them."""
    earlier = [Message.user("go"), Message.assistant("I went."), Message.user("thank you")]
    call = ToolCall("call_1", "look")
    first = [
        Message.user("go"),
        Message.assistant("", [call]),
        Message.tool(ToolResult(call.id, "look", "ok", "a cube")),
    ]
    for messages, hinted in ((earlier, True), (earlier[:1], False), (first, False)):
        llm = LlamaLLM(scripted_file(["The robot went."], FAMILY), call_gate=2.0, retell=True)
        assert ("Answer in words." in read(llm, ask(messages=messages)).prompt) is hinted
        llm.close()


def test_a_file_of_the_catalogue_is_known_by_its_size(write: Callable[..., Path]) -> None:
    path = write()
    known = next(entry for entry in language_models().values() if entry.name == "qwen2.5-coder-1.5b")
    with path.open("ab") as file:
        file.truncate(known.bytes or 0)
    llm = LlamaLLM(path, settings=EngineSettings(mmap=False))  # of the file, most is a hole
    assert known.call_gate is not None
    assert read(llm, ask()).opener_threshold == known.call_gate.first
    llm.close()


def test_a_reply_that_would_have_begun_no_call_stays_as_it_was(babble_file: Path) -> None:
    free, gated = (LlamaLLM(babble_file, call_gate=gate) for gate in (0, 0.9))
    for text in PROMPTS:
        before, after = (read(llm, ask(text, max_tokens=12)) for llm in (free, gated))
        assert after.raw == before.raw or before.raw.strip().startswith(OPENERS)
    free.close()
    gated.close()


def test_the_probability_is_that_of_all_openers_together(babble_file: Path) -> None:
    llm = LlamaLLM(babble_file, call_gate=0)
    reading = read(llm, ask(max_tokens=1))
    assert llm._loaded is not None
    weights = np.exp(llm._loaded.engine.logits.astype(np.float64))
    vocabulary = llm._loaded.prompter.vocabulary
    texts = [vocabulary.text_of(token).lstrip() for token in range(vocabulary.size)]
    opens = [text.startswith(OPENERS) and not text.startswith(("<|", "</", "<think>")) for text in texts]
    assert "<tool_call>" in [text for text, does in zip(texts, opens, strict=True) if does]
    assert reading.opener_probability == pytest.approx(weights[opens].sum() / weights.sum(), rel=1e-4)
    llm.close()


@pytest.mark.parametrize(
    "script",
    [
        ["<tool_call>", f"\n{CALL}\n", "</tool_call>"],
        ["\n", "\n", "<tool_call>", f"\n{CALL}\n", "</tool_call>"],
        ["<think>", "\nOne could look.\n", "</think>", "\n\n", "<tool_call>", f"\n{CALL}\n", "</tool_call>"],
    ],
    ids=["at once", "after blanks", "after reasoning"],
)
def test_a_probable_call_is_begun(says: Callable[..., LlamaLLM], script: list[str]) -> None:
    llm = says(script)
    *events, end = llm.stream(ask(thinking_level="high"), Event())
    assert [event.call.name for event in events if isinstance(event, ToolCallEnd)] == ["look"]
    assert isinstance(end, End)
    assert end.reading is not None
    assert end.reading.raw == "".join(script)
    assert end.reading.opener_probability == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("begin", [CALL, f"[{CALL}]", f"```json\n{CALL}\n```", "{{", "<tools>"])
def test_a_call_of_any_form_counts(says: Callable[..., LlamaLLM], begin: str) -> None:
    assert read(says([begin], FAMILY), ask()).opener_probability == pytest.approx(1, abs=0.05)


def test_prose_is_no_call(says: Callable[..., LlamaLLM]) -> None:
    reading = read(says(["I see a {cube}."], FAMILY), ask())
    assert reading.raw == "I see a {cube}."
    assert reading.opener_probability == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"tools": []},
        {"tool_choice": "required"},
        {"response_schema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    ],
    ids=["no tools", "required", "schema"],
)
def test_nobody_asks_where_the_model_has_no_choice(babble_file: Path, options: dict[str, Any]) -> None:
    llm = LlamaLLM(babble_file, call_gate=1)
    reading = read(llm, ask(**options))
    assert (reading.opener_probability, reading.openers_masked) == (None, False)
    llm.close()


@pytest.mark.parametrize("call", [CALL, f"<tool_call>{CALL}</tool_call>"], ids=["bare", "tags"])
def test_where_no_call_may_be_made_the_model_talks(gated: Callable[..., LlamaLLM], call: str) -> None:
    """However probable its call is; without a gate it does as it likes."""
    reading = read(gated(0.01, call), ask(tool_choice="none"))
    assert reading.openers_masked
    assert not reading.raw.lstrip().startswith(OPENERS)
    assert read(gated(0, call), ask(tool_choice="none")).raw.startswith(call[:9])


def test_nano_has_a_gate_for_its_tags_only() -> None:
    (known,) = (entry.call_gate for entry in language_models().values() if entry.name == "nano")
    assert known is not None
    assert (known.first, known.reading, known.later) == (0, 0, 0)
    llm = LlamaLLM("nano")
    for text in ("look around", "hello", "tell me a story about a cube"):
        reading = read(llm, ask(text))
        begins = reading.raw.startswith("<tool_call>")
        assert begins == ((reading.opener_probability or 0) >= known.tagged)
    llm.close()
