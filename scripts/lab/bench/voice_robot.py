"""The robot that ``scripts/bench voice`` talks to, in a process of its own: the conversation, and its log on stdout.

Lines of JSON on stdin say what to do before a trial. Beside the events of the conversation it tells when the base
begins to move, is told to stand and stands, and when the loudspeaker is given its first sound; all on the monotonic
clock that the processes of a machine share. Nothing of the conversation is changed.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

import numpy as np
from bench.mouth_player import SILENT

from edgeagent import events
from edgeagent.app import App, Conversation, build
from edgeagent.audio import Samples
from edgeagent.cli import served, voice_door
from edgeagent.config import Config
from edgeagent.house import HouseRobot
from edgeagent.llm import LLMEvent, LLMRequest
from edgeagent.messages import Message

_LIMIT_S: Final = 20.0
_QUIET_S: Final = 0.8
"""Between two trials: what was decoded late comes within it."""
_UNTOLD: Final = frozenset({"message_update", "playback"})
_LONG: Final = "drive to the kitchen, then to the bedroom, and tell me all that you have seen"


class Log:
    """Lines for the process that measures, written by a thread of their own."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[dict[str, Any] | events.Event | events.VoiceEvent | None] = SimpleQueue()
        self.spoken_to = False
        """Somebody speaks, and has not ended."""
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def tell(self, kind: str, **fields: Any) -> None:
        self._queue.put({"kind": kind, "t": time.monotonic(), **fields})

    def take(self, event: events.Event | events.VoiceEvent) -> None:
        """A subscriber."""
        if isinstance(event, events.SpeechStart):
            self.spoken_to = True
        elif isinstance(event, events.SpeechEnd) and not event.soft:
            self.spoken_to = False
        if event.kind not in _UNTOLD:
            self._queue.put(event)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(_LIMIT_S)

    def _write(self) -> None:
        while (item := self._queue.get()) is not None:
            line = json.dumps(item) if isinstance(item, dict) else events.to_json(item)
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def watch_base(robot: HouseRobot, log: Log) -> None:
    """Has it told when the base moves, is told to stand, and stands."""
    world, base = robot.world, robot.world.scene.base
    step, limit_speed, halt = world.scene.step, world.limit_speed, world.halt
    still = [base.still]

    def stepped(*arguments: Any) -> None:
        step(*arguments)
        if base.still is not still[0]:
            still[0] = base.still
            log.tell("base", what="stands" if still[0] else "moves")

    def limited(limit: Callable[[], float]) -> None:
        limit_speed(limit)
        if base.speed_limit == 0.0:
            log.tell("base", what="zero")

    def halted() -> None:
        halt()
        log.tell("base", what="zero")

    world.scene.step, world.limit_speed, world.halt = stepped, limited, halted  # type: ignore[method-assign]


def watch_loudspeaker(conversation: Conversation, log: Log) -> None:
    """Has it told when the device is given the first block with sound, and the first without."""
    playback = conversation.dialogue.robot.playback
    fill, sounding = playback.fill, [False]

    def filled(block: Samples, dac_s: float) -> None:
        fill(block, dac_s)
        if bool(np.abs(block).max() > SILENT) is not sounding[0]:
            sounding[0] = not sounding[0]
            log.tell("given", sound=sounding[0], dac_s=dac_s)

    playback.fill = filled  # type: ignore[method-assign]


class Thinker:
    """Has the model of an app think for long, before it answers what it was asked: it really generates."""

    def __init__(self, app: App) -> None:
        self._stream = app.llm.stream
        self.think_s = 0.0
        app.llm.stream = self.stream  # type: ignore[method-assign]

    def stream(self, request: LLMRequest, stop_event: threading.Event) -> Iterator[LLMEvent]:
        end_s = time.monotonic() + self.think_s
        while time.monotonic() < end_s and not stop_event.is_set():
            asked = LLMRequest(messages=[Message.user(_LONG)], max_tokens=64)
            for _ in self._stream(asked, stop_event):
                pass
        yield from self._stream(request, stop_event)


def rest(conversation: Conversation, thinker: Thinker, log: Log) -> None:
    """Ends everything that goes on, and allows motion again."""
    thinker.think_s = 0.0
    conversation.stop("the next trial")
    end_s = time.monotonic() + _LIMIT_S
    waiting = threading.Event()
    quiet_s = time.monotonic()
    while time.monotonic() < min(quiet_s + _QUIET_S, end_s):
        if conversation.dialogue.robot.busy or conversation.state != "listening" or log.spoken_to:
            quiet_s = time.monotonic()
        waiting.wait(0.01)
    conversation.session.reset()
    conversation.rearm()


def main() -> None:
    """Talks until stdin ends."""
    logging.basicConfig(level=logging.ERROR)
    settings = json.loads(sys.argv[1])
    log = Log()
    page = settings.pop("page", 0)
    web = {"serve": True, "host": "127.0.0.1", "port": page} if page else {}
    config = Config(conversation={"chimes": False, **settings}, web=web)
    with ExitStack() as last, build(config, live=True, voice=True) as app:
        thinker = Thinker(app)
        app.load()
        with Conversation(app.agent, config=config, session=app.session, telling=app.telling) as conversation:
            assert app.robot is not None  # noqa: S101  without an app file there is one
            watch_base(app.robot, log)
            watch_loudspeaker(conversation, log)
            conversation.subscribe(log.take)
            conversation.start()
            if not conversation.dialogue.hears.wait(_LIMIT_S):
                raise TimeoutError("the microphone delivers nothing")
            door = partial(voice_door, app, conversation)
            with served(config, app, door, conversation.subscribe, last):
                log.tell("ready", pid=os.getpid())
                for line in sys.stdin:
                    obey(json.loads(line), conversation, thinker, log)
            xruns = conversation.device.xruns
    log.tell("ended", under=xruns.under, over=xruns.over)
    log.close()


def obey(asked: dict[str, Any], conversation: Conversation, thinker: Thinker, log: Log) -> None:
    """One line of stdin."""
    match asked["op"]:
        case "say":
            conversation.say(asked["text"])
        case "hear":
            conversation.hear(asked["text"])
        case "think":
            thinker.think_s = asked["seconds"]
        case "rest":
            rest(conversation, thinker, log)
            xruns = conversation.device.xruns
            log.tell("rests", under=xruns.under, over=xruns.over)


if __name__ == "__main__":
    main()
