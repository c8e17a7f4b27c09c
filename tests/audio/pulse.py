"""A sound server of its own for tests: two null sinks, the loudspeaker and the room, and a microphone in the room.

PortAudio reaches PulseAudio's null sinks through ALSA as it would a card. Each has a clock of its own, 300 to 1,000 ppm
fast where it was measured, more than any card's; ``module-loopback``, which brings the loudspeaker into the room,
resamples to follow both.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ASOUND = "pcm.!default { type pulse }\nctl.!default { type pulse }\n"
LIMIT_S = 20
SERVER = [
    "pulseaudio",
    "-n",
    "--daemonize=no",
    "--exit-idle-time=-1",
    "--realtime=no",
    "--high-priority=no",
    "--log-target=stderr",
    "--log-level=error",
]
SINK = "rate=48000 channels=2"


def missing() -> str | None:
    """What has to be installed first."""
    for program in ("pulseaudio", "pactl", "pacat"):
        if shutil.which(program) is None:
            return f"{program} is not installed: see scripts/apt-packages.txt"
    return None


class Pulse:
    """The server. ``environment`` is for the processes that use it.

    Args:
        echo: The microphone hears the loudspeaker.
        one_clock: It hears the loudspeaker's sink itself, and no room, as if both were one card.
        card: The loudspeaker plays in the room, so that both have the room's clock, as those of a sound card.

    Attributes:
        loudspeaker: The sink that is the default one.
    """

    def __init__(self, *, echo: bool = False, one_clock: bool = False, card: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pulse-"))
        self.folder.chmod(0o700)
        (self.folder / "asound.conf").write_text(ASOUND, encoding="ascii")
        self.environment = os.environ | {
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "HOME": str(self.folder),
            "ALSA_CONFIG_PATH": str(self.folder / "asound.conf"),
        }
        self.environment.pop("PULSE_SERVER", None)
        self._echo = echo and not one_clock
        self._heard = "speaker" if one_clock else "room"
        self._card = card
        self.loudspeaker = "card" if card else "speaker"
        self._children: list[subprocess.Popen[bytes]] = []
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Starts it; after ``kill`` again."""
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir(mode=0o700, exist_ok=True)
        modules = ["module-native-protocol-unix"]
        modules += [f"module-null-sink sink_name={name} {SINK}" for name in ("speaker", "room")]
        modules += [f"module-remap-source source_name=mic master={self._heard}.monitor"]
        if self._echo:
            modules += ["module-loopback source=speaker.monitor sink=room latency_msec=20"]
        if self._card:
            modules += ["module-remap-sink sink_name=card master=room"]
        self._child(*SERVER, *[part for module in modules for part in ("-L", module)])
        end_s = time.monotonic() + LIMIT_S
        while self.control("info").returncode:
            if time.monotonic() > end_s or self._children[0].poll() is not None:
                raise TimeoutError(f"pulseaudio does not start: {(self.folder / 'log').read_text()}")
        self.control("set-default-sink", self.loudspeaker)
        self.control("set-default-source", "mic")
        for sink in ("speaker", "room"):  # without a stream that is in a hurry a null sink works two seconds ahead
            self._child("pacat", "--latency-msec=10", "-d", sink, "/dev/zero")

    def control(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """``pactl``."""
        return subprocess.run(["pactl", *arguments], env=self.environment, capture_output=True, check=False)

    def set_echo_volume(self, volume_db: float) -> None:
        """How much louder than it is played the loudspeaker is heard in the room."""
        way = "module-remap-sink" if self._card else "module-loopback"
        inputs = self.control("list", "short", "sink-inputs").stdout.decode().splitlines()
        (number,) = [line.split()[0] for line in inputs if way in line]
        done = self.control("set-sink-input-volume", number, f"{volume_db:.2f}dB")
        assert done.returncode == 0, done.stderr

    def recorder(self, source: str | None = None) -> subprocess.Popen[bytes]:
        """``parec`` of the loudspeaker, or of another source: mono, 16 bits, 48 kHz on its stdout."""
        source = source or f"{self.loudspeaker}.monitor"
        argv = ["parec", "--latency-msec=10", "--rate=48000", "--channels=1", "--format=s16le", "-d", source]
        return self._child(*argv, stdout=subprocess.PIPE)

    def kill(self) -> None:
        """As when the server crashes."""
        for child in reversed(self._children):
            child.send_signal(signal.SIGKILL)
            child.wait(LIMIT_S)
        self._children.clear()

    def freeze(self) -> None:
        """As when it hangs; ``thaw`` ends it."""
        self._children[0].send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._children[0].send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _child(self, *argv: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            child = subprocess.Popen(argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=log)
        self._children.append(child)
        return child
