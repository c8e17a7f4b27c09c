"""A conversation in the simulated room, on the room's clock: for tests and measurements of an app, without a device.

People are synthesised voices; ears, mouth, agent and tools are the real ones, and so is the model unless a scripted one
takes its place. The room's time passes in ``pass_s`` and ``pass_until`` only, on the caller's thread. What that time
brings about is done before they return, except for the bodies of tools, which take the wall's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Self

from edgeagent.app.app import build
from edgeagent.app.conversation import Conversation
from edgeagent.config import Config
from edgeagent.errors import EdgeAgentError
from edgeagent.llm import LLM
from edgeagent.testing.people import Said, synthesised
from edgeagent.testing.room import Room
from edgeagent.testing.room_settings import RoomSettings
from edgeagent.voice.turn_states import State

_STEP_S: Final = 0.02
"""Seconds of the room's time between two looks at what happens: two blocks of the default room."""
_SETTLE_S: Final = 60.0
"""Seconds of the wall's time that a model may think."""


class Rehearsal:
    """A conversation with an app in a simulated room. It begins at once; close it, or use it as a context manager.

    Args:
        config: Settings of the app: ``app`` names a builder's file, without it the house robot answers.
        room: Kind of room; default: an echo 6 dB under a person, no noise, nothing recorded.
        llm: Model that answers in place of the configured one, such as a ``ScriptedLLM``.

    Attributes:
        room: The simulated room. More people, noise and turns of the robot are its methods.
        app: Agent, session and robot.
        conversation: The conversation: its latch, its session, ``subscribe``.

    Raises:
        AudioError: The ears or the voice can't be had.
        ConfigError: A setting is wrong.
        ModelError: The model can't be used.
    """

    def __init__(self, config: Config, room: RoomSettings | None = None, *, llm: LLM | None = None) -> None:
        self.room = Room(room or RoomSettings(echo_gain_db=-6, record=False))
        self.app = build(config, voice=True, clock=self.room.now)
        try:
            if llm is not None:
                self.app.agent.llm = llm
            self.conversation = Conversation(
                self.app.agent,
                config=config,
                input=self.room,
                session=self.app.session,
                telling=self.app.telling,
            )
            self.app.person = self.conversation.dialogue.robot.person
            self.conversation.start()
        except BaseException:
            self.app.close()
            raise

    def close(self) -> None:
        """Ends everything. Safe to call again."""
        try:
            self.conversation.close()
        finally:
            self.app.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def now_s(self) -> float:
        """Seconds of the room's clock."""
        return self.room.now()

    @property
    def state(self) -> State:
        """State of the conversation. It equals its name: ``"listening"``, ``"thinking"``, ``"acting"``."""
        return self.conversation.state

    def say(
        self,
        text: str,
        voice: str = "slt",
        *,
        semitones: float = 0.0,
        tempo: float = 1.0,
        after_s: float = 0.0,
        level_db: float = 0.0,
    ) -> Said:
        """Lets a person say something, now or later; no time passes.

        Args:
            voice: Voice of the person, as ``synthesised`` knows it, which has ``semitones`` and ``tempo`` too.
            after_s: Seconds of the room's time until the first sample.
            level_db: Decibels over a person who speaks as usual.

        Returns:
            First and last moment of the words.

        Raises:
            SpeechError: The voice is not installed.
        """
        rate_hz = self.room.settings.rate_hz
        samples = synthesised(text, voice, rate_hz, semitones=semitones, tempo=tempo)
        return self.room.say(samples, rate_hz, self.now_s + after_s, level_db=level_db)

    def pass_s(self, seconds: float) -> None:
        """Lets the room's time pass."""
        self.pass_until(lambda: False, seconds)

    def pass_until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Lets the room's time pass until a condition is true.

        Args:
            condition: Asked every 20 ms of the room's time.
            limit_s: Seconds of the room's time.

        Returns:
            False if the condition did not come true in time.

        Raises:
            EdgeAgentError: The conversation does not come to rest: a model or a recogniser hangs.
        """
        end_s = self.now_s + limit_s - _STEP_S / 2
        while not condition():
            if self.now_s >= end_s:
                return False
            self.room.run(_STEP_S)
            self.settle()
        return True

    def settle(self) -> None:
        """Waits until nothing more happens unless the room's time passes.

        Raises:
            EdgeAgentError: The conversation does not come to rest.
        """
        end_s = time.monotonic() + _SETTLE_S
        robot = self.app.robot
        moved = robot is None or robot.world.settle(_SETTLE_S)
        if not moved or not self.conversation.dialogue.settle(end_s - time.monotonic()):
            raise EdgeAgentError(f"the conversation, which is {self.state}, has not come to rest in {_SETTLE_S:g} s")
