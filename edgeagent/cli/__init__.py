"""The command line: the ``edgeagent`` command and its commands, each of which imports what is heavy when it runs."""

from __future__ import annotations

import signal
from typing import Annotated, Final

import typer

from edgeagent import __version__
from edgeagent.cli import (
    ask,
    base_test,
    chat,
    check,
    doctor,
    exits,
    init,
    keywords,
    listen,
    models,
    replay,
    say,
    serve_mcp,
    service,
    sessions,
    streams,
    talk,
    train,
    voice_test,
)
from edgeagent.cli.help import PlainFlags, epilog
from edgeagent.front import front

_EPILOG: Final = epilog(
    {
        "edgeagent talk": "talk with the simulated house robot, aloud",
        "edgeagent chat": "the same, typed",
        'edgeagent ask "go to the kitchen"': "one request",
        "edgeagent chat --app examples/my_robot.py": "your own robot",
        "edgeagent init rover": "the beginning of your own robot, in a folder",
        "edgeagent check --app my_robot.py": "how well a model understands your robot's tools",
        "edgeagent train --app my_robot.py --phrases phrases.txt": "nano learns your robot's tools",
        "edgeagent doctor": "what this machine has, and how fast the model is on it",
        "edgeagent models list": "which models there are, and what fits this machine",
        'edgeagent say "I am back at the dock"': "aloud",
        "edgeagent voices": "what voices there are",
        "edgeagent listen": "what people say, as text",
        "edgeagent voice-test": "how well it hears you, and what to change",
        "edgeagent base test --app my_robot.py": "your robot's motors, with the wheels off the ground",
        "edgeagent mcp": "the robot as tools of other programs",
        "edgeagent replay audit.jsonl": "what a robot did, turn by turn",
    },
)


commands = typer.Typer(
    cls=PlainFlags,
    name="edgeagent",
    help="An offline agent for robots: it talks, it acts, and it never sends a byte anywhere.",
    epilog=_EPILOG,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands.command("init", epilog=init.EPILOG)(init.init)
commands.command("chat", epilog=chat.EPILOG)(chat.chat)
commands.command("ask", epilog=ask.EPILOG)(ask.ask)
commands.command("check", epilog=check.CHECK_EPILOG)(check.check)
commands.command("test", epilog=check.TEST_EPILOG)(check.assert_cases)
commands.command("train", epilog=train.EPILOG)(train.train)
commands.command("doctor", epilog=doctor.EPILOG)(doctor.doctor)
commands.command("say", epilog=say.SAY_EPILOG)(say.say)
commands.command("voices", epilog=say.VOICES_EPILOG)(say.voices)
commands.command("talk", epilog=talk.EPILOG)(talk.talk)
commands.command("listen", epilog=listen.EPILOG)(listen.listen)
commands.command("voice-test", epilog=voice_test.EPILOG)(voice_test.voice_test)
commands.command("mcp", epilog=serve_mcp.EPILOG)(serve_mcp.serve_mcp)
commands.command("replay", epilog=replay.EPILOG)(replay.replay)
commands.add_typer(base_test.base, name="base")
commands.add_typer(keywords.keywords, name="keywords")
commands.add_typer(models.models, name="models")
commands.add_typer(sessions.sessions, name="sessions")
commands.add_typer(service.service, name="service")


def main() -> None:
    """The entry point of the ``edgeagent`` command; always ends with SystemExit."""
    exits.own_process()
    try:
        commands(prog_name="edgeagent")
    except OSError as error:  # of what is written outside of a command, such as its help
        streams.prepare()
        streams.complain(f"the answer cannot be written: {error.strerror}")
        streams.silence_stdout()
        raise SystemExit(exits.FAILED) from None
    except KeyboardInterrupt:  # before the command begins, while its options are put together
        raise SystemExit(128 + signal.SIGINT) from None
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            exits.leave_process(ended.code or exits.OK)
        raise


def _print_version(wanted: bool) -> None:
    if wanted:
        with exits.guarded():
            streams.answer(f"edgeagent {__version__}")
        raise typer.Exit


@commands.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Without a command there is nothing to do."""


__getattr__ = front(
    __name__,
    {
        "activity": "JsonView Line TalkLines latch_line",
        "check_report": "write_junit",
        "chat_screen": "Flow",
        "chat_stops": "ChatStops STOPPED",
        "init": "SKELETON",
        "listen_view": "Utterances",
        "sessions": "built_when_free",
        "slash": "HELP",
        "streams": "is_yes printable utterance",
        "systemd": "MARK Notifier Unit quoted",
        "talk_screen": "FIRST_REPEAT_S LET_GO_S TalkButton",
        "web_door": "served voice_door",
        "why": "LastRequest explained",
    },
)
