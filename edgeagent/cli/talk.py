"""``edgeagent talk``: a conversation aloud, with a robot that moves meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, sessions, streams, web_door
from edgeagent.cli.chat import chatting, has_screen
from edgeagent.cli.help import epilog
from edgeagent.cli.streams import printable
from edgeagent.cli.systemd import Notifier
from edgeagent.errors import AudioError, ConfigError
from edgeagent.stop import JOIN_S

if TYPE_CHECKING:
    from edgeagent.app import App
    from edgeagent.app.conversation import Conversation
    from edgeagent.cli.activity import Item
    from edgeagent.config import Config

EPILOG: Final = epilog(
    {
        "edgeagent talk": "speak; interrupt it; say stop",
        "edgeagent talk --app examples/my_robot.py": "your own robot",
        'edgeagent talk --wake-word "hey robi"': "it sleeps until it is called",
        "edgeagent talk --push-to-talk": "it hears only while the space bar is down",
        "edgeagent talk --text": "where there is no sound, type",
        "edgeagent talk --json > talk.jsonl": "every event as a line of JSON",
        "edgeagent talk --record talk.wav": "both ends in stereo, announced aloud; then [cyan]edgeagent replay "
        "talk.wav[/]",
        "edgeagent talk --web --web-host 0.0.0.0": "a page for a phone as well, with a token",
        "edgeagent talk --input lines.wav --output answers.wav": "files in place of microphone and loudspeaker",
    },
    keys="At a terminal there is a line to type into as well; /help tells the rest. Ctrl-C stops what the robot does "
    "and says, twice within 2 s leaves. Where stdout is no terminal, Ctrl-C leaves. SIGUSR1 stops everything that "
    "moves.",
    exit_code="0 left · 1 the page's address is taken, or the disk is full · 2 wrong usage or settings · 3 the model "
    "· 4 microphone, loudspeaker, recogniser or voice · 130 Ctrl-C",
)
_QUIET_S: Final = 0.5
"""After the end of a file, the conversation is over when nothing has happened for so long."""
_LONGER_S: Final = 60.0
"""Seconds by which each try to find a sound card makes the start longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOptions:
    """Options of ``talk`` alone that are settings too, by the names of the settings."""

    audio__input: options.Input = None
    audio__output: options.Output = None
    speech__voice: options.Voice = None
    ears__engine: options.Engine = None
    conversation__barge_in: Annotated[
        str | None,
        typer.Option(
            "--barge-in",
            metavar="PRESET",
            help="How easily it is interrupted: eager, balanced, strict or off. [dim](balanced)[/]",
        ),
    ] = None
    ears__wake_words: Annotated[
        str | None,
        typer.Option("--wake-word", metavar="PHRASE", help="It sleeps until it hears that; such as hey robi."),
    ] = None
    conversation__push_to_talk: Annotated[
        bool | None, typer.Option("--push-to-talk", help="It hears only while the space bar is down.")
    ] = None


@options.tabled
def talk(
    *,
    robot: options.RobotOptions,
    own: TalkOptions,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE.wav", help="Record microphone and loudspeaker, and say so aloud."),
    ] = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for a sound card, the page's address, or a session that is in use."),
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="Where there is no sound, type instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Every event, a line of JSON each.")] = False,
    web: options.WebOptions,
    run: options.RunOptions,
) -> None:
    """Talk with the robot. It hears you while it speaks and moves; a stop word always stops it."""
    screen = has_screen() and not json
    with exits.guarded(screen=screen):
        exits.watch(screen=screen)
        chosen = options.settings(run.config, robot, run, own, web)
        if wait and text:
            raise ConfigError("--wait waits for sound, and --text does without: give one of them")
        code = _talk(chosen, json=json, text=text, screen=screen, record=record, wait=wait)
    raise typer.Exit(code)


def check_start(
    *,
    robot: options.RobotOptions,
    own: TalkOptions,
    web: options.WebOptions,
    run: options.RunOptions,
    record: Path | None,
    json: bool,
    text: bool,
    wait: bool,
    here: bool,
) -> None:
    """Refuses what a start of ``talk`` without anybody at a terminal would refuse. Opens no device, runs no app file,
    and makes no folder.

    Args:
        here: False for a start as another user, whose models and files may be others.

    Raises:
        ConfigError, ModelError, SpeechError: An option or a setting is wrong, or names what is not there.
    """
    if text or own.conversation__push_to_talk:
        raise ConfigError(f"--{'text' if text else 'push-to-talk'} needs somebody at a terminal, and a unit has none")
    options.check_session(run.session, go_on=run.go_on)
    unbegun = replace(run, session=None, go_on=False)  # which would make the folder of sessions
    config = options.settings(run.config, robot, unbegun, own, web)
    _check(config, json=json, text=text, screen=False, record=record if here else None, taken=False, here=here)
    if config.app is not None and not config.app.is_file():
        raise ConfigError(f"{config.app} is not there; --app needs a Python file that defines agent, or build(llm)")
    if here:
        _check_files(config, run.session)
        _check_voices(config)


def _check_files(config: Config, session: str | None) -> None:
    """Refuses files that are not there, or that can't be made."""
    from edgeagent.audio.files import is_file

    for option, file in (("--log", config.log), ("--audit", config.audit), ("--session", session)):
        if file is not None and not Path(file).absolute().parent.is_dir():
            raise ConfigError(f"{option} {file}: there is no such folder")
    spoken = config.audio.get("input")
    if spoken is not None and is_file(spoken) and not Path(spoken).is_file():
        raise ConfigError(f"--input {spoken}: there is no such file")


def _check_voices(config: Config) -> None:
    """Refuses a model, a voice or a preset that can't be had."""
    from edgeagent.app.outfit import configured_llm
    from edgeagent.tts import make_speaker
    from edgeagent.voice import preset

    preset(config.conversation.get("barge_in", "balanced"))
    if "model" in config.given:
        configured_llm(config).close()
    if config.speech:
        make_speaker(**config.speech).close()


def _talk(config: Config, *, json: bool, text: bool, screen: bool, record: Path | None, wait: bool) -> int:
    """Talks until somebody leaves, or the file that stands for the microphone has ended.

    Args:
        json: Events as lines of JSON on stdout.
        text: Without sound, type.
        screen: A person sits at a terminal.
        record: Keep the sound of both ends there.
        wait: Wait for a sound card, the page's address, a session that is in use, and room for it on the disk.

    Returns:
        The exit code.

    Raises:
        AudioError: There is no sound, and ``text`` is not set; or a device failed.
        ConfigError, ModelError: It cannot begin.
    """
    from edgeagent.app import build
    from edgeagent.app.ears_setup import wait_for_sound
    from edgeagent.audio.files import is_file

    notifier = Notifier()
    _check(config, json=json, text=text, screen=screen, record=record, waits=wait)
    streams.told_by_events()
    with ExitStack() as last, _trip_signal() as obey_signal, ExitStack() as stack:
        made = partial(build, config, live=True, voice=True)
        if wait:
            tell = partial(_tell_of_waiting, notifier)
            web_door.wait_for_address(config, tell)
            wait_for_sound(config, tell)
            app = stack.enter_context(sessions.built_when_free(made, config.session, tell))
        else:
            app = stack.enter_context(made())
        sessions.remember(app)
        try:
            conversation = _begin(app, config, record)
        except AudioError as error:
            if is_file(config.audio.get("input")):
                raise
            if not text:
                raise AudioError(f"{error}; to type instead: edgeagent talk --text") from error
            streams.warn(f"{error}; so type{'' if record is None else ', and nothing is recorded'}")
        else:
            with conversation, exits.ending():
                obey_signal(conversation)
                door = partial(web_door.voice_door, app, conversation)
                with web_door.served(config, app, door, conversation.subscribe, last):
                    try:
                        return _converse(app, conversation, notifier, json=json, screen=screen)
                    finally:
                        app.session.abort("safety_stop")  # before anybody is told of the end
                        notifier.stopping()
    return chatting(config, screen=screen, conversing=True)


def _check(
    config: Config,
    *,
    json: bool,
    text: bool,
    screen: bool,
    record: Path | None,
    taken: bool = True,
    waits: bool = False,
    here: bool = True,
) -> None:
    """Refuses early what would only be found out when it is too late.

    Args:
        taken: Look if the port of the page is taken.
        waits: Port and address of the page are waited for.
        here: False for a start as another user, whose token of the page is another one.
    """
    from edgeagent.app.ears_setup import check
    from edgeagent.audio.files import is_file
    from edgeagent.cli.recorded_talk import check_target

    if text and json:
        raise ConfigError("--json is for a conversation aloud, and --text may become a chat; --log writes for both")
    if record is not None:
        check_target(record)
    check(config)
    web_door.check(config, taken=taken and not waits, waits=waits, here=here)
    if config.conversation.get("push_to_talk") and not screen:
        raise ConfigError("push-to-talk needs a terminal with a space bar; without one, leave it out")
    ends = {end: config.audio.get(end) for end in ("input", "output")}
    if ends["output"] == "-":
        raise ConfigError("--output - would mix sound with the lines on stdout; name a file: --output FILE.wav")
    for end, other in (("input", "output"), ("output", "input")):
        if is_file(ends[end]) and ends[other] is None:
            raise ConfigError(f"--{end} is a file, so --{other} has to be one too: --{other} FILE.wav")


def _begin(app: App, config: Config, record: Path | None) -> Conversation:
    """A conversation that listens."""
    from edgeagent.app.conversation import Conversation
    from edgeagent.cli.recorded_talk import record_lines
    from edgeagent.stt.ears import START_S
    from edgeagent.voice.dialogue import LEARN_S

    with streams.patience("getting the ears ready; the first time, their language model is built …", always=True):
        conversation = Conversation(app.agent, config=config, session=app.session, telling=app.telling)
    try:
        app.person = conversation.dialogue.robot.person
        with streams.patience("loading the model …", always=True):
            app.load()
        conversation.start()
        if record is not None:
            streams.tell(f"recording in {record_lines(conversation, record, app)}", "dim")
        conversation.dialogue.hears.wait(START_S + LEARN_S)  # who is told sooner that it is ready speaks too soon
    except BaseException:
        conversation.close()
        raise
    return conversation


def _tell_of_waiting(notifier: Notifier, why: str, *, again: bool) -> None:
    notifier.waiting(f"waits: {why}", _LONGER_S)
    if not again:
        streams.warn(f"{why}; it is tried again until it can begin")


def _converse(app: App, conversation: Conversation, notifier: Notifier, *, json: bool, screen: bool) -> int:
    from edgeagent import events
    from edgeagent.cli.activity import JsonView, LinesView, latch_line

    for note in app.notes:
        streams.warn(note)
    if screen:
        from edgeagent.cli.talk_screen import TalkScreen

        return TalkScreen(app, conversation).run()
    told: SimpleQueue[Item] = SimpleQueue()
    conversation.subscribe(told.put)
    view = JsonView(app.pii) if json else LinesView(app.agent.name)
    if not json:
        conversation.latch.subscribe(lambda state, reason: told.put(latch_line(state, reason)))
        if app.say_at_start:
            streams.answer(printable(app.say_at_start))
    listens = f"{app.agent.name} on {app.llm.name} listens to {conversation.device.name}"
    streams.tell(f"ready: {listens}; Ctrl-C ends", "dim")
    notifier.ready(listens)
    while True:
        try:
            item = told.get(timeout=_QUIET_S)
            view.show(item)
            if isinstance(item, events.Device):
                notifier.status(item.name)
        except Empty:
            if _is_over(conversation):
                return 0
        notifier.look(conversation.dialogue.is_alive)


def _is_over(conversation: Conversation) -> bool:
    """A file has been heard to its end, and everything that it has brought about is done and said."""
    from edgeagent.audio.files import FileDevice
    from edgeagent.cli.activity import RESTING

    device = conversation.device
    if not isinstance(device, FileDevice) or not device.ended.is_set():
        return False
    return conversation.state in RESTING and not conversation.dialogue.robot.busy


@contextmanager
def _trip_signal() -> Iterator[Callable[[Conversation], None]]:
    """SIGUSR1 trips the latch: whoever sees the robot do wrong may send it, from another terminal or program.

    The handler only posts: a latch that is tripped calls code that takes locks, and the main thread may hold them.

    Yields:
        Has a conversation obey from now on; a signal that came before counts too.
    """
    wanted: SimpleQueue[bool] = SimpleQueue()
    threads: list[threading.Thread] = []

    def serve(conversation: Conversation) -> None:
        def work() -> None:
            while wanted.get():
                conversation.stop("SIGUSR1")

        threads.append(threading.Thread(target=work, name="stop-signal", daemon=True))
        threads[0].start()

    before = signal.signal(signal.SIGUSR1, lambda number, frame: wanted.put(True))
    try:
        yield serve
    finally:
        signal.signal(signal.SIGUSR1, before)
        wanted.put(False)
        for thread in threads:
            thread.join(JOIN_S)
