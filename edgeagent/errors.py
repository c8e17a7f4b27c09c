"""The exceptions of edgeagent. They hold data and do nothing.

EdgeAgentError              anything that edgeagent itself raises
├── ConfigError             a setting, a flag or an app file is wrong (exit code 2)
├── ToolDefinitionError     a function cannot become a tool: no annotation, no schema, a name used twice (exit code 2)
├── ModelError              a model file does not load, a template fails, a context does not fit (exit code 3)
│   └── SourceError         a source of a model's files fails; another one may have them (exit code 3)
├── AudioError              a sound device can't be used (exit code 4)
│   ├── SpeechError         a voice can't speak (exit code 4)
│   └── RecognitionError    a recogniser failed, or can't be started (exit code 4)
├── DriveError              a robot's base does not drive: it failed, does not answer, or the drive was stopped
├── PolicyViolationError    ``policy_check`` denied a tool call
└── BusyError               the agent is in the middle of a run
"""

from __future__ import annotations

from typing import Any


class EdgeAgentError(Exception):
    """Base of every error that edgeagent raises itself."""


class ConfigError(EdgeAgentError):
    """A setting, a command line flag or an app file is wrong; the text names it and what to do."""


class ToolDefinitionError(EdgeAgentError):
    """A function cannot become a tool, or two tools have one name."""


class ModelError(EdgeAgentError):
    """A model cannot be used: a bad file, a template that fails, or a prompt longer than the window."""


class SourceError(ModelError):
    """A source of a model's files can't be reached, has them no more, or gave wrong ones; another one may have them."""


class AudioError(EdgeAgentError):
    """A sound device can't be used: there is none, somebody has it, it refuses a rate; the text says what to do."""


class SpeechError(AudioError):
    """A voice can't speak: its file is none, its data is missing, it has no such language."""


class RecognitionError(AudioError):
    """A recogniser failed, or can't be started: its model is missing, its process died."""


class DriveError(EdgeAgentError):
    """A base does not drive: it failed, its driver does not answer, or the drive was stopped; the text says which."""


class BusyError(EdgeAgentError):
    """The agent is in the middle of a run, or a run would wait for itself."""


class PolicyViolationError(EdgeAgentError):
    """``policy_check`` denied a call, so the run failed.

    Attributes:
        tool: Name of the tool that was denied.
        reason: What ``policy_check`` said.
        result: The ``RunResult`` with everything until then, set once the run has closed.
    """

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(f"policy denied {tool}: {reason}")
        self.tool = tool
        self.reason = reason
        self.result: Any = None
