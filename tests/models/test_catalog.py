"""The catalogue: what it says of each model, and what is wrong with one of somebody's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgeagent.errors import ConfigError
from edgeagent.models import LanguageModel, Recogniser, Voice, entries, language_models, read, recognisers, voices

WHOLE = """
[voice.ann]
description = "a woman"
licence = "CC0-1.0"
engine = "piper"
languages = ["en"]
hub = { repo = "people/voices", revision = "v1", folder = "en/ann" }
files = [{ name = "ann.onnx", bytes = 3, sha256 = "<h>" }, { name = "ann.onnx.json" }]
packages = [
    {package = "a-1", version = "1", bytes = 9, sha256 = "<h>", members = { "ann.onnx" = "1", "ann.onnx.json" = "j" }},
    { package = "ann-two", version = "1.0", bytes = 9, sha256 = "<h>", members = { "ann.onnx" = "2" } },
]
""".replace("<h>", "a" * 64)


def catalogue(folder: Path, text: str) -> Path:
    path = folder / "catalog.toml"
    path.write_text(text)
    return path


def test_every_entry_names_its_sources_and_what_its_files_are_compared_with() -> None:
    assert {kind: len(found()) for kind, found in KINDS.items()} == {"llm": 18, "recogniser": 6, "voice": 11}
    for entry in entries().values():
        assert entry.licence
        assert entry.description
        assert entry.packaged or entry.hub
        if entry.hub:
            assert entry.hub.repo.count("/") == 1
        if entry.packages:
            assert all(file.bytes and file.sha256 for file in entry.files)
            assert entry.compared


KINDS = {"llm": language_models, "recogniser": recognisers, "voice": voices}


def test_a_language_model_is_one_gguf_a_whisper_four_files_and_a_voice_two() -> None:
    for entry in entries().values():
        names = [file.name for file in entry.files]
        match entry:
            case LanguageModel():
                assert re.fullmatch(r"\S+\.gguf", " ".join(names))
            case Recogniser(engine="whisper"):
                assert names == ["model.bin", "config.json", "tokenizer.json", "vocabulary.txt"]
            case Voice(engine="piper"):
                assert re.fullmatch(r"(\S+\.onnx) \1\.json", " ".join(names))
            case Voice(engine="hibari", packaged=False):
                assert re.fullmatch(r"\S+\.onnx", " ".join(names))


def test_no_two_models_share_a_file() -> None:
    files = [(type(entry), file.name) for entry in language_models().values() for file in entry.files]
    assert len(set(files)) == len(files)


def test_an_entry_is_read_with_its_types(tmp_path: Path) -> None:
    entry = read(catalogue(tmp_path, WHOLE))["ann"]
    assert isinstance(entry, Voice)
    assert entry.hub is not None
    assert (entry.hub.repo, entry.hub.revision, entry.hub.folder) == ("people/voices", "v1", "en/ann")
    assert [package.members for package in entry.packages] == [
        {"ann.onnx": "1", "ann.onnx.json": "j"},
        {"ann.onnx": "2"},
    ]
    assert entry.bytes is None


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('licence = "CC0-1.0"', 'licence = "CC0-1.0"\nlicense = "CC0-1.0"', "voice.ann: unknown key 'license'"),
        ('revision = "v1"', 'tag = "v1"', "voice.ann.hub: unknown key 'tag'"),
        ('{ name = "ann.onnx.json" }', '{ name = "ann.onnx.json", size = 1 }', r"files\[1\]: unknown key 'size'"),
        ("[voice.ann]", "[mind.ann]", "unknown key 'mind'"),
        ('licence = "CC0-1.0"\n', "", "the key 'licence' is missing"),
        ('engine = "piper"', 'engine = "festival"', "voice.ann.engine: 'festival' is none of espeak, hibari, piper"),
        ("bytes = 3", 'bytes = "3"', r"files\[0\].bytes: '3' is of the wrong type"),
        ("bytes = 3", "bytes = true", r"files\[0\].bytes: True is of the wrong type"),
        ('languages = ["en"]', 'languages = "en"', "languages: 'en' is of the wrong type"),
        ('"ann.onnx" = "2"', '"bob.onnx" = "2"', "members of its packages are not its files"),
        ('{ name = "ann.onnx.json" }', '{ name = "../ann.json" }', "is no name of a file"),
        ("a" * 64, "a" * 63, "is no sha256"),
        ("a" * 64, "A" * 64, "is no sha256"),
        ("[voice.ann]", '[voice.ann]\nname = "eve"', "no table of a model's keys"),
        ("[voice.ann]", "[voice.ann", "can't be read"),
    ],
)
def test_what_is_wrong_with_a_catalogue_is_told_with_its_key(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in WHOLE
    with pytest.raises(ConfigError, match=complaint):
        read(catalogue(tmp_path, WHOLE.replace(old, new)))


def test_a_name_belongs_to_one_model(tmp_path: Path) -> None:
    second = WHOLE.replace("[voice.ann]", "[recogniser.ann]").replace("piper", "whisper")
    with pytest.raises(ConfigError, match=r"recogniser\.ann: two models have this name"):
        read(catalogue(tmp_path, WHOLE + second))


def test_an_entry_without_a_source_is_wrong(tmp_path: Path) -> None:
    without = WHOLE[: WHOLE.index("packages")].replace("hub =", "#")
    with pytest.raises(ConfigError, match="names no source"):
        read(catalogue(tmp_path, without))
