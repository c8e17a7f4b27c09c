"""The space bar as a button to talk: held, or pressed once to open the ears and once more to close them.

A terminal tells of no key that is let go. A key that is held repeats itself, after a quarter to three quarters of a
second for the first time: from then on the end of the repetition is the end of the press. Knows no terminal.
"""

from __future__ import annotations

from typing import Final

FIRST_REPEAT_S: Final = 0.75
"""A second press within this time is the first repetition of a key that is held."""
LET_GO_S: Final = 0.25
"""A key that was held and does not repeat itself for so long was let go."""


class TalkButton:
    """One key. Times are seconds of any clock that does not go back.

    Attributes:
        down: Whether the ears are open.
    """

    def __init__(self) -> None:
        self.down = False
        self._repeats = False
        self._pressed_s = 0.0

    def press(self, now_s: float) -> None:
        """The terminal tells of the key: pressed, or repeated."""
        if not self.down:
            self.down, self._repeats = True, False
        elif self._repeats or now_s - self._pressed_s <= FIRST_REPEAT_S:
            self._repeats = True
        else:
            self.down = False
        self._pressed_s = now_s

    def look(self, now_s: float) -> None:
        """Time passes."""
        if self.down and self._repeats and now_s - self._pressed_s >= LET_GO_S:
            self.down = False
