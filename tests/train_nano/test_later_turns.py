"""Later turns: what they leave out, change or correct of what was done, and dialogues that stand in files."""

import random

import pytest

from edgeagent.house import HouseRobot

DRAWS = 4000


@pytest.fixture(scope="module")
def rng():
    return random.Random("later")


@pytest.fixture
def draws(scripts_on_path, rng):
    """What is said after calls that went well, each in a turn of its own unless they are in a list."""
    import changing
    from referring import Past
    from results import Call, outcome

    def draws(*turns):
        past = Past()
        for turn in turns:
            calls = tuple(Call(name, arguments) for name, arguments in (turn if isinstance(turn, list) else [turn]))
            past = past.after(calls, [outcome(rng, call) for call in calls])
        said = (changing.draw(rng, past) for _ in range(DRAWS))
        return [one for one in said if one is not None]

    return draws


def calls_of(said):
    return [(call.name, call.arguments) for call in said.calls]


LIGHT, SCAN, TIMER = ("set_light", {"place": "office", "on": True}), ("scan", {}), ("set_timer", {"duration_s": 90})


def test_what_is_left_out_is_named_and_the_rest_is_done_again(draws):
    said = [one for one in draws([LIGHT, SCAN, TIMER]) if "without the timer" in one.text]
    assert said
    assert all(calls_of(one) == [LIGHT, SCAN] for one in said)


def test_a_call_of_an_earlier_turn_is_named_by_what_it_is(draws):
    said = [one for one in draws(TIMER, LIGHT) if one.text == "the timer again"]
    assert said
    assert all(calls_of(one) == [TIMER] for one in said)


def test_a_part_of_a_value_is_computed(draws):
    said = {one.text: calls_of(one) for one in draws(("drive", {"distance_m": 2}))}
    assert said["a quarter of that"] == [("drive", {"distance_m": 0.5})]
    backwards = [calls for text, calls in said.items() if "three times that" in text and "reverse" in text]
    assert backwards
    assert all(calls == [("drive", {"distance_m": -6})] for calls in backwards)


def test_a_correction_turns_the_side_or_takes_the_other_name(draws):
    said = [one for one in draws(("turn", {"angle_deg": 30})) if one.text.startswith("wrong way")]
    assert said
    assert all(calls_of(one) == [("turn", {"angle_deg": -30})] for one in said)
    put = [("pick_up", {"object": "cup"}), ("put_down", {"place": "sofa"})]
    pairs = [calls for calls in map(calls_of, draws(put)) if len(calls) == 2]
    both = [(one, other) for one, other in pairs if (one[0], other[0]) == ("pick_up", "put_down")]
    assert both
    assert all(one != put[0] and other == put[1] for one, other in both)


def test_an_amount_keeps_its_unit_or_takes_another_one(scripts_on_path, rng):
    import changing

    for _ in range(DRAWS):
        first = changing.in_units(rng)
        assert len(first.calls) == len(first.answer.calls) == 1
        assert first.calls[0].name == first.answer.calls[0].name
        assert first.calls != first.answer.calls


def test_every_dialogue_of_the_files_calls_what_the_robot_takes(scripts_on_path):
    import scenes
    from grammar import Grammar
    from utterances import Speaker

    tools = {tool.name: tool for tool in HouseRobot().tools}
    read = scenes.load(sorted(scenes.FOLDER.glob("*.txt")))
    assert len(read) > 400
    speaker = Speaker(Grammar(), random.Random("scenes"))
    for _ in range(3000):
        said = scenes.draw(speaker)
        while said is not None:
            assert said.text
            assert bool(said.calls) != bool(said.reply)
            for call in said.calls:
                plain, _ = tools[call.name].signature.validate(call.arguments)
                assert plain == call.arguments
            said = said.answer


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("go there => go_to(place=<place>)", "scene.txt:1"),
        ("hello => wave", "not a call"),
        ('go to <moon> => none "No."', "no slot"),
        ('drive <dist> => none "I drove <dist>."', "a reply has no slot"),
    ],
)
def test_a_wrong_line_of_a_dialogue_is_named(scripts_on_path, tmp_path, text, told):
    import scenes
    from grammar import GrammarError

    path = tmp_path / "scene.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GrammarError, match=r"scene\.txt:1") as caught:
        scenes.load([path])
    assert told in str(caught.value)
