"""Calls of the shipped model for a text, for ``scripts/bench people``: each text is asked once, in a new flat.

The guards are those that the app adds for it. Judges what came of a trial.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Literal, Self

from bench.kept import Kept
from bench.people_trials import Trial, wanted_calls

from edgeagent.agent import Agent, Options
from edgeagent.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, add_guards, configured_llm, house_phrases
from edgeagent.config import Config
from edgeagent.house import HouseRobot
from edgeagent.llm import LlamaLLM

Calls = list[dict[str, Any]]
Outcome = Literal["right", "wrong", "asked", "nothing"]
"""Of a trial: the right calls, or none where none is right; other calls; a question or a remark; neither."""

_STOP: Final = {"name": "stop", "arguments": {}}


class Mind:
    """The model, and what it did with texts. A context manager; it loads nothing while all is kept.

    Args:
        kept: Where answers are kept.
    """

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._llm: LlamaLLM | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._llm is not None:
            self._llm.close()

    def answer(self, text: str) -> tuple[Calls, str]:
        """The calls that the robot makes for a text, and its reply."""
        calls, reply = self._kept.once(f"mind | {text}", lambda: self._asked(text))
        return calls, reply

    def right_as_text(self, trial: Trial) -> bool:
        """True if the command is carried out as it should when it is typed."""
        return self.answer(trial.text)[0] == wanted_calls()[trial.text]

    def outcome(
        self, trial: Trial, texts: Iterable[str], *, stopped: bool = False, remarks: Iterable[str] = ()
    ) -> Outcome:
        """Outcome of a spoken command, or of talk.

        Args:
            texts: What the model was asked.
            stopped: A stop word has stopped the robot.
            remarks: What the robot said by itself, such as "Did you say …?"
        """
        answers = [self.answer(text) for text in texts if text]
        made = [*([_STOP] if stopped else []), *(call for calls, _ in answers for call in calls)]
        wanted = [] if trial.kind == "talk" else wanted_calls()[trial.text]
        if made == wanted:
            return "right"
        if made:
            return "wrong"
        return "asked" if any(remarks) or any("?" in reply for _, reply in answers) else "nothing"

    def _asked(self, text: str) -> tuple[Calls, str]:
        if self._llm is None:
            self._llm = configured_llm(Config())
        robot = HouseRobot(speed=float("inf"))
        try:
            options = Options(max_tool_hops=MAX_TOOL_HOPS)
            tools, phrases = robot.tools, house_phrases()
            agent = Agent(NAME, INSTRUCTIONS, llm=self._llm, tools=tools, options=options, phrases=phrases)
            add_guards(agent)
            result = agent.run(text)
        finally:
            robot.close()
        made = [call for call in result.tool_calls if call.result is not None and call.result.status != "not_run"]
        return [{"name": call.name, "arguments": call.arguments} for call in made], result.reply
