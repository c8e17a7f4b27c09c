"""Opening of ONNX models: on the processor, with no thread that spins. Knows no model."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def open_session(path: Path, *, threads: int = 1, arena: bool = True) -> Any:
    """An ``onnxruntime.InferenceSession``.

    Args:
        threads: For one operator; several operators never run at once.
        arena: Keep memory between runs. It is not worth that for small networks.

    Raises:
        ImportError: onnxruntime is not installed.
        Exception: The file is missing or no ONNX model; onnxruntime's errors have nothing else in common.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # or idle threads burn a core each
    options.enable_cpu_mem_arena = arena
    options.log_severity_level = 4  # what goes wrong is raised
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
