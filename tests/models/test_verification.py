"""Files of models against their sha256."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from edgeagent.models import Entry, File, Pulled, entries, store, verify


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    files = (File(name="known", sha256=digest(b"right")), File(name="unknown"))
    entry = replace(entries()["tiny.en"], files=files, packages=())
    store.folder(entry).mkdir(parents=True)
    (store.folder(entry) / "known").write_bytes(b"right")
    (store.folder(entry) / "unknown").write_bytes(b"something")
    return entry


def verdicts(model: Entry) -> list[str]:
    return [finding.verdict for finding in verify(model)]


def note(model: Entry, name: str, content: bytes, *, accepted: bool = False) -> None:
    pulled = Pulled(bytes=len(content), sha256=digest(content), source="hub", date="2026-11-22", accepted=accepted)
    store.record(model, {name: pulled})


def test_a_file_is_compared_with_the_catalogue_and_one_that_it_does_not_know_with_its_pull(model: Entry) -> None:
    assert verdicts(model) == ["ok", "unknown"]
    note(model, "unknown", b"something")
    assert verdicts(model) == ["ok", "ok"]
    note(model, "unknown", b"something else")
    assert verdicts(model) == ["ok", "differs"]


def test_a_changed_file_and_a_missing_one_are_found(model: Entry) -> None:
    (store.folder(model) / "known").write_bytes(b"wrong")
    (store.folder(model) / "unknown").unlink()
    changed, missing = verify(model)
    assert (changed.verdict, missing.verdict) == ("differs", "missing")
    assert digest(b"right") in changed.text
    assert digest(b"wrong") in changed.text


def test_a_note_overrules_the_catalogue_only_if_a_person_accepted_it(model: Entry) -> None:
    (store.folder(model) / "known").write_bytes(b"newer")
    note(model, "known", b"newer")
    assert verdicts(model)[0] == "differs"
    note(model, "known", b"newer", accepted=True)
    found = verify(model)[0]
    assert (found.verdict, found.text) == ("ok", "has the sha256 accepted on 2026-11-22")
