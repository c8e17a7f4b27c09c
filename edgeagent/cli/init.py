"""``edgeagent init``: the beginning of a robot of one's own, in a folder. Never overwrites. Runs on the main thread."""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.systemd import NAME, Unit, command, program
from edgeagent.errors import ConfigError
from edgeagent.resources import absolute, expanded

EPILOG: Final = epilog(
    {
        "edgeagent init rover": "a folder with an app of two tools, cases, settings and a README",
        "cd rover && edgeagent chat --config edgeagent.toml": "talk with it",
    },
    exit_code="0 written · 1 the disk is full · 2 a file is there already, or the folder can't be written to; nothing "
    "was written then",
)

_ROBOT: Final = '''\
"""Your robot. Talk with it: edgeagent chat --config edgeagent.toml"""

from edgeagent import Agent, GoalHandle, skill, tool


@skill(phrases=["drive forward two meters", "drive back half a meter"])
def drive(distance_m: float, goal: GoalHandle) -> str:
    """Drive straight; negative is backwards."""
    for _ in range(int(abs(distance_m) * 10)):  # your motors: a tenth of a metre at a time
        goal.checkpoint()  # ends the drive here when somebody says stop
        goal.cancel_event.wait(0.1)
    return f"drove {'back' if distance_m < 0 else 'forward'} {abs(distance_m):g} m"


@tool(read_only=True, phrases=["how full is your battery"])
def get_battery() -> str:
    """Battery level."""
    return "battery at 64 percent"  # your sensor


agent = Agent("rover", "You are a robot. Act with the tools.", tools=[drive, get_battery])
'''
_CASES: Final = """\
# What people say, and which calls are right: edgeagent test --app robot.py --cases cases.toml

[[case]]
say = "drive forward two meters"
calls = [{ name = "drive", arguments = { distance_m = 2 } }]

[[case]]
say = "drive back half a meter"
calls = [{ name = "drive", arguments = { distance_m = -0.5 } }]

[[case]]
say = "how full is your battery"
calls = [{ name = "get_battery" }]

[[case]]
say = "thank you"
calls = []
"""
_SETTINGS: Final = """\
# Settings of this robot; paths begin at this folder. The page docs/reference/config.md of edgeagent has all of them.

app = "robot.py"
session = "robot.journal"  # keeps the conversation, and goes on with it after a restart
deadline_s = 120           # seconds after which a request is aborted

[conversation]
barge_in = "balanced"      # how easily people interrupt it: eager, balanced, strict or off
"""
_README: Final = """\
# A robot

| to | say |
|---|---|
| talk with it in writing | `edgeagent chat --config edgeagent.toml` |
| talk with it aloud | `edgeagent talk --config edgeagent.toml` |
| see the tools as a model sees them | `edgeagent check --app robot.py` |
| test that they are understood | `edgeagent test --app robot.py --cases cases.toml` |
| have it always on, with systemd | `edgeagent service install --config edgeagent.toml`; `edgeagent.service` shows it |
| see what is wrong with this machine | `edgeagent doctor --app robot.py` |

`robot.py` has the tools: put your motors and sensors into them, and add your own. `cases.toml` has a sentence for each;
add those that people really say. The model that comes with edgeagent knows the tools of this skeleton and few others:
for your own, `edgeagent models pull qwen2.5-coder-1.5b` fetches a larger one, and `model = "qwen2.5-coder-1.5b"` in
`edgeagent.toml` uses it. Motors need a driver that stops by itself when the program is killed: `docs/robot.md` of
edgeagent.
"""
UNIT: Final = f"{NAME}.service"
"""Name of the systemd unit, which has the absolute paths of its folder."""
SKELETON: Final = {"robot.py": _ROBOT, "cases.toml": _CASES, "edgeagent.toml": _SETTINGS, "README.md": _README}
"""The text of each other file by its name."""


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Made if it is not there. [dim](this folder)[/]", show_default=False)
    ] = Path(),
) -> None:
    """Begin a robot of your own: an app with two tools, cases for check and test, settings, and how to start it."""
    with exits.guarded():
        folder = expanded(folder)
        begin(folder)
        where = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
        for name in (*SKELETON, UNIT):
            streams.tell(f"wrote {folder / name}", "dim")
        called = "edgeagent" if shutil.which("edgeagent") else shlex.join(program())
        streams.answer(f"{where}{called} chat --config edgeagent.toml")


def _unit(folder: Path) -> str:
    """The unit that ``edgeagent service install --config edgeagent.toml`` writes here for a user."""
    arguments = command(["--config", str(folder / "edgeagent.toml")])
    return Unit(name=NAME, system=False, command=arguments, folder=folder).text


def begin(folder: Path) -> None:
    """Writes the skeleton, all of it or nothing.

    Raises:
        ConfigError: A file is there already, or the folder can't be made, written to or named in a unit.
    """
    there = [name for name in (*SKELETON, UNIT) if os.path.lexists(folder / name)]
    if there:
        raise ConfigError(
            f"{', '.join(there)} in {folder} would be overwritten; name another folder: edgeagent init DIR"
        )
    files = SKELETON | {UNIT: _unit(absolute(folder))}
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                made.append(folder / name)
                file.write(text)
    except BaseException as error:
        for path in made:
            with suppress(OSError):
                path.unlink()
        if isinstance(error, OSError):
            raise ConfigError(f"nothing was written in {folder}: {error.strerror}") from error
        raise
