"""gpiozero, and errors that say what is wrong with a pin, for all that hangs on a Raspberry Pi's pins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgeagent.errors import ConfigError


def gpiozero(part: str) -> Any:
    """Imports gpiozero.

    Args:
        part: What needs it, for the error.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        # has no types, and is not everywhere
        import gpiozero  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise ConfigError(f'{part} needs gpiozero, not installed here: pip install "edgeagent[pi]"') from error
    return gpiozero


@contextmanager
def taking(*pins: int | None) -> Iterator[None]:
    """Names the pins in the error of whatever takes them in the block.

    Raises:
        ConfigError: A pin does not exist, something else has it, or this is no Raspberry Pi.
    """
    try:
        yield
    except Exception as error:  # lgpio, RPi.GPIO and gpiozero have errors of their own each
        named = ", ".join(str(pin) for pin in pins if pin is not None)
        raise ConfigError(
            f"pins {named} can't be used ({type(error).__name__}: {error}): is this a Raspberry Pi with lgpio, is this "
            "user in the group gpio, has another part or program the pin?"
        ) from error
