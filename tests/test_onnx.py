import pytest

from edgeagent.onnx import open_session
from edgeagent.resources import models_dir


def test_opens_a_model_on_the_processor_with_threads_that_do_not_spin():
    session = open_session(models_dir() / "enhancer.onnx", threads=2, arena=False)

    assert session.get_providers() == ["CPUExecutionProvider"]
    options = session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert not options.enable_cpu_mem_arena


def test_what_is_no_model_is_an_error(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"not a model")

    with pytest.raises(Exception, match=r"no\.onnx"):
        open_session(tmp_path / "no.onnx")
