"""Makes a Piper voice of some kilobytes that really runs in Piper: a tone for each phoneme.

The graph has the inputs and outputs of a real voice (VITS, as piper.train exports it) and its ``w_ceil``, the frames of
each phoneme id: 1 for padding, begin and end, 2 to 6 for a phoneme. A space and a punctuation mark are silent, so a
test can see in the sound where a word begins.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

RATE_HZ = 22050
HOP = 256
SYMBOLS = 256
SILENT = "_^$ .,;:!?"


def tiny_voice(
    folder: Path,
    *,
    name: str = "tiny",
    language: str = "en-us",
    speakers: int = 1,
    labour: int = 0,
    times: bool = True,
    **config: Any,
) -> Path:
    """Write a voice and its configuration; gives the path of the .onnx file.

    Args:
        speakers: More than one: the model has ``sid``, and each speaker a pitch of its own.
        times: The frames of a phoneme are the only thing in the graph that is rounded up, as in a real voice.
        labour: Rounds of useless work for each clause, to have a voice that is slow.
        config: Replaces entries of the configuration; None removes one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    onnx.save(model(speakers, labour, times=times), str(path))
    said: dict[str, Any] = {
        "audio": {"sample_rate": RATE_HZ, "quality": "tiny"},
        "espeak": {"voice": language},
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "phoneme_type": "espeak",
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
        "num_symbols": SYMBOLS,
        "num_speakers": speakers,
        "speaker_id_map": {f"robot{number}": number for number in range(speakers)} if speakers > 1 else {},
    }
    said = {key: value for key, value in (said | config).items() if value is not None}
    path.with_name(f"{path.name}.json").write_text(json.dumps(said), encoding="utf-8")
    return path


def frames_of(ids: list[int], length_scale: float = 1.0) -> list[int]:
    """How many frames the model gives to each id."""
    return [int(np.ceil(frames * length_scale)) for frames in _tables()[0][ids]]


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frames, pitch in Hz and loudness of each id."""
    numbers = np.arange(SYMBOLS)
    silent = [ids[0] for phoneme, ids in DEFAULT_PHONEME_ID_MAP.items() if phoneme in SILENT]
    frames = (2 + numbers % 5).astype(np.float32)
    frames[:3] = 1
    loudness = np.full(SYMBOLS, 0.5, np.float32)
    loudness[silent] = 0
    return frames, (200 + 10 * numbers).astype(np.float32), loudness


def model(speakers: int, labour: int, *, times: bool = True) -> onnx.ModelProto:
    frames, pitch, loudness = _tables()
    constants = {
        "frames": frames,
        "pitch": pitch,
        "loudness": loudness,
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "i1": np.array([1], np.int64),
        "i2": np.array([2], np.int64),
        "axis": np.array([1], np.int64),
        "flat": np.array([-1], np.int64),
        "sound": np.array([1, 1, 1, -1], np.int64),
        "column": np.array([-1, 1], np.int64),
        "hop": np.ones((1, HOP), np.float32),
        "turn": np.array(2 * np.pi / RATE_HZ, np.float32),
        "octave": np.array(0.5, np.float32),
    }
    nodes = [
        # frames of each id: w_ceil, shape (1, 1, ids)
        helper.make_node("Slice", ["scales", "i1", "i2"], ["length_scale"]),
        helper.make_node("Gather", ["frames", "input"], ["w"]),
        helper.make_node("Mul", ["w", "length_scale"], ["w_scaled"]),
        helper.make_node("Unsqueeze", ["w_scaled", "axis"], ["w_3d"]),
        helper.make_node("Ceil", ["w_3d"], ["w_ceil"]),
        # the id that sounds in each frame: as many as have ended by then
        helper.make_node("Reshape", ["w_ceil", "flat"], ["w_flat"]),
        helper.make_node("CumSum", ["w_flat", "zero"], ["ends"]),
        helper.make_node("ReduceSum", ["w_flat"], ["total"], keepdims=0),
        helper.make_node("Cast", ["total"], ["count"], to=TensorProto.INT64),
        helper.make_node("Range", ["zero", "count", "one"], ["frame"]),
        helper.make_node("Cast", ["frame"], ["frame_f"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["frame_f", "column"], ["frame_column"]),
        helper.make_node("LessOrEqual", ["ends", "frame_column"], ["ended"]),
        helper.make_node("Cast", ["ended"], ["ended_i"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["ended_i", "axis"], ["index"], keepdims=0),
        helper.make_node("Reshape", ["input", "flat"], ["ids"]),
        helper.make_node("Gather", ["ids", "index"], ["sounding"]),
        # a tone of its pitch, with the phase carried on from frame to frame
        helper.make_node("Gather", ["pitch", "sounding"], ["hz_once"]),
        *_pitch_of_speaker(speakers),
        helper.make_node("Reshape", ["hz", "column"], ["hz_column"]),
        helper.make_node("Mul", ["hz_column", "hop"], ["hz_rows"]),
        helper.make_node("Reshape", ["hz_rows", "flat"], ["hz_each"]),
        helper.make_node("CumSum", ["hz_each", "zero"], ["cycles"]),
        helper.make_node("Mul", ["cycles", "turn"], ["phase"]),
        helper.make_node("Sin", ["phase"], ["tone"]),
        helper.make_node("Gather", ["loudness", "sounding"], ["loud"]),
        helper.make_node("Reshape", ["loud", "column"], ["loud_column"]),
        helper.make_node("Mul", ["loud_column", "hop"], ["loud_rows"]),
        helper.make_node("Reshape", ["loud_rows", "flat"], ["loud_each"]),
        helper.make_node("Mul", ["tone", "loud_each"], ["heard"]),
        helper.make_node("Reshape", ["heard", "sound"], ["tone_4d"]),
    ]
    if not times:
        nodes.append(helper.make_node("Ceil", ["w"], ["another"]))
    if labour:
        constants |= {
            "rounds": np.array(labour, np.int64),
            "go": np.array(True),
            "square": np.full((256, 256), 1e-4, np.float32),
        }
        nodes += [
            helper.make_node("Loop", ["rounds", "go", "square"], ["tired"], body=_labour()),
            helper.make_node("ReduceMin", ["tired"], ["least"], keepdims=0),
            helper.make_node("Mul", ["least", "least_zero"], ["nothing"]),
            helper.make_node("Add", ["tone_4d", "nothing"], ["output"]),
        ]
        constants["least_zero"] = np.array(0, np.float32)
    else:
        nodes.append(helper.make_node("Identity", ["tone_4d"], ["output"]))
    inputs = [
        helper.make_tensor_value_info("input", TensorProto.INT64, ["batch", "phonemes"]),
        helper.make_tensor_value_info("input_lengths", TensorProto.INT64, ["batch"]),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
    ]
    if speakers > 1:
        inputs.append(helper.make_tensor_value_info("sid", TensorProto.INT64, ["batch"]))
    graph = helper.make_graph(
        nodes,
        "tiny voice",
        inputs,
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 1, 1, "time"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def _pitch_of_speaker(speakers: int) -> list[onnx.NodeProto]:
    if speakers == 1:
        return [helper.make_node("Identity", ["hz_once"], ["hz"])]
    return [
        helper.make_node("Cast", ["sid"], ["sid_f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["sid_f", "octave"], ["half"]),
        helper.make_node("Exp", ["half"], ["higher"]),
        helper.make_node("Mul", ["hz_once", "higher"], ["hz"]),
    ]


def _labour() -> onnx.GraphProto:
    """One round of work that depends on the one before it."""
    value = [256, 256]
    return helper.make_graph(
        [
            helper.make_node("Identity", ["go_in"], ["go_out"]),
            helper.make_node("MatMul", ["before", "before"], ["product"]),
            helper.make_node("Tanh", ["product"], ["after"]),
        ],
        "labour",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, value),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.FLOAT, value),
        ],
    )
