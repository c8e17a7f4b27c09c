"""Protocol of a tool-call format: the seam between the stream gate and the files beside this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from edgeagent.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Found:
    """Calls that stand in the first ``end`` characters of the text. A call that could not be read has ``raw`` set."""

    end: int
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class NotACall:
    """The first ``end`` characters are text after all."""

    end: int


class CallFormat(Protocol):
    """Form in which one family of models writes its calls. Stateless, so any thread may use it."""

    @property
    def name(self) -> str:
        """Name that ``LlamaLLM(tool_format=...)`` and the catalogue give the format."""
        ...

    @property
    def openers(self) -> tuple[str, ...]:
        """Texts with which a call may begin, wherever they stand."""
        ...

    @property
    def start_openers(self) -> tuple[str, ...]:
        """Single characters with which a call may begin, but only where the reply does, or after another call."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts of control tokens that the parser needs to see in a reply."""
        ...

    def matches(self, template: str) -> bool:
        """True if a template's source has the texts that this format needs; ``detect.detect_format`` makes sure."""
        ...

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """Read the calls at the start of ``text``, which begins with an opener; None while more text could decide it.

        With ``final`` nothing follows, and the answer is never None. What is certainly a call but can't be read comes
        as a call with ``raw``, so that the loop can tell the model.
        """
        ...
