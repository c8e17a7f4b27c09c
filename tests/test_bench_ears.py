"""``scripts/bench ears``: which recordings it takes, and how it counts; what the robot does with what it hears."""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from edgeagent.errors import ConfigError
from edgeagent.stt import RATE_HZ, RecognisedText, Recordings


@pytest.fixture
def bench(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(checkout / "scripts" / "lab"))
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    from bench import ears_recordings

    return ears_recordings


def kept(folder: Path, *texts: str) -> None:
    """As ``edgeagent listen --record`` does."""
    recordings = Recordings(folder)
    for text in texts:
        recordings.keep(np.full(RATE_HZ // 2, 0.1, np.float32), RecognisedText(text, raw=text))


def test_what_listen_keeps_is_taken(bench: ModuleType, tmp_path: Path) -> None:
    kept(tmp_path, "turn left", "drive 2 meters")
    found, wrong = bench.recordings(tmp_path)
    assert [(one.file, one.text, one.words) for one in found] == [
        ("0001.wav", "turn left", 2),
        ("0002.wav", "drive 2 meters", 3),
    ]
    assert len(found[0].sound) == RATE_HZ // 2
    assert not wrong


def test_a_line_that_can_not_be_used_is_told_and_the_others_count(bench: ModuleType, tmp_path: Path) -> None:
    kept(tmp_path, "turn left")
    with (tmp_path / bench.TRANSCRIPTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"file": "0007.wav", "text": "it is not there"}) + "\n\nno json\n[1]\n")
    found, wrong = bench.recordings(tmp_path)
    assert len(found) == 1
    assert [text.partition(":")[0] for text in wrong] == [
        "0007.wav",
        "transcripts.jsonl, line 4",
        "transcripts.jsonl, line 5",
    ]


def test_a_folder_without_recordings_is_refused(bench: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"transcripts\.jsonl can't be read"):
        bench.recordings(tmp_path)
    kept(tmp_path)
    with pytest.raises(ConfigError, match="it is empty"):
        bench.recordings(tmp_path)


def test_words_are_counted_against_the_corrected_text(bench: ModuleType) -> None:
    one = bench.Recorded("0001.wav", "drive 2 meters forward", np.zeros(1, np.float32))
    one.heard["both"] = RecognisedText("", raw="drive two meters for")
    assert one.words == 4
    assert one.wrong("both") == 1


def test_what_a_spoken_text_makes_the_robot_do_is_what_it_is_let_do(bench: ModuleType) -> None:
    from bench import ears_words

    with ears_words.acting() as calls:
        assert calls("go to the kitchen") == ("go_to",)
        assert calls("my sister went to the kitchen") == ()
