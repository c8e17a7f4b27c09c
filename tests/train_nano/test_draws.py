"""What the generator draws is right by rule: calls that the tools take, none where nothing was asked, nothing twice."""

import random
from itertools import islice, pairwise

import pytest

from edgeagent.english import amounts_of, derived, words_of
from edgeagent.house import HouseRobot
from edgeagent.train import number


@pytest.fixture(scope="module")
def speaker(corpus):
    from utterances import Speaker

    return Speaker(corpus, random.Random("draws"))


@pytest.fixture(scope="module")
def house():
    from dialogue import Setting
    from tools import HOUSE_SYSTEM, HOUSE_TOOLS, name_of

    return Setting(HOUSE_SYSTEM, HOUSE_TOOLS, frozenset(map(name_of, HOUSE_TOOLS)), ())


def made(messages):
    """The calls of each turn of the assistant."""
    for message in messages:
        yield [each["function"] for each in message.get("tool_calls", ())]


def test_no_request_calls_twice_what_does_nothing_twice(corpus):
    from generate import Generator
    from orders import once_each
    from results import Call

    for item in islice(Generator(corpus, "twice").labelled(), 700):
        calls = tuple(Call(each["name"], each["arguments"]) for each in item["calls"])
        assert once_each(calls), item


def test_every_rule_says_what_it_calls_once(corpus, speaker):
    from orders import once_each

    for rule in corpus.rules:
        assert once_each(speaker.realise(rule).calls()), rule.where


def test_every_value_of_a_call_was_said(corpus, speaker):
    """A pattern that draws one kind of slot and calls another would call what nobody has said."""
    from grammar import Slot

    for rule in corpus.rules:
        wanted = {value.key for call in rule.calls for _, value in call.arguments if isinstance(value, Slot)}
        for _ in range(4 if wanted else 0):
            assert wanted <= {piece.key for piece in speaker.realise(rule).pieces if isinstance(piece, Slot)}, (
                rule.where
            )


def test_lists_have_a_call_for_each_of_their_items(speaker):
    from lists import listed
    from orders import once_each

    for _ in range(500):
        said = listed(speaker)
        assert len(said.calls) >= 2, said
        assert once_each(said.calls), said
        assert "{" not in said.text, said


def test_one_thing_asked_for_in_two_ways_is_one_call(speaker):
    import orders

    drawn = [orders.alike(speaker) for _ in range(50)]
    assert all(len(said.calls) == 1 for said in drawn)
    assert {said.calls[0].name for said in drawn} > {"scan", "look", "dock"}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("carry the cup", "carries the cup"),
        ("survey the room", "surveys the room"),
        ("go left", "goes left"),
        ("fetch the keys", "fetches the keys"),
        ("look", "looks"),
        ("quack", None),
    ],
)
def test_what_somebody_else_does(scripts_on_path, command, told):
    from inflection import present

    assert present(command) == told


def test_past_tenses(scripts_on_path):
    from inflection import past

    assert past("go to the kitchen") == "went to the kitchen"
    assert past("back up two meters") == "backed up two meters"
    assert past("zigzag home") is None


def test_nothing_calls_nothing_and_has_a_reply(speaker):
    from nothing import Nothing

    nothing = Nothing(speaker)
    for _ in range(2000):
        said = nothing.draw()
        assert said.calls == ()
        assert said.text.strip()
        assert said.reply


def test_every_call_of_a_dialogue_is_accepted_by_its_tool(corpus, house):
    from generate import Generator

    tools = {tool.name: tool for tool in HouseRobot().tools}
    generator = Generator(corpus, "dialogues")
    for _ in range(150):
        messages = generator.dialogue(house, turns=4)
        for calls in made(messages):
            for call in calls:
                plain, _ = tools[call["name"]].signature.validate(call["arguments"])
                assert plain == call["arguments"]
        for asked, answer in pairwise(messages):
            if asked["role"] in ("user", "tool") and answer["role"] == "assistant":
                assert answer["content"] or answer.get("tool_calls"), messages


def test_back_is_where_the_robot_was_and_not_where_it_failed_to_go(scripts_on_path):
    from referring import Past
    from results import Call, Outcome

    calls = tuple(Call("go_to", {"place": place}) for place in ("kitchen", "office"))
    outcomes = [Outcome("arrived", "am there", True), Outcome("error: blocked", "could not", False)]
    assert Past().after(calls, outcomes).places == ("kitchen",)


def test_a_turn_may_mean_several_turns_before_it(scripts_on_path):
    from recalling import draw
    from referring import Past
    from results import Call, Outcome

    lights = [Call("set_light", {"place": place, "on": True}) for place in ("kitchen", "office", "garage")]
    past = Past()
    for light in lights:
        past = past.after((light,), [Outcome("on", "is on", True)])
    draws = [said for seed in range(300) if (said := draw(random.Random(seed), past)) is not None]
    off = [{call.arguments["place"]: call.arguments["on"] for call in said.calls} for said in draws]
    assert {"kitchen": False, "office": False, "garage": False} in off
    assert all("second" in said.text for said in draws if [c.arguments["place"] for c in said.calls] == ["office"])


def test_what_is_held_is_put_down_and_what_was_put_down_is_fetched(scripts_on_path):
    from recalling import draw
    from referring import Past
    from results import Call, Outcome

    held = Past().after((Call("pick_up", {"object": "cup"}),), [Outcome("picked up the cup", "picked it up", True)])
    put = held.after((Call("put_down", {"place": "sofa"}),), [Outcome("put the cup down", "put it down", True)])
    assert (held.held, put.held, put.left) == ("cup", "", "cup")
    for past, names in ((held, {("put_down",), ()}), (put, {("pick_up",), ("pick_up", "put_down"), ()})):
        draws = [said for seed in range(200) if (said := draw(random.Random(seed), past)) is not None]
        assert {tuple(call.name for call in said.calls) for said in draws} == names


def test_the_verb_tells_a_value(scripts_on_path, monkeypatch):
    import paired

    monkeypatch.setattr(paired, "_SWITCHES", (("locked", "lock,secure", "unlock,release"),))
    rng = random.Random("pairs")
    tools = [paired.make(rng, ("gate",)) for _ in range(200)]
    said = [tool.say(rng) for tool in tools if "locked" in tool.spec["function"]["parameters"]["properties"]]
    values = [one.calls[0].arguments["locked"] for one in said]
    released = ["unlock" in one.text.lower() or "release" in one.text.lower() for one in said]
    assert {True, False} == set(values)
    is_right = [freed is not value for freed, value in zip(released, values, strict=True)]
    assert sum(is_right) >= 0.9 * len(said)  # the rest is mistyped


def test_a_chain_has_the_calls_of_its_parts_and_loses_none(speaker):
    from orders import chain, joined

    rng = random.Random(1)
    for count in (2, 3, 4):
        for _ in range(200):
            said = chain(speaker, count, speaker.joined if count == 2 else lambda texts: joined(rng, texts))
            assert len(said.calls) >= count


@pytest.mark.parametrize("kind", ["dist", "negdist", "angle", "parts", "negangle"])
def test_amounts_are_those_that_the_product_reads(scripts_on_path, kind):
    """The hook for grounded arguments would ask about another one."""
    from slots import KINDS

    rng, missed = random.Random(kind), set()
    for _ in range(1500):
        drawn = KINDS[kind](rng)
        words = words_of(f"drive {drawn.surface}")
        said = amounts_of(words)
        if not any(one.is_about(drawn.value) for one in (*said, *derived(said, words))):
            missed.add(drawn.surface)
    assert len(missed) <= 15, missed


@pytest.mark.parametrize(("unit", "meters"), [("foot", 0.3048), ("inch", 0.0254), ("yard", 0.9144), ("decimeter", 0.1)])
def test_a_converted_length_has_three_decimals(scripts_on_path, unit, meters):
    import amounts

    rng = random.Random(unit)
    said = dict(amounts.length(rng) for _ in range(3000))
    assert said[f"one {unit}"] == number(round(meters, 3))
    assert all(round(value, 3) == value for value in said.values())


def test_a_direction_taken_back_is_the_other_one(scripts_on_path):
    from corrections import contrary
    from results import Call

    assert contrary(Call("turn", {"angle_deg": 90})) == Call("turn", {"angle_deg": -90})
    assert contrary(Call("drive", {"distance_m": -0.5})) == Call("drive", {"distance_m": 0.5})
    assert contrary(Call("set_light", {"place": "office", "on": True})).arguments["on"] is False
    assert contrary(Call("look", {"direction": "ahead"})) is None


@pytest.mark.parametrize(
    ("calls", "outcomes", "wanted"),
    [
        (["set_light kitchen on", "set_light office on"], ["ok", "ok"], {"kitchen": False, "office": False}),
        (["go_to kitchen", "go_to office"], ["error", "not run"], None),
    ],
)
def test_follow_ups_know_what_was_done(scripts_on_path, calls, outcomes, wanted):
    from referring import Past, draw
    from results import Call, Outcome

    made = []
    for text in calls:
        name, place, *on = text.split()
        made.append(Call(name, {"place": place} | ({"on": on == ["on"]} if on else {})))
    told = tuple(Outcome({"not run": "not run: stopped"}.get(one, one), one, one == "ok") for one in outcomes)
    past = Past().after(tuple(made), told)
    draws = [said for seed in range(300) if (said := draw(random.Random(seed), past)) is not None]
    if wanted is not None:
        both_off = [s for s in draws if {c.arguments["place"]: c.arguments["on"] for c in s.calls} == wanted]
        assert any("both" in said.text for said in both_off)
    else:
        rest = [said for said in draws if "rest" in said.text]
        assert rest
        assert all(said.calls == tuple(made[1:]) for said in rest)


def test_an_answer_follows_its_question_and_makes_the_call(speaker, house):
    from answers import asked_about
    from dialogue import Author

    rng = random.Random("answers")
    for _ in range(500):
        said = asked_about(rng)
        assert (said.calls, said.reply[-1]) == ((), "?")
        assert said.answer is not None
        assert said.tools == {call.name for call in said.answer.calls}
        assert bool(said.answer.calls) != bool(said.answer.reply)

    author = Author(speaker, rng)
    asked = answered = 0
    for _ in range(3000):
        for question, _, then in zip(messages := author.dialogue(house), messages[1:], messages[2:], strict=False):
            if question["content"] in ("For how long?", "How long?"):
                asked += 1
                calls = [each["function"]["name"] for each in then.get("tool_calls", ())]
                answered += calls == ["set_timer"]
    assert answered > asked / 2 > 3


def test_robots_of_other_tools_ask_for_what_is_left_out(scripts_on_path):
    import foreign

    rng = random.Random("left out")
    astray = [said for _ in range(3000) if (said := foreign.draw(rng, 1)[0].astray(rng)) is not None]
    answers = [said.answer for said in astray if said.answer is not None]
    assert len(answers) > 100
    for said in answers:
        (call,) = said.calls
        assert call.arguments


def test_tools_under_other_names_are_called_by_them(corpus):
    from generate import Generator

    generator = Generator(corpus, "renamed")
    renamed = [setting for _ in range(600) if (setting := generator.setting()).renaming is not None]
    assert len(renamed) > 20
    seen = set()
    for setting in renamed:
        assert not setting.whole
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in setting.tools}
        assert len(schemas) == len(setting.tools)
        for calls in made(generator.dialogue(setting)):
            for each in calls:
                schema = schemas[each["name"]]
                assert set(schema["required"]) <= set(each["arguments"]) <= set(schema["properties"])
                seen.add(each["name"])
    assert not seen.isdisjoint({"rotate", "grab", "halt", "navigate_to", "start_timer"})
