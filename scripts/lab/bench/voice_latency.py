"""How soon the robot answers, moves, is silent and stands, from recorded sound: real time, and a real sound server.

End of speech is the last 10 ms of the clean line within 40 dB of its peak, onset the first; sound is a block of 10 ms
over -50 dBFS on the recorded loudspeaker. A miss counts as infinity in a percentile.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.kept import Kept
from bench.pulse_room import VOICES, Line
from bench.report import Rows, percentile
from bench.voice_stage import Stage

MOTIONS: Final = (
    "go to the kitchen",
    "turn left",
    "drive to the bedroom",
    "turn around",
    "go to the bathroom",
    "turn right",
    "go to the living room",
    "turn left ninety degrees",
    "please go to the office",
    "drive to the dock",
)
"""The answer to them is an announcement."""
QUESTIONS: Final = (
    "what time is it",
    "how full is your battery",
    "where are you",
    "what can you see",
    "where is the red cup",
    "what do you have in your gripper",
    "are you charging",
    "what is the battery level",
    "which room are you in",
    "tell me the time please",
)
OVER: Final = (
    "what time is it now",
    "go to the bedroom please",
    "how full is your battery",
    "where are you right now",
    "turn around and come back",
)
"""Said over the robot's voice."""
_ALOUD: Final = "I will go through the flat now and tell you everything that I find on my way to the kitchen and back"
"""Without a pause."""
_DRIVES: Final = ("go to the kitchen", "go to the bedroom")
_ANSWER_S: Final = 6.0
_EVENT_S: Final = 8.0
_THINK_S: Final = 6.0
_AFTER_S: Final = 0.4
"""Recorded beyond the end of a trial."""

_TRIES: Final = 4

Event = dict[str, Any]
Trial = dict[str, float]


class NotBegunError(Exception):
    """The robot did not do what it should be interrupted in."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial: of what, its number among those, what is said, and how it is done."""

    what: str
    number: int
    line: tuple[str, str]
    """Text and voice."""
    do: Callable[[Stage, Line, random.Random], Trial]

    @property
    def name(self) -> str:
        return f"{self.what} {self.number}"


def planned(count: int) -> list[Planned]:
    """So many trials of each kind; what each of them is does not depend on how many there are."""
    said = list(enumerate(_drawn(MOTIONS, QUESTIONS, count=count)))
    made = [Planned("answer", i, (text, VOICES[i % 3]), lambda stage, line, _: answer(stage, line)) for i, text in said]
    made += [Planned("barge-in", i, (OVER[i % len(OVER)], VOICES[i % 3]), barge_in) for i in range(count)]
    for state, begin in (("speaking", speaking), ("thinking", thinking), ("acting", acting)):
        made += [Planned(f"stop, {state}", i, ("stop", VOICES[i % 3]), partial(stop, begin)) for i in range(count)]
    return made


def rows(quick: bool, kept: Kept, *, count: int | None = None, keep: Path | None = None) -> tuple[Rows, list[str]]:
    """Name, figure and target of each latency; and what does not work.

    Args:
        kept: Trials that are there already, and those that are made.
        count: Trials of each kind; None: 30, or 4.
        keep: Where the trials are written to, one a line.
    """
    plan = planned(count or (4 if quick else 30))
    missing = [trial for trial in plan if kept.get(trial.name) is None]
    if missing:
        _measure(missing, kept)
    trials: dict[str, list[Trial]] = {}
    for trial in plan:
        trials.setdefault(trial.what, []).append(kept.get(trial.name))
    if keep is not None:
        keep.write_text("".join(json.dumps({"what": what} | t) + "\n" for what, all_ in trials.items() for t in all_))
    echo_db, xruns = kept.get("echo_db"), kept.get("xruns")
    made: Rows = [("echo at the microphone, beside a person's speech", f"{echo_db:+.1f} dB", "-6 dB")]
    said = [trial.line[0] for trial in plan if trial.what == "answer"]
    made += _answers(trials["answer"], said) + _interruptions(trials["barge-in"])
    made += _stops({name: found for name, found in trials.items() if name.startswith("stop")})
    made.append(("under- and over-runs of the device meanwhile", f"{xruns[0]} and {xruns[1]}", ""))
    answered = [trial for trial in trials["answer"] if math.isfinite(trial["sound"])]
    return made, [] if answered else ["nothing was answered"]


def _measure(plan: Sequence[Planned], kept: Kept) -> None:
    """Those trials, each kept when it is done; under- and over-runs are those of all starts together."""
    before = kept.get("xruns", [0, 0])
    with Stage() as stage:
        kept.put("echo_db", stage.set_echo())
        stage.warm_up()
        for trial in plan:
            kept.put(trial.name, tried(trial, stage, Line(*trial.line)))
            xruns = stage.rest()
            kept.put("xruns", [before[0] + xruns["under"], before[1] + xruns["over"]])


def _drawn(*kinds: Sequence[str], count: int) -> list[str]:
    """So many of each kind, in turn."""
    return [kind[i % len(kind)] for i in range(count) for kind in kinds]


def tried(trial: Planned, stage: Stage, line: Line) -> Trial:
    """Does a trial, anew when it could not begin."""
    what, rng = trial.what, random.Random(f"7 {trial.name}")  # the same, whatever was done before
    for _ in range(_TRIES):
        try:
            found = trial.do(stage, line, rng)
        except NotBegunError as error:  # the model or the world would not have it so
            print(f"  {what}: again, {error}", file=sys.stderr, flush=True)
            stage.rest()
        else:
            break
    else:
        raise NotBegunError(f"{what} can't be begun")
    shown = "  ".join(f"{name} {value * 1e3:.0f}" for name, value in found.items())
    print(f"  {what}: {line.text!r} ({line.voice}): {shown}", file=sys.stderr, flush=True)
    return found


def _is(kind: str, **fields: Any) -> Callable[[Event], bool]:
    return lambda event: event["kind"] == kind and all(event.get(name) == value for name, value in fields.items())


def _came(stage: Stage, seen: Callable[[Event], bool], timeout_s: float = _EVENT_S) -> float:
    """When it did; infinity if not."""
    try:
        return float(stage.wait(seen, timeout_s)["t"])
    except TimeoutError as error:
        if "ended" in str(error):
            raise
        return math.inf


def _at(seen: list[Event], chosen: Callable[[Event], bool], since_s: float = -math.inf) -> float:
    """When it first happened since a moment; infinity if it did not."""
    return next((float(event["t"]) for event in seen if event["t"] >= since_s and chosen(event)), math.inf)


def answer(stage: Stage, line: Line) -> Trial:
    """A command or a question, and the first sound and the first motion that it brings about."""
    stage.speak(line)
    given_s = _at(stage.seen, _is("given", sound=True))
    if not math.isfinite(given_s):
        given_s = _came(stage, _is("given", sound=True), _ANSWER_S)
    moves = line.text in MOTIONS
    if moves and not math.isfinite(_at(stage.seen, _is("base", what="moves"))):
        _came(stage, _is("base", what="moves"), 2.0)
    last_s = max((float(event["t"]) for event in stage.seen), default=0.0)
    loudspeaker, microphone = stage.takes(last_s + _AFTER_S)
    end_s = microphone.begins_s(line) + line.end_s
    seen = stage.seen
    hard = [event["t"] for event in seen if event["kind"] == "speech_end" and not event["soft"]]
    soft = [event["t"] for event in seen if event["kind"] == "speech_end" and event["soft"]]
    asked = [event for event in seen if event["kind"] == "transcript"]
    return {
        "sound": loudspeaker.first_sound_s(end_s, last_s + _AFTER_S),
        "motion": _at(seen, _is("base", what="moves")) - end_s if moves else math.nan,
        "soft end": (soft[-1] if soft else math.inf) - end_s,
        "transcript": (asked[-1]["t"] if asked else math.inf) - end_s,
        "hard end": (hard[-1] if hard else math.inf) - end_s,
        "run": _at(seen, _is("agent_start")) - end_s,
        "tool": _at(seen, _is("tool_execution_start")) - end_s,
        "model done": _at(seen, lambda event: event["kind"] == "message_end" and event["message"]["role"] != "user")
        - end_s,
        "given": given_s - end_s,
        "understood": float(bool(asked) and bool(asked[-1]["understood"])) / 1e3,
    }


def barge_in(stage: Stage, line: Line, rng: random.Random) -> Trial:
    """Speech over the robot's voice, until that is silent."""
    speaking(stage, rng)
    stage.speak(line)
    until_s = _at(stage.seen, _is("barge_in", action="final"))
    if not math.isfinite(until_s):
        until_s = _came(stage, _is("barge_in", action="final"), 2.0)
    loudspeaker, microphone = stage.takes(max(event["t"] for event in stage.seen) + _AFTER_S)
    begins_s = microphone.begins_s(line)
    onset, end_s = begins_s + line.onset_s, begins_s + line.end_s
    loud, _ = loudspeaker.loud(onset - 0.2, onset)
    seen = stage.seen
    return {
        "silence": loudspeaker.silence_s(onset, end_s) if loud.any() else math.inf,
        "speech start": _at(seen, _is("speech_start"), onset) - onset,
        "hold": _at(seen, _is("barge_in", action="hold"), onset) - onset,
        "final": until_s - onset,
    }


def stop(begin: Callable[[Stage, random.Random], object], stage: Stage, line: Line, rng: random.Random) -> Trial:
    """A spoken "stop", until the base is told to stand, and stands; and until the robot is silent."""
    begin(stage, rng)
    before = len(stage.seen)
    stage.speak(line)
    if not any(_is("voice_state", why="trip")(event) for event in stage.seen[before:]):
        _came(stage, _is("voice_state", why="trip"), 5.0)
    if begin is acting and not math.isfinite(_at(stage.seen[before:], _is("base", what="stands"))):
        _came(stage, _is("base", what="stands"), 1.0)
    seen = stage.seen[before:]
    last_s = max((float(event["t"]) for event in seen), default=0.0)
    loudspeaker, microphone = stage.takes(last_s + _AFTER_S)
    begins_s = microphone.begins_s(line)
    end_s = begins_s + line.end_s
    stood_s = _at(seen, _is("base", what="stands"), begins_s) if begin is acting else math.nan
    return {
        "zero": _at(seen, _is("base", what="zero"), begins_s + line.onset_s) - end_s,
        "standstill": stood_s - end_s,
        "spotted": _at(seen, _is("keyword", confirmed=None), begins_s) - end_s,
        "trip": _at(seen, _is("voice_state", why="trip"), begins_s) - end_s,
        "silence": loudspeaker.silence_s(end_s, last_s + _AFTER_S) if begin is speaking else math.nan,
    }


def _begun(stage: Stage, seen: Callable[[Event], bool]) -> None:
    """Waits for what a trial begins with."""
    if not math.isfinite(_came(stage, seen)):
        raise NotBegunError(f"after {[event['kind'] for event in stage.seen[-5:]]}")


def speaking(stage: Stage, rng: random.Random) -> None:
    """Has the robot speak for long."""
    stage.ask("say", text=_ALOUD)
    _begun(stage, _is("given", sound=True))
    stage.tape.wait_until(stage.seen[-1]["t"] + rng.uniform(0.3, 1.0))


def thinking(stage: Stage, rng: random.Random) -> None:
    """Has the model generate for long."""
    stage.ask("think", seconds=_THINK_S)
    stage.ask("hear", text="what time is it")
    _begun(stage, _is("voice_state", new="thinking"))
    stage.tape.wait_until(stage.seen[-1]["t"] + rng.uniform(0.3, 1.0))


def acting(stage: Stage, rng: random.Random) -> None:
    """Has the robot drive, and announced it."""
    stage.ask("hear", text=_DRIVES[stage.trials % len(_DRIVES)])
    _begun(stage, _is("base", what="moves"))
    _begun(stage, _is("voice_state", new="acting", why="playback finished"))
    stage.tape.wait_until(stage.seen[-1]["t"] + rng.uniform(0.1, 0.5))


# --- figures ------------------------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> str:
    """Percentiles, in ms."""
    ordered = sorted(values)
    p50, p95 = (_ms(percentile(ordered, share)) for share in (0.5, 0.95))
    return f"p50 {p50}, p95 {p95} ms, most {_ms(ordered[-1])} ({len(ordered)})" if ordered else "none"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}" if math.isfinite(seconds) else "inf"


def _answers(trials: list[Trial], said: list[str]) -> Rows:
    understood = sum(trial["understood"] > 0 for trial in trials)
    motions = [trial for trial, text in zip(trials, said, strict=True) if text in MOTIONS]
    questions = [trial for trial, text in zip(trials, said, strict=True) if text not in MOTIONS]
    made: Rows = [
        ("end of speech to first sound", spread([trial["sound"] for trial in trials]), "p50 500, p95 900 ms"),
        ("  of commands, which are announced", spread([trial["sound"] for trial in motions]), ""),
        ("  of questions", spread([trial["sound"] for trial in questions]), ""),
        ("spoken command to first motion", spread([trial["motion"] for trial in motions]), ""),
        ("lines that were understood", f"{understood} of {len(trials)}", ""),
    ]
    for what in ("soft end", "transcript", "hard end", "run", "model done", "tool", "given"):
        values = [trial[what] for trial in trials if math.isfinite(trial[what])]
        middle = f"median {statistics.median(values) * 1e3:.0f} ms ({len(values)})" if values else "none"
        made.append((f"  end of speech to {what}", middle, ""))
    return made


def _interruptions(trials: list[Trial]) -> Rows:
    made: Rows = [("onset of speech over its voice to silence", spread([t["silence"] for t in trials]), "p95 350 ms")]
    for what in ("speech start", "hold", "final"):
        made.append((f"  onset to {what}", spread([trial[what] for trial in trials]), ""))
    return made


def _stops(kinds: dict[str, list[Trial]]) -> Rows:
    together = [trial["zero"] for trials in kinds.values() for trial in trials]
    within = sum(value <= 0.3 for value in together) / len(together)
    figure = f"{spread(together)}, {within:.0%} within 300 ms, {sum(value <= 1.2 for value in together)} within 1.2 s"
    made: Rows = [('end of "stop" to the zero command', figure, "p50 120 ms, 90 % in 300, all in 1200")]
    for name, trials in kinds.items():
        made.append((f"  {name}", spread([trial["zero"] for trial in trials]), ""))
    for what, state in (("standstill", "stop, acting"), ("silence", "stop, speaking")):
        made.append((f'end of "stop" to {what}', spread([trial[what] for trial in kinds[state]]), ""))
    every = [trial for trials in kinds.values() for trial in trials]
    spotted = sum(math.isfinite(trial["spotted"]) for trial in every)
    made.append(("  of them spotted, the rest by the transcript", f"{spotted} of {len(every)}", ""))
    made.append(('end of "stop" to the trip', spread([trial["trip"] for trial in every]), ""))
    return made
