"""Figures of a voice test, and the advice that comes of them."""

from dataclasses import replace

import pytest

from edgeagent.check import (
    VOICE_RULES,
    Attempt,
    Mixer,
    PlannedLine,
    RecogniserScore,
    RoomSound,
    Tally,
    Threshold,
    VoiceReport,
    VoiceScore,
    VoiceSound,
    advice,
    judged,
)
from edgeagent.config import Config
from edgeagent.stt import RecognisedText

GOOD = VoiceSound(-26.0, 35.0)
ROOM = RoomSound(-65.0, -20.0, -35.0, 45.0)
SOFT = replace(ROOM, echo_db=-60.0)
SPHINX, WHISPER = (
    RecogniserScore("sphinx", Tally(9, 40), Tally(3, 8), None),
    RecogniserScore("whisper", Tally(3, 40), Tally(7, 8), 0.5),
)


def heard(text: str, line: PlannedLine, *, spotted: dict[str, float | None] | None = None, **more: object) -> Attempt:
    fields = {"parts": 1, "sound": GOOD, **more}
    return judged(line, RecognisedText(text, raw=text), spotted or {}, ("stop", "halt", "freeze"), **fields)


def command(text: str, said: str = "go to the kitchen", **more: object) -> Attempt:
    return heard(text, PlannedLine(said, "command"), **more)


def stop(text: str = "stop", **more: object) -> Attempt:
    return heard(text, PlannedLine("stop", "stop", "stop"), **more)


def report(*attempts: Attempt, room: RoomSound | None = ROOM, **more: object) -> VoiceReport:
    lines = attempts or (*[command("go to the kitchen")] * 5, *[stop(spotted={"stop": 0.1})] * 3)
    return VoiceReport(VoiceScore(lines), room, "sphinx", **more)  # type: ignore[arg-type]


def with_sound(**levels: object) -> list[Attempt]:
    return [command("go to the kitchen", sound=replace(GOOD, **levels)) for _ in range(5)]  # type: ignore[arg-type]


def names(told: VoiceReport, config: Config | None = None) -> list[str]:
    return [one.name for one in advice(told, config or Config())]


def test_words_commands_and_stops_are_counted() -> None:
    score = VoiceScore(
        [
            command("go to the kitchen"),
            command("go to kitchen"),
            stop(spotted={"stop": 0.1}),
            stop("top"),
            heard("the bus stop is far", PlannedLine("the bus stop is far", "talk", "stop"), spotted={"stop": 0.1}),
            heard("stop", PlannedLine("my stop is next", "talk", "stop")),
        ]
    )
    assert score.words_wrong == Tally(1 + 1 + 3, 4 + 4 + 1 + 1 + 5 + 4)
    assert score.right("command") == Tally(1, 2)
    assert score.right("stop") == Tally(1, 2)
    assert (score.false_trips, score.false_holds) == (Tally(1, 4), Tally(1, 4))
    assert score.caught_s("stop") == 0.1


def test_a_stop_word_that_the_spotter_missed_is_caught_by_its_transcript_later() -> None:
    (one,) = VoiceScore([stop(latency_s=0.4)]).attempts
    assert (one.caught, one.caught_s) == (True, 0.4)


def test_what_is_not_understood_denies_nothing_and_is_no_command() -> None:
    line = PlannedLine("stop", "stop", "stop")
    one = judged(line, RecognisedText("top", understood=False), {"stop": 0.1}, ("stop",))
    assert one.caught
    assert not judged(PlannedLine("go", "command"), RecognisedText("go", understood=False), {}, ()).right


def test_people_and_places_have_scores_of_their_own() -> None:
    near, far = PlannedLine("turn left", "command", distance="1 m"), PlannedLine("turn left", "command", distance="3 m")
    score = VoiceScore([heard("turn left", near, person="anna"), heard("left", far, person="anna")])
    assert {name: one.right("command") for name, one in score.groups.items()} == {
        "anna, 1 m": Tally(1, 1),
        "anna, 3 m": Tally(0, 1),
    }
    assert VoiceScore([heard("turn left", near)]).groups == {}


def test_nothing_is_advised_where_all_is_well() -> None:
    assert names(report()) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("silent", report(command("", sound=VoiceSound()), room=RoomSound(-90.0, silent=True))),
        ("clipped", report(*with_sound(clipped=True))),
        ("loud", report(*with_sound(speech_db=-6.0))),
        ("quiet", report(*with_sound(speech_db=-47.0), room=SOFT)),
        ("noise", report(*with_sound(snr_db=12.0))),
        ("late", report(room=replace(ROOM, xruns=3, own_starts=1))),
        ("echo loud", report(room=replace(ROOM, echo_db=-20.0))),
        ("echo left", report(room=replace(ROOM, removed_db=12.0))),
        ("own voice", report(room=replace(ROOM, own_stops=1))),
        ("unnoticed", report(*[command("", parts=0)] * 2, *[command("go to the kitchen")] * 8)),
        ("cut", report(*[command("go to the kitchen", parts=2)] * 2, *[command("go to the kitchen")] * 3)),
        ("engine", report(engines=[SPHINX, WHISPER])),
        ("commands", report(*[command("go the kitchen")] * 3, *[command("go to the kitchen")] * 2)),
        ("stop words", report(*[stop("top")] * 2, stop())),
    ],
)
def test_each_rule_applies_to_its_figures_alone(name: str, told: VoiceReport) -> None:
    assert names(told) == [name]


def test_every_rule_is_tested() -> None:
    marks = test_each_rule_applies_to_its_figures_alone.pytestmark  # type: ignore[attr-defined]
    tested = {case[0] for case in marks[0].args[1]} | {"echo off"}
    assert tested == {rule.name for rule in VOICE_RULES}


def test_an_echo_that_nobody_removes_is_removed() -> None:
    config = Config(audio={"echo": "off"})
    (one,) = advice(report(room=replace(ROOM, removed_db=None)), config)
    assert (one.name, one.setting) == ("echo off", '[audio] echo = "webrtc"')


def test_settings_that_are_advised_have_figures_of_this_test() -> None:
    loud = report(room=replace(ROOM, echo_db=-16.0))
    (one,) = advice(loud, Config(speech={"volume": 80}))
    assert (one.setting, "10 dB" in one.do) == ("[speech] volume = 25", True)
    (one,) = advice(report(*with_sound(speech_db=-47.0), room=SOFT), Config(), Mixer("mix up", "mix down"))
    assert "mix up" in one.do


def test_a_better_threshold_is_a_line_of_settings() -> None:
    found = Threshold("stop", 1e-25, Tally(6, 7), Tally(4, 7), 0, 0)
    (one,) = advice(report(thresholds=[found]), Config(ears={"stop_words": "stop, halt/1e-05"}))
    assert one.setting == '[ears] stop_words = "stop/1e-25, halt/1e-05"'
    assert "6 of 7 in place of 4" in one.found


@pytest.mark.parametrize(("phrase", "takes"), [("stop", True), ("hold it", False)])
def test_a_threshold_that_takes_a_word_from_the_network_says_so(phrase: str, takes: bool) -> None:
    found = Threshold(phrase, 1e-25, Tally(6, 7), Tally(4, 7), 0, 0)
    (one,) = advice(report(thresholds=[found]), Config())
    assert ("takes the word from the network" in one.do) is takes


@pytest.mark.parametrize("words", [8, 7])
def test_another_recogniser_that_is_hardly_better_is_not_advised(words: int) -> None:
    assert names(report(engines=[SPHINX, replace(WHISPER, words=Tally(words, 40))])) == []
