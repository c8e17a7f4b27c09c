"""PortAudio on a sound server, in a process of its own: PortAudio's list of devices is made once for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.audio.pulse import Pulse, missing

# All of it plays and records through a sound server; the reason names what of one is not installed.
pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
LIMIT_S = 60


@pytest.fixture(scope="module")
def server() -> Iterator[Pulse]:
    """A sound server for those tests that leave it as it is."""
    with Pulse() as pulse:
        yield pulse


def play(pulse: Pulse, program: str, **environment: str) -> list[dict[str, object]]:
    """Runs a program on the server's devices; it prints JSON lines."""
    begin = "import json, time, threading, numpy as np\nfrom edgeagent.audio.portaudio import *\n"
    begin += "def tell(**said): print(json.dumps(said), flush=True)\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + textwrap.dedent(program)],
        env=pulse.environment | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_device_is_listed_opened_and_calls_in_both_directions_and_an_unknown_one_is_named(server: Pulse) -> None:
    program = """
    device = PortAudioDevice()
    calls = {"fill": 0, "take": 0}
    enough = threading.Event()
    def fill(block, at):
        calls["fill"] += 1
        assert block.dtype == np.float32 and block.shape == (device.output_rate_hz // 100,) and at > 0
    def take(block, at):
        calls["take"] += 1
        assert block.shape == (device.input_rate_hz // 100,)
        if min(calls.values()) > 50: enough.set()
    device.start(fill=fill, take=take)
    came = enough.wait(20)
    device.stop()
    after = dict(calls)
    time.sleep(0.1)
    tell(came=came, silent=after == calls, name=device.name, devices=[d.name for d in devices()])
    try: find("jabra", "input")
    except AudioError as error: tell(text=str(error))
    """
    told, unknown = play(server, program)
    assert told["came"]
    assert told["silent"], "no call comes after stop"
    assert told["name"] == "default"
    assert "default" in told["devices"]  # type: ignore[operator]
    assert unknown["text"] == "there is no microphone 'jabra'; there are 0: default"


def test_alsa_writes_nothing_into_the_midst_of_a_screen(server: Pulse) -> None:
    """It told of each under-run, and of each device that it sought and did not find."""
    program = """
    import ctypes, os
    read, write = os.pipe()
    os.dup2(write, 2)
    library()
    tell(opened=ctypes.CDLL("libasound.so.2").snd_pcm_open(ctypes.byref(ctypes.c_void_p()), b"no-such-card", 0, 0))
    os.close(write)
    os.close(2)
    tell(written=os.read(read, 999).decode())
    """
    opened, told = play(server, program)
    assert opened["opened"] == -2, "there is no such card, of which ALSA tells"
    assert told["written"] == ""


@pytest.mark.parametrize(("given", "asked"), [({}, "150"), ({"PULSE_LATENCY_MSEC": "180"}, "180")])
def test_pulseaudio_is_asked_for_as_much_as_the_latency_needs(server: Pulse, given: dict[str, str], asked: str) -> None:
    """With a buffer that is much smaller PulseAudio never calls at all."""
    program = """
    import os
    device = PortAudioDevice(ends=("output",), latency_s=0.2)
    called = threading.Event()
    device.start(fill=lambda block, at: called.set())
    tell(called=called.wait(20), asked=os.environ["PULSE_LATENCY_MSEC"])
    device.stop()
    """
    server.environment.pop("PULSE_LATENCY_MSEC", None)
    (told,) = play(server, program, **given)
    assert told == {"called": True, "asked": asked}


def test_without_a_device_the_error_says_what_to_do() -> None:
    program = """
    for end in ("input", "output"):
        try: find(None, end)
        except Exception as error: tell(kind=type(error).__name__, text=str(error))
    """
    with Pulse() as pulse:
        pulse.kill()
        told = play(pulse, program)
    assert [line["kind"] for line in told] == ["AudioError", "AudioError"]
    assert "--input FILE.wav" in str(told[0]["text"])


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "names no default device in"),
        ("", "names no default device in"),
        ("pcm.other { type null }", "names no default device in"),
        ("pcm.x {", "can't read its configuration in"),
    ],
)
def test_a_configuration_without_a_device_is_an_error_and_not_the_end_of_the_process(
    tmp_path: Path, config: str | None, said: str
) -> None:
    """PortAudio aborts in an assertion."""
    path = tmp_path / "asound.conf"
    if config is not None:
        path.write_text(config, encoding="ascii")
    done = subprocess.run(
        [sys.executable, "-c", "from edgeagent.audio import devices\ndevices()"],
        env=os.environ | {"ALSA_CONFIG_PATH": str(path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("edgeagent.errors.AudioError: ALSA")
    assert f"{said} {path}" in last


@pytest.mark.real_time
@pytest.mark.parametrize(("falls", "comes_back"), [(Pulse.kill, Pulse.start), (Pulse.freeze, Pulse.thaw)])
def test_a_server_that_dies_or_hangs_is_noticed_within_a_second_and_its_device_is_back_after_it(
    falls: Callable[[Pulse], None], comes_back: Callable[[Pulse], None]
) -> None:
    program = """
    import sys
    told = []
    changed = threading.Event()
    def on_state(state, text):
        told.append((state, time.monotonic()))
        changed.set()
    device = PortAudioDevice(on_state=on_state)
    calls = []
    begin = library()._initialize
    refused = []
    def refuses_once():
        if not refused:
            refused.append(True)
            raise library().PortAudioError("Error initializing PortAudio")
        begin()
    library()._initialize = refuses_once
    device.start(fill=lambda block, at: calls.append(at), take=lambda block, at: None)
    while len(calls) < 350: time.sleep(0.05)
    tell(ready=True)
    died = float(sys.stdin.readline())
    changed.wait(20)
    tell(state=told[0][0], after_s=told[0][1] - died)
    before = len(calls)
    while len(told) < 2: time.sleep(0.05)
    while len(calls) < before + 100: time.sleep(0.05)
    tell(state=told[1][0])
    device.stop()
    """
    begin = "import json, time, threading, numpy as np\nfrom edgeagent.audio.portaudio import *\n"
    begin += "def tell(**said): print(json.dumps(said), flush=True)\n"
    with (
        Pulse() as pulse,
        subprocess.Popen(
            [sys.executable, "-c", begin + textwrap.dedent(program)],
            env=pulse.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"ready": True}
        falls(pulse)
        process.stdin.write(f"{time.monotonic()}\n")
        process.stdin.flush()
        lost = json.loads(process.stdout.readline())
        assert lost["state"] == "lost"
        assert lost["after_s"] < 1.5, "noticed within a second; half a second more for a busy machine"
        comes_back(pulse)
        assert json.loads(process.stdout.readline()) == {"state": "back"}
        assert process.wait(LIMIT_S) == 0
