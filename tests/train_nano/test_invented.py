"""Invented tools: their calls fit them, what is to be copied was said, and the model is shown their descriptions."""

import random

import pytest

from edgeagent import Message
from edgeagent.house import HouseRobot
from edgeagent.llm import ChatTemplate, as_chat, as_tools
from edgeagent.tools import coerce
from edgeagent.train import OfferedTool

SETTINGS = 300


@pytest.fixture(scope="module")
def robots():
    import foreign

    rng = random.Random("invented")
    return rng, [foreign.draw(rng, rng.randint(1, 9)) for _ in range(SETTINGS)]


def texts(value):
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def test_calls_fit_their_tools_and_names_are_said(robots):
    rng, drawn = robots
    for tools in drawn:
        for tool in tools:
            parameters = tool.spec["function"]["parameters"]
            for _ in range(4):
                said = tool.say(rng)
                (call,) = said.calls
                assert coerce(call.arguments, parameters) == call.arguments
                for name, value in call.arguments.items():
                    if "enum" in str(parameters["properties"][name]):
                        continue
                    if tool.fleet is None:
                        assert all(one in said.text for one in texts(value)), said
                    else:
                        assert all(one.casefold() in said.text.casefold() for one in texts(value)), said


def test_two_calls_of_one_tool_fit_it_and_differ(robots):
    rng, drawn = robots
    told = [(tool, tool.invented.twice(rng)) for tools in drawn for tool in tools if tool.invented is not None]
    said = [(tool, both) for tool, both in told if both is not None]
    assert len(said) > SETTINGS / 2
    for tool, both in said:
        one, two = (coerce(call.arguments, tool.spec["function"]["parameters"]) for call in both.calls)
        assert one != two


def test_what_is_looked_up_is_one_thing(scripts_on_path):
    import lookups

    rng = random.Random("lookups")
    for tool in (lookups.make(rng) for _ in range(200)):
        said = tool.say(rng)
        (call,) = said.calls
        (value,) = call.arguments.values()
        assert coerce(call.arguments, tool.spec["function"]["parameters"]) == call.arguments
        assert isinstance(value, int) or value in said.text or value.lower() in said.text.lower()


def test_talk_about_a_tool_s_thing_has_its_words(robots):
    import invented

    rng, drawn = robots
    counted = 0
    for tools in drawn:
        mine = [one.invented for one in tools if one.invented is not None]
        if (remark := invented.remark(rng, mine)) is not None:
            assert any(word in remark for one in mine for part in one.words for word in part), remark
            counted += 1
    assert counted > SETTINGS / 6


def test_names_of_tools_differ(robots):
    _, drawn = robots
    for tools in drawn:
        names = [tool.spec["function"]["name"] for tool in tools]
        assert len(set(names)) == len(names)


def test_what_comes_close_to_a_call_has_none(robots):
    rng, drawn = robots
    found = [tool.astray(rng) for tools in drawn for tool in tools]
    assert sum(one is not None for one in found) > SETTINGS
    assert all(one.reply and not one.calls for one in found if one is not None)


def test_training_and_product_show_invented_tools_alike(robots):
    from template import TEMPLATE, render

    product = ChatTemplate(TEMPLATE, "nano")
    for tools in robots[1]:
        specs = [tool.spec for tool in tools]
        offered = [OfferedTool(**one["function"]) for one in specs]
        shown = product.render(
            lambda as_text: as_chat("Act.", [Message.user("hello")], str, arguments_as_text=as_text),
            as_tools(offered, str),
            thinking=None,
            bos="",
            eos="<|im_end|>",
        )
        trained = [{"role": "system", "content": "Act."}, {"role": "user", "content": "hello"}]
        assert shown == render(trained, specs, generation_prompt=True)


def test_only_tools_that_are_not_known_by_heart_are_described():
    from template import render

    house = render([], as_tools(HouseRobot().tools, str))
    assert "=" not in house
    other = HouseRobot().tools[0]
    described = OfferedTool(other.name, "Drill a hole. Of any size.", other.parameters)
    assert f"{other.name}(distance_m: number) = drill a hole<" in render([], as_tools([described], str))
