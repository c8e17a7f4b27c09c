"""The process that speaks for ``scripts/bench mouth``, because PortAudio finds its devices once, by the environment.

It gets a task as JSON and prints what happened when, on the monotonic clock that all processes of a machine share.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy as np
from bench.mouth_voices import SENTENCES, Tap, error_of

from edgeagent.audio import LATENCY_S, PlaybackQueue, PortAudioDevice, Samples
from edgeagent.tts import Mouth, Speech, make_speaker

SILENT: Final = 10 ** (-50 / 20)
HELD_S: Final = 0.5
QUIET_S: Final = 0.5
"""After a flush, before the next trial."""
SETTLED: Final = 350
"""Calls of the device, after which a sound server has played out the silence that it begins with."""
_LIMIT_S: Final = 120.0
_CANCELLER_HZ: Final = 16_000


def tell(**what: Any) -> None:
    """A line for the process that measures."""
    print(json.dumps(what), flush=True)


class Loudspeaker:
    """The device, and what its callback was given when."""

    def __init__(self, *ends: Any) -> None:
        self.device = PortAudioDevice(ends=ends or ("output",), latency_s=LATENCY_S)
        self.playback = PlaybackQueue(self.device.output_rate_hz or 48_000)
        self.blocks: list[tuple[float, float]] = []
        """When the callback ran, and the peak of what it got."""
        self.ahead_s: list[float] = []

    def fill(self, block: Samples, dac_s: float) -> None:
        now_s = time.monotonic()
        self.playback.fill(block, dac_s)
        self.blocks.append((now_s, float(np.abs(block).max())))
        self.ahead_s.append(dac_s - now_s)

    def start(self, **callbacks: Any) -> None:
        """Opens it, and waits until it has settled."""
        self.device.start(**({"fill": self.fill} | callbacks))
        end_s = time.monotonic() + _LIMIT_S
        while len(self.blocks) < SETTLED:
            if time.monotonic() > end_s:
                raise TimeoutError("the device does not call")
            time.sleep(0.02)
        self.device.xruns.under = self.device.xruns.over = 0

    def blocks_to_silence(self, at_s: float) -> float:
        """Blocks with sound among those that were asked for after a time, until the first one without."""
        later = [peak > SILENT for when_s, peak in self.blocks[-400:] if when_s > at_s]
        return later.index(False) if False in later else float("inf")

    def state(self) -> dict[str, Any]:
        return {
            "latency_ms": self.device.latency_s * 1e3,
            "ahead_ms": float(np.median(self.ahead_s)) * 1e3,
            "under": self.device.xruns.under,
            "most_late_ms": max(np.diff([when_s for when_s, _ in self.blocks[SETTLED:]]), default=0.0) * 1e3,
        }


def wait(speech: Speech, latency_s: float = LATENCY_S) -> None:
    """Until it was heard to its end."""
    end_s = time.monotonic() + _LIMIT_S
    while not speech.utterance.ended and speech.error is None and time.monotonic() < end_s:
        time.sleep(0.01)
    if speech.error is not None:
        raise speech.error
    time.sleep(latency_s)


def interrupts(voice: str, count: int) -> None:
    """Texts that are held, resumed and flushed at random moments."""
    rng = random.Random(2)
    out, tap = Loudspeaker(), Tap(make_speaker(voice))
    out.start()
    with Mouth(tap, out.playback) as mouth:
        wait(mouth.say("One moment."))
        time.sleep(QUIET_S)
        for _ in range(count):
            tap.forget()
            said_s = time.monotonic()
            speech = mouth.say(" ".join(rng.sample(SENTENCES, 4)))
            time.sleep(rng.uniform(0.5, 1.2))
            held_s = time.monotonic()
            out.playback.hold()
            time.sleep(HELD_S)
            held_blocks = out.blocks_to_silence(held_s)
            resumed_s = time.monotonic()
            out.playback.resume()
            time.sleep(rng.uniform(0.3, 0.8))
            flushed_s = time.monotonic()
            mouth.flush()
            time.sleep(QUIET_S)
            tell(
                said=said_s,
                held=held_s,
                resumed=resumed_s,
                flushed=flushed_s,
                ended=time.monotonic(),
                held_blocks=held_blocks,
                flushed_blocks=out.blocks_to_silence(flushed_s),
                error=error_of(speech, tap, out.device.now()),
            )
    out.device.stop()
    tell(**out.state())


def gaps(voice: str, seconds: float, path: str) -> None:
    """Sentence after sentence, and the same samples as the voice made them, in a file."""
    out, tap = Loudspeaker(), Tap(make_speaker(voice))
    out.start()
    with Mouth(tap, out.playback) as mouth:
        wait(mouth.say("One moment."))
        time.sleep(QUIET_S)
        tap.forget()
        said_s, used_s = time.monotonic(), time.process_time()
        speech = mouth.begin()
        for i in range(max(round(seconds / 3), 3)):
            speech.feed(SENTENCES[i % len(SENTENCES)] + " ")
        speech.end()
        wait(speech)
        took_s, used_s = time.monotonic() - said_s, time.process_time() - used_s
        time.sleep(QUIET_S)
    out.device.stop()
    np.save(path, np.concatenate(tap.chunks))
    tell(said=said_s, ended=time.monotonic(), rate_hz=tap.rate_hz, share=used_s / took_s)
    tell(**out.state() | {"starved": speech.utterance.starved})


def beside_a_model(voice: str, seconds: float) -> None:
    """Speech without an end, while the embedded model writes without an end."""
    from edgeagent import LlamaLLM
    from edgeagent.llm import LLMRequest
    from edgeagent.messages import Message

    llm = LlamaLLM("nano")
    llm.load()
    stop = threading.Event()
    tokens = [0]

    def generate() -> None:
        while not stop.is_set():
            asked = LLMRequest(messages=[Message.user("tell me where you are and drive on")], max_tokens=64)
            tokens[0] += llm.complete(asked, stop).usage.output_tokens

    out, tap = Loudspeaker(), Tap(make_speaker(voice))
    thread = threading.Thread(target=generate, name="model")
    with Mouth(tap, out.playback) as mouth:
        out.start()
        thread.start()
        begun_s, used_s = time.monotonic(), time.process_time()
        speech = mouth.begin()
        for i in range(round(seconds) + 2):  # each is longer than a second
            speech.feed(SENTENCES[i % len(SENTENCES)] + " ")
        time.sleep(seconds)
        starved, under = speech.utterance.starved, out.device.xruns.under
        took_s, used_s = time.monotonic() - begun_s, time.process_time() - used_s
        stop.set()
        mouth.flush()
    thread.join(_LIMIT_S)
    out.device.stop()
    llm.close()
    tell(**out.state() | {"under": under, "starved": starved, "played_s": speech.utterance.handed_s})
    tell(tokens_per_s=tokens[0] / took_s, cores=used_s / took_s)


def echo(voice: str, seconds: float) -> None:
    """Speaks into a room whose loudspeaker the microphone hears, and takes the echo out."""
    from edgeagent.audio import EchoCanceller, Resampler

    out = Loudspeaker("input", "output")
    in_hz, out_hz = out.device.input_rate_hz or 48_000, out.device.output_rate_hz or 48_000
    canceller = EchoCanceller(in_hz, out_hz, mode="webrtc", rate_hz=_CANCELLER_HZ, xruns=out.device.xruns)
    plain = Resampler(in_hz, _CANCELLER_HZ)
    queue: SimpleQueue[tuple[Samples, float]] = SimpleQueue()

    def fill(block: Samples, dac_s: float) -> None:
        out.fill(block, dac_s)
        canceller.far(block, dac_s)

    with Mouth(make_speaker(voice), out.playback) as mouth:
        out.start(fill=fill, take=lambda block, adc_s: queue.put((block, adc_s)))
        speech = mouth.begin()
        begun_s = time.monotonic()
        aligned_s = None
        for i in range(round(seconds / 2) + 2):
            speech.feed(SENTENCES[i % len(SENTENCES)] + " ")
        speech.end()
        before, after = [], []
        while time.monotonic() - begun_s < seconds:
            try:
                block, adc_s = queue.get(timeout=1)
            except Empty:
                break
            clean = canceller.near(block, adc_s)
            heard = plain.process(block)
            if aligned_s is None and canceller.aligned:
                aligned_s = time.monotonic() - begun_s
            if time.monotonic() - begun_s > seconds / 2:
                before.append(float(np.square(heard).sum()))
                after.append(float(np.square(clean).sum()))
        mouth.flush()
    out.device.stop()
    ratio = sum(before) / sum(after) if sum(after) else float("inf")
    tell(
        removed_db=canceller.removed_db,
        measured_db=None if not sum(before) else 10 * float(np.log10(ratio)),
        delay_ms=canceller.delay_s * 1e3,
        aligned_s=aligned_s,
        over=out.device.xruns.over,
    )
    tell(**out.state())


def main() -> None:
    """Does the task."""
    task = json.loads(sys.argv[1])
    tasks = {"interrupts": interrupts, "gaps": gaps, "beside_a_model": beside_a_model, "echo": echo}
    tasks[task.pop("task")](**task)


if __name__ == "__main__":
    main()
