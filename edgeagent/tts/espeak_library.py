"""espeak-ng's C library: found, loaded once, and used by one thread at a time.

Knows nothing of words, chunks or stop events. The library and its data come in the wheel of espeakng-loader.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from edgeagent.errors import SpeechError
from edgeagent.extras import install
from edgeagent.stop import STOP_POLL_S

_SYNCHRONOUS: Final = 2  # espeak_Synth returns when all has been said, on the caller's thread
_BLOCK_MS: Final = 60  # the least that espeak-ng gives; a smaller number is raised to it
_DONT_EXIT: Final = 0x8000  # or it ends the process when its data is missing
UTF8: Final = 1
_END_PAUSE: Final = 0x1000
_POS_CHARACTER: Final = 1
_RATE, _VOLUME, _PITCH = 1, 2, 3
_EVENT_END, _EVENT_WORD = 0, 1
DATA_FILES: Final = ("phontab", "phonindex", "phondata", "intonations")
_PATH_BYTES: Final = 160  # N_PATH_HOME of platform.h
_AGAIN: Final = "install it again with pip install --force-reinstall espeakng-loader"


@dataclass(frozen=True, slots=True)
class VoiceInfo:
    """A voice of espeak-ng: ``EspeakSpeaker(language)`` has it speak."""

    language: str
    """Its tag, such as en-gb-scotland."""
    name: str
    """In English, such as English (Scotland)."""
    languages: tuple[str, ...]
    """Every tag it answers to, its own first."""
    identifier: str
    """Its file, such as gmw/en-GB-scotland."""


@dataclass(frozen=True, slots=True)
class EspeakSettings:
    """Sound of an utterance."""

    voice: str
    rate_wpm: int
    pitch: int
    volume: int


class SoundBlock(NamedTuple):
    """A piece of sound as espeak-ng gives it."""

    pcm: bytes
    """16 bit, mono, native byte order."""
    words: tuple[tuple[int, int], ...]
    """Words that begin: (character of the text, counted from 0; sample since the text began)."""


Sink = Callable[[SoundBlock], bool]
"""Takes a block; says whether to go on. Runs inside espeak-ng: it neither waits nor raises."""


class _EventId(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8))


class _Event(ctypes.Structure):
    """espeak_EVENT of speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),  # in characters, from 1
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),  # in ms; `sample` is the same, exact
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventId),
    )


class _Voice(ctypes.Structure):
    """espeak_VOICE of speak_lib.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("languages", ctypes.POINTER(ctypes.c_char)),  # (priority byte, tag, NUL)…, NUL
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    )


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(_Event))


class EspeakLibrary:
    """The one espeak-ng of this process. Only while it is held (`held`)."""

    def __init__(self, library: str, data: Path) -> None:
        try:
            self._c = ctypes.CDLL(library)  # releases the interpreter's lock for each call
        except OSError as error:
            raise SpeechError(f"espeak-ng's library does not load ({error}): {_AGAIN}") from error
        if len(bytes(data)) >= _PATH_BYTES:
            raise SpeechError(
                f"espeak-ng can't read its data in {data}: the path is longer than {_PATH_BYTES - 1} bytes"
            )
        missing = [name for name in DATA_FILES if not (data / name).is_file()]
        if missing:
            raise SpeechError(f"espeak-ng's data is missing, {data} has no {', '.join(missing)}: {_AGAIN}")
        self.data = data
        c = self._c
        c.espeak_Initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        c.espeak_Info.argtypes = [ctypes.POINTER(ctypes.c_char_p)]
        c.espeak_Info.restype = ctypes.c_char_p
        c.espeak_SetSynthCallback.argtypes = [_Callback]
        c.espeak_SetSynthCallback.restype = None
        c.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
        c.espeak_SetParameter.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int]
        c.espeak_ListVoices.argtypes = [ctypes.c_void_p]
        c.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(_Voice))
        c.espeak_GetCurrentVoice.restype = ctypes.POINTER(_Voice)
        c.espeak_Synth.argtypes = [
            *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int),
            *(ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p),
        ]
        self.rate_hz: int = c.espeak_Initialize(_SYNCHRONOUS, _BLOCK_MS, bytes(data), _DONT_EXIT)
        if self.rate_hz <= 0:
            raise SpeechError(f"espeak-ng can't read its data in {data}: {_AGAIN}")
        used = ctypes.c_char_p()
        self.version = (c.espeak_Info(ctypes.byref(used)) or b"").decode(errors="replace")
        if used.value != bytes(data):  # where it can't use a path, it silently looks elsewhere
            found = (used.value or b"nowhere").decode(errors="replace")
            raise SpeechError(f"espeak-ng took its data from {found}, not from {data}: {_AGAIN}")
        self._sink: Sink | None = None
        self._callback = _Callback(self._take)  # kept: C holds a pointer to it
        c.espeak_SetSynthCallback(self._callback)

    def find_voice(self, name: str) -> str | None:
        """Find the voice of this name, or of this language, as espeak-ng takes it; None if there is none.

        Raises:
            SpeechError: The dictionary of its language is missing.
        """
        base, _, variant = name.partition("+")
        if not name.isprintable() or (variant and not (self.data / "voices" / "!v" / variant).is_file()):
            return None  # espeak-ng ignores a variant that it does not have
        if not self._set_voice(name):
            # it lists tags of a language that it does not take as a name, such as zh
            same = [
                voice.identifier
                for voice in self._listed()
                if base.lower() in (*map(str.lower, voice.languages), voice.name.lower())
            ]
            name = "+".join(filter(None, (*same[:1], variant)))
            if not same or not self._set_voice(name):
                return None
        dictionary = self._dictionary(self._c.espeak_GetCurrentVoice().contents.identifier.decode())
        if not dictionary.is_file() or not dictionary.stat().st_size:  # it would be silent, and say why on stderr only
            raise SpeechError(
                f"espeak-ng can't speak {base!r}: its data has no {dictionary.name}; choose another voice"
            )
        return name

    def language(self, name: str) -> str:
        """The tag of the language that a voice speaks; ``name`` is as `find_voice` gives it."""
        self._set_voice(name)
        # its own entry in the list: that of the current voice holds the tag by which it was asked for
        now = self._c.espeak_GetCurrentVoice().contents.identifier.decode().partition("+")[0]
        return next((voice.language for voice in self._listed() if voice.identifier == now), name.partition("+")[0])

    def _dictionary(self, identifier: str) -> Path:
        """The dictionary that a voice's file names, or that of its language."""
        try:
            lines = (self.data / "lang" / identifier.partition("+")[0]).read_text(errors="replace").splitlines()
        except OSError as error:
            raise SpeechError(f"espeak-ng's data is incomplete ({error}): {_AGAIN}") from error
        said = dict(line.split()[:2] for line in reversed(lines) if len(line.split()) > 1)  # the first of a key counts
        name = said.get("dictionary", said.get("language", "").partition("-")[0])
        return self.data / f"{name}_dict"

    def _set_voice(self, name: str) -> bool:
        return bool(self._c.espeak_SetVoiceByName(name.encode(errors="replace")) == 0)

    def voices(self) -> list[VoiceInfo]:
        """The voices that can speak: the wheel lists three languages without their dictionaries."""
        return [voice for voice in self._listed() if self._dictionary(voice.identifier).is_file()]

    def _listed(self) -> list[VoiceInfo]:
        entries = self._c.espeak_ListVoices(None)
        found = []
        for index in range(10_000):
            if not entries[index]:
                break
            voice = entries[index].contents
            tags = tuple(_tags(voice.languages))
            found.append(VoiceInfo(tags[0] if tags else "", voice.name.decode(), tags, voice.identifier.decode()))
        return found

    def synthesise(self, text: str, settings: EspeakSettings, sink: Sink, *, end_pause: bool) -> None:
        """Speak a plain text into a sink, until its end or until the sink has enough.

        Raises:
            SpeechError: There is no such voice, or espeak-ng failed.
        """
        if not self._set_voice(settings.voice):
            raise SpeechError(f"espeak-ng has lost the voice {settings.voice!r}: was its data removed?")
        self._c.espeak_SetParameter(_RATE, settings.rate_wpm, 0)
        self._c.espeak_SetParameter(_PITCH, settings.pitch, 0)
        self._c.espeak_SetParameter(_VOLUME, settings.volume, 0)
        raw = text.encode()
        # neither espeakSSML nor espeakPHONEMES: "<" and "[[" are signs like others
        flags = UTF8 | (_END_PAUSE if end_pause else 0)
        self._sink = sink
        try:
            status = self._c.espeak_Synth(raw, len(raw) + 1, 0, _POS_CHARACTER, 0, flags, None, None)
        finally:
            self._sink = None
        if status:
            raise SpeechError(f"espeak-ng failed to speak (status {status})")

    def _take(self, wav: int | None, count: int, events: Any) -> int:
        """espeak-ng's callback: 0 goes on, 1 ends the synthesis here."""
        words = []
        index = 0
        while events[index].type != _EVENT_END:
            if events[index].type == _EVENT_WORD:
                words.append((events[index].text_position - 1, events[index].sample))
            index += 1
        if self._sink is None or wav is None or (not count and not words):
            return 0
        return 0 if self._sink(SoundBlock(ctypes.string_at(wav, 2 * count), tuple(words))) else 1


def _tags(languages: Any) -> Iterator[str]:
    place = 0
    while languages[place] != b"\0":
        tag = ctypes.string_at(ctypes.addressof(languages.contents) + place + 1)
        yield tag.decode()
        place += len(tag) + 2


# espeak-ng keeps its voice, its settings and the state of a synthesis in global variables: one utterance at a time in a
# process, whatever the thread. Each voice and parameter is set again while the lock is held.
_lock: Final = threading.Lock()
_loaded: EspeakLibrary | None = None


@contextmanager
def held(stopped: Callable[[], bool] = lambda: False) -> Iterator[EspeakLibrary | None]:
    """Have espeak-ng to oneself, loaded; None, if ``stopped`` while somebody else had it.

    Raises:
        SpeechError: The library or its data is missing.
    """
    global _loaded  # noqa: PLW0603 - it is one per process
    while not _lock.acquire(timeout=STOP_POLL_S):
        if stopped():
            yield None
            return
    try:
        if _loaded is None:
            _loaded = _load()
        yield _loaded
    finally:
        _lock.release()


def _load() -> EspeakLibrary:
    try:
        import espeakng_loader
    except ImportError as error:
        raise SpeechError(f"espeak-ng is not installed: {install('voice')}") from error
    library = Path(espeakng_loader.get_library_path())
    # not get_data_path(): it raises a RuntimeError of its own
    return EspeakLibrary(str(library), library.parent / "espeak-ng-data")
