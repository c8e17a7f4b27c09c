"""How a command is left."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import typer

from edgeagent.cli import exits
from edgeagent.errors import ConfigError, EdgeAgentError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_breaks_a_lock_on_the_way_out_still_ends_quietly(number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler)  # in the background of a script SIGINT is ignored
    try:
        with pytest.raises(typer.Exit) as left, exits.guarded():
            _left_inside_a_condition(number)
    finally:
        signal.signal(number, before)
    assert left.value.exit_code == 128 + number


def _left_inside_a_condition(number: signal.Signals) -> None:
    try:
        os.kill(os.getpid(), number)
    finally:
        raise RuntimeError("release unlocked lock")


def test_what_was_no_signal_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="a bug"), exits.guarded():
        raise RuntimeError("a bug")


def test_a_path_that_cannot_be_used_is_wrong_usage_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = "long" * 100
    with pytest.raises(typer.Exit) as left, exits.guarded():
        Path(name).exists()
    assert left.value.exit_code == exits.USAGE
    assert capsys.readouterr().err == f"error: {name}: File name too long\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *((name, exits.USAGE) for name in ("ENOENT", "EACCES", "EISDIR", "ENOTDIR", "EEXIST", "EROFS")),
        *((name, exits.FAILED) for name in ("ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENOMEM")),
    ],
)
def test_what_fails_at_a_path_is_wrong_usage_only_if_another_path_mends_it(
    name: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    number = getattr(errno, name)
    with pytest.raises(typer.Exit) as left, exits.guarded():
        raise OSError(number, os.strerror(number), "robot.toml")
    assert left.value.exit_code == code
    assert capsys.readouterr().err == f"error: robot.toml: {os.strerror(number)}\n"


def test_what_the_machine_refuses_without_a_path_is_a_failure_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, exits.guarded():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    assert left.value.exit_code == exits.FAILED
    assert capsys.readouterr().err == "error: Too many open files\n"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        *((getattr(errno, name), exits.FAILED) for name in ("ENOSPC", "EDQUOT", "EADDRINUSE", "EADDRNOTAVAIL")),
        *((getattr(errno, name), exits.USAGE) for name in ("ENOENT", "EACCES", "EISDIR")),
    ],
)
def test_a_setting_that_cannot_be_used_for_now_is_a_failure_that_a_service_tries_again(number: int, code: int) -> None:
    error = ConfigError("it cannot be kept")
    error.__cause__ = EdgeAgentError("the file cannot be written")
    error.__cause__.__cause__ = OSError(number, os.strerror(number))
    assert exits.code_of(error) == code
    assert exits.code_of(ConfigError("a wrong setting")) == exits.USAGE


def test_the_handlers_of_before_are_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, *exits.TERMINATION)]
    with exits.guarded():
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, *exits.TERMINATION)] == before


def test_a_second_ctrl_c_does_not_disturb_the_tidying_up_and_a_third_one_leaves_it(capfd):
    tidied = []

    def impatient(presses: int) -> None:
        with exits.guarded():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                for _ in range(presses):
                    signal.raise_signal(signal.SIGINT)
                tidied.append(presses)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for presses in (1, 2):
            with pytest.raises(typer.Exit) as left:
                impatient(presses)
            assert left.value.exit_code == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert tidied == [1]
    assert "once more" in capfd.readouterr().err


def test_a_ctrl_c_before_a_command_begins_is_no_traceback(edgeagent: Any) -> None:
    early = "import edgeagent.cli\ndef stopped(**_): raise KeyboardInterrupt\nedgeagent.cli.commands = stopped\n"
    with edgeagent.start("--help", before=early) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
