"""``--web`` of chat and talk: the page of the conversation at hand, with its address told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeagent.cli import streams
from edgeagent.cli.streams import utterance
from edgeagent.errors import ConfigError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent.app import App
    from edgeagent.app.conversation import Conversation
    from edgeagent.app.ears_setup import Waiting
    from edgeagent.cli.chat_stops import ChatStops
    from edgeagent.config import Config
    from edgeagent.web import PageActions, Question

HOST: Final = "127.0.0.1"
PORT: Final = 8765
ASKS: Final = "the robot asks something: answer that first"
"""Refusal of a line that was typed before its page had shown a question."""
TOKEN_FILE: Final = "web-token"  # noqa: S105 - the name of a file
_TOLD_S: Final = 0.5
"""Seconds that the end waits for the server, when nothing moves any more."""
Subscribe = Callable[[Callable[[Any], object]], object]


def check(config: Config, *, taken: bool = True, waits: bool = False, here: bool = True) -> None:
    """Refuses early what keeps a page from being served: ears take a while to begin.

    Args:
        taken: Look also if the port is free.
        waits: Somebody waits for the address and the port.
        here: Look also at the token that this user has kept; False for the page of another user.

    Raises:
        ConfigError: Its packages are not installed, its port is taken, its address is none of this machine's, or the
            file of its token can't be used.
    """
    if not config.web.get("serve"):
        return
    from edgeagent.extras import check as check_extra

    check_extra("web")
    from edgeagent.web import AddressError, listen

    host, port, asks = _place(config)
    if asks and here and _token_path().exists():
        _token()
    try:
        listen(host, port if taken else 0).close()
    except AddressError:
        if not waits:
            raise


def wait_for_address(config: Config, tell: Waiting) -> None:
    """Waits until the page of the settings, if there is one, has its address and its port; for as long as that takes:
    the network comes late after a start, and a port is free when another program has ended."""
    if not config.web.get("serve"):
        return
    from edgeagent.app.ears_setup import wait_for
    from edgeagent.web import AddressError

    wait_for(partial(check, config), AddressError, tell)


def _place(config: Config) -> tuple[str, int, bool]:
    """Address and port of the page, and True if it asks for a token.

    Raises:
        ConfigError: Everybody in a network would reach it without a token.
    """
    from edgeagent.web import is_loopback

    host, port = config.web.get("host", HOST), config.web.get("port", PORT)
    asks = config.web.get("token", not is_loopback(host))
    if not asks and not is_loopback(host):
        raise ConfigError(f"web.token = false is for loopback only: whoever reaches {host} could move the robot")
    return host, port, asks


@contextmanager
def served(
    config: Config, app: App, door: Callable[[], PageActions], subscribe: Subscribe, last: ExitStack
) -> Iterator[None]:
    """Serves the page while a conversation goes on, if the settings ask for it, and tells its address.

    Args:
        door: Makes what the page may ask for.
        subscribe: Has a function called with every event.
        last: Ends after everything else, and waits there for a moment until the pages were told of the end.

    Raises:
        ConfigError: The port is taken, the address is none of this machine's, or the token can't be kept.
    """
    if not config.web.get("serve"):
        yield
        return
    from edgeagent.web import (
        OPEN_PATHS,
        Access,
        Feed,
        Inbox,
        Page,
        WebServer,
        allowed_names,
        listen,
    )

    host, port, asks = _place(config)
    token = _token() if asks else None
    made, inbox = door(), Inbox()
    feed = Feed(made, inbox, app.pii.log)
    feed.story.remember(app.session.messages())
    page = Page(feed, made).application()
    listening = listen(host, port)
    server = WebServer(
        Access(page, names=allowed_names(host), token=token, open_paths=OPEN_PATHS), listening, feed.close
    )
    subscribe(inbox.put)
    server.start()
    last.callback(server.join, _TOLD_S)
    try:
        for line in _addresses(host, listening.getsockname()[1], token):
            streams.tell(line)
        yield
    finally:
        server.end()


def _token() -> str:
    from edgeagent.web import kept_token

    token: str = kept_token(_token_path())
    return token


def _token_path() -> Path:
    from platformdirs import user_state_path

    return user_state_path("edgeagent") / TOKEN_FILE


def _addresses(host: str, port: int, token: str | None) -> Iterator[str]:
    """Lines that tell where the page is. The token is shown to a person at a terminal only: what stderr else goes to
    may be a log."""
    from edgeagent.web import own_addresses

    shown = [f"[{address}]" if ":" in address else address for address in own_addresses(host)]
    if token is None:
        yield f"page: http://{shown[0]}:{port}/"
    elif sys.stderr.isatty():
        yield from (f"page: http://{address}:{port}/#{token}" for address in shown)
        yield "  who has the part after # may move the robot"
    else:
        yield from (f"page: http://{address}:{port}/" for address in shown)
        yield f"  its token is in {_token_path()}: put # and the token after the address"


# --- doors ------------------------------------------------------------------------------------------------------------


def obeyed(said: str, stops: ChatStops | Conversation) -> bool:
    """Obeys a line of the page if it is /stop or /continue; False if it is no slash command.

    Raises:
        EdgeAgentError: It is another slash command.
    """
    from edgeagent.cli.slash import is_slash  # imports the app

    if not is_slash(said):
        return False
    match said:
        case "/stop":
            stops.stop("/stop on the page")
        case "/continue":
            stops.rearm()
        case _:
            raise EdgeAgentError(f"{said.split(maxsplit=1)[0]} is for the terminal")
    return True


def map_of(app: App) -> Callable[[], tuple[str, bytes]] | None:
    """The map of the house robot, as it is when it is asked for; None where there is no house."""
    if app.robot is None:
        return None

    def drawn() -> tuple[str, bytes]:
        from edgeagent.house.picture import map_svg

        robot = app.robot
        if robot is None:
            raise EdgeAgentError("this robot has no map")
        return "image/svg+xml", map_svg(robot.world.snapshot())

    return drawn


def voice_door(app: App, conversation: Conversation) -> PageActions:
    """Functions that a page may ask of a conversation aloud."""
    from edgeagent.web import PageActions, Question

    dialogue, person = conversation.dialogue, conversation.dialogue.robot.person

    def enter(text: str) -> None:
        said = utterance(text)
        if obeyed(said, conversation):
            return
        if person.asked is not None and dialogue.turns.grade(said, typed=True) is None:
            raise EdgeAgentError(ASKS)  # the page had not shown the question
        dialogue.hear(said, typed=True)

    def question() -> Question | None:
        asked = person.asked
        return None if asked is None else Question(*asked)

    def level() -> tuple[float, float, bool] | None:
        found = dialogue.level
        return None if found is None else (found.level_db, found.floor_db, found.voiced)

    return PageActions(
        name=app.agent.name,
        model=app.llm.name,
        latch=conversation.latch,
        stop=conversation.stop,
        move_again=conversation.rearm,
        enter=enter,
        answer=lambda number, text: person.answer(number, utterance(text)),
        question=question,
        mute=conversation.mute,
        muted=lambda: dialogue.robot.muted,
        state=lambda: conversation.state,
        level=level,
        draw_map=map_of(app),
    )
