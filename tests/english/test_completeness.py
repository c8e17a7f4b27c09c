"""Whether somebody who pauses is done: the rules, the app's phrases, and how often both are wrong."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.english import Phrases, bare, control_of, lists, may_ask, sentence, words_of, yes_or_no
from edgeagent.voice import Kind, kind_of
from tests.voice.house_sentences import FIRST, FRESH, LAST, NEVER, SECOND

ROOMS = "kitchen; living room; bedroom; bathroom; hallway; office; garage; balcony".split("; ")
PLACES = [*ROOMS, *"front door; charging dock; dining table; sofa; desk; fridge; window".split("; ")]
OBJECTS = "red cube; blue ball; green box; bottle; cup; book; apple; remote control; phone; screwdriver; towel".split(
    "; "
)
PHRASES = """
drive two meters
drive forward two meters
drive back one meter
turn left
turn right
turn ninety degrees
turn left ninety degrees
turn around
go to the kitchen
drive to the kitchen
come here
pick up the red cube
bring me the red cube
put it down
put the cup in the kitchen
turn on the kitchen light
switch off the light in the kitchen
set a timer for ten minutes
what time is it
how full is your battery
where are you
what is in front of you
follow me
go to your charging dock
look left
look up
stop
""".strip().split("\n")
HOUSE = Phrases(PHRASES, names=[PLACES, OBJECTS])
NO_APP = Phrases()

UNFINISHED = """
drive to the; and then; turn; drive two; drive; go to; go to the living; bring me; bring me the red; pick up
put down; can you; could you please; please; robot; hey robot; robot please; um; go to the um; would you mind
i want; i want you to; turn on; turn off the; turn on the kitchen; set a timer; set a timer for
set a timer for five; set an alarm; put the cup; put it; what; where; how; how far; how full; what time
which room; how full is; how full is your; where is; where is my; what is; what's; who; why; is; is the
is there; is the light; do you; do you know; what can you; where do you; did you; tell me; tell me where
tell me where you; tell me how full; show me; and; or; but; go to the kitchen and; go to the kitchen and turn
drive one point; drive one and a half; drive a hundred; turn left ninety; not; not left; when you see the cup
if the battery is low; i meant; no the; stay where; check if the window; go to my; remind me in
remind me in one; switch everything; look at; look for; come to; light; are you; what are you; i need
drive to the...; drive to the,; go to the kitchen -
"""
FINISHED = """
go to the kitchen; go to the living room; drive two meters; turn left; turn around; come here; come in
follow me; stop; pick it up; put it down; put the cup on the table; turn it on; turn the light off
turn on the kitchen light; lights on; is the light on; which lights are on; what is that; what's that
who are you; where are you; where are you from; what are you looking at; which room are you in
what are you made of; stay where you are; as fast as you can; tell me where you are; tell me what time it is
what can you do; what should i do; do you know what time it is; set a timer for five minutes
set the timer to five minutes; wake me at seven; set the volume to five; volume up
drive one and a half meters; wait an hour and a half; look up; hurry up; back up; go on; carry on; come back
slow down; please go to the kitchen; go to the kitchen please; robot go to the kitchen now
okay robot turn left; can you turn left; could you please go to the kitchen
would you go to the kitchen would you; i want you to turn left; turn left robot; when you are done come back
if the battery is low go to the dock; quickly go to the kitchen; after that come back
go to the kitchen and turn left; turn left then right; what about the kitchen; how about now; why not
what else; not left but right; not the kitchen the bedroom; no the bedroom; forward two meters; to the kitchen
half a meter forward
"""


def texts(block: str) -> list[str]:
    return [text for line in block.strip().split("\n") for text in line.split("; ")]


@pytest.mark.parametrize("text", texts(UNFINISHED))
def test_a_person_who_pauses_here_goes_on(text: str) -> None:
    assert HOUSE.is_unfinished(text)
    assert not HOUSE.is_complete(text)


@pytest.mark.parametrize("text", texts(FINISHED))
def test_a_person_who_pauses_here_is_done(text: str) -> None:
    assert not HOUSE.is_unfinished(text)


@pytest.mark.parametrize("text", PHRASES)
def test_every_phrase_is_complete_in_any_case_and_with_other_names_and_numbers(text: str) -> None:
    for other in (
        text.upper(),
        f"Robot, {text}, please.",
        text.replace("kitchen", "dining table"),
        text.replace("red cube", "remote control"),
        text.replace("two", "three").replace("ninety", "45"),
    ):
        assert HOUSE.is_complete(other), other


def test_the_app_s_phrases_tell_what_no_rule_knows() -> None:
    app = Phrases(["fold the laundry", "vacuum the carpet thoroughly"], names=[["laundry", "blue shirt"]])
    assert app.is_complete("fold the blue shirt")
    assert app.is_unfinished("fold the blue")
    assert app.is_unfinished("vacuum the carpet")
    assert app.is_complete("vacuum the carpet thoroughly")
    assert not NO_APP.is_complete("vacuum the carpet")
    assert not NO_APP.is_unfinished("vacuum the carpet")


def test_a_phrase_that_begins_another_is_complete() -> None:
    assert not Phrases(["turn left ninety degrees"]).is_complete("turn left")
    assert Phrases(["turn left ninety degrees", "turn left"]).is_complete("turn left")


def test_a_phrase_that_only_goes_on_with_and_waits_for_nothing() -> None:
    assert Phrases(["go to the kitchen and come back"]).is_complete("go to the kitchen")


def test_names_of_tools_among_the_phrases_make_no_fragment_whole() -> None:
    tools = Phrases(["go_to", "turn", "pick_up", "turn left"])
    assert all(tools.is_unfinished(text) for text in ("go to", "pick up"))


def test_a_number_wants_its_unit_where_the_phrases_have_one() -> None:
    assert HOUSE.is_unfinished("turn 180")
    assert not Phrases(["channel 5"]).is_unfinished("channel 7")


@pytest.mark.parametrize("text", ["", "   ", "...", "[music]", "(coughs)", "?!"])
def test_without_words_nothing_is_complete(text: str) -> None:
    assert not HOUSE.is_complete(text)


_WORDS = sorted(lists("classes").all_words() | set("kitchen living red 2 7:30 90 anna quietly".split()))


@given(st.lists(st.sampled_from(_WORDS), max_size=7), st.booleans(), st.booleans())
def test_any_words_have_one_kind(words: list[str], speaking: bool, question_open: bool) -> None:
    text = " ".join(words)
    assert kind_of(text, phrases=HOUSE, speaking=speaking, question_open=question_open) in Kind
    assert not (HOUSE.is_complete(text) and HOUSE.is_unfinished(text))


@given(st.text(max_size=80))
def test_any_text_has_a_kind(text: str) -> None:
    assert kind_of(text, phrases=HOUSE) in Kind


# --- how often it is wrong --------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """Counts over a list of sentences."""

    cuts: int
    """Boundaries of words at which a person who pauses goes on."""
    cut_off: int
    """... of which the words before were taken for a whole command, question or the like: the turn would end early."""
    alone: int
    """Boundaries behind words that may stand alone."""
    whole: int
    held_up: int
    """Whole sentences that were taken for unfinished: the turn would end late."""
    doubted: int
    """Whole sentences that were taken for neither: the turn ends a little later."""


def measure(block: str, phrases: Phrases) -> Measured:
    cuts = cut_off = alone = held_up = doubted = 0
    lines = block.strip().split("\n")
    for line in lines:
        parts = [part.split() for part in line.split(" | ")]
        words = [word for part in parts for word in part]
        stands = {sum(map(len, parts[:end])) for end in range(1, len(parts))}
        assert 1 <= len(words) <= 8, line
        for end in range(1, len(words)):
            kind = kind_of(" ".join(words[:end]), phrases=phrases)
            alone += end in stands
            cuts += end not in stands
            cut_off += end not in stands and kind not in (Kind.UNFINISHED, Kind.STATEMENT)
        kind = kind_of(" ".join(words), phrases=phrases)
        held_up += kind is Kind.UNFINISHED
        doubted += kind is Kind.STATEMENT
    return Measured(cuts, cut_off, alone, len(lines), held_up, doubted)


BLOCKS = {"made with": FIRST.strip() + SECOND, "harder": FRESH.strip() + LAST, "unseen": NEVER}
EXPECTED = {
    ("made with", "house"): Measured(cuts=679, cut_off=2, alone=81, whole=200, held_up=1, doubted=2),
    ("made with", "none"): Measured(cuts=679, cut_off=2, alone=81, whole=200, held_up=1, doubted=22),
    ("harder", "house"): Measured(cuts=627, cut_off=5, alone=71, whole=200, held_up=4, doubted=61),
    ("harder", "none"): Measured(cuts=627, cut_off=4, alone=71, whole=200, held_up=4, doubted=71),
    ("unseen", "house"): Measured(cuts=310, cut_off=9, alone=27, whole=80, held_up=2, doubted=20),
    ("unseen", "none"): Measured(cuts=310, cut_off=9, alone=27, whole=80, held_up=2, doubted=24),
}
"""The targets, 2 % of the cuts and 3 % of the whole sentences, are met on what the rules were made with: 0.3 and 0.5 %.
On what they have hardly seen it is 2.9 and 2.5 %."""


@pytest.mark.parametrize("phrases", ["house", "none"])
@pytest.mark.parametrize("block", BLOCKS)
def test_how_often_a_person_is_cut_off_or_held_up(phrases: str, block: str) -> None:
    """Exact, so that a change of a rule shows what it does."""
    assert measure(BLOCKS[block], HOUSE if phrases == "house" else NO_APP) == EXPECTED[block, phrases]


@pytest.mark.parametrize("text", ["would you mind driving to the kitchen", "no stop", "yes please robot", "Why?"])
def test_no_rule_changes_the_sentence_that_all_rules_share(text: str) -> None:
    phrases = Phrases(PHRASES, names=[ROOMS])
    for _ in range(2):
        kind_of(text, phrases=phrases, speaking=True, question_open=True)
        may_ask(text, phrases)
        control_of(text, phrases.stops)
        yes_or_no(text)
        phrases.stops.is_near_stop(text)
    assert sentence(text).words == words_of(text)
    assert sentence(text).bare == bare(words_of(text))
