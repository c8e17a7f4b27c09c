"""An app's own language model and dictionary for PocketSphinx, built in seconds and kept in the user's cache folder.

Knows no sound. Any thread, any number of processes: a model is written beside its place and moved there when whole;
what does not check out is built again with a notice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from edgeagent.errors import ConfigError, RecognitionError
from edgeagent.extras import install
from edgeagent.stt.language_model import arpa
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.pronounce import PHONES, pronunciations

log: Final = logging.getLogger("edgeagent.stt")

KEPT: Final = 8
"""Models that stay in the cache; the least recently used go first."""
KEPT_BYTES: Final = 64 * 1024 * 1024
"""Bytes of all models in the cache; that of an app with a hundred phrases has about one megabyte."""

_FORMAT: Final = 2
_SUMS: Final = "sums.json"
_LM: Final = "app.lm.bin"
_DICTIONARY: Final = "app.dict"
VARIANT: Final = re.compile(r"\(\d+\)$")
"""Number of a further pronunciation, behind a word of a dictionary."""


@dataclass(frozen=True, slots=True)
class GeneralModel:
    """Files for American English in PocketSphinx's wheel."""

    acoustic: Path
    language: Path
    dictionary: Path


@dataclass(frozen=True, slots=True)
class AppModel:
    """The files of one app's model."""

    language: Path
    dictionary: Path
    words: int
    """Words that the app uses."""
    guessed: tuple[str, ...]
    """Words that the dictionary lacks; espeak-ng was asked how they sound."""


@lru_cache(maxsize=1)
def general_model() -> GeneralModel:
    """Find the English model of the wheel.

    Raises:
        RecognitionError: PocketSphinx is not installed, or without its model.
    """
    try:
        import pocketsphinx
    except ImportError as error:
        raise RecognitionError(f"pocketsphinx is not installed ({error}): {install('voice')}") from error
    folder = Path(pocketsphinx.get_model_path()) / "en-us"
    model = GeneralModel(folder / "en-us", folder / "en-us.lm.bin", folder / "cmudict-en-us.dict")
    for path in (model.acoustic / "mdef", model.language, model.dictionary):
        if not path.is_file():
            raise RecognitionError(f"pocketsphinx has no {path}: pip install --force-reinstall pocketsphinx")
    return model


def known_words(only: Container[str] | None = None) -> Mapping[str, tuple[str, ...]]:
    """The dictionary of the wheel: about 130,000 words, each with its pronunciations. Read each time: it is 28 MB.

    Args:
        only: These of them.

    Raises:
        RecognitionError: As ``general_model``.
    """
    known: dict[str, tuple[str, ...]] = {}
    with general_model().dictionary.open(encoding="utf-8") as lines:
        for line in lines:
            word, _, phones = line.partition(" ")
            if word[-1] == ")":  # asked first, because the expression takes longer than all the rest
                word = VARIANT.sub("", word)
            if only is None or word in only:
                known[word] = (*known.get(word, ()), phones.rstrip())
    return known


def pronounced(
    words: Iterable[str], said: Mapping[str, str] | None = None
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The pronunciations of words, and which of the words the dictionary lacks.

    Args:
        said: Pronunciations that go before all others, such as {"robi": "R OW B IY"}.

    Raises:
        ConfigError: As ``sounds``.
        RecognitionError: A word has no sound.
    """
    chosen, said = set(words), sounds(said or {})
    known, words = known_words(chosen), sorted(chosen)
    lacking = tuple(word for word in words if word not in known and word not in said)
    guessed = pronunciations(lacking) if lacking else {}
    return {word: (said[word],) if word in said else known.get(word) or tuple(guessed[word]) for word in words}, lacking


def sounds(said: Mapping[str, str]) -> dict[str, str]:
    """Pronunciations that a builder wrote, words and phones as the dictionary has them.

    Raises:
        ConfigError: A key is not one word as it is spoken, or a pronunciation is empty or has a phone that there is
            none of; the text names the word.
    """
    found = {}
    for word, phones in said.items():
        spoken, sound = spoken_words(word), phones.upper().split()
        if len(spoken) != 1:
            raise ConfigError(f"{word!r} is not one word as it is spoken: give the sound of each")
        if not sound:
            raise ConfigError(f"{word!r} has no sound: write its phones, such as R OW B IY")
        if wrong := set(sound) - PHONES:
            raise ConfigError(f"{word!r} can't sound like {phones!r}: there is no phone {sorted(wrong)[0]}")
        found[spoken[0]] = " ".join(sound)
    return found


def build(sentences: Sequence[str], *, said: Mapping[str, str] | None = None, cache: Path | None = None) -> AppModel:
    """Build the model of these sentences, or take it from the cache. Where that can't be written to, the model lasts as
    long as this process.

    Args:
        sentences: As ``phrases.sentences`` makes them.
        said: Pronunciations that the builder knows better.
        cache: The folder of all models; in the user's cache folder unless told.

    Raises:
        ConfigError: As ``sounds``.
        RecognitionError: There are no sentences, PocketSphinx is missing, or no folder can be written to.
    """
    if not sentences:
        raise RecognitionError("a language model needs phrases, and there are none")
    folder, said = cache or _cache_folder(), sounds(said or {})
    try:
        return _kept_or_built(folder, sentences, said)
    except OSError as error:
        log.warning("the ears' cache %s can't be written to (%s): their model is built for now only", folder, error)
    try:
        return _kept_or_built(Path(_own_folder().name), sentences, said)
    except OSError as error:
        raise RecognitionError(f"the ears' model can't be written anywhere: {error}") from error


def write_keywords(folder: Path, entries: Iterable[tuple[str, str, float]]) -> dict[str, str]:
    """Writes the files of a keyword search: for each entry its name, its phones and its threshold.

    Returns:
        PocketSphinx's options for the search.
    """
    dictionary, listed = folder / "words.dict", folder / "phrases.list"
    known = list(entries)
    dictionary.write_text("".join(f"{name} {phones}\n" for name, phones, _ in known), encoding="utf-8")
    listed.write_text("".join(f"{name} /{threshold:g}/\n" for name, _, threshold in known), encoding="utf-8")
    return {"hmm": str(general_model().acoustic), "dict": str(dictionary), "kws": str(listed)}


@lru_cache(maxsize=1)
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    """Of this process."""
    return tempfile.TemporaryDirectory(prefix="edgeagent-ears-")


def _kept_or_built(folder: Path, sentences: Sequence[str], said: Mapping[str, str]) -> AppModel:
    home = folder / _key(sentences, said)
    if (kept := _read(home)) is not None:
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        _write(beside, sentences, said)
        _move(beside, home)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    _forget_old(folder, home)
    made = _read(home)
    if made is None:
        raise RecognitionError(f"the ears' model in {home} was damaged while it was written")
    return made


def _cache_folder() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("edgeagent") / "ears"


def _key(sentences: Sequence[str], said: Mapping[str, str]) -> str:
    """A name made of everything that the files depend on."""
    try:
        engine = version("pocketsphinx")
    except PackageNotFoundError:
        engine = ""
    inputs = [_FORMAT, engine, general_model().dictionary.stat().st_size, list(sentences), sorted(said.items())]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:32]


def _write(folder: Path, sentences: Sequence[str], said: Mapping[str, str] | None) -> None:
    from pocketsphinx import Config, LogMath, NGramModel

    words, lacking = pronounced({word for sentence in sentences for word in sentence.split()}, said)
    entries = [
        f"{word}{f'({number})' if number > 1 else ''} {phones}\n"
        for word, variants in words.items()
        for number, phones in enumerate(dict.fromkeys(variants), 1)
    ]
    (folder / _DICTIONARY).write_text("".join(entries), encoding="utf-8")
    text = folder / "app.arpa"
    text.write_text(arpa(sentences), encoding="utf-8")
    # the binary form loads without parsing
    NGramModel(Config(loglevel="FATAL"), LogMath(), str(text)).write(str(folder / _LM))
    text.unlink()
    sums = {name: _sum(folder / name) for name in (_LM, _DICTIONARY)}
    (folder / _SUMS).write_text(json.dumps({"sums": sums, "words": len(words), "guessed": lacking}), encoding="utf-8")


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _move(beside: Path, home: Path) -> None:
    """Into its place in one step. Where another process was faster, its files are as good."""
    for _ in range(2):
        try:
            beside.rename(home)
        except OSError:
            if _read(home) is not None:
                return
            shutil.rmtree(home, ignore_errors=True)
        else:
            return
    beside.rename(home)


def _read(home: Path) -> AppModel | None:
    """The model in a folder, if it is whole; a damaged one is named in the log."""
    try:
        told = json.loads((home / _SUMS).read_text(encoding="utf-8"))
        whole = all(_sum(home / name) == told["sums"][name] for name in (_LM, _DICTIONARY))
        model = AppModel(home / _LM, home / _DICTIONARY, int(told["words"]), tuple(map(str, told["guessed"])))
    except (OSError, ValueError, KeyError, TypeError) as error:
        if home.exists():
            log.warning("the ears' model in %s can't be read (%s): it is built again", home, error)
        return None
    if not whole:
        log.warning("the ears' model in %s is damaged: it is built again", home)
        return None
    with suppress(OSError):  # somebody else's, or never to be written to: it is as good
        os.utime(home)
    return model


def _forget_old(folder: Path, home: Path) -> None:
    def used(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:  # another process was faster
            return 0.0

    others = sorted((path for path in folder.iterdir() if path.is_dir() and path != home), key=used, reverse=True)
    left_bytes = KEPT_BYTES - _size(home)
    for number, path in enumerate(others, 1):
        left_bytes -= _size(path)
        if number >= KEPT or left_bytes < 0:
            shutil.rmtree(path, ignore_errors=True)


def _size(folder: Path) -> int:
    """Bytes of its files; what another process takes away meanwhile has none."""
    total = 0
    with suppress(OSError):
        for path in folder.iterdir():
            total += path.stat().st_size
    return total
