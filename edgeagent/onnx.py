"""Opening and running of ONNX models: on the processor, with no thread that spins. Knows no model."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, Final

from edgeagent.errors import AudioError
from edgeagent.extras import install
from edgeagent.stop import STOP_POLL_S

_AGAIN: Final = "install edgeagent again"


def open_session(
    path: Path, *, threads: int = 1, arena: bool = True, inner: Callable[[Any], str | None] | None = None
) -> Any:
    """Opens an ``onnxruntime.InferenceSession``.

    Args:
        threads: For one operator; several operators never run at once.
        arena: Keep memory between runs. It is not worth that for small networks.
        inner: Gives, from the ``onnx.GraphProto``, the name of a tensor that becomes one more output, or None. The
            file stays as it is.

    Raises:
        ImportError: onnxruntime is not installed, or onnx, which ``inner`` needs.
        Exception: The file is missing or no ONNX model; onnxruntime's errors have nothing else in common.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # or idle threads burn a core each
    options.enable_cpu_mem_arena = arena
    options.log_severity_level = 4  # what goes wrong is raised
    if inner is None:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    # from bytes, onnxruntime would keep a copy of them
    changed = os.memfd_create("model.onnx")
    try:
        with open(changed, "wb", closefd=False) as file:
            file.write(_with_output(path, inner))
        return onnxruntime.InferenceSession(f"/proc/self/fd/{changed}", options, providers=["CPUExecutionProvider"])
    finally:
        os.close(changed)


def open_known(
    path: Path,
    part: str,
    *,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[str],
    raises: type[AudioError] = AudioError,
) -> Any:
    """Opens a small network that comes with edgeagent, and checks that it is the one that is meant.

    Args:
        part: Names what needs it, for people.
        inputs: Each with the length of its last axis.
        raises: The class of what is raised.

    Raises:
        AudioError: onnxruntime or the file is missing, or the file is another network.
    """
    if not path.is_file():
        raise raises(f"{part} needs {path}, which is missing: {_AGAIN}")
    try:
        session = open_session(path, arena=False)
    except ImportError as error:
        raise raises(f"{part} needs onnxruntime, which is not installed ({error}): {install('voice')}") from error
    except Exception as error:
        raise raises(f"{path} is not an ONNX model that can be loaded ({error}): {_AGAIN}") from error
    taken = [(entry.name, entry.shape[-1]) for entry in session.get_inputs()]
    if taken != list(inputs) or [entry.name for entry in session.get_outputs()] != list(outputs):
        takes = ", ".join(f"{name} ({length})" for name, length in taken)
        raise raises(f"{path} is not the network of {part}: it takes {takes}: {_AGAIN}")
    return session


def _with_output(path: Path, inner: Callable[[Any], str | None]) -> bytes:
    """The content of a model's file, with one more output."""
    import onnx

    model = onnx.load(str(path))
    name = inner(model.graph)
    if name is not None and all(output.name != name for output in model.graph.output):
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    content: bytes = model.SerializeToString()
    return content


def run_until(session: Any, inputs: Mapping[str, Any], stop_event: Event) -> list[Any] | None:
    """Runs a session, and ends the run when the event is set: onnxruntime looks before each node of the graph.

    Returns:
        The outputs in the order of the graph; None if the run was ended.

    Raises:
        Exception: The model failed; onnxruntime's errors have nothing else in common.
    """
    from onnxruntime import RunOptions

    options, done = RunOptions(), Event()

    def watch() -> None:
        while not done.wait(STOP_POLL_S):
            if stop_event.is_set():
                options.terminate = True
                return

    watcher = threading.Thread(target=watch, name="onnx-stop", daemon=True)
    watcher.start()
    try:
        outputs: list[Any] = session.run(None, inputs, options)
    except Exception:
        if stop_event.is_set():
            return None
        raise
    finally:
        done.set()
        watcher.join()
    return outputs
