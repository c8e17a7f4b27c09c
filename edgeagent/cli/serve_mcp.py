"""``edgeagent mcp``: the agent as a server of the Model Context Protocol. The main thread waits for a signal."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgeagent.cli import exits, options, sessions, streams
from edgeagent.cli.help import epilog

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from edgeagent.config import Config

EPILOG: Final = epilog(
    {
        "edgeagent mcp": "for a client that starts it, and talks over stdin and stdout",
        "edgeagent mcp --app examples/my_robot.py --yes": "your own robot, which asks nobody first",
        "edgeagent mcp --http 8766": "at http://127.0.0.1:8766/mcp, for clients that have the token",
    },
    tools="say, ask, stop and status. stop ends everything that moves at once; motion stays off until the command is "
    "started again.",
    exit_code="0 the client left · 2 wrong usage or settings · 3 the model · 130 Ctrl-C",
)
_KEPT_IN: Final = "mcp-token"
"""Name of the token's file in the user's folder for settings."""


@options.tabled
def serve_mcp(
    http: Annotated[
        int | None,
        typer.Option("--http", metavar="PORT", min=0, max=65535, help="Serve this machine's programs; 0 is any port."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="Of --http: keeps the token. [dim](in your folder for settings)[/]"
        ),
    ] = None,
    output: options.Output = None,
    *,
    robot: options.RobotOptions,
    deadline: options.Deadline = None,
    run: options.RunOptions,
    yes: options.Yes = False,
) -> None:
    """Serve the robot to other programs, as tools of the Model Context Protocol."""
    with exits.guarded():
        from edgeagent.mcp_tools import need_package

        need_package("edgeagent mcp")
        exits.watch(screen=False)
        chosen = options.settings(run.config, robot, run, deadline_s=deadline, audio__output=output)
        _serve(chosen, http=http, token_file=token_file, always=yes)


def _serve(config: Config, *, http: int | None, token_file: Path | None, always: bool) -> None:
    """Serves until the client leaves, or a signal.

    Raises:
        ConfigError, ModelError: It cannot begin.
    """
    from edgeagent.app import build
    from edgeagent.cli.activity import Approvals
    from edgeagent.mcp_agent import AgentDoor, Loudspeaker, Serving, protocol_server

    begin = _over_stdin if http is None else _over_http(http, token_file)
    with closing(Loudspeaker(config)) as loudspeaker, build(config, live=True) as app, exits.ending():
        sessions.remember(app)
        app.person = Approvals(lambda question: None, always=always)
        for note in app.notes:
            streams.warn(note)
        door = AgentDoor(app, loudspeaker)
        with Serving(begin(protocol_server(door))) as serving:
            try:
                app.load()  # meanwhile clients are answered, which do not wait for ever
                serving.wait()
            finally:
                door.leave()


def _over_stdin(server: Server[Any]) -> Callable[[], Awaitable[None]]:
    from edgeagent.mcp_agent.serving import serve_streams

    if sys.stdin.isatty():
        streams.tell("speaking MCP over stdin and stdout, for a client that starts this command; Ctrl-D ends", "dim")
    stdin, stdout = sys.stdin.fileno(), streams.stdout().fileno()
    return lambda: serve_streams(server, stdin, stdout)


def _over_http(port: int, token_file: Path | None) -> Callable[[Server[Any]], Callable[[], Awaitable[None]]]:
    """Takes the port and the token now, so that what is wrong is told before the model loads."""
    import platformdirs

    from edgeagent.mcp_agent.serving import HOST, PATH, serve_http
    from edgeagent.web import listen
    from edgeagent.web.access import kept_token

    path = token_file or platformdirs.user_config_path("edgeagent") / _KEPT_IN
    is_new = not path.exists()
    token = kept_token(path)
    listening = listen(HOST, port)

    def begin(server: Server[Any]) -> Callable[[], Awaitable[None]]:
        streams.tell(f"serving MCP at http://{HOST}:{listening.getsockname()[1]}{PATH}; the token is in {path}")
        if is_new and sys.stderr.isatty():  # a file that takes stderr is a log
            streams.tell(f"token: {token}")
        return lambda: serve_http(server, listening, token)

    return begin
