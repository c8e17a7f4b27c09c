import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgeagent.onnx import open_session
from edgeagent.resources import models_dir


def test_opens_a_model_on_the_processor_with_threads_that_do_not_spin():
    session = open_session(models_dir() / "stop_words.onnx", threads=2, arena=False)

    assert session.get_providers() == ["CPUExecutionProvider"]
    options = session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert not options.enable_cpu_mem_arena


def test_what_is_no_model_is_an_error(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"not a model")

    with pytest.raises(Exception, match=r"no\.onnx"):
        open_session(tmp_path / "no.onnx")


def test_the_library_knows_no_address_to_send_to():
    spec = importlib.util.find_spec("onnxruntime")
    libraries = list(Path(spec.submodule_search_locations[0]).rglob("*.so*"))

    assert libraries
    for library in libraries:
        assert b"events.data.microsoft" not in library.read_bytes(), library


def test_a_later_library_is_told_to_send_nothing_and_leaves_no_trace(tmp_path):
    code = "import edgeagent.onnx, os; import onnxruntime; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    environment = {**os.environ, "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY")
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert ran.stdout == "1\n"
    assert list(tmp_path.iterdir()) == []
