"""The files of a Piper voice: checked, and loaded with bounded threads and the times of its phonemes.

Knows nothing of text or sound. piper, onnxruntime and onnx are imported here and only when a voice is loaded.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import SpeechError
from edgeagent.extras import install
from edgeagent.onnx import open_session

logger = logging.getLogger(__name__)

_INPUTS: Final = frozenset({"input", "input_lengths", "scales"})
_ALPHABETS: Final = frozenset({"espeak", "text"})  # the others need packages of their own; one downloads a model
_MARKS: Final = ("_", "^", "$")  # pad, begin, end
_DATA_FILES: Final = ("phontab", "phonindex", "phondata", "intonations")
_PROBE: Final = "one"


@dataclass(frozen=True, slots=True)
class Inference:
    """Settings of a voice if nobody says otherwise; the defaults are piper's."""

    noise_scale: float = 0.667
    length_scale: float = 1.0
    noise_w_scale: float = 0.8


class VoiceFile:
    """A voice on the disk. The .json is read and checked when this is made.

    Raises:
        SpeechError: A file is missing, or the .json is not one of a Piper voice.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self.path = path
        self._threads = threads
        if not path.is_file():
            raise SpeechError(f"there is no voice {path}; a Piper voice is a .onnx file with a .onnx.json beside it")
        self._config_path = path.with_name(f"{path.name}.json")
        config = self._read()
        try:
            self.rate_hz = int(config["audio"]["sample_rate"])
            self.language = str(config["espeak"]["voice"])
            self._speakers = int(config["num_speakers"])
            self._names: dict[str, int] = {
                str(name): int(id_) for name, id_ in (config.get("speaker_id_map") or {}).items()
            }
            self._default = int(config.get("default_speaker_id") or 0)
            said = config.get("inference") or {}
            self.inference = Inference(
                *(
                    float(said.get(key, default))
                    for key, default in (("noise_scale", 0.667), ("length_scale", 1.0), ("noise_w", 0.8))
                )
            )
            lacking = [mark for mark in _MARKS if not config["phoneme_id_map"].get(mark)]
            alphabet = config.get("phoneme_type", "espeak")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise SpeechError(f"{self._config_path} is not the configuration of a Piper voice: {what}") from error
        if lacking or not 4000 <= self.rate_hz <= 192_000:
            raise SpeechError(
                f"{self._config_path} is not the configuration of a Piper voice: "
                + (f"its phoneme_id_map has no {' '.join(lacking)}" if lacking else f"sample_rate is {self.rate_hz}")
            )
        if alphabet not in _ALPHABETS:
            raise SpeechError(
                f"the voice {path.stem} has phonemes of type {alphabet!r}; only espeak and text can be read"
            )
        self._config = config

    def _read(self) -> dict[str, Any]:
        try:
            config = json.loads(self._config_path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise SpeechError(
                f"{self._config_path} is missing: it belongs to the voice, fetch it from the same place"
            ) from error
        except (OSError, ValueError) as error:
            raise SpeechError(f"{self._config_path} can't be read: {error}") from error
        if not isinstance(config, dict):
            raise SpeechError(f"{self._config_path} is not the configuration of a Piper voice")
        return config

    def speaker(self, wanted: int | str | None) -> int | None:
        """The number of a speaker; None for a voice with one.

        Raises:
            SpeechError: The voice has no such speaker.
        """
        if self._speakers <= 1:
            if wanted in (None, 0):
                return None
            raise SpeechError(f"the voice {self.path.stem} has one speaker, not {wanted!r}")
        number = self._default if wanted is None else self._names.get(wanted) if isinstance(wanted, str) else wanted
        if number is None or not 0 <= number < self._speakers:
            names = f", or by name: {', '.join(list(self._names)[:8])}" if self._names else ""
            raise SpeechError(f"the voice {self.path.stem} has no speaker {wanted!r}; 0 to {self._speakers - 1}{names}")
        return number

    def load(self) -> Any:
        """Load the model; gives piper's ``PiperVoice``.

        Raises:
            SpeechError: piper or onnx is not installed, the file is no Piper voice, or its language is missing.
        """
        try:
            from piper import PiperConfig, PiperVoice
            from piper.phonemize_espeak import ESPEAK_DATA_DIR
        except ImportError as error:
            raise SpeechError(f"Piper is not installed ({error}): {install('piper')}") from error
        # espeak-ng inside piper ends the process, with exit(1), when its data is missing
        if lost := [name for name in _DATA_FILES if not (Path(ESPEAK_DATA_DIR) / name).is_file()]:
            raise SpeechError(
                f"Piper's espeak-ng data is missing, {ESPEAK_DATA_DIR} has no {', '.join(lost)}: "
                "install it again with pip install --force-reinstall piper-tts"
            )
        try:
            session = open_session(self.path, threads=self._threads, inner=_frames)
        except ImportError as error:
            raise SpeechError(f"Piper is not installed ({error}): {install('piper')}") from error
        except Exception as error:
            raise SpeechError(f"{self.path} is not an ONNX model that can be loaded: {error}") from error
        inputs = {entry.name for entry in session.get_inputs()}
        if not inputs >= _INPUTS or ("sid" in inputs) != (self._speakers > 1):
            raise SpeechError(
                f"{self.path} is not the model of this Piper voice: its inputs are {', '.join(sorted(inputs))}"
            )
        if len(session.get_outputs()) < 2:
            logger.warning(
                "the voice %s does not tell how long its words take: their times are guessed", self.path.stem
            )
        voice = PiperVoice(session=session, config=PiperConfig.from_dict(self._config))
        try:
            heard = voice.phonemize(_PROBE)
        except Exception as error:
            raise SpeechError(
                f"the voice {self.path.stem} can't read its language {self.language!r}: {error}"
            ) from error
        if not any(heard):  # no dictionary: espeak-ng says so on stderr only
            raise SpeechError(f"the voice {self.path.stem} can't read: Piper's espeak-ng data lacks {self.language!r}")
        return voice


def _frames(graph: Any) -> str | None:
    """The tensor of a voice's graph that tells how many frames each phoneme takes: the only one that is rounded up.

    None if there are several, or none.
    """
    rounded = [node.output[0] for node in graph.node if node.op_type == "Ceil"]
    return rounded[0] if len(rounded) == 1 else None
