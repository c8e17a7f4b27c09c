"""Dialogues of the kind that nano was trained on, so that it keeps its English while it learns a builder's tools.

``scripts/lab/train_nano/replay.py`` writes the file with this module; both know the form of a line here alone. Any
thread.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import ConfigError
from edgeagent.messages import Message, Status, ToolCall
from edgeagent.resources import models_dir

_FILE: Final = "replay.jsonl.gz"
_STATUS: Final[tuple[tuple[str, Status], ...]] = (
    ("error: ", "error"),
    ("interrupted: ", "interrupted"),
    ("not run: ", "not_run"),
)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """Facts that a model is told of a tool."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reminder:
    """A system prompt with tools, and dialogues in it."""

    system: str
    tools: tuple[OfferedTool, ...]
    dialogues: tuple[tuple[Message, ...], ...]


def replay_path() -> Path:
    """The file that comes with edgeagent."""
    return models_dir() / _FILE


def read_replay(path: Path) -> list[Reminder]:
    """Reads the dialogues.

    Raises:
        ConfigError: The file is missing or damaged.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [_setting(json.loads(line)) for line in lines]
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(f"{path}, the dialogues that nano is reminded of, can't be read: {error}") from error


def write_replay(path: Path, settings: Iterable[dict[str, Any]]) -> None:
    """Writes settings with ``system``, ``tools`` (in the OpenAI form) and ``dialogues`` (messages in that form).

    The same settings give the same bytes.
    """
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        for setting in settings:
            line = {
                "system": setting["system"],
                "tools": [tool["function"] for tool in setting["tools"]],
                "dialogues": [[_written(message) for message in dialogue] for dialogue in setting["dialogues"]],
            }
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _written(message: dict[str, Any]) -> list[Any]:
    calls = [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls", ())]
    return [message["role"], calls or message["content"]]


def _setting(line: dict[str, Any]) -> Reminder:
    tools = tuple(OfferedTool(one["name"], one["description"], one["parameters"]) for one in line["tools"])
    dialogues = tuple(tuple(_message(*given) for given in dialogue) for dialogue in line["dialogues"])
    return Reminder(line["system"], tools, dialogues)


def _message(role: str, content: Any) -> Message:
    if isinstance(content, list):
        return Message(role, tool_calls=tuple(ToolCall("", name, arguments) for name, arguments in content))
    if role == "tool":
        for beginning, status in _STATUS:
            if content.startswith(beginning):
                return Message(role, content.removeprefix(beginning), status=status)
        return Message(role, content, status="ok")
    return Message(role, content)
