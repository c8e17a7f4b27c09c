"""Makes a model of Smart Turn's shape that really runs: it is sure of the end when the last second is quieter than the
rest, and not when it is as loud.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (1, 80, 800)
LAST = 100
"""Frames of the last second."""


def turn_model(
    path: Path,
    *,
    shape: tuple[int | str, ...] = SHAPE,
    name: str = "input_features",
    outputs: int = 1,
    sigmoid: bool = True,
) -> Path:
    """Write a model; gives its path.

    Args:
        shape: Of the input; an axis with a name has any size.
        outputs: How many numbers it gives.
        sigmoid: False: it gives a logit, which is no probability.
    """
    constants = {
        "start": np.array([800 - LAST], np.int64),
        "middle": np.array([300], np.int64),
        "end": np.array([800], np.int64),
        "time": np.array([2], np.int64),
        "steep": np.array(20.0, np.float32),
        "less": np.array(0.3, np.float32),
        "many": np.array([1, outputs], np.int64),
    }
    nodes = [
        helper.make_node("Slice", [name, "start", "end", "time"], ["late"]),
        helper.make_node("Slice", [name, "middle", "start", "time"], ["early"]),
        helper.make_node("ReduceMean", ["late"], ["late_mean"], keepdims=0),
        helper.make_node("ReduceMean", ["early"], ["early_mean"], keepdims=0),
        helper.make_node("Sub", ["early_mean", "late_mean"], ["fall"]),
        helper.make_node("Sub", ["fall", "less"], ["fallen"]),
        helper.make_node("Mul", ["fallen", "steep"], ["logit"]),
        helper.make_node("Sigmoid" if sigmoid else "Identity", ["logit"], ["one"]),
        helper.make_node("Expand", ["one", "many"], ["probability"]),
    ]
    graph = helper.make_graph(
        nodes,
        "turn end",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", "outputs"])],
        [numpy_helper.from_array(value, key) for key, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    onnx.save(made, str(path))
    return path
