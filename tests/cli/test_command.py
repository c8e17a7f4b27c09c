"""What every command has in common: help, version, usage, settings, exit codes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from edgeagent import __version__


def test_version(edgeagent) -> None:
    done = edgeagent("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"edgeagent {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], ["chat", "ask", 'edgeagent ask "go to the kitchen"']),
        (
            ["ask", "--help"],
            ["--stdin", "--json", "--deadline", "--config", 'edgeagent ask "how full is your battery"'],
        ),
        (["chat", "-h"], ["--speed", "--seed", "--log", "edgeagent chat < script.txt", "Ctrl-C"]),
    ],
)
def test_help_has_examples_and_no_colour_in_a_pipe(in_process, arguments: list[str], said: list[str]) -> None:
    done = in_process(*arguments)
    assert done.returncode == 0
    assert "Examples" in done.stdout
    assert "\x1b" not in done.stdout
    for text in said:
        assert text in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["ask", "--help"], ["models", "--help"], ["models", "list", "--help"], ["base", "test", "--help"]],
)
def test_help_shows_no_value_behind_a_flag(in_process, arguments: list[str]) -> None:
    assert "bool" not in in_process(*arguments).stdout


def test_usage_has_each_mark_once(in_process) -> None:
    usage = {name: in_process("models", name, "--help").stdout.split("\n\n")[0] for name in ("list", "remove")}
    assert "[NAME]..." in usage["list"]
    assert not any(doubled in text for text in usage.values() for doubled in ("[[", "......", "...}..."))


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask"],
        ["ask", "--stdin", "hello"],
        ["ask", "hello", "--speed", "fast"],
        ["ask", "hello", "--nonsense"],
        ["nonsense"],
        ["ask", "", "--app", "APP"],
        ["ask", " \t\x01", "--app", "APP"],
        ["ask", "hello", "--app", "none.py"],
        ["ask", "hello", "--config", "none.toml"],
        ["ask", "hello", "--speed", "0"],
        ["ask", "hello", "--log", "/no/such/folder/log", "--app", "APP"],
        ["chat", "--seed", "-1"],
    ],
)
def test_wrong_usage_ends_with_2_and_no_traceback(edgeagent, in_process, arguments: list[str]) -> None:
    app = edgeagent.app("agent = Agent('a', llm=ScriptedLLM('hi'))")
    done = in_process(*(app if argument == "APP" else argument for argument in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_setting_is_told_with_its_line(edgeagent, in_process) -> None:
    (edgeagent.cwd / "my.toml").write_text("seed = 1\n\nsped = 5\n")
    done = in_process("ask", "hello", "--config", "my.toml")
    assert done.returncode == 2
    assert done.stderr == "error: my.toml:3: there is no setting 'sped'; did you mean 'speed'?\n"


def test_settings_come_from_the_users_folder_and_the_environment(edgeagent) -> None:
    path = edgeagent.home / ".config/edgeagent/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'app = "{edgeagent.app("agent = Agent(" + chr(39) + "filed" + chr(39) + ", llm=ScriptedLLM(1))")}"'
    )
    other = edgeagent.app("agent = Agent('other', llm=ScriptedLLM('hi'))", name="other.py")
    assert '"agent": "filed"' in edgeagent("ask", "--json", "--stdin", stdin=b"\n").stdout
    assert '"agent": "other"' in edgeagent("ask", "--json", "hello", env={"EDGEAGENT_APP": str(other)}).stdout


def test_an_app_file_that_is_wrong_is_told_with_its_line(edgeagent, in_process) -> None:
    app = edgeagent.app("\ndrive(")
    done = in_process("ask", "hello", "--app", app)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {app}:5: SyntaxError: '(' was never closed\n"


@pytest.mark.parametrize("content", [None, b"", b"GGUF", b"not a model at all" * 100])
def test_a_model_that_cannot_be_used_ends_with_3(edgeagent, in_process, content: bytes | None) -> None:
    path = edgeagent.cwd / "broken.gguf"
    if content is not None:
        path.write_bytes(content)
    for command in (["ask", "hello"], ["ask", "--stdin"], ["chat"]):
        done = in_process(*command, "--model", path)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("error: ")
        assert str(path) in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "hello", "--app", "~nosuchuser/x"],
        ["ask", "hello", "--config", "~nosuchuser/x"],
        ["ask", "hello", "--session", "~nosuchuser/x"],
        ["ask", "hello", "--model", "~nosuchuser/x"],
        ["listen", "--record", "~nosuchuser/x"],
        ["models", "import", "~nosuchuser/x"],
    ],
    ids=lambda arguments: " ".join(arguments[:-1]),
)
def test_the_home_folder_of_nobody_is_wrong_usage(in_process, arguments: list[str]) -> None:
    done = in_process(*arguments)
    told = "error: ~nosuchuser/x: there is no home folder ~nosuchuser on this machine\n"
    assert (done.returncode, done.stderr) == (2, told)


def test_a_name_that_no_model_has_ends_with_3(in_process) -> None:
    done = in_process("ask", "hello", "--model", "nonsense")
    assert done.returncode == 3
    assert "there is no model 'nonsense'" in done.stderr


def test_what_is_heavy_is_not_loaded_for_help(checkout: Path) -> None:
    program = "import sys, edgeagent.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(checkout)}, capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert not {"pydantic", "prompt_toolkit", "llama_cpp", "edgeagent.agent"} & set(done.stdout.split())


def test_a_chat_with_a_closed_stdin_is_over_at_once(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('a', llm=ScriptedLLM('hi'))")
    argv = ["bash", "-c", 'exec "$@" <&-', "bash", *edgeagent.argv("chat", "--app", app)]
    done = subprocess.run(argv, env=edgeagent.environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("ignored", "status"), [(False, -signal.SIGINT), (True, 0)])
def test_ctrl_c_while_it_loads_ends_it_without_a_traceback(tmp_path: Path, ignored: bool, status: int) -> None:
    """Unless whoever started it ignores Ctrl-C, as a shell does for what it starts in the background."""
    (tmp_path / "typer.py").write_text("print('loading', flush=True)\ninput()\nraise SystemExit(0)\n")
    handler = "SIG_IGN" if ignored else "default_int_handler"
    program = f"import signal; signal.signal(signal.SIGINT, signal.{handler}); import runpy; "
    program += "runpy.run_module('edgeagent', run_name='__main__')"
    checkout = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", program, "chat"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), checkout))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate("\n", timeout=30)
    assert (process.returncode, error) == (status, "")


def test_a_variable_that_is_no_setting_is_warned_of(edgeagent) -> None:
    done = edgeagent("say", "--output", "x.wav", "hi", env={"EDGEAGENT_SPED": "3"})
    assert done.returncode == 0
    assert "warning: there is no setting EDGEAGENT_SPED; did you mean EDGEAGENT_SPEED?" in done.stderr
