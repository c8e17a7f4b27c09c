"""``scripts/bench install``: the installation commands of the pages, run in a minimal Debian of their own.

The commands are read from the Markdown: a comment ``<!-- bench install: JOURNEY ORDER -->`` before a block of code
puts the block into a journey. Each journey begins in a fresh chroot with a user ``robot`` who may call sudo, and ends
with checks of this bench: a request, a spoken question and its answer, a unit that systemd accepts. No index has
edgeagent, so pip finds wheels of this checkout in a folder. Proxies, certificates and pip's index are this machine's.

Needs root, debootstrap and a network. The first run builds llama.cpp; pip's cache is kept for the next one, below
``~/.cache/edgeagent-bench``. Ends with exit code 1 when a command fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

_ROOT: Final = Path(__file__).resolve().parents[3]
_USER_ID: Final = 1000
_HOME: Final = "/home/robot"
_WHEELS: Final = "/srv/wheels"
_CERTIFICATES: Final = "/etc/ssl/bench-certificates.crt"
_LIMIT_S: Final = 3600
"""Seconds for all commands of a journey."""
_TAIL: Final = 25
"""Lines of a command's output that are shown when it fails."""
_SIGN: Final = "\x1e"
"""Begins a line that tells of a command, in the middle of the outputs."""
_BLOCK: Final = re.compile(r"^ *<!-- bench install: (.+?) -->\n *```\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_VERSION: Final = re.compile(r"edgeagent(?:\[[\w,]+\])?==([\w.]+)")
_PIP: Final = re.compile(r"^\S*?\.(index-url|proxy|trusted-host|timeout|cert)='(.*)'$", re.MULTILINE)
_FOLDERS: Final = {"checkout": "edgeagent", "board": "", "package": "rover", "ros": "edgeagent"}
"""Where a journey begins below the user's home: in this checkout, or in a robot of ``edgeagent init``."""
_IMPOSSIBLE: Final = (
    "systemctl", "sudo systemctl", "sudo reboot", "sudo raspi-config", "loginctl", "sudo loginctl",
    "ln -sf /usr/lib/python3/dist-packages/*lgpio*",
)  # fmt: skip
"""Beginnings of commands that need a machine that was booted, or the package that Debian has not."""
_ONLY_ON_BOARD: Final = "python3-lgpio"
"""Package of Raspberry Pi OS that Debian has not."""

JOURNEYS: Final = {
    "checkout": (
        "scripts/run doctor",
        'scripts/run say --output question.wav "how full is your battery"',
        "scripts/run talk --input question.wav --output answer.wav | tee talk.txt && grep -i percent talk.txt",
        "test $(stat -c %s answer.wav) -gt 20000",
    ),
    "board": (
        'scripts/run ask "how full is your battery"',
        ".venv/bin/python -c 'import gpiozero, serial'",
        'scripts/run say --output hello.wav "I am awake" && test $(stat -c %s hello.wav) -gt 20000',
    ),
    "package": (
        "current=/opt/edgeagent/current/bin/edgeagent",
        '$current ask --config edgeagent.toml "how full is your battery"',
        '$current say --output question.wav "how full is your battery"',
        "$current talk --config edgeagent.toml --input question.wav --output answer.wav",
        "$current service install --config edgeagent.toml --print > edgeagent.service",
        "sudo apt-get install systemd",
        "XDG_RUNTIME_DIR=$HOME systemd-analyze --user verify --man=no ./edgeagent.service",
    ),
    "ros": ('.venv/bin/edgeagent ask "how full is your battery"',),
}
"""Checks of each journey, which follow the commands of the pages."""
_IS_CURRENT: Final = (
    'test "$(/opt/edgeagent/current/bin/edgeagent --version)" = "edgeagent $(readlink /opt/edgeagent/current)"'
)
AFTER: Final = {("package", order): _IS_CURRENT for order in (2, 3, 4)}
"""Checks that follow one block of a journey, by its order: the version that runs is the one that the link names, after
the update and after the roll back."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command and the place where it stands."""

    where: str
    command: str

    @property
    def possible(self) -> bool:
        """False for a command that a chroot has no machine for."""
        return not self.command.startswith(_IMPOSSIBLE)


def commands(block: str) -> list[str]:
    """Splits a block of code into commands: what follows ``$``, or every line where no line begins so.

    A line that ends with a backslash, and a here-document, go on.
    """
    lines = [line.strip() for line in block.splitlines()]
    prompt = "$ " if any(line.startswith("$ ") for line in lines) else ""
    found: list[str] = []
    until = ""  # the line that ends a here-document
    for line in lines:
        if until or (found and found[-1].endswith("\\")):
            found[-1] += f"\n{line}"
            until = "" if line == until else until
        elif line and line.startswith(prompt):
            found.append(line.removeprefix(prompt))
            here = re.search(r"<<-?\s*['\"]?(\w+)", line)
            until = here[1] if here else ""
    return found


def steps(journey: str, pages: Sequence[Path]) -> list[Step]:
    """The commands of a journey, in its order."""
    found: list[tuple[int, list[Step]]] = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            for wanted in block[1].split(","):
                name, order = wanted.split()
                if name not in JOURNEYS:
                    raise SystemExit(f"{page}: there is no journey {name}: {', '.join(JOURNEYS)}")
                if name == journey:
                    where = f"{page.relative_to(_ROOT)}:{text.count(chr(10), 0, block.start(2)) + 1}"
                    typed = (command.replace(f" {_ONLY_ON_BOARD}", "") for command in commands(block[2]))
                    block_steps = [Step(where, command) for command in typed]
                    if (check := AFTER.get((name, int(order)))) is not None:
                        block_steps.append(Step("(check)", check))
                    found.append((int(order), block_steps))
    return [step for _, one in sorted(found, key=lambda pair: pair[0]) for step in one]


# --- the chroot ---------------------------------------------------------------------------------------------------


def base(suite: str, mirror: str | None, cache: Path) -> Path:
    """A minimal Debian with a user who may call sudo; made once."""
    made = cache / suite
    if made.is_dir():
        return made
    begun = cache / f"{suite}.{os.getpid()}"
    argv = ["debootstrap", "--variant=minbase", "--include=sudo", suite, str(begun), *([mirror] if mirror else [])]
    print(f"making Debian {suite}: {shlex.join(argv)}", flush=True)
    try:
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["chroot", begun, "useradd", "-m", "-u", str(_USER_ID), "-s", "/bin/bash", "robot"], check=True)
    except BaseException:
        shutil.rmtree(begun, ignore_errors=True)
        raise
    _write(begun / "etc/sudoers.d/robot", "robot ALL=(ALL) NOPASSWD: ALL\n")
    _write(begun / "etc/apt/apt.conf.d/90yes", 'APT::Get::Assume-Yes "true";\n')  # nobody is there to type y
    begun.rename(made)
    return made


def network(root: Path) -> dict[str, str]:
    """Copies how this machine reaches networks. Returns variables for the commands."""
    for name in ("resolv.conf", "hosts"):
        if (source := Path("/etc", name)).exists():
            shutil.copyfile(source, root / "etc" / name)
    apt = _output("apt-config", "dump", "Acquire::http", "Acquire::https")
    _write(root / "etc/apt/apt.conf.d/91network", apt)
    found = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    pip = _output(sys.executable, "-m", "pip", "config", "list")
    found |= {f"PIP_{key.upper().replace('-', '_')}": value for key, value in _PIP.findall(pip)}
    certificates = found.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if certificates and Path(certificates).is_file():
        target = root / _CERTIFICATES.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(certificates, target)
        found |= {"PIP_CERT": _CERTIFICATES, "SSL_CERT_FILE": _CERTIFICATES}
    return found


def wheels(versions: Sequence[str], into: Path) -> str:
    """Builds a wheel of this checkout, and one for each other version that a page names. Returns the true version."""
    (own,) = re.findall(r'^version = "(.+)"$', (_ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    with tempfile.TemporaryDirectory(prefix="edgeagent-wheels-") as folder:
        source = Path(folder, "edgeagent")
        checkout(source)
        for version in sorted({own, *versions}):
            set_version(source, version)
            argv = [sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "--no-build-isolation"]
            subprocess.run([*argv, "--no-cache-dir", "-w", into, source], check=True)
    return own


def set_version(source: Path, version: str) -> None:
    """Gives a checkout another version, in its metadata and in what ``--version`` prints."""
    for name, line in (("pyproject.toml", "version"), ("edgeagent/__init__.py", "__version__")):
        text = (source / name).read_text(encoding="utf-8")
        changed, count = re.subn(rf'^{line} = ".+"$', f'{line} = "{version}"', text, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"{name} has {count} versions")
        _write(source / name, changed)


def checkout(into: Path) -> None:
    """Copies the files of this working tree that git knows or would add."""
    argv = ["git", "-C", str(_ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (_ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_ROOT / name, into / name)


@contextmanager
def machine(
    journey: str, made: Path, cache: Path, versions: Sequence[str], *, keep: bool
) -> Iterator[tuple[Path, Path]]:
    """A fresh copy of the Debian with this checkout, wheels of it, and a robot. Yields its root and pip's cache."""
    root, pip_cache = cache / f"{journey}.{os.getpid()}", cache / f"pip-{made.name}"
    subprocess.run(["cp", "-a", "--reflink=auto", made, root], check=True)
    try:
        home = root / _HOME.lstrip("/")
        pip_cache.mkdir(exist_ok=True)
        wheels_folder = root / _WHEELS.lstrip("/")
        wheels_folder.mkdir(parents=True)
        version = wheels(versions, wheels_folder)
        print(f"pip finds edgeagent {version} of this checkout in a folder: no index has it", flush=True)
        checkout(home / "edgeagent")
        argv = [sys.executable, "-m", "edgeagent", "init", home / "rover"]
        subprocess.run(argv, env=os.environ | {"PYTHONPATH": str(home / "edgeagent")}, check=True, capture_output=True)
        owner = f"{_USER_ID}:{_USER_ID}"
        (home / ".cache/pip").mkdir(parents=True)
        subprocess.run(["chown", "-R", owner, home, pip_cache], check=True)
        yield root, pip_cache
    finally:
        if keep:
            print(f"kept: {root}")
        else:
            shutil.rmtree(root)  # what was mounted on it went with its namespace


# --- a journey ----------------------------------------------------------------------------------------------------


def script(journey: list[Step], folder: str) -> str:
    """A program for bash that runs each command in the same shell, and ends at the first that fails."""
    lines = [f"cd {folder}"]
    for number, step in enumerate(journey):
        lines += [
            f"printf '\\n{_SIGN}{number} begins\\n'",
            f"eval {shlex.quote(step.command)} </dev/null",
            f"code=$?; printf '\\n{_SIGN}{number} %s\\n' $code; ((code == 0)) || exit 1",
        ]
    return "\n".join(lines) + "\n"


def travel(journey: list[Step], root: Path, pip_cache: Path, folder: str) -> bool:
    """Runs the commands in the chroot, and prints each with its time. Returns False when one has failed."""
    variables = network(root) | {"HOME": _HOME, "USER": "robot", "LANG": "C.UTF-8", "PIP_FIND_LINKS": _WHEELS}
    variables["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    _write(root / "srv/journey", script(journey, folder))
    inside = [f"{name}={value}" for name, value in variables.items()]
    mounts = (
        f"mount --rbind /dev {root}/dev && mount -t proc proc {root}/proc && mount -t sysfs -o ro sysfs {root}/sys && "
        f"mount --bind {pip_cache} {root}{_HOME}/.cache/pip && "
        f"exec chroot {root} runuser -u robot -- env -i {shlex.join(inside)} bash -o pipefail /srv/journey"
    )
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", mounts]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        limit = threading.Timer(_LIMIT_S, process.kill)  # also of a command that hangs and says nothing
        limit.start()
        try:
            return _told(journey, process)
        finally:
            limit.cancel()
            process.kill()


def _told(journey: list[Step], process: subprocess.Popen[str]) -> bool:
    began_s = start_s = time.monotonic()
    said: list[str] = []
    done = 0
    for line in process.stdout or ():
        if not line.startswith(_SIGN):
            said.append(line.rstrip())
            continue
        number, what = line.removeprefix(_SIGN).split()
        if what == "begins":
            began_s, said = time.monotonic(), []
            continue
        step, took_s = journey[int(number)], time.monotonic() - began_s
        print(f"  {'ok' if what == '0' else 'FAILED':<7}{took_s:7.1f} s  {step.where:<22} {step.command}", flush=True)
        if what != "0":
            break
        done += 1
    if done < len(journey):
        if time.monotonic() - start_s > _LIMIT_S:
            said.append(f"{journey[done].command}: ended after {_LIMIT_S} s for the whole journey")
        print("\n".join(f"      | {line}" for line in [text for text in said if text][-_TAIL:]), flush=True)
    return done == len(journey)


def _output(*argv: str) -> str:
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Runs the bench. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench install", description="The pages' commands in a fresh Debian.")
    parser.add_argument("--suite", default="bookworm", help="of Debian: bookworm or trixie")
    parser.add_argument("--journey", action="append", choices=JOURNEYS, help="only this one; several times: these")
    parser.add_argument("--list", action="store_true", help="show the commands and run nothing")
    parser.add_argument("--mirror", help="for debootstrap; its own without it")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="pip finds these too, such as a llama.cpp of before")
    parser.add_argument("--cold", action="store_true", help="forget what pip has built and fetched before")
    parser.add_argument("--keep", action="store_true", help="leave the chroots there")
    options = parser.parse_args()
    pages = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]
    wanted = {name: steps(name, pages) for name in options.journey or JOURNEYS}
    for name, found in wanted.items():
        found += [Step("(check)", command) for command in JOURNEYS[name]]
    if options.list:
        for name, found in wanted.items():
            print(name)
            for step in found:
                print(f"  {step.where:<22} {step.command}{'' if step.possible else '   # left out'}")
        return 0
    if os.geteuid() or not shutil.which("debootstrap"):
        raise SystemExit("needs root and debootstrap: sudo apt-get install debootstrap; then call it with sudo")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that no chroot stays behind
    cache = platformdirs.user_cache_path("edgeagent-bench") / "install"
    cache.mkdir(parents=True, exist_ok=True)
    made = base(options.suite, options.mirror, cache)
    if options.cold:
        shutil.rmtree(cache / f"pip-{made.name}", ignore_errors=True)
    good = True
    for name, found in wanted.items():
        print(f"\n{name}, in Debian {options.suite}", flush=True)
        for step in found:
            if not step.possible:
                print(f"  left out: {step.where} {step.command}: no systemd runs in a chroot, and it is no board")
        if name == "board":
            print(f"  left out: the package {_ONLY_ON_BOARD}, which Raspberry Pi OS has and Debian has not")
        versions = [version for step in found for version in _VERSION.findall(step.command)]
        with machine(name, made, cache, versions, keep=options.keep) as (root, pip_cache):
            for wheel in sorted(options.wheels.glob("*.whl")) if options.wheels else ():
                print(f"  pip finds {wheel.name}, which is not built here", flush=True)
                shutil.copy2(wheel, root / _WHEELS.lstrip("/"))
            possible = [step for step in found if step.possible]
            good &= travel(possible, root, pip_cache, f"{_HOME}/{_FOLDERS[name]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
