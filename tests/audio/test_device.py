"""Devices: a sound system that may never answer, and the program that has a card."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from edgeagent.audio import holder_of_cards, patiently
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


def test_who_has_a_sound_card_is_named(tmp_path: Path) -> None:
    cards, processes = tmp_path / "asound", tmp_path / "proc"
    status = cards / "card0" / "pcm0p" / "sub0" / "status"
    status.parent.mkdir(parents=True)
    status.write_text("closed\n")
    assert holder_of_cards(cards, processes) is None
    status.write_text("state: RUNNING\nowner_pid   : 4242\n")
    assert holder_of_cards(cards, processes) == "a program (process 4242)"
    (processes / "4242").mkdir(parents=True)
    (processes / "4242" / "comm").write_text("aplay\n")
    assert holder_of_cards(cards, processes) == "aplay (process 4242)"
    assert holder_of_cards(tmp_path / "none", processes) is None
