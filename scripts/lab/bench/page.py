"""``scripts/bench page --to DIR``: pictures of the page of a robot, to be looked at.

Drives ``edgeagent chat --web`` with the house robot in headless Chromium, on a desktop in light colours and on a phone
in dark ones, and writes a picture of both where the robot is ready, moves, is stopped, asks, and is gone. Measures
nothing. Needs Chromium and playwright, which scripts/test installs.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

_LIMIT_S: Final = 60.0
_PHONE: Final = {"width": 360, "height": 740}
_DESKTOP: Final = {"width": 1180, "height": 740}
_ASKING: Final = '''
from edgeagent import Agent, tool
from edgeagent.testing import ScriptedLLM, call


@tool(destructive=True)
def forget_map(floor: str) -> str:
    """Forget the map of a floor."""
    return f"forgot the map of {floor}"


agent = Agent("robi", llm=ScriptedLLM([call("forget_map", floor="the ground floor")]), tools=[forget_map])
'''
"""An app that asks before it does what it was told."""


class Chat:
    """A chat at a terminal of its own, with a page.

    Args:
        folder: For everything that it keeps.
        words: Options of ``edgeagent chat``.
    """

    def __init__(self, folder: Path, *words: str) -> None:
        self._master, terminal = pty.openpty()
        argv = [sys.executable, "-m", "edgeagent", "chat", "--web", "--web-port", "0", *words]
        home = {f"XDG_{name}_HOME": str(folder) for name in ("STATE", "DATA", "CONFIG")}
        self.process = subprocess.Popen(
            argv,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=os.environ | home | {"TERM": "xterm"},
            start_new_session=True,
        )
        os.close(terminal)
        self.address = self._address()
        threading.Thread(target=self._drain, name="terminal", daemon=True).start()

    def _address(self) -> str:
        told, end_s = b"", time.monotonic() + _LIMIT_S
        while time.monotonic() < end_s:
            if select.select([self._master], [], [], 1.0)[0]:
                told += os.read(self._master, 65_536)
                if found := re.search(rb"page: (http://\S+)\r?\n", told):
                    return found[1].decode()
        self.kill()
        raise SystemExit(f"no page was served: {told.decode(errors='replace')}")

    def _drain(self) -> None:
        with suppress(OSError):  # the terminal is closed with its last process
            while os.read(self._master, 65_536):
                pass

    def kill(self) -> None:
        """Ends it as a power cut does."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Pages:
    """Both pages of one robot.

    Args:
        browser: Of playwright.
        into: Folder of the pictures.
    """

    def __init__(self, browser: Any, address: str, into: Path) -> None:
        self._into = into
        looks = {
            "desktop": {"viewport": _DESKTOP, "color_scheme": "light"},
            "phone": {"viewport": _PHONE, "color_scheme": "dark", "is_mobile": True, "device_scale_factor": 2},
        }
        self.pages: dict[str, Any] = {}
        for name, look in looks.items():
            self.pages[name] = browser.new_context(**look).new_page()
            self.pages[name].set_default_timeout(_LIMIT_S * 1000)
            self.pages[name].goto(address)
        self.wait_for("main:not(.stale)")

    def say(self, text: str) -> None:
        """Types a line into the page of the desktop."""
        line = self.pages["desktop"].get_by_label("Say something to the robot")
        line.fill(text)
        line.press("Enter")
        line.blur()

    def wait_for(self, selector: str) -> None:
        """Waits until both pages show something."""
        for page in self.pages.values():
            page.locator(selector).last.wait_for()

    def press(self, key: str) -> None:
        """Presses a key on the desktop."""
        self.pages["desktop"].keyboard.press(key)

    def shoot(self, scene: str) -> None:
        """Writes a picture of each page."""
        for name, page in self.pages.items():
            path = self._into / f"{name}-{scene}.png"
            page.screenshot(path=path)
            print(path, flush=True)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("needs Chromium: sudo apt-get install chromium")
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


def house(browser: Any, folder: Path, into: Path) -> None:
    """The house robot: ready, on its way, stopped, and gone."""
    chat = Chat(folder)
    try:
        pages = Pages(browser, chat.address, into)
        pages.say("how full is your battery?")
        pages.wait_for("li.robot >> text=percent")
        pages.say("drive forward two meters and turn left")
        pages.wait_for("li.robot >> text=turned left")
        pages.wait_for(".state.ready")
        pages.shoot("ready")
        pages.say("go to the kitchen")
        pages.wait_for("li.tool.running .result >> text=/^3/")
        pages.shoot("running")
        pages.press("Escape")
        pages.wait_for(".halted")
        pages.shoot("stopped")
        chat.kill()
        pages.wait_for(".banner")
        pages.shoot("gone")
    finally:
        chat.kill()


def question(browser: Any, folder: Path, into: Path) -> None:
    """A robot that asks."""
    app = folder / "robot.py"
    app.write_text(_ASKING, encoding="utf-8")
    chat = Chat(folder, "--app", str(app))
    try:
        pages = Pages(browser, chat.address, into)
        pages.say("forget what you know about the ground floor")
        pages.wait_for(".question")
        pages.shoot("question")
    finally:
        chat.kill()


def main() -> int:
    """Runs the bench. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench page", description="Pictures of the page, to be looked at.")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="the folder of the pictures")
    into: Path = parser.parse_args().to
    into.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for scene in (house, question):
            with tempfile.TemporaryDirectory(prefix="edgeagent-page-") as folder:
                scene(browser, Path(folder), into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
