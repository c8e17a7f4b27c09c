"""The three grades of stop phrases (contract, case 19), as they are spoken, typed, and given to ``hear``."""

import itertools
import threading
from collections.abc import Callable, Iterator

import pytest

from edgeagent import Agent, Options, skill
from edgeagent.english import Phrases
from edgeagent.robot import SafetyLatch
from edgeagent.stt import WAITS, hearing
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import GoalHandle
from edgeagent.voice import AFTER_SPEECH_S, PAUSE_S, PRESETS, PROBABLE, SUSPECTED, WAIT_S, State

from .scenes import LIMIT_S, LONG, QUIET, count_to_sixteen, latch, latched, late, quiet, transcribed, until
from .stage import Stage

Way = Callable[[Stage, str], None]


def spoken(stage: Stage, text: str) -> None:
    stage.say(text)


def heard(stage: Stage, text: str) -> None:
    stage.dialogue.hear(text)
    stage.settle()


def typed(stage: Stage, text: str) -> None:
    stage.dialogue.hear(text, typed=True)
    stage.settle()


WAYS = [spoken, heard, typed]


def in_ways(texts: list[str], ways: list[Way] = WAYS) -> pytest.MarkDecorator:
    """Each text in one of the ways in turn: which texts count, and that each way counts, are two questions."""
    return pytest.mark.parametrize(("way", "text"), list(zip(itertools.cycle(ways), texts, strict=False)))


class Base:
    """A base that drives until it is stopped, and notes what it is told."""

    def __init__(self) -> None:
        self.began, self.notes = threading.Event(), []

        @skill(
            on_interrupt="detach",
            stop=lambda: self.notes.append("stop"),
            pause=lambda: self.notes.append("pause"),
            resume=lambda: self.notes.append("resume"),
        )
        def drive(goal: GoalHandle) -> str:
            """Drives."""
            self.began.set()
            while not goal.cancelled:
                goal.checkpoint()
                threading.Event().wait(0.005)
            return "stopped"

        self.agent = Agent("rover", tools=[drive], latch=SafetyLatch())


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Base:
    monkeypatch.setattr("edgeagent.tools.actuator.LIMIT_S", LIMIT_S)  # a busy machine is not a base that hangs
    return Base()


@pytest.fixture
def driving(base: Base) -> Iterator[Stage]:
    """A conversation with a robot that drives, and says nothing."""
    settings = quiet(phrases=Phrases(called=["rover"]))
    with Stage([call("drive")], *["Okay."] * 6, agent=base.agent, settings=settings) as stage:
        stage.say("drive on")
        assert base.began.wait(LIMIT_S)
        assert until(lambda: stage.dialogue.robot.runs.acting)
        stage.pass_s(1.0)
        yield stage


def asked(stage: Stage) -> int:
    """How often the model was asked."""
    return len(stage.llm.requests)


# --- trip -----------------------------------------------------------------------------------------------------------

TRIPS = ["stop", "halt", "Freeze!", "stop it", "stop now", "no, stop", "please stop", "stop stop stop", "rover, halt"]


@in_ways(TRIPS)
def test_a_stop_phrase_while_it_drives_trips_the_latch_and_asks_no_model(
    driving: Stage, base: Base, way: Way, text: str
) -> None:
    before = asked(driving)
    way(driving, text)
    assert latch(driving) == "tripped"
    assert until(lambda: "stop" in base.notes)
    assert asked(driving) == before


@in_ways(TRIPS, [spoken, heard])
def test_a_spoken_stop_phrase_trips_a_robot_that_does_nothing(way: Way, text: str) -> None:
    with Stage(agent=latched(), settings=quiet(phrases=Phrases(called=["rover"]))) as stage:
        way(stage, text)
        assert latch(stage) == "tripped"
        assert not asked(stage)


@pytest.mark.parametrize("text", ["stop", "halt", "please freeze"])
def test_a_typed_one_is_for_the_model_while_it_does_nothing(text: str) -> None:
    with Stage("There is nothing to stop.", agent=latched()) as stage:
        typed(stage, text)
        assert until(lambda: asked(stage) == 1)
        assert latch(stage) == "free"


@pytest.mark.parametrize("way", WAYS)
def test_a_stop_phrase_trips_while_it_only_speaks(way: Way) -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        way(stage, "freeze")
        assert latch(stage) == "tripped"
        assert stage.state is State.LISTENING


@in_ways(["don't halt", "do not freeze", "the halt is far away", "never freeze the base", "don't halt", "do not halt"])
def test_a_stop_phrase_in_other_talk_trips_nothing(driving: Stage, way: Way, text: str) -> None:
    way(driving, text)
    assert latch(driving) == "free"


def test_halt_trips_though_the_recogniser_does_not_understand_it() -> None:
    with Stage(agent=latched()) as stage:
        stage.say("halt", understood=False)
        assert latch(stage) == "tripped"


# --- hold -----------------------------------------------------------------------------------------------------------


@in_ways(["wait", "hold on", "please wait", "wait, wait", "rover, wait", "wait"])
def test_wait_holds_what_drives_and_continue_alone_lets_it_go_on(
    driving: Stage, base: Base, way: Way, text: str
) -> None:
    before = asked(driving)
    way(driving, text)
    assert latch(driving) == "held"
    assert base.notes == ["pause"]
    way(driving, "go on")
    assert latch(driving) == "held"
    way(driving, "continue")
    assert latch(driving) == "free"
    assert until(lambda: base.notes == ["pause", "resume"])
    assert asked(driving) == before


def test_silence_lets_nothing_go_on_that_drove(driving: Stage, base: Base) -> None:
    driving.say("wait")
    driving.pass_s(WAIT_S + 2)
    assert latch(driving) == "held"
    assert base.notes == ["pause"]


@pytest.mark.parametrize("text", ["wait", "hold on", "no", "cancel that"])
def test_what_is_probably_a_wait_or_a_no_holds_what_drives(driving: Stage, base: Base, text: str) -> None:
    driving.say(text, understood=False, confidence=0.3)
    assert until(lambda: base.notes == ["pause"])
    assert driving.dialogue.robot.runs.acting, "nothing is cancelled by a guess"
    driving.pass_until(lambda: QUIET.waiting in [event.text for event in driving.log if event.kind == "heard"])
    driving.say("continue")
    assert until(lambda: base.notes == ["pause", "resume"])


@pytest.mark.parametrize("text", ["start", "top", "please, start it", "hold on", "cancel that", "never mind"])
def test_what_may_have_been_a_stop_phrase_holds_what_drives_however_little_of_it_is_sure(
    driving: Stage, base: Base, text: str
) -> None:
    driving.say(text, understood=False, confidence=0.05)
    assert until(lambda: base.notes == ["pause"])
    assert driving.dialogue.robot.runs.acting, "nothing is cancelled by a guess"
    driving.say("continue")
    assert until(lambda: base.notes == ["pause", "resume"])


@pytest.mark.parametrize("text", ["wait", "no"])
def test_a_word_that_holds_is_heeded_though_hardly_sure(driving: Stage, base: Base, text: str) -> None:
    driving.say(text, understood=False, confidence=0.07)
    assert until(lambda: base.notes == ["pause"])


@pytest.mark.parametrize(
    ("text", "others", "notes"),
    [
        ("can still be that", ("cancel that", "stand still be that"), ["pause"]),
        ("welcome", ("go on", "hold on"), ["pause"]),
        ("what can they", ("what a day", "let me", "wait a minute"), ["pause", "resume"]),
        ("going to hold on", (), ["pause"]),
        ("we need to stop now", (), []),
        ("need to stop now", (), ["pause"]),
        ("don't you stop now", (), []),
        ("would you", ("wait", "what"), ["pause", "resume"]),
    ],
)
def test_a_phrase_that_a_doubtful_text_likely_was_holds_what_drives_for_good(
    driving: Stage, base: Base, text: str, others: tuple[str, ...], notes: list[str]
) -> None:
    driving.say(text, seconds=1.3, understood=False, confidence=0.1, others=others)
    driving.pass_s(PAUSE_S + 0.5)
    assert until(lambda: base.notes == notes)
    assert driving.dialogue.robot.runs.acting


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("kill hold on", ["pause"]),
        ("turn left, hold on", ["pause"]),
        ("don't hold on", []),
        ("Don\u2019t hold on", []),
        ("Never, hold on", []),
        ("no need to hold on", []),
        ("turn around and wait", []),
        ("I am back in a moment", []),
        ("is there a moment", []),
        ("bring the cup on", []),
        ("what does he mean by hold on", []),
    ],
)
def test_a_hold_on_at_the_end_of_a_few_words_holds_what_drives(
    driving: Stage, base: Base, text: str, notes: list[str]
) -> None:
    driving.say(text)
    driving.pass_s(0.5)
    assert until(lambda: base.notes == notes)


def test_a_stop_phrase_that_fits_the_sound_of_doubtful_words_holds_what_drives(driving: Stage, base: Base) -> None:
    driving.say("council heart", understood=False, confidence=0.02, near_stops=("cancel that",))
    assert until(lambda: base.notes == ["pause"])
    assert driving.dialogue.robot.runs.acting, "nothing is cancelled by a guess"


def test_a_stop_word_that_two_recognisers_suspect_trips(driving: Stage, base: Base) -> None:
    driving.say("die", understood=False, confidence=0.02, far_stops=("stop",), suspected=SUSPECTED)
    assert until(lambda: latch(driving) == "tripped")
    assert [(event.phrase, event.confirmed) for event in driving.log if event.kind == "keyword"] == [("stop", True)]


def test_a_stop_word_that_is_heard_in_doubt_and_suspected_trips(driving: Stage, base: Base) -> None:
    driving.say("ruby stop", understood=False, confidence=0.1, suspected=SUSPECTED)
    assert until(lambda: latch(driving) == "tripped")


def test_a_word_that_stands_for_any_trips_where_a_stop_word_is_suspected(driving: Stage, base: Base) -> None:
    driving.say("oh", understood=False, confidence=0.5, suspected=SUSPECTED - 0.01)
    assert latch(driving) != "tripped"
    driving.say("oh", understood=False, confidence=0.5, suspected=SUSPECTED)
    assert until(lambda: latch(driving) == "tripped")


def test_a_stop_word_that_is_heard_in_doubt_and_not_suspected_holds(driving: Stage, base: Base) -> None:
    driving.say("ruby stop", understood=False, confidence=0.1, suspected=SUSPECTED - 0.01)
    assert until(lambda: base.notes == ["pause"])
    assert latch(driving) == "held"


@pytest.mark.parametrize(
    ("stops", "suspected"), [(("stop",), SUSPECTED - 0.01), ((), PROBABLE - 0.01), (("freeze",), PROBABLE - 0.01)]
)
def test_one_recogniser_that_suspects_a_stop_word_only_holds(
    driving: Stage, base: Base, stops: tuple[str, ...], suspected: float
) -> None:
    driving.say("die", understood=False, confidence=0.02, far_stops=stops, suspected=suspected)
    assert until(lambda: base.notes == ["pause"])
    assert latch(driving) == "held"


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("don't stop", ()),
        ("the bus stop", ()),
        ("not stopping", ()),
        ("die", ("don't stop",)),
    ],
)
def test_a_suspicion_trips_nothing_where_the_words_tell_of_a_stop(
    driving: Stage, text: str, others: tuple[str, ...]
) -> None:
    driving.say(text, understood=False, confidence=0.02, others=others, far_stops=("stop",), suspected=0.9)
    assert latch(driving) != "tripped"


def test_a_word_that_is_spotted_after_the_soft_end_counts_a_second_after_the_speech(driving: Stage) -> None:
    driving.begin()
    driving.pass_s(0.5)
    end_s = driving.now_s - 0.3
    driving.tell(hearing.SoftEnd(driving.ears.utterance, end_s))
    driving.spot("stop")
    driving.pass_until(lambda: latch(driving) == "tripped")
    assert driving.now_s - end_s == pytest.approx(AFTER_SPEECH_S, abs=0.1)


def test_a_suspicion_trips_nothing_where_nothing_moves(base: Base) -> None:
    with Stage("Okay.", agent=base.agent, settings=quiet()) as stage:
        stage.say("die", understood=False, confidence=0.02, far_stops=("stop",), suspected=0.9)
        assert latch(stage) == "free"


def test_a_start_that_is_understood_holds_nothing(driving: Stage, base: Base) -> None:
    driving.say("start")
    driving.pass_s(1.0)
    assert base.notes == []


FEW_WORDS = [("wait", 0.02), ("start the timer", 0.1), ("the weight", 0.9), ("hello", 0.9)]


@pytest.mark.parametrize(("text", "confidence"), FEW_WORDS)
def test_few_words_that_were_not_understood_hold_what_drives_while_it_asks(
    driving: Stage, base: Base, text: str, confidence: float
) -> None:
    driving.say(text, understood=False, confidence=confidence)
    assert until(lambda: base.notes == ["pause"])
    driving.pass_until(lambda: driving.state is State.SPEAKING)
    assert base.notes == ["pause"]
    driving.pass_s(PAUSE_S)
    assert until(lambda: base.notes == ["pause", "resume"])
    assert driving.dialogue.robot.runs.acting, "nothing is cancelled by a guess"


def test_that_hold_ends_while_somebody_speaks_on(driving: Stage, base: Base) -> None:
    """Somebody who talks to others does not stand in its way for as long as that lasts."""
    driving.say("the weight", understood=False, confidence=0.3)
    assert until(lambda: base.notes == ["pause"])
    driving.begin()
    driving.pass_s(PAUSE_S + 0.2)
    assert until(lambda: base.notes == ["pause", "resume"])


def test_words_that_were_not_understood_and_were_brief_hold_what_drives_for_a_moment(
    driving: Stage, base: Base
) -> None:
    driving.say("have a long time", seconds=0.8, understood=False, confidence=0.08)
    assert until(lambda: base.notes == ["pause"])
    driving.pass_s(PAUSE_S)
    assert until(lambda: base.notes == ["pause", "resume"])


def test_speech_that_went_on_is_no_briefer_for_that(driving: Stage, base: Base) -> None:
    driving.begin()
    driving.pass_s(2.0)
    driving.pause("she left the book with her brother", understood=False, confidence=0.3)
    driving.pass_s(0.1)
    driving.go_on()
    driving.pass_s(0.8)
    driving.pause("she left the book with her brother on the table", understood=False, confidence=0.3)
    driving.pass_s(0.3)
    assert base.notes == []


def test_more_words_that_were_not_understood_hold_nothing(driving: Stage, base: Base) -> None:
    driving.say("she left the book with her", seconds=1.3, understood=False, confidence=0.3)
    driving.pass_s(1.0)
    assert base.notes == []


def test_a_voice_of_which_no_word_is_known_holds_what_drives_for_a_moment_and_nothing_is_asked(
    driving: Stage, base: Base
) -> None:
    before = len(driving.log)
    driving.say("", understood=False)
    assert until(lambda: base.notes == ["pause"])
    driving.pass_s(PAUSE_S)
    assert until(lambda: base.notes == ["pause", "resume"])
    assert [event for event in driving.log[before:] if event.kind == "voice_state" and event.new == "speaking"] == []


def asked_again(stage: Stage) -> int:
    """How often the robot has said that it has not understood."""
    return len([event for event in stage.log if event.kind == "heard" and "did not understand" in event.text])


@pytest.mark.parametrize("phrase", WAITS)
def test_a_phrase_that_is_spotted_holds_what_drives_for_a_moment_and_is_asked_about_if_nobody_was_heard(
    driving: Stage, base: Base, phrase: str
) -> None:
    driving.spot_wait(phrase)
    assert until(lambda: base.notes == ["pause"])
    assert [(event.phrase, event.confirmed) for event in driving.log if event.kind == "keyword"] == [(phrase, None)]
    driving.pass_s(PAUSE_S - 0.2)
    assert base.notes == ["pause"]
    driving.pass_until(lambda: driving.state is State.SPEAKING)
    assert until(lambda: base.notes == ["pause", "resume"])
    driving.pass_until(lambda: asked_again(driving) == 1)
    assert driving.dialogue.robot.runs.acting


@pytest.mark.parametrize(
    ("text", "understood", "notes"),
    [
        ("hold on", True, ["pause"]),
        ("cancel that", True, ["pause", "stop"]),
        ("what time is it", True, ["pause", "resume"]),
        ("she told on her brother today", False, ["pause", "resume"]),
    ],
)
def test_the_words_tell_what_a_phrase_that_was_spotted_meant(
    driving: Stage, base: Base, text: str, understood: bool, notes: list[str]
) -> None:
    driving.begin()
    driving.pass_s(1.5)
    driving.spot_wait("hold on")
    assert until(lambda: base.notes == ["pause"])
    driving.pause(text, understood=understood)
    driving.pass_s(0.2)
    driving.end()
    driving.pass_s(PAUSE_S + 2.0)
    assert until(lambda: base.notes == notes), base.notes
    assert asked_again(driving) == int(not understood), "what a transcript tells is not asked about once more"


def test_who_speaks_on_after_a_phrase_that_was_spotted_is_not_asked_before_the_end(driving: Stage, base: Base) -> None:
    driving.begin()
    driving.pass_s(0.5)
    driving.spot_wait("wait")
    driving.pass_s(PAUSE_S + 0.5)
    driving.pause("wait until the lady with the dog has passed")
    driving.pass_s(0.2)
    driving.end()
    driving.pass_s(4.0)
    assert asked_again(driving) == 0


def test_a_noise_after_a_phrase_that_was_spotted_does_not_tell_what_was_meant(driving: Stage) -> None:
    driving.spot_wait("wait")
    driving.pass_s(PAUSE_S - 0.3)
    driving.begin()
    driving.pass_s(0.6)
    driving.pause("", understood=False)
    driving.pass_s(0.2)
    driving.end()
    driving.pass_until(lambda: asked_again(driving) == 1)


def test_motion_waits_already_when_a_phrase_that_was_spotted_is_told(driving: Stage) -> None:
    states: list[str] = []
    driving.dialogue.subscribe(lambda event: states.append(latch(driving)) if event.kind == "keyword" else None)
    driving.spot_wait("wait")
    assert states == ["held"]


def test_a_clock_that_goes_back_ends_a_pause(driving: Stage, base: Base) -> None:
    driving.spot_wait("wait")
    driving.ears.now_s -= 30.0
    driving.pass_s(0.1)
    assert until(lambda: base.notes == ["pause", "resume"])


def test_late_words_from_before_a_phrase_that_was_spotted_tell_nothing_of_it(driving: Stage, base: Base) -> None:
    first, ended_s = late(driving)
    driving.spot_wait("hold on")
    assert until(lambda: base.notes == ["pause"])
    transcribed(driving, first, "what a nice day", ended_s)
    driving.pass_s(0.3)
    assert base.notes == ["pause"]


@pytest.mark.parametrize("spots", [True, False], ids=["it is spotted first", "it is spotted late"])
def test_a_wait_that_was_understood_is_not_asked_about(driving: Stage, spots: bool) -> None:
    if spots:
        driving.spot_wait("wait")
        driving.dialogue.hear("wait", typed=True)
    else:
        driving.say("wait")
        driving.spot_wait("wait")
    driving.pass_s(PAUSE_S + 0.5)
    driving.say("continue")
    driving.pass_s(PAUSE_S + 2.0)
    assert asked_again(driving) == 0


@pytest.mark.parametrize("ends", ["stop", "rearm", "lost"])
def test_a_phrase_that_was_spotted_is_not_asked_about_where_something_else_decides(driving: Stage, ends: str) -> None:
    driving.spot_wait("wait")
    if ends == "stop":
        driving.say("stop")
    elif ends == "rearm":
        driving.dialogue.rearm()
    else:
        driving.tell(hearing.Trouble("device", "the microphone is gone"))
    driving.pass_s(PAUSE_S + 2.0)
    assert asked_again(driving) == 0


def test_a_phrase_that_the_robot_itself_has_said_holds_nothing(driving: Stage, base: Base) -> None:
    driving.dialogue.say("Please hold on.")
    driving.pass_until(lambda: "hold on" in driving.dialogue.robot.queue.said_between(0.0, driving.now_s))
    driving.spot_wait("hold on")
    driving.pass_s(0.3)
    assert base.notes == []


def test_a_phrase_that_is_spotted_does_nothing_where_nothing_moves(base: Base) -> None:
    with Stage("Okay.", agent=base.agent, settings=quiet()) as stage:
        stage.spot_wait("wait")
        assert latch(stage) == "free"
        stage.pass_s(PAUSE_S + 0.5)
        assert stage.kinds() == []


def test_words_that_are_understood_end_the_pause(driving: Stage, base: Base) -> None:
    driving.say("yep", understood=False, confidence=0.2)
    assert until(lambda: base.notes == ["pause"])
    driving.say("what time is it")
    assert until(lambda: base.notes == ["pause", "resume"])


def test_who_says_it_again_is_obeyed(driving: Stage, base: Base) -> None:
    driving.say("yep", understood=False, confidence=0.2)
    assert until(lambda: base.notes == ["pause"])
    driving.say("no")
    assert until(lambda: "stop" in base.notes)
    assert "resume" not in base.notes


@pytest.mark.parametrize("way", WAYS)
def test_wait_holds_what_is_said_until_go_on(way: Way) -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        way(stage, "wait")
        stage.pass_s(2.0)
        assert stage.state is State.HELD
        way(stage, "go on")
        stage.pass_s(0.1)
        assert stage.state is State.SPEAKING
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == LONG, "nothing of it is lost"
        assert asked(stage) == 1


@pytest.mark.parametrize("preset", ["eager", "balanced", "strict", "off"])
def test_wait_holds_speech_with_every_preset(preset: str) -> None:
    with Stage(LONG, agent=latched(), settings=quiet(preset=PRESETS[preset])) as stage:
        count_to_sixteen(stage)
        stage.begin()
        stage.pass_s(0.3)
        stage.partly("hold on")
        stage.partly("hold on")
        stage.pause("hold on")
        stage.pass_s(0.2)
        stage.end()
        stage.pass_s(3.0)
        assert stage.state is State.HELD
        stage.say("continue")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == LONG


def test_twenty_seconds_of_silence_release_what_is_said() -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        stage.say("wait")
        stage.pass_s(WAIT_S - 2)
        assert stage.state is State.HELD
        stage.say("uh huh")
        stage.pass_s(WAIT_S - 2)
        assert stage.state is State.HELD, "there was no silence of twenty seconds yet"
        stage.pass_s(3.0)
        assert stage.state is State.SPEAKING
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == LONG


@pytest.mark.parametrize("way", WAYS)
def test_of_a_robot_that_drives_and_speaks_go_on_releases_the_voice_and_continue_the_wheels(
    driving: Stage, base: Base, way: Way
) -> None:
    driving.dialogue.robot.remark(LONG)
    driving.pass_until(lambda: driving.state is State.SPEAKING)
    driving.pass_s(1.0)
    way(driving, "wait")
    assert (driving.state, latch(driving)) == (State.HELD, "held")
    way(driving, "go on")
    driving.pass_s(0.1)
    assert (driving.state, latch(driving)) == (State.SPEAKING, "held")
    way(driving, "continue")
    assert latch(driving) == "free"
    driving.pass_until(lambda: LONG in [event.text for event in driving.log if event.kind == "heard"])
    assert until(lambda: base.notes == ["pause", "resume"])


@pytest.mark.parametrize("way", WAYS)
def test_no_over_its_voice_cancels_what_drives(driving: Stage, base: Base, way: Way) -> None:
    before = asked(driving)
    driving.dialogue.robot.remark(LONG)
    driving.pass_until(lambda: driving.state is State.SPEAKING)
    driving.pass_s(1.0)
    way(driving, "no!")
    assert until(lambda: "stop" in base.notes)
    assert latch(driving) == "free"
    assert asked(driving) == before


def test_a_question_ends_the_silence_and_leaves_the_motion_held(driving: Stage) -> None:
    driving.say("wait")
    driving.say("how full is your battery")
    driving.pass_until(lambda: driving.state is State.SPEAKING)
    assert latch(driving) == "held"


def ask_to_drive_after_wait(driving: Stage, base: Base, reply: str) -> None:
    driving.say("wait")
    base.began.clear()
    driving.agent.llm = ScriptedLLM([call("drive")], reply)
    driving.say("drive to the door")
    assert until(lambda: driving.dialogue.robot.runs.about_to_move)


def test_motion_that_is_asked_for_after_wait_waits_and_the_robot_says_so(driving: Stage, base: Base) -> None:
    ask_to_drive_after_wait(driving, base, "Okay.")
    driving.pass_until(lambda: QUIET.waiting in [event.text for event in driving.log if event.kind == "heard"])
    assert not base.began.is_set()


def test_motion_that_waits_to_begin_begins_no_more_once_something_else_is_said(driving: Stage, base: Base) -> None:
    ask_to_drive_after_wait(driving, base, "It is full.")
    driving.say("how full is your battery")
    driving.pass_until(lambda: "It is full." in [event.text for event in driving.log if event.kind == "heard"])
    driving.say("continue")
    driving.pass_s(1.0)
    assert latch(driving) == "free"
    assert not base.began.is_set()
    assert "not_run" in [message.status for message in driving.session.messages()]


def test_wait_that_goes_on_as_something_else_holds_nothing(driving: Stage) -> None:
    driving.begin()
    driving.pass_s(0.3)
    driving.pause("wait")
    assert latch(driving) == "held"
    driving.go_on()
    driving.pass_s(0.5)
    driving.pause("wait for me in the kitchen")
    assert latch(driving) == "free"


def test_wait_that_goes_on_as_something_else_ends_no_wait_from_before(driving: Stage, base: Base) -> None:
    driving.say("wait")
    assert latch(driving) == "held"
    driving.begin()
    driving.pass_s(0.3)
    driving.pause("wait")
    driving.go_on()
    driving.pass_s(0.5)
    driving.pause("wait for me in the kitchen")
    assert latch(driving) == "held"
    assert "resume" not in base.notes
    driving.end()
    driving.say("continue")
    assert latch(driving) == "free"


@in_ways(["wait", "hold on", "cancel", "cancel that", "no"])
def test_wait_and_cancel_are_for_the_model_while_it_does_nothing(way: Way, text: str) -> None:
    with Stage("All right.", agent=latched()) as stage:
        way(stage, text)
        assert until(lambda: asked(stage) == 1)
        assert latch(stage) == "free"


def test_a_stop_ends_a_wait(driving: Stage) -> None:
    driving.say("wait")
    driving.say("stop")
    assert latch(driving) == "tripped"
    driving.say("continue")
    assert latch(driving) == "free"


def test_rearm_ends_a_wait(driving: Stage, base: Base) -> None:
    driving.say("wait")
    assert driving.dialogue.rearm()
    driving.settle()
    assert latch(driving) == "free"
    assert not driving.dialogue.rearm()


def test_the_end_of_a_conversation_leaves_nothing_held(base: Base) -> None:
    with Stage([call("drive")], agent=base.agent) as stage:
        stage.say("drive on")
        assert base.began.wait(LIMIT_S)
        assert until(lambda: stage.dialogue.robot.runs.acting)
        stage.say("wait")
        assert latch(stage) == "held"
    assert base.agent.latch is not None
    assert base.agent.latch.state == "free"


# --- cancel ---------------------------------------------------------------------------------------------------------


@in_ways(["cancel", "cancel that", "please cancel that", "nope", "No!", "no no no", "rover, no"])
def test_cancel_and_no_cancel_what_drives_without_the_latch(driving: Stage, base: Base, way: Way, text: str) -> None:
    before = asked(driving)
    way(driving, text)
    assert until(lambda: "stop" in base.notes)
    assert latch(driving) == "free"
    assert until(lambda: not driving.agent.goals_at_work)
    assert asked(driving) == before


def test_no_cancels_what_an_agent_drives_that_was_asked_by_another(base: Base) -> None:
    base.agent.llm = ScriptedLLM([call("drive")], "Okay.")
    asking = Agent("robi", tools=[base.agent.as_tool("driver", "Drives.")], latch=base.agent.latch)
    with Stage([call("driver", task="drive on")], "Okay.", agent=asking) as stage:
        stage.say("drive on")
        assert base.began.wait(LIMIT_S)
        stage.say("no")
        assert until(lambda: "stop" in base.notes)
        assert (latch(stage), asked(stage)) == ("free", 1)


def test_no_is_for_the_model_while_it_only_speaks() -> None:
    with Stage(LONG, "Okay.", agent=latched()) as stage:
        count_to_sixteen(stage)
        typed(stage, "no")
        assert until(lambda: asked(stage) == 2)


def test_cancel_over_an_answer_that_was_thought_of_already_asks_no_model() -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        assert not stage.agent.state.is_streaming
        stage.say("cancel that")
        stage.pass_s(0.5)
        assert asked(stage) == 1


def test_no_answers_a_question_while_it_drives(base: Base) -> None:
    answers: list[bool] = []

    @skill(name="honk", destructive=True, motion=False)
    def honk() -> str:
        """Honks."""
        return "honked"

    base.agent.tools.add(honk)
    with Stage([call("drive")], [call("honk")], "All right.", agent=base.agent) as stage:
        person = stage.dialogue.robot.person

        def confirm(name: str, arguments: dict[str, object]) -> bool:
            answers.append(person.confirm(name, arguments))
            return answers[-1]

        stage.session.options = Options(confirm=confirm)
        stage.say("drive on")
        assert base.began.wait(LIMIT_S)
        stage.say("honk the horn")
        stage.pass_until(lambda: person.waiting)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is not State.SPEAKING)
        stage.say("no")
        assert until(lambda: answers == [False])
        assert stage.agent.goals_at_work == ("drive",), "it drives on"
