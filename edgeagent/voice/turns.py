"""The turns that matter at a time. Values for one thread, the conversation's."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from edgeagent.voice.turn import Turn


@dataclass(slots=True)
class Turns:
    """Whose words are awaited, and whose were answered.

    Attributes:
        awake: Who speaks is answered without a wake word.
        now: That of who speaks, until it is over.
        closing: The turn that is over, while its cell is done.
        answered: A turn that is over, while its utterance may still go on.
        last: The turn that was over last.
        late: Turns that are over, while their words are not known, by their utterances: somebody speaks already again.
        interposed: One of those is the robot's, in the midst of what is being said.
        typed: Texts from a keyboard that wait until nobody speaks.
    """

    awake: bool
    now: Turn | None = None
    closing: Turn | None = None
    answered: Turn | None = None
    last: Turn | None = None
    late: dict[int, Turn] = field(default_factory=dict)
    interposed: bool = False
    typed: deque[str] = field(default_factory=deque)
