"""Recordings of voice tests: where they are, reading them back, and deleting them. Any one thread.

Each test has a folder of its own (0700) under the user's state: person.json, numbered recordings, transcripts.jsonl as
``edgeagent listen --record`` writes it, and room.json. All files have the mode 0600.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import platformdirs

from edgeagent.audio.device import Samples
from edgeagent.check.voice_plan import PlannedLine
from edgeagent.check.voice_score import Attempt
from edgeagent.check.voice_sound import RoomSound, VoiceSound
from edgeagent.errors import ConfigError
from edgeagent.stt.hearing import RecognisedText
from edgeagent.stt.recordings import TRANSCRIPTS, Recordings, own_file

log: Final = logging.getLogger("edgeagent.check")

FOLDER: Final = "voice-test"
ROOM: Final = "room.json"
PERSON: Final = "person.json"
_STAMP: Final = "%Y-%m-%d-%H%M%S"
_NAME: Final = re.compile(r"[^\w-]+")
_NAME_BYTES: Final = 60
"""Bytes of a person's name in the name of a folder; a file system allows 255 in all."""
_WHEN: Final = re.compile(r"(\d{4}-\d\d-\d\d)-(\d\d)(\d\d)\d\d")


@dataclass(frozen=True, slots=True)
class KeptTest:
    """Recordings of one test.

    Attributes:
        when: Day and time at which it began.
        count: Recordings.
    """

    folder: Path
    when: str
    person: str
    distances: tuple[str, ...]
    count: int
    seconds: float
    size_bytes: int


def kept_folder() -> Path:
    """The folder of all tests of this user."""
    return Path(platformdirs.user_state_dir("edgeagent")) / FOLDER


class VoiceRecordings:
    """Keeps the recordings of a test that goes on, in a folder that no other test has.

    Args:
        on_failure: Told once, when nothing more can be kept.
        person: Who speaks; a part of the folder's name.
        among: The folder of all tests.
    """

    def __init__(self, on_failure: Callable[[str], object], *, person: str = "", among: Path | None = None) -> None:
        short = _NAME.sub("-", person).strip("-").encode()[:_NAME_BYTES].decode(errors="ignore")
        name = "-".join(part for part in (time.strftime(_STAMP), short) if part)
        self.folder = (among or kept_folder()) / name
        self._person = person
        self._on_failure = on_failure
        self._recordings: Recordings | None = None
        self._is_made = False
        self.count = 0

    def begin(self) -> None:
        """Makes the folder, with the person's name in it; nothing where that was done before.

        Raises:
            ConfigError: The folder can't be made, or written to.
        """
        if self._recordings is not None:
            return
        try:
            self._make_folder()
            own_file(self.folder / PERSON, new=True)
            (self.folder / PERSON).write_text(json.dumps({"person": self._person}) + "\n", encoding="utf-8")
            self._recordings = Recordings(self.folder, self._on_failure)
        except OSError as error:
            raise ConfigError(f"nothing can be kept in {self.folder.parent}: {error.strerror}") from error

    def close(self) -> None:
        """Removes the folder if it has no recording."""
        if self._is_made and not any(self.folder.glob("*.wav")):
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):
                self.folder.parent.rmdir()  # unless there are other tests

    def keep(self, sound: Samples, attempt: Attempt, transcript: RecognisedText) -> Attempt:
        """Keeps the recording of one line.

        Returns:
            The attempt with the name of its file.

        Raises:
            ConfigError: The folder can't be made.
        """
        self.begin()
        assert self._recordings is not None  # noqa: S101 - begin makes them
        line = {
            "kind": attempt.line.kind,
            "phrase": attempt.line.phrase,
            "distance": attempt.line.distance,
            "person": attempt.person,
            "parts": attempt.parts,
            "spotted": dict(attempt.spotted),
            "latency_s": attempt.latency_s,
            **dataclasses.asdict(attempt.sound),
        }
        name = self._recordings.keep(sound, transcript, text=attempt.line.text, **line)
        self.count += bool(name)
        return dataclasses.replace(attempt, file=name)

    def keep_room(self, room: RoomSound) -> None:
        """Keeps what was measured before the first line, beside the recordings; without any, nothing is kept."""
        if not self.count:
            return
        try:
            own_file(self.folder / ROOM)
            (self.folder / ROOM).write_text(json.dumps(dataclasses.asdict(room)) + "\n", encoding="utf-8")
        except OSError as error:
            self._on_failure(f"{self.folder / ROOM} can't be written: {error.strerror}")

    def _make_folder(self) -> None:
        """Makes a new folder; a number tells tests apart that began in the same second."""
        first = self.folder
        first.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in itertools.count(2):
            try:
                self.folder.mkdir(mode=0o700)
            except FileExistsError:
                self.folder = first.with_name(f"{first.name}-{number}")
            else:
                self._is_made = True
                return


def kept_tests(person: str | None = None, *, among: Path | None = None) -> list[KeptTest]:
    """Tests whose recordings are kept, the oldest first.

    Args:
        person: Only those of one person, whatever the case of the name.
    """
    root = among or kept_folder()
    folders = sorted(root.iterdir()) if root.is_dir() else []
    found = [_listed(folder) for folder in folders if folder.is_dir() and not folder.is_symlink()]
    return [one for one in found if person is None or one.person.lower() == person.lower()]


def delete_kept(tests: Iterable[KeptTest]) -> tuple[list[KeptTest], dict[Path, str]]:
    """Deletes tests with their recordings, and goes on after a failure.

    Returns:
        Tests that were deleted; folders that are left, each with the reason.
    """
    deleted: list[KeptTest] = []
    left: dict[Path, str] = {}
    for test in tests:
        try:
            for path in test.folder.glob("*.wav"):  # before the person's name, by which they are found
                path.unlink()
            shutil.rmtree(test.folder)
        except OSError as error:
            left[test.folder] = error.strerror or str(error)
            continue
        deleted.append(test)
        with suppress(OSError):
            test.folder.parent.rmdir()  # unless there are other tests
    return deleted, left


def kept_attempts(test: KeptTest) -> list[tuple[Path, Attempt]]:
    """The lines of a test with their recordings; those that can't be read are left out, with a warning.

    What the recognisers heard then is not read: they hear the recordings anew.
    """
    found = []
    for told in _lines(test.folder):
        try:
            line = PlannedLine(str(told["text"]), told["kind"], str(told["phrase"]), str(told["distance"]))
            sound = VoiceSound(told["speech_db"], told["snr_db"], bool(told["clipped"]))
            attempt = Attempt(
                line=line, parts=int(told["parts"]), sound=sound, person=str(told["person"]), file=str(told["file"])
            )
        except (KeyError, TypeError, ValueError) as error:
            log.warning("left out: a line of %s can't be used: %r", test.folder / TRANSCRIPTS, error)
            continue
        if (test.folder / attempt.file).is_file():
            found.append((test.folder / attempt.file, attempt))
    return found


def kept_room(test: KeptTest) -> RoomSound | None:
    """The room of a test; None where none was measured."""
    try:
        return RoomSound(**json.loads((test.folder / ROOM).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _listed(folder: Path) -> KeptTest:
    lines, files = _lines(folder), [path for path in folder.iterdir() if path.is_file()]
    stamp = _WHEN.match(folder.name)
    sounds = [path for path in files if path.suffix == ".wav"]
    size = sum(path.stat().st_size for path in files)
    seconds = sum(max(path.stat().st_size - 44, 0) for path in sounds) / 2 / 16_000
    return KeptTest(
        folder=folder,
        when=f"{stamp[1]} {stamp[2]}:{stamp[3]}" if stamp else folder.name,
        person=_person(folder, lines),
        distances=tuple(dict.fromkeys(str(line.get("distance", "")) for line in lines)),
        count=len(sounds),
        seconds=seconds,
        size_bytes=size,
    )


def _person(folder: Path, lines: Iterable[Mapping[str, Any]]) -> str:
    """Returns the person's name; tests of earlier versions have it in their lines alone."""
    try:
        return str(json.loads((folder / PERSON).read_text(encoding="utf-8"))["person"])
    except (OSError, ValueError, TypeError, KeyError):
        return next((str(line.get("person", "")) for line in lines), "")


def _lines(folder: Path) -> list[dict[str, Any]]:
    try:
        texts = (folder / TRANSCRIPTS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for text in texts:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            found.append(line)
    return found
