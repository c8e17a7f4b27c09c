"""A voice test in the simulated room, with the real ears: what is measured, what is advised, and what is kept."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgeagent.check import Kind, PlannedLine, Tapped, VoiceRun, kept_attempts, kept_room, kept_tests
from edgeagent.stt import KeywordSpotted, Level, SpottedPhrase
from edgeagent.testing import Room, RoomSettings
from tests.check.voice_people import RATE_HZ, Person, VoiceTaken

SAID = [
    PlannedLine("go to the kitchen", "command"),
    PlannedLine("stop", "stop", "stop"),
    PlannedLine("turn left", "command"),
]
NOISE_DB = 45


def room(**settings: object) -> RoomSettings:
    known = {"rate_hz": RATE_HZ, "echo_gain_db": -6, "noise_snr_db": NOISE_DB, "record": False}
    return RoomSettings(**{**known, **settings})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> VoiceTaken:
    lines = [
        # PocketSphinx, which hears alone here, may mishear "go to the kitchen" in a room
        PlannedLine("turn left", "command"),
        PlannedLine("stop", "stop", "stop"),
        PlannedLine("stop", "stop_over", "stop", "3 m"),
        PlannedLine("the coffee is cold again", "talk", "", "3 m"),
    ]
    return VoiceTaken(lines, tmp_path_factory.mktemp("good"))


def test_a_good_microphone_gives_no_advice(good: VoiceTaken) -> None:
    assert good.advice == []
    assert [one.right for one in good.attempts] == [True] * 4
    assert good.person.shown == good.attempts
    assert good.person.places == ["3 m"]


def test_levels_are_those_of_the_room(good: VoiceTaken) -> None:
    score, sound = good.report.score, good.sound
    assert sound is not None
    assert score.speech_db == pytest.approx(good.room.settings.person_level_db, abs=1.5)
    assert sound.noise_db == pytest.approx(good.room.settings.person_level_db - NOISE_DB, abs=2)
    assert score.snr_db is not None
    assert score.snr_db > 25
    assert sound.echo_db is not None
    assert sound.echo_db == pytest.approx(good.room.settings.person_level_db - 6, abs=4)
    assert sound.removed_db is not None
    assert sound.removed_db > 20
    assert (sound.own_voice, score.clipped.count) == (0, 0)


def test_a_stop_word_over_the_robot_ends_its_story_soon(good: VoiceTaken) -> None:
    (over,) = [one for one in good.attempts if one.line.kind == "stop_over"]
    assert over.caught_s is not None
    assert over.caught_s < 0.5


def test_recordings_are_kept_for_their_owner_alone(good: VoiceTaken) -> None:
    folder = good.recordings.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    (test,) = kept_tests("Anna", among=folder.parent)
    assert (test.count, test.person, test.distances) == (4, "anna", ("", "3 m"))
    assert kept_tests("ben", among=folder.parent) == []
    assert [one.line for _, one in kept_attempts(test)] == [one.line for one in good.attempts]
    assert kept_room(test) == good.sound


@pytest.mark.parametrize(
    ("names", "settings", "silent"),
    [
        ({"quiet", "noise"}, {"person_level_db": -46, "noise_snr_db": 8}, True),
        ({"echo loud"}, {"echo_gain_db": 8, "person_level_db": -34}, False),
    ],
    ids=["quiet in noise", "echo loud"],
)
def test_what_is_wrong_with_the_sound_is_advised(
    names: set[str], settings: dict[str, float], silent: bool, tmp_path: Path
) -> None:
    taken = VoiceTaken(SAID[:2] if silent else SAID[:1], tmp_path, room(**settings), silent=silent)
    assert names <= set(taken.advice)


def test_ctrl_c_keeps_what_was_said_and_its_advice(tmp_path: Path) -> None:
    taken = VoiceTaken(SAID, tmp_path, room(person_level_db=-14), silent=True, gain=10.0, quits=1)
    assert taken.interrupted
    assert [one.line.text for one in taken.attempts] == ["go to the kitchen"]
    assert "clipped" in taken.advice
    (test,) = kept_tests(among=tmp_path)
    assert test.count == 1
    assert kept_room(test) == taken.sound


def test_who_says_nothing_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    taken = VoiceTaken([PlannedLine("turn left", "command")], tmp_path, silent=True, gain=1e-5)
    (attempt,) = taken.attempts
    assert (attempt.parts, attempt.heard, attempt.right) == (0, "", False)
    assert taken.report.score.unnoticed.count == 1
    assert taken.recordings.count == 1, "what the microphone gave is kept"


class Spotting(Person):
    """Says nothing; a stop word is spotted when it is his turn."""

    put: Callable[[KeywordSpotted | Level], None]

    def __init__(self, room: Room, end_s: float) -> None:
        super().__init__(room)
        self.end_s = end_s

    def listen(self, line: PlannedLine) -> None:
        self.put(KeywordSpotted(SpottedPhrase("stop", self.end_s - 0.4, self.end_s, self.end_s, 1.0)))
        for now_s in (1.0, 10.0, 20.0, 50.0):
            self.put(Level(now_s, -60.0, -60.0, False, False))


class StoryMouth:
    """A mouth whose speech is over at once."""

    def __init__(self) -> None:
        self.playback = SimpleNamespace(hold=lambda: None, resume=lambda: None)

    def say(self, text: str) -> object:
        return SimpleNamespace(error=None, is_over=lambda now_s: True)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("kind", ["stop", "stop_over"])
@pytest.mark.parametrize(("end_s", "caught"), [(-0.05, False), (0.1, False), (0.8, True)])
def test_the_stop_word_of_the_robot_s_own_question_is_not_caught(kind: Kind, end_s: float, caught: bool) -> None:
    simulated = Room(room())
    person = Spotting(simulated, end_s)
    mouth = StoryMouth() if kind == "stop_over" else None
    run = VoiceRun(Tapped(simulated), mouth, person, lambda sound, attempt, told: attempt)  # type: ignore[arg-type]
    person.put = run.put
    assert run._ask(PlannedLine("stop", kind, "stop")).caught is caught
