"""The part of ``scripts/bench voice`` that counts: conversations in the simulated room, on its clock.

Real ears, mouth, robot and conversation; where it does not matter what the model says, a script says it. Each part runs
in a process of its own, two at a time. Time passes in steps of 20 ms, and no time passes while a model or a recogniser
works, so no figure here depends on how fast the machine is.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
from benchmarks import ears_sentences, voice_lines

from edgeagent.agent import Agent, Options
from edgeagent.app.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, configured_llm
from edgeagent.app.rehearsal import Rehearsal
from edgeagent.audio.resample import Resampler
from edgeagent.audio.types import Samples
from edgeagent.config import Config
from edgeagent.llm import LLMRequest
from edgeagent.llm.llama import LlamaLLM
from edgeagent.robot import HouseRobot
from edgeagent.testing import RoomSettings, Said, ScriptedLLM, call, synthesised
from edgeagent.testing.recorded import Recorded
from edgeagent.tts.espeak import EspeakSpeaker
from edgeagent.tts.text.normalise import speakable
from edgeagent.voice.table import State

Row = tuple[str, str, str]

VOICES: Final = ("slt", "rms", "awb")
PAUSE_S: Final = 0.4
"""Of a slow speaker."""
WORDS: Final = (2, 8)
"""Of a spoken command."""
GAINS_DB: Final = (-20, -6, 6)
_COMMANDS: Final = Path(__file__).resolve().parents[1] / "train_nano" / "evaluation"
_REPLIES: Final = 10_000
_ROOM: Final = RoomSettings(echo_gain_db=-6, record=False)
_CALM_S: Final = 0.4
_LIMIT_S: Final = 40.0
_AT_ONCE: Final = 2


@dataclass(slots=True)
class Log:
    """What happened since somebody last looked."""

    events: list[Any] = field(default_factory=list)

    def of(self, kind: str, **fields: object) -> list[Any]:
        return [
            event
            for event in self.events
            if event.kind == kind and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def brief(self) -> str:
        """One line, for who wants to know why."""
        heard = [f"heard {event.text!r}" for event in self.of("transcript")]
        spotted = [f"{event.phrase} {event.confirmed}" for event in self.of("keyword")]
        return "; ".join([*heard, *spotted])


@contextmanager
def talking(
    room: RoomSettings = _ROOM, reply: Callable[[LLMRequest], Any] = lambda request: "Okay.", **settings: Any
) -> Iterator[tuple[Rehearsal, Log]]:
    """A conversation with a robot whose model says what a function says."""
    config = Config(conversation={"chimes": False, **settings})
    log = Log()
    with Rehearsal(config, room, llm=ScriptedLLM(*[reply] * _REPLIES)) as talk:
        talk.conversation.subscribe(log.events.append)
        talk.pass_s(_CALM_S)
        yield talk, log


def calm(talk: Rehearsal) -> None:
    """Until the robot and everybody else has been silent for a moment."""
    since_s = talk.now_s

    def silent() -> bool:
        nonlocal since_s
        if talk.state not in (State.LISTENING, State.ACTING) or talk.conversation.latch.state == "held":
            since_s = talk.now_s
        return talk.now_s - since_s >= _CALM_S

    talk.pass_until(silent, _LIMIT_S)


def tell(text: str) -> None:
    """Progress and what went wrong, beside the table."""
    print(f"scripts/bench voice: {text}", file=sys.stderr, flush=True)


# --- the robot's own voice -----------------------------------------------------------------------------------------


def own_voice(gain_db: float, minutes: float) -> list[Row]:
    """The robot speaks, and nobody else does."""
    room = RoomSettings(echo_gain_db=gain_db, rt60_s=0.4, drift_ppm=100, record=False)
    held = ended = tripped = 0
    with talking(room) as (talk, log):
        rate_hz = talk.room.settings.rate_hz
        talk.room.calibrate(synthesised(voice_lines.STORIES[0], "en", rate_hz), rate_hz)
        spoken_s, number = 0.0, 0
        texts = (*voice_lines.STORIES, voice_lines.TEMPTING)
        while spoken_s < minutes * 60:
            log.events.clear()
            begun_s = talk.now_s
            handle = talk.conversation.say(texts[number % len(texts)])
            number += 1
            talk.pass_until(lambda handle=handle: handle.done, _LIMIT_S)
            spoken_s += talk.now_s - begun_s
            held += len(log.of("barge_in", action="hold"))
            interrupted = bool(log.of("barge_in", action="final"))
            stopped = talk.conversation.rearm()
            if interrupted or stopped:
                tell(f"own voice at {gain_db:+g} dB: {log.brief()}")
            ended += interrupted or stopped
            tripped += stopped
            calm(talk)
    name = f"self-interruptions in {minutes:g} minutes of own speech, echo {gain_db:+g} dB, 100 ppm, RT60 0.4 s"
    return [(name, f"{ended} ({tripped} by a stop word; held and resumed {held} times)", "0")]


# --- turn taking ---------------------------------------------------------------------------------------------------


def in_two(talk: Rehearsal, parts: Sequence[str], voice: str) -> Said:
    """A sentence with a pause in it."""
    first = talk.say(parts[0], voice)
    return talk.say(parts[1], voice, after_s=first.end_s - talk.now_s + PAUSE_S)


def slow_speakers(lines: Sequence[tuple[str, ...]], count: int, name: str, target: str) -> list[Row]:
    """A turn is cut off if the robot says or does something before the sentence is over, or makes two turns of it."""
    cut = 0
    with talking() as (talk, log):
        for number in range(count):
            parts, voice = lines[number % len(lines)], VOICES[number // len(lines) % len(VOICES)]
            log.events.clear()
            said = in_two(talk, parts, voice)
            talk.pass_until(lambda end_s=said.end_s: talk.now_s >= end_s, _LIMIT_S)
            early = bool(log.of("voice_state", new=State.SPEAKING) or log.of("tool_execution_start"))
            talk.pass_s(2.0)
            talk.conversation.rearm()
            calm(talk)
            turns = len([m for m in talk.app.session.messages() if m.role == "user" and m.origin != "marker"])
            asked_again = len(log.of("heard", message_id=""))
            if early or turns + asked_again > 1:
                cut += 1
                tell(f"cut off: {' | '.join(parts)} ({voice}): {log.brief()}")
            talk.app.session.reset()
    return [(name, f"{cut} of {count}", target)]


def backchannels(count: int) -> list[Row]:
    """A backchannel kills an answer if it becomes an interruption."""
    random = np.random.default_rng(3)
    killed = held = 0
    with talking() as (talk, log):
        handle = talk.conversation.say(voice_lines.STORIES[0])
        for number in range(count):
            calm_s = random.uniform(1.0, 2.5)
            if handle.done or not talk.pass_until(lambda: talk.state is State.SPEAKING, 2.0):
                calm(talk)
                handle = talk.conversation.say(voice_lines.STORIES[number % len(voice_lines.STORIES)])
            talk.pass_s(calm_s)
            if talk.state is not State.SPEAKING:
                calm(talk)
                handle = talk.conversation.say(voice_lines.STORIES[number % len(voice_lines.STORIES)])
                talk.pass_s(calm_s)
            log.events.clear()
            line = voice_lines.BACKCHANNELS[number % len(voice_lines.BACKCHANNELS)]
            voice = VOICES[number // len(voice_lines.BACKCHANNELS) % len(VOICES)]
            said = talk.say(line, voice)
            talk.pass_until(lambda end_s=said.end_s: talk.now_s >= end_s + 1.2, _LIMIT_S)
            held += bool(log.of("barge_in", action="hold"))
            if log.of("barge_in", action="final") or talk.conversation.rearm():
                killed += 1
                tell(f"killed by {line!r} ({voice}): {log.brief()}")
    return [("backchannels that killed an answer", f"{killed} of {count} ({held} held it)", "at most 5 of 100")]


# --- what was heard ------------------------------------------------------------------------------------------------


class Reference:
    """A story as the loudspeaker plays it, and when its words begin and end."""

    def __init__(self, text: str, rate_hz: int) -> None:
        self.words: list[tuple[float, float]] = []
        parts: list[Samples] = []
        passed_s = 0.0
        with closing(EspeakSpeaker()) as speaker:
            for sentence in text.split(". "):
                chunks = list(speaker.speak(sentence.rstrip(".") + ".", Event()))
                samples = np.concatenate([chunk.samples for chunk in chunks])
                begins = [passed_s + word.at_s for chunk in chunks for word in chunk.words]
                passed_s += len(samples) / speaker.rate_hz
                self.words += zip(begins, [*begins[1:], passed_s], strict=True)
                parts.append(samples)
            made = np.concatenate(parts)
            self._sound = Resampler(speaker.rate_hz, rate_hz).process(made, last=True)
        self._rate_hz = rate_hz

    def position_s(self, played: Samples) -> float:
        """How much of it was played: where the last of the sound fits best."""
        loud = np.flatnonzero(np.abs(played) > 1e-4)
        if not len(loud):
            return 0.0
        last = played[max(loud[-1] + 1 - self._rate_hz // 2, loud[0]) : loud[-1] + 1].astype(np.float64)
        size = 1 << (len(self._sound) + len(last)).bit_length()
        fits = np.fft.irfft(np.fft.rfft(self._sound, size) * np.conj(np.fft.rfft(last, size)), size)
        return (int(np.argmax(fits[: len(self._sound)])) + len(last)) / self._rate_hz


def heard_words(count: int) -> list[Row]:
    """People interrupt an answer at random moments; its words in history are compared with the loudspeaker's sound."""
    random = np.random.default_rng(5)
    unheard: list[int] = []
    missing: list[int] = []
    missed = 0
    room = RoomSettings(echo_gain_db=-6)
    stories = list(voice_lines.STORIES)

    def reply(request: LLMRequest) -> str:
        told = request.messages[-1].text.partition("story ")[2]
        return stories[int(told)] if told.isdigit() else "Okay."

    with talking(room, reply) as (talk, log):
        references = [Reference(text, talk.room.settings.rate_hz) for text in stories]
        for number in range(count):
            calm(talk)
            talk.app.session.reset()
            log.events.clear()
            which = number % len(stories)
            talk.room.recorded = Recorded()
            talk.conversation.hear(f"story {which}")
            talk.pass_until(lambda: talk.state is State.SPEAKING, _LIMIT_S)
            talk.pass_s(random.uniform(0.3, 8.0))
            question = voice_lines.QUESTIONS[number % len(voice_lines.QUESTIONS)]
            talk.say(question, VOICES[number % len(VOICES)])
            if not talk.pass_until(lambda: bool(log.of("barge_in", action="final")), 3.0):
                missed += 1
                tell(f"not an interruption: {question!r}: {log.brief()}")
                talk.pass_until(lambda: talk.state is State.LISTENING, _LIMIT_S)
                continue
            position_s = references[which].position_s(talk.room.recorded.loudspeaker)
            text = next(m.text for m in talk.app.session.messages() if m.role == "assistant")
            kept = len(text.split())
            words = references[which].words
            unheard.append(max(kept - sum(begin_s < position_s for begin_s, _ in words), 0))
            missing.append(max(sum(end_s <= position_s for _, end_s in words) - kept, 0))
            if max(unheard[-1], missing[-1]) > 1:
                tell(f"{position_s:.2f} s were played: {text!r}")
            talk.pass_until(lambda: talk.state is State.LISTENING, _LIMIT_S)
    return [
        ("words in history that nobody heard, an interruption", f"{_most(unheard)}", "at most 1"),
        ("heard words missing in history, an interruption", f"{_most(missing)}", "at most 1"),
        ("speech over the robot's voice that did not interrupt it", f"{missed} of {count}", ""),
    ]


def _most(counts: Sequence[int]) -> str:
    return f"at most {max(counts, default=0)}, in all {sum(counts)} of {len(counts)} interruptions"


# --- stop words ----------------------------------------------------------------------------------------------------


def false_stops(count: int) -> list[Row]:
    """People talk while the robot drives; a drive is killed if it ends otherwise than where it was sent."""
    places = ("kitchen", "bedroom", "garage", "balcony")
    drives = 0

    def reply(request: LLMRequest) -> Any:
        told = request.messages[-1]
        if told.role == "user" and told.text.startswith("drive to number "):
            return [call("go_to", place=places[int(told.text.rpartition(" ")[2]) % len(places)])]
        return "Okay."

    killed = halted = 0
    lines = [
        (*voice_lines.FALSE_STOPS, *(line for line in ears_sentences.TALK if "stop" not in line))[number]
        for number in range(len(voice_lines.FALSE_STOPS) + min(75, len(ears_sentences.TALK)))
    ]
    with talking(_ROOM, reply) as (talk, log):
        runs = talk.conversation.dialogue.robot.runs
        for number in range(count):
            if not runs.acting:
                calm(talk)
                talk.app.session.reset()
                talk.conversation.hear(f"drive to number {drives}")
                drives += 1
                talk.pass_until(lambda: runs.acting, _LIMIT_S)
                calm(talk)
            log.events.clear()
            line, voice = lines[number % len(lines)], VOICES[number // len(lines) % len(VOICES)]
            said = talk.say(line, voice)
            talk.pass_until(lambda end_s=said.end_s: talk.now_s >= end_s + 1.5, _LIMIT_S)
            calm(talk)
            halted += bool(log.of("keyword", confirmed=None))
            if talk.conversation.rearm():
                killed += 1
                tell(f"drive killed by {line!r} ({voice}): {log.brief()}")
    return [
        ("drives killed by a false stop word", f"{killed} of {count} ({halted} halted for a moment)", "0"),
    ]


# --- commands ------------------------------------------------------------------------------------------------------


def commands(most: int) -> list[dict[str, Any]]:
    """Commands and questions with the right calls, of 2 to 8 words; some of each kind if there are more."""
    items = []
    for file in ("ours.jsonl", "other_hand.jsonl"):
        for line in (_COMMANDS / file).read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            if item["calls"] and WORDS[0] <= len(item["text"].split()) <= WORDS[1]:
                items.append(item)
    return items if len(items) <= most else [items[len(items) * n // most] for n in range(most)]


def asked(llm: LlamaLLM, text: str) -> list[dict[str, Any]]:
    """The calls that the model makes for a text, in a new flat."""
    robot = HouseRobot(speed=float("inf"))
    try:
        options = Options(max_tool_hops=MAX_TOOL_HOPS)
        result = Agent(NAME, INSTRUCTIONS, llm=llm, tools=robot.tools, options=options).run(text)
    finally:
        robot.close()
    return [{"name": made.name, "arguments": made.arguments} for made in result.tool_calls]


def spoken_commands(noise_snr_db: float | None, voices: Sequence[str], most: int) -> list[Row]:
    """What the conversation gives to the model is asked in a new flat each, since the calls depend on where things are;
    a stop word that trips the latch is the call of the tool ``stop``. What is asked about again is wrong.
    """
    llm = configured_llm(Config())
    known: dict[str, list[dict[str, Any]]] = {}

    def calls_for(text: str) -> list[dict[str, Any]]:
        if text not in known:
            known[text] = asked(llm, text)
        return known[text]

    items = commands(most)
    right = [item for item in items if calls_for(item["text"]) == item["calls"]]
    spoken = both = count = 0
    room = RoomSettings(echo_gain_db=-6, record=False, noise_snr_db=noise_snr_db)
    with talking(room) as (talk, log):
        talk.pass_s(2.0)
        for voice in voices:
            for item in items:
                log.events.clear()
                said = talk.say(speakable(item["text"], "en").text, voice)
                talk.pass_until(lambda end_s=said.end_s: talk.now_s >= end_s + 1.5, _LIMIT_S)
                calm(talk)
                texts = [m.text for m in talk.app.session.messages() if m.role == "user" and m.origin != "marker"]
                stopped = [{"name": "stop", "arguments": {}}] if talk.conversation.rearm() else []
                made = [*stopped, *(made for text in texts for made in calls_for(text))]
                talk.app.session.reset()
                count += 1
                spoken += made == item["calls"]
                if item in right:
                    both += made == item["calls"]
                    if made != item["calls"]:
                        tell(f"not as spoken: {item['text']!r} ({voice}, {noise_snr_db} dB): {log.brief()}")
    llm.close()
    of_right = len(right) * len(voices)
    where = "clean" if noise_snr_db is None else f"at {noise_snr_db:g} dB SNR, steady noise"
    return [
        (
            f"commands right when spoken, of those right as text, {len(voices)} voices, {where}",
            f"{both / of_right:.1%} ({both} of {of_right})",
            "95 %" if noise_snr_db is None else "85 %",
        ),
        (
            f"commands right when spoken, {where}",
            f"{spoken / count:.1%} of {count} (as text {len(right) / len(items):.1%} of {len(items)})",
            "",
        ),
    ]


# --- all of it -----------------------------------------------------------------------------------------------------


def parts(quick: bool) -> dict[str, Callable[[], list[Row]]]:
    """Every measurement by its name, the longest first."""
    few = quick
    voices = VOICES[:1] if few else VOICES
    return {
        "commands at 10 dB": partial(spoken_commands, 10.0, voices, 12 if few else 100),
        "commands": partial(spoken_commands, None, voices, 12 if few else 100),
        "heard words": partial(heard_words, 6 if few else 200),
        "false stop words": partial(false_stops, 8 if few else 200),
        "slow speakers": partial(
            slow_speakers,
            voice_lines.SLOW,
            10 if few else 200,
            "false cut-offs of slow speakers, 400 ms inside a sentence",
            "at most 4 of 200",
        ),
        **{
            f"own voice at {gain_db:+d} dB": partial(own_voice, gain_db, 0.5 if few else 10)
            for gain_db in reversed(GAINS_DB)
        },
        "backchannels": partial(backchannels, 6 if few else 100),
        "slow speakers, whole": partial(
            slow_speakers,
            voice_lines.SLOW_WHOLE,
            6 if few else 36,
            "cut-offs where the words before the pause are a whole sentence",
            "",
        ),
    }


def rows(quick: bool, only: Sequence[str] = ()) -> list[Row]:
    """Name, figure and target of each measurement.

    Args:
        only: Names of ``parts``; empty: all.
    """
    chosen = {name: part for name, part in parts(quick).items() if not only or name in only}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_AT_ONCE, mp_context=context) as pool:
        running = {name: pool.submit(_timed, name, part) for name, part in chosen.items()}
        return [row for running_part in running.values() for row in running_part.result()]


def _timed(name: str, part: Callable[[], list[Row]]) -> list[Row]:
    begun_s = time.monotonic()
    made = part()
    tell(f"{name}: {time.monotonic() - begun_s:.0f} s")
    return made


if __name__ == "__main__":
    for each in rows("--quick" in sys.argv, [argument for argument in sys.argv[1:] if argument != "--quick"]):
        print(" | ".join(each))
