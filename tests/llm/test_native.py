"""llama.cpp in this process: quiet on the terminal, heard in the log."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from edgeagent import LlamaLLM, ModelError
from edgeagent.llm import native


def test_importing_edgeagent_and_its_llm_room_loads_no_llama_cpp() -> None:
    code = "import sys, edgeagent, edgeagent.llm; print([m for m in sys.modules if m.startswith(('llama', 'jinja2'))])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_nothing_is_written_to_the_terminal(babble_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(babble_file.read_bytes().replace(b"blk.0.attn_norm.weight", b"blk.0.attn_morn.weight"))
    code = f"""
import sys, threading
from edgeagent import LlamaLLM, Message, ModelError
from edgeagent.llm import LLMRequest
llm = LlamaLLM({str(babble_file)!r})
llm.complete(LLMRequest(messages=[Message.user("hi")], max_tokens=3), threading.Event())
llm.close()
try:
    LlamaLLM({str(broken)!r}).load()
except ModelError:
    sys.stdout.write("done")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("done", "")


def test_its_log_goes_through_logging(babble_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="edgeagent.llama"):
        llm = LlamaLLM(babble_file)
        llm.load()
        llm.close()
    assert any("llama_model_loader" in record.message for record in caplog.records)
    assert all("\n" not in record.message for record in caplog.records)


@pytest.mark.parametrize("broken", [False, True], ids=["it loads", "it does not load"])
def test_a_ctrl_c_while_llama_cpp_logs_something_is_not_lost(
    babble_file: Path, tmp_path: Path, broken: bool, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.gguf"
    told = babble_file.read_bytes()
    path.write_bytes(told.replace(b"blk.0.attn_norm.weight", b"blk.0.attn_morn.weight") if broken else told)
    llm, left = LlamaLLM(path), [KeyboardInterrupt()]

    def interrupted(record: logging.LogRecord) -> bool:
        if left:
            raise left.pop()
        return True

    logger = logging.getLogger("edgeagent.llama")
    with caplog.at_level(logging.DEBUG, logger="edgeagent.llama"), closing(llm):
        logger.addFilter(interrupted)
        try:
            with pytest.raises(KeyboardInterrupt):
                llm.load()
        finally:
            logger.removeFilter(interrupted)
        assert capfd.readouterr().err == ""
        if not broken:
            llm.load()


def test_errors_while_loading_are_logged_as_errors(
    babble_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(babble_file.read_bytes().replace(b"blk.0.attn_norm.weight", b"blk.0.attn_morn.weight"))
    with pytest.raises(ModelError):
        LlamaLLM(broken).load()
    assert any(record.levelno == logging.ERROR for record in caplog.records)


def test_asking_for_an_architecture_logs_no_error(caplog: pytest.LogCaptureFixture, write: Callable[..., Path]) -> None:
    assert native.knows_architecture("qwen3")
    assert not native.knows_architecture("frobnicate")
    assert not native.knows_architecture("clip")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["f: it broke", "g: failed to load model"], "it broke"),
        (["it broke: badly"], "it broke: badly"),
        ([], "it gave no reason"),
    ],
)
def test_the_last_line_that_says_something(lines: list[str], told: str) -> None:
    assert native.last_complaint(lines) == told


def test_the_machine_tells_its_cores_and_memory() -> None:
    assert 1 <= native.physical_cores() <= native.usable_cores()
    assert native.resident_bytes() > 1_000_000
    assert 0 < native.available_bytes() < 1 << 50


MB = 1 << 20


def machine(root: Path, cgroup: str, files: dict[str, str]) -> Path:
    """A root folder of a machine with 4,000 MB, of which 3,000 are free."""
    meminfo = f"MemTotal:       {4000 << 10} kB\nMemFree: 5 kB\nMemAvailable:   {3000 << 10} kB\n"
    for name, text in {"proc/meminfo": meminfo, "proc/self/cgroup": cgroup, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def group(folder: str, limit: object, used: int, dropped: int) -> dict[str, str]:
    """Files of a group of version 2."""
    stat = f"anon 1\ninactive_file {dropped // 2}\nactive_file {dropped // 2}\n"
    files = {"memory.max": f"{limit}\n", "memory.current": f"{used}\n", "memory.stat": stat}
    return {f"sys/fs/cgroup/{folder}{name}": text for name, text in files.items()}


def test_memory_without_a_limit_is_that_of_the_machine(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/\n", group("", "max", 7 * MB, 0))
    assert (native.total_bytes(root), native.available_bytes(root)) == (4000 * MB, 3000 * MB)


def test_a_container_leaves_its_limit_less_what_it_uses(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/\n", group("", 1000 * MB, 300 * MB, 0))
    assert (native.total_bytes(root), native.available_bytes(root)) == (1000 * MB, 700 * MB)


def test_the_pages_of_a_file_that_was_just_downloaded_count_as_free(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/\n", group("", 1000 * MB, 990 * MB, 900 * MB))
    assert native.available_bytes(root) == 910 * MB


def test_the_limit_of_a_service_or_of_a_group_above_counts(tmp_path: Path) -> None:
    files = group("robot.slice/", 800 * MB, 100 * MB, 0) | group("robot.slice/voice.service/", "max", 50 * MB, 0)
    root = machine(tmp_path, "0::/robot.slice/voice.service\n", files)
    assert native.available_bytes(root) == 700 * MB


@pytest.mark.parametrize("controllers", ["memory", "cpu,memory"])
def test_control_groups_of_version_1(tmp_path: Path, controllers: str) -> None:
    files = {
        "memory.limit_in_bytes": f"{500 * MB}",
        "memory.usage_in_bytes": f"{300 * MB}",
        "memory.stat": f"cache 1\ntotal_inactive_file {60 * MB}\ntotal_active_file {40 * MB}\n",
    }
    cgroup = f"9:name=systemd:/\n4:{controllers}:/docker/1f\n0::/\n"
    root = machine(tmp_path, cgroup, {f"sys/fs/cgroup/memory/docker/1f/{name}": text for name, text in files.items()})
    assert (native.total_bytes(root), native.available_bytes(root)) == (500 * MB, 300 * MB)


def test_a_group_that_is_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    assert native.available_bytes(machine(tmp_path, "0::/\n", group("", 10 * MB, 11 * MB, 0))) == 0
