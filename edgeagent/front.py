"""Fronts of rooms: names of a package that are loaded when they are first used, so that importing it costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def front(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Makes the ``__getattr__`` of a package.

    Args:
        package: The package's ``__name__``.
        homes: Names by the module that has them, relative to the package: ``{"latch": "LatchState SafetyLatch"}``.
    """
    home_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    load.names = tuple(home_of)  # type: ignore[attr-defined]  # what a front has, for those who list it
    return load
