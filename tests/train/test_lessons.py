"""Examples drawn from an app's tools and phrases: right calls, in the prompt that the model gets."""

import random
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from edgeagent import Agent, ConfigError, LlamaLLM, Message, Tool, tool
from edgeagent.llm import LLMRequest
from edgeagent.train import (
    AppAuthor,
    Encoder,
    Lessons,
    Phrase,
    Reminder,
    TaughtApp,
    TaughtCall,
    Values,
    fill,
    frame_of,
    read_phrases,
    templates_of,
)

DRAWS = 300


def draws(phrase: Phrase, tools: list[Tool]) -> dict[str, tuple[TaughtCall, ...]]:
    known = {tool.name: tool for tool in tools}
    values = Values.of(tools, [phrase], ["wooden spoon"], random.Random(1))
    made = [fill(frame_of(phrase, known), values)[1] for _ in range(8 * DRAWS)]
    return {said.text: said.calls for said in made}


@pytest.mark.parametrize(
    ("phrase", "also"),
    [
        ("scan the third pallet = scan_pallet(number=3)", {"scan pallet 7": 7, "scan pallet number four": 4}),
        ("scan pallet 12 = scan_pallet(number=12)", {"scan the second pallet": 2, "scan pallet nine": 9}),
        ("lift it half a meter = raise_fork(height_cm=50)", {"lift it a meter": 100, "lift it ten centimeters": 10}),
        ("go at fast speed = set_speed(level='fast')", {"go at slow speed": "slow"}),
        ("turn the lamp on = set_lamp(on=true)", {"turn the lamp off": False}),
        ("pick the mug = pick_order(code='mug')", {"pick the wooden spoon": "wooden spoon"}),
    ],
)
def test_other_values_take_the_place_of_the_said_one(
    phrase: str, also: dict, tools: list[Tool], tmp_path: Path
) -> None:
    (tmp_path / "p.txt").write_text(phrase, encoding="utf-8")
    made = draws(read_phrases(tmp_path / "p.txt", tools)[0], tools)
    for text, value in also.items():
        (call,) = made[text]
        assert list(call.arguments.values()) == [value]


def test_a_value_that_is_not_said_stays(tools: list[Tool]) -> None:
    phrase = Phrase("hurry up", (TaughtCall("set_speed", {"level": "fast"}),))
    assert set(draws(phrase, tools)) == {"hurry up"}


def test_a_code_keeps_its_case_and_is_said_as_it_is_called(tools: list[Tool]) -> None:
    for text, (call,) in draws(Phrase("pick order B17", (TaughtCall("pick_order", {"code": "B17"}),)), tools).items():
        assert text == f"pick order {call.arguments['code']}"


def test_every_drawn_call_fits_its_tool(agent: Agent, phrases_file: Path, replay: list[Reminder]) -> None:
    tools = {tool.name: tool for tool in agent.tools}
    app = TaughtApp(agent.instructions, tuple(agent.tools), tuple(read_phrases(phrases_file, agent.tools)))
    author = AppAuthor(app, agent.tools, replay, random.Random(3))
    kinds = set()
    for _ in range(DRAWS // 3):
        dialogue = author.dialogue()
        assert dialogue[0].role == "user"
        assert dialogue[-1].role == "assistant"
        for message in dialogue:
            kinds.add((message.role, min(2, len(message.tool_calls))))
            for call in message.tool_calls:
                assert tools[call.name].signature.validate(call.arguments)[0] == call.arguments
    assert kinds == {("user", 0), ("assistant", 0), ("assistant", 1), ("assistant", 2), ("tool", 0)}


def test_results_are_read_from_the_source_of_a_tool(tools: list[Tool]) -> None:
    (template,) = templates_of(tools[0])
    assert template[0] == "pallet "


def test_a_lesson_is_the_prompt_and_the_reply_of_a_run(nano: LlamaLLM, agent: Agent) -> None:
    encoder = Encoder(nano)
    messages = [Message("user", "scan pallet 3"), Message("assistant", "I can't.")]
    prefix, lesson = encoder.prefix(agent.instructions, list(agent.tools)), encoder.dialogue(messages)
    asked = LLMRequest(system=agent.instructions, tools=list(agent.tools), messages=messages[:1])
    prompt = nano.tokenize(asked)
    assert (prefix + lesson.ids)[: len(prompt)] == prompt
    learnt = [at for at, weight in enumerate(lesson.weights) if weight]
    assert learnt == list(range(len(prompt) - len(prefix), len(lesson.ids) - 1))


def test_the_same_seed_gives_the_same_batches(
    nano: LlamaLLM, agent: Agent, phrases_file: Path, replay: list[Reminder]
) -> None:
    phrases = read_phrases(phrases_file, agent.tools)
    one, same, other = (next(Lessons(agent, nano, phrases, replay, seed).batches()) for seed in ("1", "1", "2"))
    assert (one.ids == same.ids).all()
    assert one.ids.shape == other.ids.shape
    assert (one.ids != other.ids).any()


def test_a_draw_that_does_not_fit_its_tool_gives_way(tmp_path: Path) -> None:
    @tool
    def park(bay: Literal[2, 4, 8], code: Annotated[str, Field(pattern="^[A-Z]{2}7$")]) -> str:
        return "parked"

    (tmp_path / "p.txt").write_text("park in bay four with AB7 = park(bay=4, code='AB7')", encoding="utf-8")
    made = draws(read_phrases(tmp_path / "p.txt", [park])[0], [park])
    assert made["park in bay four with AB7"] == (TaughtCall("park", {"bay": 4, "code": "AB7"}),)
    for (call,) in made.values():
        assert park.signature.validate(call.arguments)[0] == call.arguments


def test_tools_without_room_for_dialogues_are_refused(
    nano: LlamaLLM, agent: Agent, phrases_file: Path, replay: list[Reminder]
) -> None:
    phrases = read_phrases(phrases_file, agent.tools)
    agent.instructions = "Be kind to all of them, and mind the cat. " * 900
    with pytest.raises(ConfigError, match="shorten them"):
        Lessons(agent, nano, phrases, replay, "1")
