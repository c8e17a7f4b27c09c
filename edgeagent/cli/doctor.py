"""``edgeagent doctor``: what this machine has, and what works on it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.streams import Tone, printable, toned
from edgeagent.extras import install, lacking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edgeagent.agent import Agent
    from edgeagent.config import Config
    from edgeagent.doctor import Examination, Row, Section, Status
    from edgeagent.llm.llama import LlamaLLM

EPILOG: Final = epilog(
    {
        "edgeagent doctor": "this machine, and the embedded model",
        "edgeagent doctor --model qwen3-0.6b": "another model",
        "edgeagent doctor --app examples/my_robot.py": "your own robot's model and phrases",
        "edgeagent doctor --sound": "plays a tone and a sentence, and tells the echo, its delay, and under-runs",
        "edgeagent doctor --json > report.json": "for a bug report",
    },
    exit_code="0 all is well · 2 wrong settings · 3 something does not work · 130 Ctrl-C",
)
_MARKS: Final[dict[Status, tuple[str, Tone]]] = {
    "ok": ("ok", "dim"),
    "note": ("note", "warning"),
    "problem": ("PROBLEM", "error"),
}
_NAME: Final = 17
_MARK: Final = 9


def doctor(
    as_json: options.AsJson = False,
    sound: Annotated[
        bool, typer.Option("--sound", help="Also play a tone and a sentence, and measure the echo: 15 seconds.")
    ] = False,
    model: options.Model = None,
    app: options.App = None,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Look at the machine, the engine, the sound and the ears: what is there, what was chosen, how fast it is."""
    with exits.guarded():
        from edgeagent.doctor import DoctorReport, examine
        from edgeagent.doctor.machine_section import engine, machine

        settings = options.settings(config, model=model, app=app)
        sections: list[Section] = []
        rooms: list[tuple[str, Examination]] = [
            ("machine", machine),
            ("engine", lambda: engine(lambda: _model(settings))),
            *_voice_rooms(settings, sound=sound),
        ]
        if (app_file := settings.app) is not None:
            rooms.append(("app", partial(_app, settings, app_file)))
        for section in examine(rooms):
            sections.append(section)
            if not as_json:
                _show(section)
        report = DoctorReport(tuple(sections))
        if as_json:
            streams.answer_json(report.as_dict(), indent=2)
    if report.problems:
        raise typer.Exit(exits.MODEL)


def _voice_rooms(settings: Config, *, sound: bool) -> list[tuple[str, Examination]]:
    """Examinations of what hears and speaks, where it is installed.

    Args:
        sound: Play something, and listen to it.
    """
    if missing := lacking("voice"):
        return [("audio", partial(_no_voice, missing))]
    from edgeagent.app.ears_setup import chosen_engine, make_transcriber, stop_words, vocabulary, wake_words
    from edgeagent.doctor.audio_section import audio
    from edgeagent.doctor.ears_section import ears
    from edgeagent.doctor.sound_section import sound as heard
    from edgeagent.models.store import WHISPER_FOLDER, user_models_dir

    rooms: list[tuple[str, Examination]] = [
        ("audio", lambda: audio(settings.audio, settings.speech)),
        (
            "ears",
            lambda: ears(
                lambda: make_transcriber(settings, vocabulary(settings)),
                lambda: stop_words(settings) | wake_words(settings),
                user_models_dir() / WHISPER_FOLDER,
                why=lambda: chosen_engine(settings)[1],
            ),
        ),
    ]
    if sound:
        rooms.append(("sound", lambda: heard(settings.audio, settings.speech)))
    return rooms


def _no_voice(missing: list[str]) -> Iterator[Row]:
    from edgeagent.doctor import Row

    yield Row("voice", f"{', '.join(missing)} are not installed: it answers what is typed", "note", install("voice"))


def _model(settings: Config) -> LlamaLLM:
    """The model of llama.cpp that the app brings, or the configured one.

    Raises:
        ConfigError: The app file is missing or wrong.
        ModelError: The model can't be used.
    """
    from edgeagent.app import configured_llm
    from edgeagent.llm.llama import LlamaLLM

    llm = None if settings.app is None else _agent(settings, settings.app).llm
    return llm if isinstance(llm, LlamaLLM) else configured_llm(settings)


def _app(settings: Config, app: Path) -> Iterator[Row]:
    """The rows of the tools that the app brings, as its model sees them."""
    from edgeagent.app import guards
    from edgeagent.doctor import Row

    agent = _agent(settings, app)
    names = agent.tools.names()
    yield Row("tools", ", ".join(names) or "none", value=names)
    if tools := guards.unfamiliar_tools(agent):
        advice = guards.advice(app)
        yield Row("trained for", guards.found(tools), "note", advice, [tool.name for tool in tools])


def _agent(settings: Config, app: Path) -> Agent:
    """The app's agent; its file is closed again.

    Raises:
        ConfigError: The app file is missing or wrong.
        ModelError: The model can't be used.
    """
    from edgeagent.app import configured_llm
    from edgeagent.app.file import AppFile

    file = AppFile.load(app)
    try:
        return file.agent(lambda: configured_llm(settings))
    finally:
        file.close()


def _show(section: Section) -> None:
    streams.answer(section.name, "bold")
    for row in section.rows:
        mark, tone = _MARKS[row.status]
        told = [printable(row.found), *([f"→ {row.advice}"] if row.advice else [])]
        lines = [line for text in told for line in streams.fitted(text, _NAME + _MARK + 2)]
        for i, line in enumerate(lines):
            left = f"{row.name:<{_NAME}}" if i == 0 else " " * _NAME
            shown = toned(f"{mark:<{_MARK}}", tone) if i == 0 else " " * _MARK
            streams.answer(f"  {left}{shown}{line}")
