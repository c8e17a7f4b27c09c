"""A conversation aloud from its beginning to its end: built, shown, stopped by a signal, and closed in every state.

The threads of runs and of the voice only put what they tell into a queue; the main thread shows it.
"""

from __future__ import annotations

import signal
import threading
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Final, Self

from edgeagent.app import App, build
from edgeagent.app.conversation import Conversation
from edgeagent.app.ears_setup import check
from edgeagent.audio.files import FileDevice, is_file
from edgeagent.cli import exits, streams, text
from edgeagent.cli.activity import latch_line
from edgeagent.cli.chatting import chatting
from edgeagent.cli.talk_view import Item, JsonView, LinesView
from edgeagent.config import Config
from edgeagent.errors import AudioError, ConfigError
from edgeagent.stt.ears import START_S
from edgeagent.voice.dialogue import LEARN_S
from edgeagent.voice.turn_states import State

_QUIET_S: Final = 0.5
"""After the end of a file, the conversation is over when nothing has happened for so long."""
_RESTING: Final = (State.ASLEEP, State.LISTENING)
_JOIN_S: Final = 5.0


def talk(config: Config, *, json: bool, text: bool, screen: bool) -> int:
    """Talks until somebody leaves, or the file that stands for the microphone has ended.

    Args:
        json: Events as lines of JSON on stdout.
        text: Without sound, type.
        screen: A person sits at a terminal.

    Returns:
        The exit code.

    Raises:
        AudioError: There is no sound, and ``text`` is not set; or a device failed.
        ConfigError, ModelError: It cannot begin.
    """
    _check(config, json=json, text=text, screen=screen)
    streams.told_by_events("edgeagent.stt", "edgeagent.audio")
    with TripSignal() as stop_signal, build(config, live=True, voice=True) as app:
        try:
            conversation = _begin(app, config)
        except AudioError as error:
            if is_file(config.audio.get("input")):
                raise
            if not text:
                raise AudioError(f"{error}; to type instead: edgeagent talk --text") from error
            streams.warn(f"{error}; so type")
        else:
            with conversation, exits.ending():
                stop_signal.serve(conversation)
                return _converse(app, conversation, json=json, screen=screen)
    return chatting(config, screen=screen, conversing=True)


def _check(config: Config, *, json: bool, text: bool, screen: bool) -> None:
    """Refuses early what would only be found out when it is too late."""
    if text and json:
        raise ConfigError("--json is for a conversation aloud, and --text may become a chat; --log writes for both")
    check(config)
    if config.conversation.get("push_to_talk") and not screen:
        raise ConfigError("push-to-talk needs a terminal with a space bar; without one, leave it out")
    ends = {end: config.audio.get(end) for end in ("input", "output")}
    if ends["output"] == "-":
        raise ConfigError("--output - would mix sound with the lines on stdout; name a file: --output FILE.wav")
    for end, other in (("input", "output"), ("output", "input")):
        if is_file(ends[end]) and ends[other] is None:
            raise ConfigError(f"--{end} is a file, so --{other} has to be one too: --{other} FILE.wav")


def _begin(app: App, config: Config) -> Conversation:
    """A conversation that listens."""
    with streams.patience("getting the ears ready; the first time, their language model is built …", always=True):
        conversation = Conversation(app.agent, config=config, session=app.session, telling=app.telling)
    try:
        app.person = conversation.dialogue.robot.person
        with streams.patience("loading the model …", always=True):
            app.load()
        conversation.start()
        conversation.dialogue.hears.wait(START_S + LEARN_S)  # who is told sooner that it is ready speaks too soon
    except BaseException:
        conversation.close()
        raise
    return conversation


def _converse(app: App, conversation: Conversation, *, json: bool, screen: bool) -> int:
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
            streams.answer(text.printable(app.say_at_start))
    streams.tell(f"ready: {app.agent.name} on {app.llm.name} listens to {conversation.device.name}; Ctrl-C ends", "dim")
    while True:
        try:
            view.show(told.get(timeout=_QUIET_S))
        except Empty:
            if _is_over(conversation):
                return 0


def _is_over(conversation: Conversation) -> bool:
    """A file has been heard to its end, and everything that it has brought about is done and said."""
    device = conversation.device
    if not isinstance(device, FileDevice) or not device.ended.is_set():
        return False
    return conversation.state in _RESTING and not conversation.dialogue.robot.busy


class TripSignal:
    """SIGUSR1 trips the latch: whoever sees the robot do wrong may send it, from another terminal or program.

    The handler only posts: a latch that is tripped calls code that takes locks, and the main thread may hold them.
    """

    def __init__(self) -> None:
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGUSR1, self._post)
        return self

    def serve(self, conversation: Conversation) -> None:
        """From now on; a signal that came before counts too."""

        def work() -> None:
            while self._wanted.get():
                conversation.stop("SIGUSR1")

        self._thread = threading.Thread(target=work, name="stop-signal", daemon=True)
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGUSR1, self._before)
        self._wanted.put(False)
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def _post(self, number: int, frame: FrameType | None) -> None:
        self._wanted.put(True)
