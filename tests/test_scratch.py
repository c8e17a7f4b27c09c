"""Folders that are gone afterwards."""

import tempfile
from pathlib import Path

import pytest

from edgeagent.resources import scratch_folder


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_it_is_ones_own_and_gone_with_all_that_is_in_it(tmp_path: Path) -> None:
    with scratch_folder("a-") as one, scratch_folder("a-") as other:
        assert one != other
        assert {path.parent for path in (one, other)} == {tmp_path}
        assert one.stat().st_mode & 0o777 == 0o700
        (one / "folder").mkdir()
        (one / "folder" / "file").write_text("text")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_it_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Path.mkdir

    def interrupted(path: Path, mode: int = 0o777) -> None:
        make(path, mode)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), scratch_folder("a-"):
        pass
    assert list(tmp_path.iterdir()) == []
