"""An app's language model: built in seconds, kept, and built again when it is damaged."""

import logging
import os
import threading
import time
from pathlib import Path

import pytest

from edgeagent.errors import RecognitionError
from edgeagent.stt import app_model, build, sentences

SENTENCES = sentences(["go to the kitchen", "robi scan with the lidar", "drive 2 m"])


def test_a_model_is_built_once(tmp_path: Path) -> None:
    made = build(SENTENCES, cache=tmp_path)
    written = made.language.stat().st_mtime_ns
    assert set(made.guessed) == {"lidar", "robi"}
    assert "lidar L AY D AA R\n" in made.dictionary.read_text()
    assert build(SENTENCES, cache=tmp_path) == made
    assert made.language.stat().st_mtime_ns == written


def test_another_input_is_another_model(tmp_path: Path) -> None:
    first = build(SENTENCES, cache=tmp_path)
    assert build([*SENTENCES, "stop"], cache=tmp_path).language != first.language
    assert build(SENTENCES, said={"robi": "R OW B IY"}, cache=tmp_path).language != first.language


@pytest.mark.parametrize("damage", ["cut", "empty", "words", "no sums", "not json", "other json", "gone"])
def test_a_damaged_model_is_built_again_with_a_notice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    made = build(SENTENCES, cache=tmp_path)
    good, sums = made.language.read_bytes(), made.language.parent / "sums.json"
    match damage:
        case "cut":
            made.language.write_bytes(good[:-100])
        case "empty":
            made.language.write_bytes(b"")
        case "words":
            made.dictionary.write_text("go G OW\n")
        case "no sums":
            sums.unlink()
        case "not json":
            sums.write_bytes(b"\xff{")
        case "other json":
            sums.write_text("[1]")
        case "gone":
            made.language.unlink()
    with caplog.at_level(logging.WARNING, "edgeagent.stt"):
        again = build(SENTENCES, cache=tmp_path)
    assert again.language.read_bytes() == good
    assert "built again" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == [made.language.parent.name]


def test_several_may_build_at_once(tmp_path: Path) -> None:
    made = []
    threads = [threading.Thread(target=lambda: made.append(build(SENTENCES, cache=tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(made) == 4
    assert len(set(made)) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_two_thousand_phrases_are_built_in_seconds(tmp_path: Path) -> None:
    words = [word for word in sorted(app_model.known_words()) if word.isalpha()][::50]
    phrases = [f"bring the {words[n % len(words)]} to {words[-n * 7 % len(words)]} {n}" for n in range(2000)]
    start_s = time.process_time()
    made = build(sentences(phrases), cache=tmp_path)
    assert time.process_time() - start_s < 4
    assert made.words > 1000


def test_old_models_go(tmp_path: Path) -> None:
    for number in range(app_model.KEPT + 3):
        made = build([*SENTENCES, "stop " * (number + 1)], cache=tmp_path)
        os.utime(made.language.parent, (number, number))
    assert len(list(tmp_path.iterdir())) == app_model.KEPT


def test_all_models_have_a_limit_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(SENTENCES, cache=tmp_path)
    size = sum(file.stat().st_size for file in first.language.parent.iterdir())
    made = [first, *(build([*SENTENCES, word], cache=tmp_path) for word in ("stop", "turn", "left", "right"))]
    for age, model in enumerate(reversed(made)):
        os.utime(model.language.parent, (1000 - age, 1000 - age))
    monkeypatch.setattr(app_model, "KEPT_BYTES", int(3.5 * size))
    newest = build([*SENTENCES, "back"], cache=tmp_path)
    kept = [model for model in [*made, newest] if model.language.exists()]
    assert kept == [*made[-2:], newest]


def test_what_can_not_be_built_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecognitionError, match="needs phrases"):
        build([], cache=tmp_path)


def test_a_cache_that_can_not_be_touched_is_as_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = build(SENTENCES, cache=tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("somebody else's")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(app_model.tempfile, "mkdtemp", refuse)
    assert build(SENTENCES, cache=tmp_path) == made


def test_where_the_cache_can_not_be_written_to_there_is_a_model_for_now_and_a_notice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING, "edgeagent.stt"):
        made = build(SENTENCES, cache=tmp_path / "file" / "cache")
    assert made.language.is_file()
    assert "can't be written to" in caplog.text
    assert build(SENTENCES, cache=tmp_path / "file" / "cache") == made


def test_of_the_dictionary_only_what_is_asked_for_is_kept() -> None:
    every = app_model.known_words()
    assert len(every) > 100_000
    assert app_model.known_words({"kitchen", "the", "qqq"}) == {word: every[word] for word in ("kitchen", "the")}
