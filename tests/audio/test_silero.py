"""Silero's network: the same figures as its package gives, and what is told when it is not there."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import CHUNK, Silero
from edgeagent.errors import AudioError
from edgeagent.resources import models_dir
from edgeagent.testing import synthesised


@pytest.fixture(scope="module")
def line():
    """A spoken line, in whole chunks."""
    spoken = synthesised("set the speed to half a meter per second", "slt", 16_000) * np.float32(0.3)
    return spoken[: len(spoken) // CHUNK * CHUNK].reshape(-1, CHUNK)


def test_speech_is_likely_and_noise_is_not(line):
    network = Silero()
    assert np.median([network.process(chunk) for chunk in line]) > 0.9
    network.reset()
    hiss = np.random.default_rng(0).standard_normal(line.shape).astype(np.float32) * 0.01
    assert max(network.process(chunk) for chunk in hiss) < 0.1


def test_it_gives_what_its_own_package_gives(line):
    from faster_whisper.vad import get_vad_model

    network = Silero()
    streamed = [network.process(chunk) for chunk in line]
    # the package blanks one chunk's context, so only nearly
    np.testing.assert_allclose(streamed, get_vad_model()(line.ravel().copy()), atol=0.01)


def test_reset_begins_another_stream(line):
    network = Silero()
    first = [network.process(chunk) for chunk in line]
    network.reset()
    assert [network.process(chunk) for chunk in line] == first


# --- one process ----------------------------------------------------------------------------------------------------

WEIGHTS = """
import sys
from edgeagent.audio import Silero
assert "onnxruntime" not in sys.modules
Silero()
assert "faster_whisper" not in sys.modules
"""
LLAMA = "import llama_cpp; llama_cpp.llama_backend_init(); llama_cpp.llama_print_system_info()"
VOICE = """
import numpy as np
from edgeagent.audio import VoiceActivity
activity = VoiceActivity()
activity.process(0.1 * np.random.default_rng(0).standard_normal(16_000).astype(np.float32))
assert activity.asked
"""


@pytest.mark.parametrize(
    "parts", [(LLAMA, VOICE, LLAMA), (WEIGHTS, VOICE, LLAMA, VOICE)], ids=["llama first", "voice first"]
)
def test_its_weights_come_along_and_it_lives_in_one_process_with_llama_cpp(parts):
    done = subprocess.run([sys.executable, "-c", "\n".join(parts)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# --- what is missing or wrong ---------------------------------------------------------------------------------------


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(AudioError, match=r"nothing\.onnx, which is missing: install edgeagent again"):
        Silero(tmp_path / "nothing.onnx")


def test_a_file_that_is_none_is_named(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes((models_dir() / "silero_vad_v6.onnx").read_bytes()[:1_000])
    with pytest.raises(AudioError, match=r"broken\.onnx is not an ONNX model .*install edgeagent again"):
        Silero(path)


def test_another_network_is_not_taken_for_it():
    spec = importlib.util.find_spec("piper")
    path = Path(spec.submodule_search_locations[0], "tashkeel", "model.onnx")
    with pytest.raises(AudioError, match=r"model\.onnx is not the network of voice activity"):
        Silero(path)


def test_without_onnxruntime_there_is_no_voice_activity(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(AudioError, match=r"onnxruntime .*pip install"):
        Silero()
