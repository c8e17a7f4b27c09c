"""The ears on a real device: PortAudio on null sinks of PulseAudio, the loudspeaker in the microphone at -6 dB.

Words and their latency from recorded audio, what idle, hearing and speaking cost, and what the loudspeaker misses while
the robot speaks and a person too. A process of its own listens (``ears_listener``).
"""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any, Final

import numpy as np
from bench import ears_sentences as said
from bench.pulse_room import LIMIT_S, VOICES, Line, PulseRoom, Take, Told, rms
from bench.report import Rows, percentile, teller
from bench.voice_stack import Shares, pss_mb

from edgeagent.stt import for_error_rate, word_error_rate
from tests.audio.pulse import missing

LATENCIES_MS: Final = (60, 30)
_ANSWER_S: Final = 4.0
"""After a line, for its transcript."""
_BETWEEN_S: Final = 0.4
_GAP_S: Final = 1.0
"""So long nothing is told before the next line."""
_LEAD_S: Final = 1.5
"""Of the robot's speech before the person's."""
_LIKE: Final = 0.95
_LIKE_OVER: Final = 0.75
"""The same where the echo lies over the line: at -6 dB a line without gaps has 0.9."""
_TALK: Final = "well my sister said that the weather would be nice tomorrow and we could all go to the lake"


class Listener(PulseRoom):
    """The robot's ears in their process, a person, and what the microphone hears. A context manager.

    Raises:
        TimeoutError: It is not ready in time, or does not answer.
    """

    def __init__(self, latency_ms: int) -> None:
        super().__init__("bench.ears_listener", str(latency_ms))

    def settle(self, quiet_s: float) -> None:
        """Waits until it has told nothing for so long."""
        with contextlib.suppress(TimeoutError):
            while True:
                self.wait(lambda told: True, quiet_s)

    def state(self) -> Told:
        self.ask("state")
        return self.wait(lambda told: told["kind"] == "state", LIMIT_S)

    def echo_db(self) -> float:
        """Level of the echo at the microphone while the robot speaks."""
        self.ask("speak", seconds=4)
        begun_s = time.monotonic()
        self.microphone.wait_until(begun_s + 1.0)
        self.microphone.cut()
        self.microphone.wait_until(begun_s + 4.0)
        take = self.microphone.cut()
        self.ask("hush")
        loud = take.samples[np.abs(take.samples) > 1e-4]
        if not len(loud):
            raise TimeoutError("the robot is not heard in the room")
        return 20 * math.log10(rms(loud))


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target of each measurement; and what does not work."""
    if (why := missing()) is not None:
        return [("through PortAudio and PulseAudio", f"not measured: {why}", "")], []
    made: Rows = []
    wrong: list[str] = []
    for latency_ms in LATENCIES_MS:
        teller("ears")(f"PulseAudio, {latency_ms} ms")
        try:
            with Listener(latency_ms) as listener:
                first = latency_ms == LATENCIES_MS[0]
                if first:
                    made += _costs(listener, 6.0 if quick else 30.0)
                    made += _words(listener, quick, "", own=False)
                echo_db = listener.set_echo() if first or not quick else 0.0
                made += _both(listener, latency_ms, 15.0 if quick else 60.0, costs=first)
                if first:
                    name = f", over the robot's voice, its echo {echo_db:+.1f} dB"
                    made += _words(listener, quick, name, own=True)
        except (TimeoutError, subprocess.SubprocessError) as error:
            made.append((f"PulseAudio, {latency_ms} ms", f"failed: {error}", ""))
            wrong.append(f"PulseAudio, {latency_ms} ms: {error}")
    return made, wrong


def _words(listener: Listener, quick: bool, name: str, *, own: bool) -> Rows:
    """Commands and talk, said one after the other: words wrong, and how late the transcript is."""
    texts = [*said.COMMANDS[:: 25 if quick else 6], *said.OTHER[:: 80 if quick else 12]][:: 2 if quick and own else 1]
    wrong = words = 0.0
    late_s: list[float] = []
    understood = damaged = 0
    for number, text in enumerate(texts):
        line = Line(text, VOICES[number % len(VOICES)])
        if own:
            listener.ask("speak", seconds=line.end_s + _ANSWER_S)
            listener.microphone.wait_until(time.monotonic() + _LEAD_S)
        for _ in listener.told():
            pass
        listener.microphone.cut()
        said_s = time.monotonic()
        listener.speak(line)
        heard = _transcripts(listener, said_s)
        if own:
            listener.ask("hush")
        take = listener.microphone.cut()
        listener.settle(_GAP_S)
        if _likeness(take, line) < (_LIKE_OVER if own else _LIKE):
            damaged += 1
            continue
        count = len(for_error_rate(text).split())
        raw = " ".join(each["transcript"]["raw"] for each in heard)
        wrong += count * word_error_rate(text, raw)
        words += count
        understood += any(each["transcript"]["understood"] for each in heard)
        late_s.append(heard[-1]["now_s"] - take.begins_s(line) - line.end_s if heard else math.inf)
    lines = f"{len(texts) - damaged} lines ({damaged} more were played with gaps)"
    late = f"p50 {_ms(late_s, 0.5)}, p95 {_ms(late_s, 0.95)}, {sum(map(math.isinf, late_s))} without one"
    return [
        (f"PulseAudio: words wrong{name}", f"{wrong / max(words, 1):.1%}, understood {understood} of {lines}", ""),
        (f"PulseAudio: end of speech to the final transcript{name}", late, ""),
    ]


def _likeness(take: Take, line: Line) -> float:
    """Of what was recorded and the clean line, from 0 to 1: a player or a sound server that is late leaves gaps."""
    at = max(take.sample(take.begins_s(line)), 0)
    count = min(len(take.samples) - at, len(line.sound))
    recorded, clean = take.samples[at : at + count], line.sound[:count]
    product = float(np.linalg.norm(recorded) * np.linalg.norm(line.sound))
    return float(recorded @ clean) / product if product else 0.0


def _transcripts(listener: Listener, said_s: float) -> list[dict[str, Any]]:
    """Of all utterances that ended since then, until none is open; what was void is left out."""
    found: dict[int, dict[str, Any]] = {}
    ended: set[int] = set()
    end_s = time.monotonic() + _ANSWER_S
    while (left_s := end_s - time.monotonic()) > 0:
        try:
            told = listener.wait(lambda told: True, left_s)
        except TimeoutError:
            break
        if told.get("at_s", 0.0) < said_s:  # of what was said before; a sound card's clock is this one
            continue
        if told["kind"] == "transcribed":
            found[told["utterance"]] = told
        elif told["kind"] == "resumed":
            found.pop(told["utterance"], None)
        elif told["kind"] == "ended":
            ended.add(told["utterance"])
        if found and set(found) == ended:  # another one may follow at once
            end_s = min(end_s, time.monotonic() + _BETWEEN_S)
    return [found[number] for number in sorted(found)]


def _costs(listener: Listener, seconds: float) -> Rows:
    """Share of a core and memory while nobody speaks, and while a person does without a pause."""
    listener.microphone.wait_until(time.monotonic() + 2.0)
    made = _measured(listener, "idle", seconds, lambda: listener.microphone.wait_until(time.monotonic() + seconds))
    end_s = time.monotonic() + seconds

    def hearing() -> None:
        for voice in cycle(VOICES):
            if time.monotonic() > end_s:
                return
            listener.speak(Line(_TALK, voice))

    made += _measured(listener, "hearing", seconds, hearing)
    listener.settle(_GAP_S)
    return made


def _both(listener: Listener, latency_ms: int, seconds: float, *, costs: bool) -> Rows:
    """The robot speaks; then a person does too: blocks that the loudspeaker misses."""
    made: Rows = []
    if costs:
        length_s = seconds / 3
        listener.ask("speak", seconds=length_s)
        for _ in listener.told():
            pass
        wait = listener.microphone.wait_until
        made += _measured(listener, "speaking", length_s, lambda: wait(time.monotonic() + length_s))
        starts = sum(told["kind"] == "started" for told in listener.told())
        made.append((f"PulseAudio: own voice taken for speech in {length_s:.0f} s", f"{starts} times", "0"))
        listener.ask("hush")
    before = listener.state()
    listener.ask("speak", seconds=seconds)
    begun_s = time.monotonic()
    for voice in cycle(VOICES):
        if time.monotonic() > begun_s + seconds:
            break
        listener.speak(Line(_TALK, voice))
    took_s = time.monotonic() - begun_s
    after = listener.state()
    listener.ask("hush")
    removed = "" if after["removed_db"] is None else f"; echo removed {after['removed_db']:.0f} dB"
    figure = f"{after['under'] - before['under']} of the device, {after['starved']} starved blocks, "
    figure += f"{after['over'] - before['over']} over-runs{removed}"
    name = f"under-runs in {took_s:.0f} s of playback at {latency_ms} ms while a person speaks"
    return [*made, (name, figure, "0" if latency_ms == LATENCIES_MS[0] else "")]


def _measured(listener: Listener, state: str, seconds: float, work: Callable[[], object]) -> Rows:
    shares = Shares(listener.pid)
    work()
    found = shares.end()
    memory = [pss_mb(pid) for pid in found]
    parts = " + ".join(f"{share:.1%}" for share in found.values())
    sizes = " + ".join(f"{size:.0f}" for size in memory)
    return [
        (f"share of a core, {state}", f"{sum(found.values()):.1%} (ears and mouth, then recognisers: {parts})", ""),
        (f"memory (PSS), {state}", f"{sum(memory):.0f} MB ({sizes})", ""),
    ]


def _ms(times_s: list[float], share: float) -> str:
    value = percentile(times_s, share)
    return f"{value * 1e3:.0f} ms" if math.isfinite(value) else "infinite"
