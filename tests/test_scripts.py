"""scripts/run and scripts/test, with stand-ins for the Pythons and pip; scripts/check for real."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FILES = ("pyproject.toml", "constraints.txt", "constraints-test.txt", "scripts")
# What the scripts may take for granted on a machine with python3, venv and a compiler.
TOOLS = (
    "awk bash cat cp chmod c++ dirname env flock grep kill ln mkdir nproc paste printf readlink rm sed sha256sum"
    " sleep sort tail touch"
).split()

# Answers what _setup.sh asks a Python. `-m venv` puts a copy of itself into .venv; `-m pip` writes its arguments down.
PYTHON = """#!/usr/bin/env bash
set -eu
version=@VERSION@ bits=@BITS@
case "$*" in
    *sys.maxsize*) echo "${version%.*} $bits" ;;
    *platform.python_version*) echo "$version" ;;
    *ensurepip*) @ENSUREPIP@ ;;
    "-c import pip"*) ;;
    "-m venv"*)
        venv=${@: -1}
        rm -rf "$venv"
        mkdir -p "$venv/bin"
        cp "$0" "$venv/bin/python"
        echo "version = $version" >"$venv/pyvenv.cfg"
        echo "VIRTUAL_ENV=$venv" >"$venv/bin/activate"
        ;;
    "-m pip"*)
        echo "$*" >>"$JOURNAL"
        if [[ $* == *--no-build-isolation*constraints.txt ]]; then
            @BUILD@
            mkdir -p "${0%/bin/python}/lib/python3.11/site-packages/llama_cpp_python-0"
        fi
        if [[ $* == *" -e "* ]]; then
            printf '#!/usr/bin/env bash\\necho "edgeagent: $*, in $PWD"\\n' >"${0%/*}/edgeagent"
            chmod +x "${0%/*}/edgeagent"
        fi
        ;;
    "-m pytest"*) echo "pytest: $*" ;;
esac
"""


class Machine:
    """A checkout with our scripts, and a PATH on which python3 is a stand-in."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.bin = folder / "bin"
        self.journal = folder / "journal"
        self.environment = {"PATH": str(self.bin), "JOURNAL": str(self.journal), "HOME": str(folder)}
        self.root.mkdir()
        self.bin.mkdir()
        for name in FILES:
            copy = shutil.copytree if (checkout / name).is_dir() else shutil.copy
            copy(checkout / name, self.root / name)
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)
        self.python()

    def python(
        self, name: str = "python3", version: str = "3.11.2", bits: int = 64, ensurepip: str = ":", build: str = ":"
    ) -> None:
        text = PYTHON
        for key, value in {"VERSION": version, "BITS": bits, "ENSUREPIP": ensurepip, "BUILD": build}.items():
            text = text.replace(f"@{key}@", str(value))
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def start(self, *arguments: str, script: Path | None = None, cwd: Path | None = None, **environment: str):
        return subprocess.Popen(
            [script or self.root / "scripts/run", *arguments],
            cwd=cwd or self.root, env=self.environment | environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # a suite started in the background of a script ignores SIGINT, and would hand that down
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )  # fmt: skip

    def run(self, *arguments: str, script: Path | None = None, cwd: Path | None = None, **environment: str):
        process = self.start(*arguments, script=script, cwd=cwd, **environment)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @property
    def installs(self) -> list[str]:
        """pip's arguments, one line a call."""
        return self.journal.read_text().splitlines() if self.journal.exists() else []


@pytest.fixture
def machine(checkout: Path, tmp_path: Path) -> Machine:
    return Machine(checkout, tmp_path)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A build that waits: opening this for writing blocks until the stand-in reads it."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def refusal(machine: Machine, **environment: str) -> str:
    done = machine.run(**environment)
    assert done.returncode == 1
    assert done.stdout == ""
    assert not machine.installs
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("version", ["2.7.18", "3.10.13", "3.14.0"])
def test_an_unfit_python_is_refused_with_the_way_out(machine: Machine, version: str) -> None:
    machine.python(version=version)
    line = refusal(machine)
    assert f"Python {version.rpartition('.')[0]} " in line
    assert "uv python install 3.12" in line
    assert "PYTHON=" in line


def test_a_32_bit_python_is_refused(machine: Machine) -> None:
    machine.python(bits=32)
    assert "64-bit" in refusal(machine)


@pytest.mark.parametrize("missing", ["venv", "python3", "compiler"])
def test_a_missing_package_comes_with_the_line_to_type(machine: Machine, missing: str) -> None:
    if missing == "venv":
        machine.python(ensurepip="exit 1")
    else:
        (machine.bin / {"python3": "python3", "compiler": "c++"}[missing]).unlink()
    done = machine.run()
    assert done.returncode == 1
    assert "sudo apt-get install git g++ python3 python3-venv" in done.stderr.splitlines()[-1]
    assert not machine.installs


def test_python_can_be_chosen_and_changed(machine: Machine) -> None:
    machine.python(version="3.9.2")
    machine.python("python3.13", version="3.13.5")
    config = machine.root / ".venv/pyvenv.cfg"
    assert machine.run(PYTHON="python3.13").returncode == 0
    assert config.read_text() == "version = 3.13.5\n"
    assert machine.run().returncode == 0, "a later start needs no PYTHON"
    with (machine.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert machine.run().returncode == 0, "nor does a later installation"
    assert config.read_text() == "version = 3.13.5\n"
    machine.python("python3.12", version="3.12.1")
    assert machine.run(PYTHON="python3.12").returncode == 0
    assert config.read_text() == "version = 3.12.1\n"


def test_the_first_start_installs_what_is_pinned_and_starts_a_chat(machine: Machine) -> None:
    done = machine.run()
    assert done.stdout == f"edgeagent: chat, in {machine.root}\n"
    assert "6 minutes" in done.stderr
    *pinned, project = machine.installs
    assert all("--require-hashes" in call and "--no-deps" in call for call in pinned)
    assert all("--no-build-isolation" in call for call in (pinned[-1], project))
    assert "constraints-test.txt" not in "".join(pinned)


def test_later_starts_install_nothing_and_say_nothing(machine: Machine) -> None:
    machine.run()
    before = machine.installs
    done = machine.run("ask", "how are you?")
    assert (done.stdout, done.stderr) == (f"edgeagent: ask how are you?, in {machine.root}\n", "")
    assert machine.installs == before


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_requirement_installs_again_into_the_same_environment(machine: Machine, name: str) -> None:
    machine.run()
    before = machine.installs
    with (machine.root / name).open("a") as file:
        file.write("# changed\n")
    done = machine.run()
    assert "making .venv" not in done.stderr
    assert "6 minutes" not in done.stderr
    assert machine.installs == before * 2


def test_a_moved_checkout_gets_a_new_environment(machine: Machine) -> None:
    machine.run()
    machine.root = machine.root.rename(machine.root.with_name("moved"))
    assert "making .venv" in machine.run().stderr


def test_an_interrupted_installation_is_taken_up_again(machine: Machine) -> None:
    machine.python(build="exit 1")
    failed = machine.run()
    assert failed.returncode == 1
    assert "setup.log" in failed.stderr
    machine.python()
    shutil.copy(machine.bin / "python3", machine.root / ".venv/bin/python")
    done = machine.run()
    assert "making .venv" not in done.stderr
    assert done.stdout.startswith("edgeagent: chat")


def test_scripts_test_adds_what_tests_need_and_passes_arguments_on(machine: Machine) -> None:
    machine.run()
    done = machine.run("-k", "a b", script=machine.root / "scripts/test")
    assert done.stdout == "pytest: -m pytest -k a b\n"
    assert any("constraints-test.txt" in call for call in machine.installs)
    before = machine.installs
    whole = machine.run(script=machine.root / "scripts/test")
    beside, alone = whole.stdout.splitlines()
    assert beside == "pytest: -m pytest -m not real_time --numprocesses=auto --dist=loadfile"
    assert alone == "pytest: -m pytest -m real_time"
    assert machine.run().stderr == whole.stderr == ""
    assert machine.installs == before


def test_it_starts_from_anywhere_and_through_a_link(machine: Machine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    link = elsewhere / "robot"
    link.symlink_to(machine.root / "scripts/run")
    done = machine.run("chat", script=link, cwd=elsewhere)
    assert done.stdout == f"edgeagent: chat, in {elsewhere}\n"
    assert (machine.root / ".venv/installed-run").is_file()


@pytest.mark.parametrize("command", ["talk", "listen", "say", "voice-test"])
def test_what_hears_and_speaks_has_its_models_brought_once(machine: Machine, command: str) -> None:
    pull = "edgeagent: models pull --once tiny.en"
    first, second = machine.run(command), machine.run(command)
    assert first.stdout == second.stdout == f"edgeagent: {command}, in {machine.root}\n"
    assert pull in first.stderr
    assert pull not in second.stderr


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(("chat",), {}), (("talk", "--help"), {}), (("talk",), {"EDGEAGENT_EMBEDDED": "1"})],
)
def test_models_are_not_brought_for_what_needs_none(
    machine: Machine, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    assert "models pull" not in machine.run(*arguments, **environment).stderr


def test_two_starts_at_once_install_once(machine: Machine, fifo: Path) -> None:
    machine.python(build=f"read -r _ <'{fifo}'")
    first = machine.start()
    with fifo.open("w") as build:  # the first one is building
        second = machine.start()
        assert second.stderr
        assert "waiting" in second.stderr.readline()
        build.write("go on\n")
    for process in (first, second):
        out, _ = process.communicate(timeout=60)
        assert out.startswith("edgeagent: chat")
    assert len(machine.installs) == 3


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_no_build_behind(machine: Machine, fifo: Path, stop: signal.Signals) -> None:
    machine.python(build=f"echo building >'{fifo}'; sleep 600")
    process = machine.start()
    assert fifo.read_text() == "building\n"
    process.send_signal(stop)
    # the end of stderr: nothing that could write to it is left
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in err
    # the build held the lock as well
    subprocess.run(["flock", "--nonblock", machine.root, "true"], check=True, timeout=20)
    assert not (machine.root / ".venv/installed-run").exists()


SCRIPTS = (
    "scripts/_setup.sh",
    "scripts/run",
    "scripts/test",
    "scripts/train",
    "scripts/check",
    "scripts/lock",
    "scripts/wheels",
    ".ci/run",
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_shell_scripts_parse(checkout: Path, script: str) -> None:
    subprocess.run(["bash", "-n", checkout / script], check=True, timeout=20)
    assert script.endswith(".sh") or os.access(checkout / script, os.X_OK)
    if shellcheck := shutil.which("shellcheck"):
        found = subprocess.run([shellcheck, "-x", script], cwd=checkout, capture_output=True, text=True, timeout=60)
        assert not found.stdout


@pytest.mark.timeout(600)
def test_the_checks_pass(checkout: Path) -> None:
    """Its tests are only collected here, because the suite runs them itself."""
    environment = os.environ | {"PYTHON": sys.executable, "PYTEST_ADDOPTS": "--collect-only"}
    done = subprocess.run([checkout / "scripts/check"], env=environment, capture_output=True, text=True, timeout=590)
    assert done.returncode == 0, done.stdout + done.stderr


def test_bench_without_a_suite_tells_of_every_one_that_there_is(checkout: Path) -> None:
    script = checkout / "scripts" / "bench"
    done = subprocess.run([script], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (listed,) = [line for line in script.read_text(encoding="utf-8").splitlines() if line.endswith(") shift ;;")]
    suites = listed.strip().removesuffix(") shift ;;").split(" | ")
    assert {"text", "ears", "voice"} <= set(suites)
    assert set(re.findall(r"^ *scripts/bench (\w+)", done.stderr, re.MULTILINE)) == set(suites)
    for suite in suites:
        assert (checkout / "scripts" / "lab" / "bench" / f"{suite}.py").is_file()
    assert "PYTHON=" in done.stderr
    assert "set -euo" not in done.stderr
