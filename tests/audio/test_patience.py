"""Waiting for a sound system that may never answer."""

from __future__ import annotations

import threading

import pytest

from edgeagent.audio import patiently
from edgeagent.errors import AudioError


def test_what_comes_back_comes_back() -> None:
    assert patiently(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        patiently(lambda: 1 // 0)


def test_what_does_not_come_back_is_left_behind() -> None:
    release = threading.Event()
    try:
        with pytest.raises(AudioError, match="did not answer"):
            patiently(lambda: release.wait(60), limit_s=0.05)
    finally:
        release.set()
