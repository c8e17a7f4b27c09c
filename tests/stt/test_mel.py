"""What PocketSphinx's front end makes of sound, ours makes too."""

from pathlib import Path

import numpy as np
import pocketsphinx  # type: ignore[import-untyped, unused-ignore]
import pytest

from edgeagent.audio.types import Samples
from edgeagent.stt import app_model
from edgeagent.stt.mel import Spectra, cepstra, white
from tests.stt.speech import RATE_HZ, VOICES, mel_bands, said


def theirs(sound: Samples, folder: Path) -> np.ndarray:
    """The cepstra that PocketSphinx makes of 16-bit sound, without its noise removal."""
    model = app_model.general_model()
    options = {"hmm": str(model.acoustic), "dict": str(model.dictionary), "keyphrase": "stop", "lm": None}
    options |= {"mfclogdir": str(folder)}
    decoder = pocketsphinx.Decoder(pocketsphinx.Config(loglevel="FATAL", **options))
    decoder.config["remove_noise"] = False
    decoder.config["cmn"] = "none"
    decoder.reinit_feat()
    decoder.start_utt()
    decoder.process_raw((sound * 32_767).astype("<i2").tobytes(), False, True)
    decoder.end_utt()
    (written,) = folder.glob("*.mfc")
    return np.frombuffer(written.read_bytes()[4:], ">f4").reshape(-1, 13)


@pytest.mark.parametrize("voice", VOICES)
def test_they_are_those_of_pocketsphinx(voice: str, tmp_path: Path) -> None:
    sound = said("turn left and drive one meter", voice)
    rounded = (sound * 32_767).astype("<i2").astype(np.float32) / np.float32(32_767)
    ours, wanted = cepstra(mel_bands(rounded)), theirs(sound, tmp_path)
    assert 0 <= len(wanted) - len(ours) <= 1  # a last frame that is not whole
    assert np.abs(ours - wanted[: len(ours)]).max() < 0.02


def test_sound_in_pieces_is_the_same_sound() -> None:
    sound, spectra, random = said("turn left", "slt"), Spectra(), np.random.default_rng(1)
    pieces, at = [], 0
    while at < len(sound):
        end = at + int(random.integers(0, 900))
        pieces.append(spectra.process(sound[at:end]))
        at = end
    assert np.concatenate(pieces) == pytest.approx(Spectra().process(sound))


def test_there_is_a_frame_every_10_ms_with_13_cepstra() -> None:
    energies = mel_bands(said("turn left", "slt")[:16_000])
    assert energies.shape == (98, 25)
    assert cepstra(energies).shape == (98, 13)


def test_a_tone_is_loudest_in_its_band() -> None:
    tone = 0.3 * np.sin(2 * np.pi * 1_000 * np.arange(RATE_HZ) / RATE_HZ)
    bands = mel_bands(tone.astype(np.float32))[1:].mean(axis=0)
    assert np.argmax(bands) == 7
    assert bands[7] > 1_000 * bands[20]


def test_what_is_no_number_is_silence_and_what_is_too_loud_is_cut() -> None:
    wrong = np.full(4_000, np.nan, np.float32)
    assert not mel_bands(wrong).any()
    loud = np.full(4_000, np.inf, np.float32)
    assert mel_bands(loud) == pytest.approx(mel_bands(np.ones(4_000, np.float32)))


def test_white_noise_has_the_energies_that_are_told_of_it() -> None:
    noise = np.random.default_rng(0).normal(0, 10 ** (-40 / 20), 10 * RATE_HZ).astype(np.float32)
    assert mel_bands(noise)[1:].mean(axis=0) == pytest.approx(white(-40.0), rel=0.1)
