"""The phrase files and the evaluation sets say what the house robot's tools can take."""

import itertools
import json
import threading

import pytest

from edgeagent import Message
from edgeagent.house import HouseRobot
from edgeagent.llm import ChatTemplate, LLMRequest, as_chat, as_tools
from edgeagent.resources import models_dir


@pytest.fixture(scope="module")
def tools():
    return {tool.name: tool for tool in HouseRobot().tools}


def check(calls, tools):
    for made in calls:
        plain, _ = tools[made["name"]].signature.validate(made["arguments"])
        assert plain == made["arguments"]


def test_every_draw_calls_what_the_robot_has(corpus, tools):
    from generate import Generator

    for item in itertools.islice(Generator(corpus, "test").labelled(), 1000):
        assert item["text"].strip()
        check(item["calls"], tools)


def test_the_same_seed_draws_the_same(corpus):
    from generate import Generator

    def draw(seed):
        return list(itertools.islice(Generator(corpus, seed).texts(), 20))

    assert draw("a") == draw("a")
    assert draw("a") != draw("b")


@pytest.mark.parametrize(("name", "least"), [("ours.jsonl", 200), ("other_hand.jsonl", 100)])
def test_the_evaluation_sets_are_sound(scripts_on_path, tools, name, least):
    lines = (scripts_on_path / "evaluation" / name).read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    assert len({item["text"] for item in items}) == len(items) >= least
    for item in items:
        check(item["calls"], tools)
        assert ("command" if item["calls"] else "no_call") in item["tags"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("go => fly()extra", "bad.txt:1"),
        ("go (there => stop()", "bad.txt:1"),
        ("go <place> => drive(distance_m=<dist>)", "<dist:1> is not in the pattern"),
        ("just words", "PATTERN => ACTION"),
    ],
)
def test_a_wrong_rule_is_named_with_file_and_line(tmp_path, line, says):
    from grammar import GrammarError, load

    path = tmp_path / "bad.txt"
    path.write_text(line)
    with pytest.raises(GrammarError, match=r"bad\.txt:1") as caught:
        load([path])
    assert says in str(caught.value)


def test_training_and_product_show_the_model_the_same_prompt(nano):
    from template import render
    from tools import HOUSE_SYSTEM, HOUSE_TOOLS

    from edgeagent.app import INSTRUCTIONS

    assert HOUSE_SYSTEM == INSTRUCTIONS
    said = [{"role": "system", "content": HOUSE_SYSTEM}, {"role": "user", "content": "drive two meters"}]
    trained = render(said, list(HOUSE_TOOLS), generation_prompt=True)
    messages = [Message.user("drive two meters")]
    tools = HouseRobot().tools
    shown = ChatTemplate(nano.header.template, "nano").render(
        lambda as_text: as_chat(INSTRUCTIONS, messages, str, arguments_as_text=as_text),
        as_tools(tools, str),
        thinking=None,
        bos="",
        eos="<|im_end|>",
    )
    assert shown == trained
    assert nano.count_tokens(LLMRequest(system=INSTRUCTIONS, messages=messages, tools=tools)) < 400


def test_the_model_answers_within_its_window(nano):
    request = LLMRequest(messages=[Message.user("hello")], max_tokens=64)
    assert nano.complete(request, threading.Event()).stop_reason == "stop"


def test_the_list_beside_the_weights_is_the_generator_s():
    from tools import HOUSE_TOOLS, listed

    assert (models_dir() / "nano.toml").read_text(encoding="utf-8") == listed(HOUSE_TOOLS)
