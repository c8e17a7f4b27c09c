"""Turn-end models: Whisper's features, a model of Smart Turn's shape, and files that are none."""

from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import Samples
from edgeagent.errors import RecognitionError
from edgeagent.voice import DONE, RATE_HZ, SmartTurn, TurnEndModel, features
from tests.voice.turn_model import turn_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmartTurn:
    return SmartTurn(turn_model(tmp_path_factory.mktemp("turn") / "tiny-turn.onnx", shape=("batch", 80, 800)))


def sound(seconds: float, *, quiet_s: float = 0.0, seed: int = 1) -> Samples:
    """Noise with the colour of a voice, and a silence behind it."""
    noise = np.random.default_rng(seed).normal(0, 0.1, int(seconds * RATE_HZ))
    voice = np.convolve(noise, np.hanning(12) / 6, "same")
    voice[len(voice) - int(quiet_s * RATE_HZ) :] *= 0.001
    return voice.astype(np.float32)


def test_a_voice_that_has_fallen_silent_is_done_and_one_that_goes_on_is_not(model: SmartTurn) -> None:
    turn_end: TurnEndModel = model
    assert turn_end.name == "tiny-turn"
    assert turn_end.probability(sound(8.0, quiet_s=1.0)) > 0.9
    assert turn_end.probability(sound(8.0)) < 0.1
    assert 0.1 < DONE < 0.9


def test_only_the_last_eight_seconds_count(model: SmartTurn) -> None:
    last = sound(8.0, quiet_s=0.4)
    before = np.concatenate([sound(30.0, seed=2) * 5, last])
    assert model.probability(before) == pytest.approx(model.probability(last))


def test_what_is_missing_is_silence_at_the_front() -> None:
    short = sound(2.0)
    full = np.concatenate([np.zeros(6 * RATE_HZ, np.float32), short])
    assert np.array_equal(features(short), features(full))
    made = features(short)
    assert made[:, 620:].mean() > made[:, :590].mean() + 0.5


def test_the_features_are_whisper_s() -> None:
    from faster_whisper.feature_extractor import FeatureExtractor

    heard = sound(8.0, quiet_s=0.5)
    normal = (heard - heard.mean()) / np.sqrt(heard.var() + 1e-7)
    theirs = FeatureExtractor(chunk_length=8)(normal, padding=0)
    ours = features(heard)
    assert ours.shape == theirs.shape == (80, 800)
    assert ours.dtype == np.float32
    assert np.abs(ours - theirs).max() < 1e-3


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(0, np.float32),
        np.zeros(16_000, np.float32),
        np.ones(200_000, np.float32),
        np.array([np.nan, np.inf, 0.5], np.float32),
        np.array([1e30, -1e30], np.float32),
    ],
)
def test_any_sound_has_features_and_a_probability(samples: Samples, model: SmartTurn) -> None:
    assert np.isfinite(features(samples)).all()
    assert 0 <= model.probability(samples) <= 1


def test_loudness_changes_nothing(model: SmartTurn) -> None:
    quiet = sound(8.0, quiet_s=0.5)
    assert model.probability(quiet * 4) == pytest.approx(model.probability(quiet), abs=1e-3)


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecognitionError, match="there is no turn-end model"):
        SmartTurn(tmp_path / "none.onnx")


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("this is no model")
    with pytest.raises(RecognitionError, match="not an ONNX model that can be loaded"):
        SmartTurn(path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shape": (1, 128, 800)}, r"takes input_features tensor\(float\) \[1, 128, 800\]"),
        ({"shape": (1, 80, 3000)}, r"\[1, 80, 3000\]"),
        ({"name": "input_values"}, "takes input_values"),
        ({"outputs": 2}, r"gives \(1, 2\), not one probability"),
    ],
)
def test_a_model_of_another_shape_is_an_error_that_says_so(
    tmp_path: Path, options: dict[str, object], told: str
) -> None:
    path = turn_model(tmp_path / "other.onnx", **options)  # type: ignore[arg-type]
    with pytest.raises(RecognitionError, match=told):
        SmartTurn(path)


def test_a_model_without_its_sigmoid_is_found_out(tmp_path: Path) -> None:
    model = SmartTurn(turn_model(tmp_path / "logit.onnx", sigmoid=False))
    with pytest.raises(RecognitionError, match="needs its sigmoid"):
        model.probability(sound(8.0, quiet_s=1.0))
