"""What a benchmark that takes long has measured already, in a file, so that it goes on where it was stopped.

The file is that of one state of the code, below ``~/.cache/edgeagent-bench/kept``: after a change everything is
measured anew. One line a result; several processes may write, each knows what was there when it began. Who has all of
it removes the file, so that the next run measures again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from bench.report import cache

_ROOT: Final = Path(__file__).resolve().parents[3]
_CODE: Final = ("edgeagent", "scripts/lab/bench", "models")


class Kept:
    """Results by name. Values are what JSON has, infinity and NaN included; tuples come back as lists.

    Args:
        path: The file; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results = dict(_lines(path))

    @classmethod
    def of(cls, part: str, *, fresh: bool = False) -> Kept:
        """What is kept of a part of a benchmark.

        Args:
            part: Its name, with what else makes its results others, such as ``"voice-room-quick"``.
            fresh: Forget it first.
        """
        kept = cls(cache() / "kept" / f"{part}-{code()}.jsonl")
        if fresh:
            kept.remove()
        return kept

    def __len__(self) -> int:
        return len(self._results)

    def get(self, name: str, default: Any = None) -> Any:
        """A result that is there; the default if there is none."""
        return self._results.get(name, default)

    def put(self, name: str, result: Any) -> None:
        """Keeps it; instead of an older one of that name."""
        line = json.dumps([name, result])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:  # at once, also beside another process
            file.write(f"\n{line}\n".encode())  # the line before may be that of a process that was killed
        self._results[name] = json.loads(line)[1]

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of that name; it is made, and kept, if there is none."""
        if name not in self._results:
            self.put(name, make())
        return self._results[name]

    def remove(self) -> None:
        """Everything is measured, and shown."""
        self.path.unlink(missing_ok=True)
        self._results = {}


@lru_cache(maxsize=1)
def code() -> str:
    """A name for the code and the models of this checkout."""
    digest = hashlib.sha256()
    for folder in _CODE:
        for path in sorted((_ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(_ROOT)}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            name, result = json.loads(line)
        except ValueError:  # an empty line, or one that a killed process has not ended
            continue
        yield name, result
