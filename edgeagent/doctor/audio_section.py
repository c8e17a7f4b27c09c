"""Sound: PortAudio, the sound server, the devices and which of them would be used, the voice, and the echo setting.

A machine without any sound is no patient: text mode works there, so what is missing is a note, unless it was asked for.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any, Final, get_args

from edgeagent.audio.device import DeviceInfo, holder_of_cards
from edgeagent.audio.files import is_file
from edgeagent.audio.portaudio import LATENCY_S, End, PortAudioDevice, devices, library
from edgeagent.doctor import Row
from edgeagent.errors import AudioError, ConfigError, SpeechError
from edgeagent.extras import install

ENDS: Final[dict[End, str]] = {"output": "loudspeaker", "input": "microphone"}
_ASKED_S: Final = 2.0
_ROUNDS: Final = 5
_WORDS: Final = "One moment, please."
_SERVERS: Final = ("pulse", "pipewire")
_SYSTEM: Final = Path("/var/run")
"""Where a sound server of the whole machine is."""
_SLOW_MS: Final = 500
"""From the text to the first sample: from here on people notice that the robot hesitates."""
_RATE_HZ: Final = 48_000


def audio(settings: Mapping[str, Any], speech: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of sound.

    Args:
        settings: The table [audio].
        speech: The table [speech].
    """
    yield from _devices(settings)
    yield from _voice(speech)
    yield _echo(str(settings.get("echo", "webrtc")))


# --- devices ----------------------------------------------------------------------------------------------------------


def _devices(settings: Mapping[str, Any]) -> Iterator[Row]:
    cards = _cards()
    try:
        version = library().get_portaudio_version()[1]
        found = devices()
    except (AudioError, ImportError) as error:
        wanted = cards or any(settings.get(end) is not None and not is_file(settings.get(end)) for end in ENDS)
        told = str(error) if isinstance(error, AudioError) else f"sounddevice is not installed ({error})"
        yield Row("portaudio", told, "problem" if wanted else "note", "text mode works without it")
        return
    yield Row("portaudio", version.partition(",")[0], value=version)
    server = _server()
    yield _server_row(server, found, cards)
    if cards:
        yield Row("cards", "; ".join(cards), value=cards)
    holder = holder_of_cards()
    if holder is not None:
        ours = any(holder.startswith(name) for name in _SERVERS)
        advice = "" if ours else "nobody else can open that card until it ends, unless there is a sound server"
        yield Row("busy card", f"{holder} has it open", "ok" if ours else "note", advice, holder)
    for device in found:
        yield _device_row(device)
    for end in ENDS:
        yield _used(end, settings, found)


def _device_row(device: DeviceInfo) -> Row:
    ends = [f"{device.inputs} in"] * bool(device.inputs) + [f"{device.outputs} out"] * bool(device.outputs)
    marks = {"default microphone": device.default_input, "default loudspeaker": device.default_output}
    words = [
        f"{device.name} ({device.host})",
        *ends,
        f"{device.rate_hz:,} Hz",
        *(mark for mark in marks if marks[mark]),
    ]
    value = {
        "name": device.name,
        "inputs": device.inputs,
        "outputs": device.outputs,
        "rate_hz": device.rate_hz,
        "default_input": device.default_input,
        "default_output": device.default_output,
    }
    return Row(f"device {device.index}", ", ".join(words), value=value)


def _used(end: End, settings: Mapping[str, Any], found: list[DeviceInfo]) -> Row:
    """Which device an end would be."""
    wanted, what = settings.get(end), ENDS[end]
    if is_file(wanted):
        return _file_row(end, str(wanted))
    if wanted is None and not any(device.inputs if end == "input" else device.outputs for device in found):
        advice = f"plug one in, or name a file with audio.{end} = FILE.wav; text mode works without it"
        return Row(what, "none", "note", advice)
    try:
        device = opened(settings, end)
    except AudioError as error:
        return Row(what, str(error), "problem", f"set audio.{end} (EDGEAGENT_{end.upper()})" if wanted else "")
    rate_hz = device.input_rate_hz if end == "input" else device.output_rate_hz
    why = "the default one" if wanted is None else f"audio.{end} = {wanted!r}"
    words = f"{device.name} at {rate_hz:,} Hz, {device.latency_s * 1e3:.0f} ms of latency ({why})"
    channel = settings.get("channel")
    if end == "input" and channel is not None:
        words += f", channel {channel}"
    return Row(what, words, value={"name": device.name, "rate_hz": rate_hz})


def _file_row(end: End, wanted: str) -> Row:
    path = Path(wanted)
    what = ENDS[end]
    if wanted == "-":
        return Row(what, "stdin" if end == "input" else "stdout")
    there = path.is_file() if end == "input" else path.absolute().parent.is_dir()
    if there:
        return Row(what, f"the file {wanted}")
    missing = f"there is no file {wanted}" if end == "input" else f"there is no folder {path.parent}"
    return Row(what, missing, "problem", f"set audio.{end} (EDGEAGENT_{end.upper()})")


def opened(settings: Mapping[str, Any], *ends: End) -> PortAudioDevice:
    """The device of the settings, found but not started.

    Raises:
        AudioError: There is none.
    """
    return PortAudioDevice(
        **{end: settings.get(end) for end in ends},
        ends=ends,
        latency_s=settings.get("latency_ms", LATENCY_S * 1e3) / 1e3,
        channel=settings.get("channel") if "input" in ends else None,
    )


def _cards() -> list[str]:
    """Names of the cards that the kernel has."""
    try:
        lines = Path("/proc/asound/cards").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line.partition("]: ")[2].strip() for line in lines if "]: " in line]


# --- the sound server -------------------------------------------------------------------------------------------------


def _server() -> str | None:
    """Name and version of the sound server of this user; None if none answers.

    Its socket is tried first: ``pactl`` would start a server where there is none.
    """
    address = _address()
    if address is None:
        return None
    name = "PulseAudio, or PipeWire in its place"
    if shutil.which("pactl"):
        try:
            done = subprocess.run(
                ["pactl", "info"],
                env=os.environ | {"LC_ALL": "C", "PULSE_SERVER": address},
                capture_output=True,
                text=True,
                timeout=_ASKED_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return name
        told = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
        if "Server Name" in told:
            return f"{told['Server Name']} {told.get('Server Version', '')}".strip()
    return name


def _address() -> str | None:
    """Address of a sound server."""
    named = os.environ.get("PULSE_SERVER")
    if named:
        return named
    folders = [Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"), _SYSTEM]
    for folder in folders:
        path = folder / "pulse" / "native"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_ASKED_S)
            try:
                client.connect(str(path))
            except OSError:
                continue
            return f"unix:{path}"
    return None


def _server_row(server: str | None, found: list[DeviceInfo], cards: list[str]) -> Row:
    if server is None:
        words = "none: ALSA alone, a card belongs to one program at a time" if cards else "none"
        return Row("sound server", words, value="alsa" if cards else None)
    reached = [device.name for device in found if device.name in ("default", *_SERVERS)]
    if not reached:
        advice = "sudo apt install libasound2-plugins (PulseAudio) or pipewire-alsa (PipeWire)"
        return Row("sound server", f"{server}, but PortAudio does not reach it", "note", advice, server)
    return Row("sound server", server, value=server)


# --- the voice --------------------------------------------------------------------------------------------------------


def _voice(speech: Mapping[str, Any]) -> Iterator[Row]:
    from edgeagent.tts import espeak_library
    from edgeagent.tts.voice_choice import make_speaker

    try:
        with espeak_library.held() as espeak:
            assert espeak is not None  # noqa: S101 - nobody stopped
            version, data = espeak.version, str(espeak.data)
        yield Row("espeak-ng", f"{version} ({data})", value=version)
    except SpeechError as error:
        yield Row("espeak-ng", f"{error}; it says what another voice can't", "problem")
    try:
        voice = make_speaker(**speech)
        try:
            first_ms = _first_sample_ms(voice)
            then_ms = statistics.median(_first_sample_ms(voice) for _ in range(_ROUNDS))
        finally:
            voice.close()
    except SpeechError as error:
        yield Row("voice", str(error), "problem", "edgeagent voices lists them")
        return
    why = _why(speech)
    words = f"{voice.name}, {why}; {voice.rate_hz:,} Hz: first sample after {then_ms:.0f} ms ({first_ms:.0f} at first)"
    value = {"name": voice.name, "why": why, "rate_hz": voice.rate_hz, "first_sample_ms": round(then_ms, 1)}
    if then_ms > _SLOW_MS:
        yield Row("voice", words, "note", "that is long for this machine: --voice en speaks at once", value)
    else:
        yield Row("voice", words, value=value)


def _why(speech: Mapping[str, Any]) -> str:
    """Tells why this voice speaks."""
    from edgeagent.tts.voice_choice import NATURAL, default_voice, has_natural

    if "voice" in speech:
        return "as the settings say"
    if not has_natural():
        return f"because Hibari is missing: {install('voice')}"
    return "which sounds natural" if default_voice(**speech) == NATURAL else "for the rate or the pitch of the settings"


def _first_sample_ms(voice: Any) -> float:
    """From a text to the first samples of its sound."""
    stop = Event()
    begun_s = time.perf_counter()
    stream = voice.speak(_WORDS, stop)
    next(stream, None)
    took_ms = (time.perf_counter() - begun_s) * 1e3
    stop.set()
    for _ in stream:  # it ends by itself, so that the next one does not wait for it
        pass
    return took_ms


# --- the echo ---------------------------------------------------------------------------------------------------------


def _echo(mode: str) -> Row:
    """Tells who removes the echo, and whether that loads."""
    from edgeagent.audio.echo import EchoCanceller, Mode

    if mode not in get_args(Mode):
        choices = ", ".join(get_args(Mode))
        return Row("echo", f"audio.echo is {mode!r}, which there is not", "problem", f"one of {choices}")
    if mode == "off":
        advice = "it takes its own voice for a person's, unless it is heard in headphones only"
        return Row("echo", "off: nobody removes it", "note", advice, mode)
    if mode == "hardware":
        return Row("echo", "hardware: the microphone is expected to remove it", value=mode)
    try:
        EchoCanceller(_RATE_HZ, _RATE_HZ, mode="webrtc")
    except (ImportError, AudioError, ConfigError) as error:
        return Row("echo", f"webrtc, but it does not load: {error}", "problem", install("voice"))
    return Row("echo", "webrtc: this program removes it", value=mode)
