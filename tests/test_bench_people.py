"""``scripts/bench people``: its recordings, noises and halves, and how it counts what came of a trial."""

import hashlib
import io
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from edgeagent.stt import RATE_HZ
from edgeagent.testing import Room, RoomSettings, rms, snr_db, speechlike


class Minded:
    """A mind that acts on two texts, and asks about a third."""

    def __init__(self, mind: type) -> None:
        self.outcome = mind.outcome.__get__(self)

    def answer(self, text: str) -> tuple[list[dict[str, object]], str]:
        known = {"dock": "dock", "halt": "stop"}
        calls = [{"name": known[text], "arguments": {}}] if text in known else []
        return calls, "How far?" if text == "drive" else "Okay."

    def right_as_text(self, trial: object) -> bool:
        return True


@pytest.fixture
def judged(bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What came of "dock", which is a command, or of talk."""
    mind, trials = bench("people_mind"), bench("people_trials")
    monkeypatch.setattr(mind, "wanted_calls", lambda: {"dock": [{"name": "dock", "arguments": {}}]})

    def judge(kind: str, *texts: str, stopped: bool = False, remarks: tuple[str, ...] = ()) -> str:
        trial = trials.Trial(kind, "dock" if kind == "commands" else "nice weather", "heart", trials.Condition(), 1)
        return Minded(mind.Mind).outcome(trial, texts, stopped=stopped, remarks=remarks)

    return judge


# --- recordings -----------------------------------------------------------------------------------------------------


def test_every_recording_has_words_a_sha256_and_a_licence(bench: Callable[[str], ModuleType]) -> None:
    recordings = bench("people_recordings").RECORDINGS
    assert len({each.name for each in recordings}) == len(recordings) >= 13
    for each in recordings:
        assert re.fullmatch(r"[0-9a-f]{64}", each.sha256), each.name
        assert re.fullmatch(r"[a-z]+( [a-z]+)+", each.text), each.name
        assert each.licence, each.name


def test_a_recording_is_taken_out_of_its_archive_and_compared(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = bench("people_recordings")
    data = (1000 * np.ones(RATE_HZ, "<i2")).tobytes()
    archive = tmp_path / "some-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        entry = tarfile.TarInfo("some-1.0/said.raw")
        entry.size = len(data)
        made.addfile(entry, io.BytesIO(data))
    some = module.Archive("some", "1.0")
    good = module.Recording(
        "said", some, "some-1.0/said.raw", hashlib.sha256(data).hexdigest(), "ours", "so it is", part_s=(0.25, 0.5)
    )
    monkeypatch.setattr(module, "RECORDINGS", (good,))
    monkeypatch.setattr(module, "_downloaded", lambda *_: archive)
    module.fetch()
    assert len(module.sound(good)) == RATE_HZ // 4

    monkeypatch.setattr(module, "RECORDINGS", (module.Recording("x", some, good.member, 64 * "0", "ours", "so it is"),))
    with pytest.raises(module.RecordingsError, match="another recording"):
        module.fetch()


def test_without_a_network_the_error_says_what_is_missing(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = bench("people_recordings")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(module.RecordingsError, match=r"nosuchpackage-x 9\.9 can't be fetched, is there a network\?"):
        module._downloaded(module.Archive("nosuchpackage-x", "9.9"), tmp_path)


# --- noises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "snr"), [("motor", 5), ("fan", 20), ("pink", 5), ("music", 20)])
def test_a_noise_has_the_snr_that_it_says(bench: Callable[[str], ModuleType], kind: str, snr: float) -> None:
    trials = bench("people_trials")
    condition = trials.Condition(noise=kind, snr_db=snr)
    room = Room(RoomSettings(rate_hz=RATE_HZ, rt60_s=condition.rt60_s, seed=1))
    condition.with_noise(room, seed=1)
    room.say(speechlike(3, 10, RATE_HZ), RATE_HZ, 0.5)
    room.run(11)
    assert snr_db(room.recorded.person, room.recorded.noise, RATE_HZ) == pytest.approx(snr, abs=1.5)


@pytest.mark.parametrize("kind", ["motor", "fan", "pink", "music"])
def test_a_noise_is_drawn_by_its_seed_and_has_no_seam(bench: Callable[[str], ModuleType], kind: str) -> None:
    noises = bench("people_noise")
    loop = noises.noise(kind, 1, RATE_HZ)
    assert len(loop) == noises.LOOP_S * RATE_HZ
    assert rms(loop) == pytest.approx(1.0, abs=1e-3)
    assert not np.array_equal(loop, noises.noise(kind, 2, RATE_HZ))
    noises.noise.cache_clear()
    np.testing.assert_array_equal(loop, noises.noise(kind, 1, RATE_HZ))
    assert abs(loop[0] - loop[-1]) <= 1.5 * np.abs(np.diff(loop)).max()


def test_a_noise_that_is_not_there_is_refused(bench: Callable[[str], ModuleType]) -> None:
    with pytest.raises(ValueError, match="there is no noise 'rain'"):
        bench("people_noise").noise("rain", 1, RATE_HZ)


# --- trials ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["recordings", "commands", "ordinary", "talk"])
def test_halves_share_no_sentence_and_are_alike_in_size(bench: Callable[[str], ModuleType], kind: str) -> None:
    trials = bench("people_trials")
    halves: dict[str, set[str]] = {half: set() for half in trials.HALVES}
    where = [trials.Condition(), trials.Condition(noise="pink", snr_db=10.0)]
    for trial in trials.trials(kind, where, 1_000, seed=1):
        halves[trial.half].add(trial.text)
    assert not halves["tuned"] & halves["kept"]
    assert min(map(len, halves.values())) > 0.35 * sum(map(len, halves.values()))


def test_a_condition_changes_nothing_but_itself(bench: Callable[[str], ModuleType]) -> None:
    trials = bench("people_trials")
    where = [trials.Condition(), trials.Condition(noise="pink", snr_db=10.0)]
    drawn = list(trials.trials("talk", where, 9, seed=1))
    first, second = ([(t.text, t.voice, t.room_seed) for t in drawn if t.condition == each] for each in where)
    assert first == second
    assert first != [(t.text, t.voice, t.room_seed) for t in trials.trials("talk", where[:1], 9, seed=2)]
    assert {"slt", "en-gb"} <= {voice for _, voice, _ in first}, "flite and espeak-ng are there too"


def test_talk_is_long_enough_and_holds_no_command(bench: Callable[[str], ModuleType]) -> None:
    trials = bench("people_trials")
    said = trials.talk()
    assert len(set(said)) == len(said) >= 60
    assert not set(said) & set(trials.wanted_calls())


def test_an_interrupted_run_goes_on_with_the_same_pieces(bench: Callable[[str], ModuleType]) -> None:
    people, kept = bench("people"), bench("kept").Kept.of("some")
    planned = people.plan(people.arguments_of(["--set", "talk", "--recogniser", "ships", "--noise", "quiet"]))
    whole = people.chunks(planned, kept)
    for trial in whole[0].trials[:3]:
        kept.put(f"ships | {trial.name}", {})
    rest = people.chunks(planned, kept)
    assert rest[0].trials == whole[0].trials[3:]
    assert [chunk.seed for chunk in rest] == [chunk.seed for chunk in whole]
    assert rest[1:] == whole[1:]


# --- counting -------------------------------------------------------------------------------------------------------


def test_a_command_is_right_wrong_asked_about_or_not_heard(judged: Callable[..., str]) -> None:
    assert judged("commands", "dock") == "right"
    assert judged("commands", "dock", stopped=True) == "wrong", "nobody said stop"
    assert judged("commands", "halt") == "wrong"
    assert judged("commands", "drive") == "asked"
    assert judged("commands", remarks=("Did you say: dock?",)) == "asked"
    assert judged("commands", "hello") == "nothing"


def test_talk_is_right_while_nothing_is_called(judged: Callable[..., str]) -> None:
    assert judged("talk", "hello") == "right"
    assert judged("talk", "dock") == "wrong"
    assert judged("talk", stopped=True) == "wrong"


def test_words_of_all_utterances_of_a_recording_count(bench: Callable[[str], ModuleType]) -> None:
    table, trials = bench("people_table"), bench("people_trials")
    trial = trials.Trial("recordings", "goforward", "", trials.Condition(), 1)
    came = {trial.name: [["go forward", "go forward", True], ["10 meters", "Ten meter.", False]]}
    made = list(table.rows("tiny.en", [trial], came, None))
    assert [(row[2], row[3]) for row in made] == [
        ("recordings: words wrong", "25.0% (1 of 4)"),
        ("recordings: understood", "0.0% (0 of 1)"),
    ]
    (line,) = table.misses("tiny.en", [trial], came, None)
    assert "'go forward ten meters' as 'go forward Ten meter.' (1 of 4 wrong)" in line
