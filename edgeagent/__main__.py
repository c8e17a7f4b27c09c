"""The command ``edgeagent``, and ``python -m edgeagent``: Ctrl-C while it still loads ends it without a traceback."""

from __future__ import annotations

import signal


def main() -> None:
    """Load the command line, and run it; always ends with SystemExit."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # in the background of a script it is ignored, and stays so
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from edgeagent.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
