"""Commands that are right as text, and how many of them are right when they are spoken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from benchmarks.voice_trials import LIMIT_S, Once, Row, calm, talking, tell

from edgeagent.agent import Agent, Options
from edgeagent.app.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, configured_llm
from edgeagent.config import Config
from edgeagent.llm.llama import LlamaLLM
from edgeagent.robot import HouseRobot
from edgeagent.testing import RoomSettings
from edgeagent.tts.text.normalise import speakable

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


def spoken_commands(noise_snr_db: float | None, voices: Sequence[str], most: int, once: Once) -> list[Row]:
    """What the conversation gives to the model is asked in a new flat each, since the calls depend on where things are;
    a stop word that trips the latch is the call of the tool ``stop``. What is asked about again is wrong.
    """
    items = commands(most)
    room = RoomSettings(echo_gain_db=-6, record=False, noise_snr_db=noise_snr_db)
    with closing(configured_llm(Config())) as llm, talking(room) as (talk, log):
        known: dict[str, list[dict[str, Any]]] = {}

        def calls_for(text: str) -> list[dict[str, Any]]:
            if text not in known:
                known[text] = asked(llm, text)
            return known[text]

        talk.pass_s(2.0)

        def trial(number: int) -> list[bool]:
            """Whether its calls are right as text, and when it is spoken."""
            item, voice = items[number % len(items)], voices[number // len(items)]
            log.events.clear()
            said = talk.say(speakable(item["text"], "en").text, voice)
            talk.pass_until(lambda: talk.now_s >= said.end_s + 1.5, LIMIT_S)
            calm(talk)
            texts = [m.text for m in talk.app.session.messages() if m.role == "user" and m.origin != "marker"]
            stopped = [{"name": "stop", "arguments": {}}] if talk.conversation.rearm() else []
            made = [*stopped, *(made for text in texts for made in calls_for(text))]
            talk.app.session.reset()
            as_text, as_spoken = calls_for(item["text"]) == item["calls"], made == item["calls"]
            if as_text and not as_spoken:
                tell(f"not as spoken: {item['text']!r} ({voice}, {noise_snr_db} dB): {log.brief()}")
            return [as_text, as_spoken]

        made = [once(number, trial) for number in range(len(items) * len(voices))]
    right = [spoken for as_text, spoken in made if as_text]
    where = "clean" if noise_snr_db is None else f"at {noise_snr_db:g} dB SNR, steady noise"
    return [
        (
            f"commands right when spoken, of those right as text, {len(voices)} voices, {where}",
            f"{sum(right) / len(right):.1%} ({sum(right)} of {len(right)})",
            "95 %" if noise_snr_db is None else "85 %",
        ),
        (
            f"commands right when spoken, {where}",
            f"{sum(s for _, s in made) / len(made):.1%} of {len(made)} (as text {len(right) / len(made):.1%})",
            "",
        ),
    ]
