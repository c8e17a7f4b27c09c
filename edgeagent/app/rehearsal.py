"""A conversation in the simulated room, on the room's clock: for tests and measurements of an app, without a device.

People are voices of flite and espeak-ng; ears, model, mouth and robot are the real ones. Time passes in ``pass_s`` and
``pass_until`` only, on the caller's thread, and everything that it brings about is done before they return.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from edgeagent.app.app import build
from edgeagent.app.conversation import Conversation
from edgeagent.config import Config
from edgeagent.errors import EdgeAgentError
from edgeagent.llm import LLM
from edgeagent.testing.people import Said
from edgeagent.testing.people_voices import synthesised
from edgeagent.testing.room import Room
from edgeagent.testing.room_settings import RoomSettings
from edgeagent.voice.turn_states import State

STEP_S: Final = 0.02
"""Between two looks at what happens; two blocks of the room's."""
_SETTLE_S: Final = 60.0
"""By the wall's clock: a model may think for so long."""


class Rehearsal:
    """Room, app and conversation. A context manager.

    Args:
        config: The settings of the app.
        room: What kind of room; default: an echo 6 dB under a person, nobody else, nothing recorded.
        llm: Answers in place of the configured model, such as a ``ScriptedLLM``.

    Attributes:
        room: Where it is.
        app: The app.
        conversation: The conversation, which has begun.

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def now_s(self) -> float:
        """The room's clock."""
        return self.room.now()

    @property
    def state(self) -> State:
        """The conversation's."""
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
        """A person says something.

        Args:
            voice: As ``synthesised`` has it, and so are ``semitones`` and ``tempo``.
            after_s: Until its first sample.
            level_db: Over that of a person who speaks as usual.
        """
        rate_hz = self.room.settings.rate_hz
        samples = synthesised(text, voice, rate_hz, semitones=semitones, tempo=tempo)
        return self.room.say(samples, rate_hz, self.now_s + after_s, level_db=level_db)

    def pass_s(self, seconds: float) -> None:
        """Lets time pass."""
        self.pass_until(lambda: False, seconds)

    def pass_until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Lets time pass until something is true; False if it is not within that time of the room's.

        Raises:
            EdgeAgentError: The conversation does not come to rest: a model or a recogniser hangs.
        """
        end_s = self.now_s + limit_s - STEP_S / 2
        while not condition():
            if self.now_s >= end_s:
                return False
            self.room.run(STEP_S)
            self.settle()
        return True

    def settle(self) -> None:
        """Waits until nothing more happens unless time passes.

        Raises:
            EdgeAgentError: That does not come.
        """
        end_s = time.monotonic() + _SETTLE_S
        robot = self.app.robot
        moved = robot is None or robot.world.settle(_SETTLE_S)
        if not moved or not self.conversation.dialogue.settle(end_s - time.monotonic()):
            raise EdgeAgentError(f"the conversation, which is {self.state}, has not come to rest in {_SETTLE_S:g} s")
