"""nano in PyTorch: what it reads from the shipped file, and a training of a few steps."""

import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from PIL import Image

from edgeagent import LlamaLLM, Message
from edgeagent.house import HouseRobot
from edgeagent.llm import LLMRequest, read_header

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("gguf", reason="the extra train is not installed")

STEPS = 6


def test_pytorch_says_the_tokens_that_llama_cpp_says(nano: LlamaLLM) -> None:
    from edgeagent.train import Nano, block_mask, read_weights

    weights = read_weights(nano.path)
    model = Nano(weights.shape)
    model.load_state_dict(weights.state)
    robot = HouseRobot()
    for text in ("drive two meters and turn left", "thank you", "how full is your battery?"):
        asked = [Message("user", text)]
        reply = nano.complete(LLMRequest(messages=asked, tools=list(robot.tools), temperature=0.0), Event())
        before = LLMRequest(messages=asked, tools=list(robot.tools))
        whole = LLMRequest(messages=[*asked, reply, Message("user", "x")], tools=list(robot.tools))
        prompt, ids = nano.tokenize(before), nano.tokenize(whole)
        tail = len(nano.tokenize(LLMRequest(messages=[Message("user", "x")])))
        ids = ids[: len(ids) - tail - 1]  # without the line end that nobody says
        with torch.no_grad():
            row = torch.tensor([ids])
            mask = block_mask(torch.zeros_like(row), torch.float32)
            logits = model(row, torch.arange(len(ids))[None], mask)[0]
        assert ids[: len(prompt)] == prompt
        assert logits.argmax(-1)[len(prompt) - 1 : -1].tolist() == ids[len(prompt) :]
    robot.close()


def test_weights_survive_the_file(nano: LlamaLLM, tmp_path: Path) -> None:
    from edgeagent.train import read_weights, retrained

    weights = read_weights(nano.path)
    retrained(nano.path, weights.state, tmp_path / "same.gguf", description="the same")
    again = read_weights(tmp_path / "same.gguf")
    assert again.shape == weights.shape
    assert all(torch.equal(again.state[name], one) for name, one in weights.state.items())
    old, new = read_header(nano.path), read_header(tmp_path / "same.gguf")
    assert (new.name, new.template, new.vocabulary) == (old.name, old.template, old.vocabulary)
    assert [path.name for path in tmp_path.iterdir()] == ["same.gguf"]


def test_muon_in_float32_goes_where_pytorchs_goes_in_bfloat16() -> None:
    from edgeagent.train import Muon

    torch.manual_seed(1)
    shapes = ((64, 64), (96, 64), (64, 96))
    ours = [torch.nn.Parameter(0.02 * torch.randn(*shape)) for shape in shapes]
    theirs = [torch.nn.Parameter(one.detach().clone()) for one in ours]
    begun = [one.detach().clone() for one in ours]
    optimizer = Muon(ours, lr=1e-2)
    other = torch.optim.Muon(theirs, lr=1e-2, weight_decay=0.05, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    for _ in range(3):
        for one, same in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            same.grad = one.grad.clone()
        optimizer.step()
        other.step()
    for one, same, was in zip(ours, theirs, begun, strict=True):
        assert (one - same).norm() < 0.03 * (same - was).norm()


def train(folder: Path, checkout: Path, *options: str) -> subprocess.CompletedProcess[str]:
    apps = checkout / "scripts" / "lab" / "bench" / "train_apps"
    command = [sys.executable, "-m", "edgeagent", "train", "--app", str(apps / "warehouse.py")]
    command += ["--phrases", str(apps / "warehouse.txt"), "--out", str(folder / "mine.gguf"), *options]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=110)


def test_a_training_of_a_few_steps_writes_a_model_that_loads(tmp_path: Path, checkout: Path) -> None:
    ended = train(tmp_path, checkout, "--steps", str(STEPS))
    assert ended.returncode == 0, ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.gguf", "mine.png", "mine.toml"]
    with Image.open(tmp_path / "mine.png") as curve:
        assert curve.size == (720, 420)
    assert "commands, exact" in ended.stdout
    assert "scan_pallet" in (tmp_path / "mine.toml").read_text(encoding="utf-8")
    llm = LlamaLLM(str(tmp_path / "mine.gguf"))
    try:
        assert llm.complete(LLMRequest(messages=[Message("user", "hello")]), Event()).text
    finally:
        llm.close()
    again = train(tmp_path, checkout, "--steps", "1")
    assert again.returncode == 2
    assert "--force" in again.stderr
