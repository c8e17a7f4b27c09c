"""``edgeagent train``: what it asks for, and what it refuses before minutes are spent."""

import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

ROBOT = """
@tool
def water(liters: float) -> str:
    "Water the plants."
    return "watered"

agent = Agent("gardener", tools=[water])
"""
without_torch = pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
with_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@pytest.fixture
def app(edgeagent) -> Path:
    return edgeagent.app(ROBOT)


@pytest.fixture
def phrases(edgeagent) -> Path:
    path = edgeagent.cwd / "phrases.txt"
    path.write_text("water it with two liters = water(liters=2)\n", encoding="utf-8")
    return path


def test_it_asks_for_phrases_and_an_app(edgeagent, app: Path, phrases: Path) -> None:
    assert "which phrases?" in edgeagent("train", "--app", app).stderr
    ended = edgeagent("train", "--phrases", phrases)
    assert ended.returncode == 2
    assert "--app my_robot.py" in ended.stderr


@without_torch
def test_without_the_extra_it_says_what_to_install(edgeagent, app: Path, phrases: Path) -> None:
    ended = edgeagent("train", "--app", app, "--phrases", phrases)
    assert ended.returncode == 2
    assert 'pip install "edgeagent[train]"' in ended.stderr


@with_torch
def test_an_error_in_a_phrase_names_its_line(edgeagent, app: Path, phrases: Path) -> None:
    phrases.write_text("water it = watr(liters=2)\n", encoding="utf-8")
    ended = edgeagent("train", "--app", app, "--phrases", phrases)
    assert ended.returncode == 2
    assert "phrases.txt:1: the app has no tool 'watr'; did you mean 'water'?" in ended.stderr


@with_torch
def test_a_place_that_cannot_take_the_model_is_refused_at_once(edgeagent, app: Path, phrases: Path) -> None:
    (edgeagent.cwd / "there.gguf").touch()
    for out, told in (("there.gguf", "--force"), ("model.bin", "ends in .gguf"), ("no/where.gguf", "no folder")):
        ended = edgeagent("train", "--app", app, "--phrases", phrases, "--out", out)
        assert ended.returncode == 2
        assert told in ended.stderr


@with_torch
def test_a_small_arm_board_trains_elsewhere(edgeagent, app: Path, phrases: Path) -> None:
    board = "import os, platform\nplatform.machine = lambda: 'aarch64'\nos.sched_getaffinity = lambda pid: {0, 1}\n"
    ended = edgeagent("train", "--app", app, "--phrases", phrases, before=board)
    assert ended.returncode == 2
    assert "on a PC" in ended.stderr


@with_torch
def test_a_held_out_phrase_that_is_learnt_is_refused(edgeagent, app: Path, phrases: Path) -> None:
    ended = edgeagent("train", "--app", app, "--phrases", phrases, "--held-out", phrases)
    assert ended.returncode == 2
    assert "has this phrase too" in ended.stderr


@with_torch
def test_ctrl_c_leaves_nothing(edgeagent, app: Path, phrases: Path) -> None:
    command = edgeagent.start("train", "--app", app, "--phrases", phrases, "--minutes", "5", "--out", "mine.gguf")
    try:
        while b"learning from" not in (line := command.stderr.readline()):
            assert line
        command.send_signal(signal.SIGINT)
        _, told = command.communicate(timeout=60)
    finally:
        command.kill()
        command.wait()
    assert command.returncode == 130
    assert b"mine.gguf is not written" in told
    assert [path.name for path in edgeagent.cwd.iterdir()] == ["phrases.txt"]


@with_torch
def test_a_model_of_another_kind_is_refused(edgeagent, app: Path, phrases: Path, checkout: Path) -> None:
    import gguf

    from edgeagent.train import read_weights, write_gguf

    def settings(writer) -> None:
        for field in gguf.GGUFReader(checkout / "models" / "nano.gguf").fields.values():
            if not field.name.startswith(("GGUF.", "general.architecture")):
                value = 2 if field.name == "llama.attention.head_count_kv" else field.contents()
                item = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
                writer.add_key_value(field.name, value, field.types[0], sub_type=item)

    other = edgeagent.cwd / "other.gguf"
    state = read_weights(checkout / "models" / "nano.gguf").state
    halved = {name: one[:128] if name.endswith((".k.weight", ".v.weight")) else one for name, one in state.items()}
    arrays = {name: one.numpy() for name, one in halved.items()}
    kinds = gguf.GGMLQuantizationType
    write_gguf(other, settings, arrays, lambda name: kinds.F32 if "norm" in name else kinds.Q8_0)
    ended = edgeagent("train", "--app", app, "--phrases", phrases, "--model", other)
    assert ended.returncode == 3
    assert "is no model of nano's shape" in ended.stderr
