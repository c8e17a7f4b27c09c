"""Whole conversations, as they ship, in a simulated room: trials of ``scripts/bench people``.

Ears, turn taking, stop words and "did you say …?" are the shipped ones. The model is a script that turns the robot by
a degree. What the conversation has asked it is kept as text, unless the turn was called off before it began;
``people_mind`` tells later which calls come of it. Words in doubt are foreseen by the shipped model. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Final

from bench.people_trials import Trial
from bench.voice_commands import asked_about
from bench.voice_trials import LIMIT_S, Log, calm, talking

from edgeagent.app import configured_llm
from edgeagent.config import Config
from edgeagent.llm import LLMRequest
from edgeagent.stt import RATE_HZ
from edgeagent.testing import Rehearsal, call
from edgeagent.voice import announcement

_AFTER_S: Final = 1.5
"""Seconds after the last sample in which nothing is concluded yet."""
_LEARN_S: Final = 2.0
"""Seconds of the room alone at the beginning of a conversation."""
_ECHO_DB: Final = -6.0
_TURN: Final = call("turn", angle_deg=1)
"""Stands for whatever the robot does."""
_ANNOUNCED: Final = announcement(_TURN)
_SPOKEN: Final = ("user", "steering")
"""Origins of what somebody has said."""
_LOST: Final = ("is given up", "is left out")
"""Ends of the troubles of a machine that is too busy to decode."""


def conversed(trials: Sequence[Trial], seed: int) -> Iterator[tuple[Trial, dict[str, Any] | None]]:
    """Each trial, and what came of it: ``texts`` for the model, ``stopped`` by a stop word, ``remarks`` that the robot
    made by itself, ``transcripts`` (text and if it was understood), and ``yes``, the same after a yes to its question.
    None where the machine was too busy to decode what was heard.

    Args:
        trials: All of one condition; one conversation hears them.
        seed: Of the room and its noise.
    """
    first = trials[0]
    room = first.condition.settings(seed, rate_hz=RATE_HZ, echo_gain_db=_ECHO_DB)
    with closing(configured_llm(Config())) as nano, talking(room, _reply, foresees=nano) as (talk, log):
        first.condition.with_noise(talk.room, first.seed)
        talk.pass_s(_LEARN_S)
        for trial in trials:
            came = _said(talk, log, trial)
            guess = asked_about(log)
            if guess:
                sure = Trial(trial.kind, "yes", trial.voice, trial.condition, trial.seed)
                came["yes"] = _said(talk, log, sure)
            came["guess"] = guess
            talk.app.session.reset()
            lost = any(each["lost"] for each in (came, came.get("yes", came)))
            yield trial, None if lost else came


def _reply(request: LLMRequest) -> Any:
    return [_TURN] if request.messages[-1].role == "user" else "Okay."


def _said(talk: Rehearsal, log: Log, trial: Trial) -> dict[str, Any]:
    """One utterance of a person, until everybody is silent again."""
    log.events.clear()
    before = len(_texts(talk))
    said = talk.room.say(trial.sound(), RATE_HZ, talk.now_s)
    talk.pass_until(lambda: talk.now_s >= said.end_s + _AFTER_S, LIMIT_S)
    calm(talk)
    talk.pass_until(lambda: not talk.conversation.dialogue.robot.busy, LIMIT_S)
    return {
        "texts": _texts(talk)[before:],
        "stopped": talk.conversation.rearm(),
        "remarks": [event.text for event in log.of("heard", message_id="") if not _ANNOUNCED.startswith(event.text)],
        "lost": any(event.name.endswith(_LOST) for event in log.of("device")),
        "transcripts": [[event.text, event.understood] for event in log.of("transcript")],
    }


def _texts(talk: Rehearsal) -> list[str]:
    """What the model was asked, without what was called off before the robot turned."""
    texts: list[str] = []
    for each in talk.app.session.messages():
        if each.role == "user" and each.origin in _SPOKEN:
            texts.append(each.text)
        elif each.role == "tool" and each.status == "not_run":
            texts.pop()
    return texts
