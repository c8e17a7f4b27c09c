"""Commands that are right as text, and how many of them are right when they are spoken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from bench.report import Rows
from bench.voice_trials import LIMIT_S, Log, Once, calm, talking, tell

from edgeagent.agent import Agent, Options
from edgeagent.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, configured_llm
from edgeagent.config import Config
from edgeagent.english import speakable
from edgeagent.house import HouseRobot
from edgeagent.llm import LlamaLLM
from edgeagent.testing import RoomSettings
from edgeagent.voice import DialogueSettings

WORDS: Final = (2, 8)
"""Of a spoken command."""
_COMMANDS: Final = Path(__file__).resolve().parents[1] / "train_nano" / "evaluation"


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


def asked_about(log: Log) -> str:
    """What the robot has asked about: "did you say ...?"; nothing if it has not."""
    before, after = DialogueSettings().did_you_say.split("{text}")
    asked = [event.text for event in log.of("heard") if event.text.startswith(before)]
    return asked[-1].removeprefix(before).removesuffix(after) if asked else ""


def spoken_commands(
    voices: Sequence[str], most: int, once: Once, *, noise_snr_db: float | None = None, rt60_s: float = 0.3
) -> Rows:
    """What the conversation gives to the model is asked in a new flat each, since the calls depend on where things are;
    a stop word that trips the latch is the call of the tool ``stop``. What is asked about again is wrong; where the
    robot asks whether it was just that, the voice says "yes", and what comes of it is counted by itself.
    """
    items = commands(most)
    room = RoomSettings(echo_gain_db=-6, record=False, noise_snr_db=noise_snr_db, rt60_s=rt60_s)
    with closing(configured_llm(Config())) as llm, talking(room) as (talk, log):
        known: dict[str, list[dict[str, Any]]] = {}

        def calls_for(text: str) -> list[dict[str, Any]]:
            if text not in known:
                known[text] = asked(llm, text)
            return known[text]

        talk.pass_s(2.0)

        def trial(number: int) -> list[bool]:
            """Whether its calls are right as text, when it is spoken, and after a yes at the latest."""
            item, voice = items[number % len(items)], voices[number // len(items)]
            log.events.clear()
            made = said_aloud(speakable(item["text"], "en").text, voice)
            as_text, as_spoken = calls_for(item["text"]) == item["calls"], made == item["calls"]
            confirmed = as_spoken
            if as_text and not as_spoken:
                guess = asked_about(log)
                offered = bool(guess) and calls_for(guess) == item["calls"]
                confirmed = offered and [*made, *said_aloud("yes", voice)] == item["calls"]
                what = f"; asked about {guess!r}, {'confirmed' if confirmed else 'not confirmed'}" if guess else ""
                tell(f"not as spoken: {item['text']!r} ({voice}, {noise_snr_db} dB): {log.brief()}{what}")
            return [as_text, as_spoken, confirmed]

        def said_aloud(text: str, voice: str) -> list[dict[str, Any]]:
            """The calls of what comes of it."""
            said = talk.say(text, voice)
            talk.pass_until(lambda: talk.now_s >= said.end_s + 1.5, LIMIT_S)
            calm(talk)
            texts = [m.text for m in talk.app.session.messages() if m.role == "user" and m.origin != "marker"]
            stopped = [{"name": "stop", "arguments": {}}] if talk.conversation.rearm() else []
            talk.app.session.reset()
            return [*stopped, *(made for text in texts for made in calls_for(text))]

        made = [once(number, trial) for number in range(len(items) * len(voices))]
    right = [spoken for as_text, spoken, _ in made if as_text]
    confirmed = [sure for as_text, _, sure in made if as_text]
    where = f"RT60 {rt60_s:g} s" + ("" if noise_snr_db is None else f", {noise_snr_db:g} dB SNR, steady noise")
    return [
        (
            f"commands right when spoken, of those right as text, {len(voices)} voices, {where}",
            f"{sum(right) / len(right):.1%} ({sum(right)} of {len(right)})",
            "95 %" if noise_snr_db is None else "85 %",
        ),
        (
            f"the same, or after a yes to 'did you say ...?', {where}",
            f"{sum(confirmed) / len(confirmed):.1%} ({sum(confirmed)} of {len(confirmed)})",
            "",
        ),
        (
            f"commands right when spoken, {where}",
            f"{sum(s for _, s, _ in made) / len(made):.1%} of {len(made)} (as text {len(right) / len(made):.1%})",
            "",
        ),
    ]
