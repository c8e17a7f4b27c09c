"""Robots that stand in files: their phrases give what their tools take, and a wrong line is named."""

import random

import pytest

from edgeagent.tools import coerce

ROBOT = """
robot card dealer
tool deal: Deal cards to the players.
  players: person list
  cards: int 1-13 = 5 | cards for each player
  face_up: bool = false
  way: slow|very_fast ?
  - deal {cards} cards to {players}
  - open hands for {players}, quick [face_up=true, way=very_fast]
  - deal to {players}
  ? deal seven cards => players
x put the joker back
~ unlucky in love
"""


@pytest.fixture
def read(tmp_path, scripts_on_path):
    from fleet_file import load

    def read(text):
        path = tmp_path / "robots.txt"
        path.write_text(text, encoding="utf-8")
        return load([path])

    return read


@pytest.fixture(scope="module")
def offers(scripts_on_path):
    import fleet

    rng = random.Random("fleet")
    return rng, [one for _ in range(400) for one in fleet.draw(rng, rng.randint(1, 9), frozenset(("stop",)))]


def texts(value):
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def test_a_robot_is_read_as_it_is_written(read):
    (robot,) = read(ROBOT)
    (tool,) = robot.tools
    assert (robot.name, tool.name, tool.description) == ("card dealer", "deal", "Deal cards to the players.")
    players, cards, face_up, way = tool.parameters
    assert players.is_list
    assert not players.is_optional
    assert (cards.low, cards.high, cards.default, cards.described) == (1, 13, 5, "cards for each player")
    assert face_up.default is False
    assert (way.words, way.is_optional, way.default) == (("slow", "very_fast"), True, None)
    assert tool.phrases[1].fixed == {"face_up": True, "way": "very_fast"}
    assert tool.unfinished[0].missing == "players"
    assert (robot.unserved, robot.talk) == (["put the joker back"], ["unlucky in love"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("  - deal {cards}", "without ['players']"),
        ("  - deal {chips} to {players}", "no parameter ['chips']"),
        ("  - deal to {players} [way=sideways]", "no choice 'sideways'"),
        ("  - deal [cards] to {players}", "a bracket"),
        ("  - deal to {players} {face_up}", "in brackets"),
        ("  ? deal => cards", "'cards' is not needed"),
        ("  chips: money", "no type 'money'"),
        ("tool deal: Twice.", "a name of its own"),
    ],
)
def test_a_wrong_line_is_named(read, line, told):
    from grammar import GrammarError

    lines = ROBOT.replace("  ? deal seven", f"{line}\n  ? deal seven").splitlines()
    with pytest.raises(GrammarError, match=r"robots\.txt:11") as caught:
        read("\n".join(lines))
    assert told in str(caught.value)


def test_a_tool_that_is_never_asked_for_without_an_option_is_named(read):
    from grammar import GrammarError

    with pytest.raises(GrammarError, match="no phrase gives deal what is needed alone"):
        read(ROBOT.replace("  - deal to {players}\n", ""))


def test_calls_fit_their_tools_and_what_is_copied_was_said(offers):
    rng, drawn = offers
    for offer in drawn:
        parameters = offer.spec["function"]["parameters"]
        said = offer.say(rng)
        (call,) = said.calls
        assert coerce(call.arguments, parameters) == call.arguments
        assert set(parameters["required"]) <= set(call.arguments)
        for name, value in call.arguments.items():
            if "enum" not in str(parameters["properties"][name]):
                assert all(one.casefold() in said.text.casefold() for one in texts(value)), said


def test_tools_of_one_setting_have_different_names(scripts_on_path):
    import fleet

    rng = random.Random("names")
    for _ in range(200):
        names = [one.spec["function"]["name"] for one in fleet.draw(rng, 6, frozenset())]
        assert 1 <= len(names) == len(set(names)) <= 6


def test_what_comes_near_a_call_has_none_and_an_answer_completes_it(offers):
    rng, drawn = offers
    near = [(offer, said) for offer in drawn if (said := offer.astray(rng)) is not None]
    assert len(near) > len(drawn) / 2
    assert all(said.reply and not said.calls for _, said in near)
    answered = [(offer, said.answer) for offer, said in near if said.answer is not None]
    assert answered
    for offer, answer in answered:
        (call,) = answer.calls
        assert coerce(call.arguments, offer.spec["function"]["parameters"]) == call.arguments
