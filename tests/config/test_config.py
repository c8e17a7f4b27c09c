"""Settings: which source wins, and what a wrong one says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.config import Config, line_of_key, load_config
from edgeagent.errors import ConfigError


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(tmp_path: Path, text: str) -> str:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load_config(path, environ={})
    return str(raised.value).replace(str(path), "FILE")


def test_without_anything_there_are_defaults() -> None:
    config = load_config(environ={})
    assert config == Config()
    assert (config.model, config.speed, config.seed, config.deadline_s) == ("nano", 1.0, 0, 120.0)
    assert not config.given


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "speed = 2\nseed = 2\ndeadline_s = 2\n")
    environ = {"EDGEAGENT_SEED": "3", "EDGEAGENT_DEADLINE": "3"}
    config = load_config(path, environ=environ, flags={"deadline_s": 4.0, "speed": None})
    assert (config.speed, config.seed, config.deadline_s) == (2.0, 3, 4.0)
    assert config.given == {"speed", "seed", "deadline_s"}


def test_every_setting_can_stand_in_the_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'model = "qwen3-0.6b"\napp = "robot.py"\nspeed = 10\nseed = 7\ndeadline_s = 30.5\nlog = "/tmp/log"\n'
        "max_tokens = 99\ntemperature = 0\n",
    )
    config = load_config(path, environ={})
    assert config.model == "qwen3-0.6b"
    assert config.app == tmp_path / "robot.py", "relative to the file"
    assert config.log == Path("/tmp/log")  # noqa: S108
    assert (config.speed, config.seed, config.deadline_s) == (10.0, 7, 30.5)
    assert (config.max_tokens, config.temperature) == (99, 0.0)
    assert isinstance(config.speed, float)


def test_pronunciations_are_a_table_or_a_variable(tmp_path: Path) -> None:
    said = {"robi": "R OW B IY", "lidar": "L AY D AA R"}
    path = write(tmp_path, "[ears.said]\n" + "\n".join(f'{word} = "{phones}"' for word, phones in said.items()))
    assert load_config(path, environ={}).ears == {"said": said}
    text = "robi=R OW B IY, lidar = L AY D AA R"
    assert load_config(environ={"EDGEAGENT_SAID": text}).ears == {"said": said}


def test_a_model_that_is_a_path_begins_at_the_file_too(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, 'model = "my.gguf"'), environ={}).model == str(tmp_path / "my.gguf")
    assert load_config(environ={"EDGEAGENT_MODEL": "my.gguf"}).model == "my.gguf"


def test_the_users_own_file_counts_if_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "config/edgeagent/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("seed = 11")
    assert load_config(environ={}).seed == 11
    assert load_config(write(tmp_path, ""), environ={}).seed == 0, "a file that is named replaces it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('modle = "nano"', "FILE:1: there is no setting 'modle'; did you mean 'model'?"),
        ("# one\nseed = 1\n\n  sped = 3", "FILE:4: there is no setting 'sped'; did you mean 'speed'?"),
        ("deadline = 3", "FILE:1: there is no setting 'deadline'; did you mean 'deadline_s'?"),
        ("SEED = 3", "FILE:1: there is no setting 'SEED'; did you mean 'seed'?"),
        ('seed = 1\n"modle" = 3', "FILE:2: there is no setting 'modle'"),
        ("seed = 1\nmodle.name = 3", "FILE:2: there is no setting 'modle'"),
        ("seed = 1\n\n[quokka]\nspeed = 3", "FILE:3: there is no setting 'quokka'; there are model, fallback_models, "),
        ("[[seed]]", "FILE:1: seed: should be a whole number, not a list"),
        ("model = '''\nspeed\n'''\nquokka = '''\nspeed = 1\n'''", "FILE:4: there is no setting 'quokka'"),
        ("seed = [\n 1,\n 2,\n]\n", "FILE:1: seed: should be a whole number, not a list"),
        ('speed = "fast"', "FILE:1: speed: should be a number, not 'fast'"),
        ("speed = true", "FILE:1: speed: should be a number, not true"),
        ("speed = 1e9", "FILE:1: speed: should be from 0.1 to 1000, not 1000000000.0"),
        ("speed = nan", "FILE:1: speed: should be from 0.1 to 1000, not nan"),
        ("seed = 1.5", "FILE:1: seed: should be a whole number, not 1.5"),
        ("seed = -1", "FILE:1: seed: should be 0 or more, not -1"),
        (f"seed = {2**63}", f"FILE:1: seed: should be 0 or more and at most {2**63 - 1}, not {2**63}"),
        ("deadline_s = 0", "FILE:1: deadline_s: should be from 0.001 to 1000000 seconds, not 0"),
        ("model = 3", "FILE:1: model: should be a text, not 3"),
        ('model = ""', "FILE:1: model: should be a text, not ''"),
        ("[model]\nname = 3", "FILE:1: model: should be a text, not a table"),
        ("app = 1979-05-27", "FILE:1: app: should be a path, not 1979-05-27"),
        ('[ears]\nsaid = "robi"', "FILE:2: ears.said: should be words with their phones, such as robi = "),
        ("[ears]\n[ears.said]\nrobi = 1", "FILE:2: ears.said: should be words with their phones"),
        ('[audio]\n\necho = "foo"', "FILE:3: audio.echo: should be one of webrtc, hardware, off, not 'foo'"),
        ('[conversation]\nbarge_in = "loud"', "FILE:2: conversation.barge_in: should be one of eager, balanced, "),
        ('[ear]\nengine = "hal"', "FILE:1: there is no setting 'ear'; did you mean 'ears'?"),
        ("seed = 1\r\nspeed = 2\r\nmodle = 3\r\n", "FILE:3: there is no setting 'modle'"),
        ("seed = 1\nspeed = \n", "FILE:2: this is not TOML: Invalid value"),
        ("seed = 1\nseed = 2\n", "this is not TOML: Cannot overwrite a value"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(text.encode())
    with pytest.raises(ConfigError) as raised:
        load_config(path, environ={})
    assert said in str(raised.value).replace(str(path), "FILE")


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot read the settings: "):
        load_config(tmp_path / name, environ={})


def test_a_file_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"# caf\xe9\nseed = 1")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 5"):
        load_config(tmp_path / "a.toml", environ={})


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfseed = 5")
    assert load_config(tmp_path / "a.toml", environ={}).seed == 5


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("EDGEAGENT_SPEED", "fast", "EDGEAGENT_SPEED: should be a number, not 'fast'"),
        ("EDGEAGENT_SEED", "1.5", "EDGEAGENT_SEED: should be a whole number, not '1.5'"),
        ("EDGEAGENT_DEADLINE", "-1", "EDGEAGENT_DEADLINE: should be from 0.001"),
        ("EDGEAGENT_MAX_TOKENS", "0", "EDGEAGENT_MAX_TOKENS: should be 1 or more, not 0"),
        ("EDGEAGENT_SAID", "robi", "EDGEAGENT_SAID: should be words with their phones"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_config(environ={variable: text})


def test_an_empty_variable_is_none() -> None:
    assert load_config(environ={"EDGEAGENT_SEED": "", "EDGEAGENT_MODEL": ""}) == Config()


def test_a_wrong_flag_is_named() -> None:
    with pytest.raises(ConfigError, match=r"--speed: should be from 0\.1 to 1000, not 0\.0"):
        load_config(environ={}, flags={"speed": 0.0})


@given(st.data())
def test_the_line_of_a_key_is_found_whatever_stands_around_it(data: st.DataObject) -> None:
    others = st.sampled_from(
        [
            "# wanted = 1",
            "",
            '"x%d" = """\nwanted = 1\n"""',
            "x%d = [\n  1, # wanted = 2\n]",
            "x%d.wanted = 1",
            "x%d = '#'",
        ]
    )
    before = [text.replace("%d", str(i)) for i, text in enumerate(data.draw(st.lists(others, max_size=6)))]
    wanted = data.draw(
        st.sampled_from(["wanted = 1", "  'wanted' = [\n1]", "wanted.a = 1", '"w\\u0061nted"=1', "[wanted]"])
    )
    after = data.draw(st.sampled_from(["", "\n[z]\nwanted = 3", "\n# wanted"]))
    text = "\n".join([*before, wanted]) + after
    expected = sum(item.count("\n") + 1 for item in before) + 1
    assert line_of_key(text, "wanted") == expected


def test_the_engines_table_has_its_own_keys(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('model = "nano"\n[engine]\nthreads = 3\ngpu_layers = 0\n')
    config = load_config(file, environ={"EDGEAGENT_THREADS": "2"})
    assert config.engine == {"threads": 2, "gpu_layers": 0}


def test_what_an_expert_turns_is_kept_where_it_belongs(tmp_path: Path) -> None:
    text = '[expert]\nmlock = true\nkv_type = "q8_0"\nears_threads = 2\nmax_s = 10\non_budget = "final_answer"\n'
    config = load_config(write(tmp_path, text), environ={})
    assert config.engine == {"mlock": True, "kv_type": "q8_0"}
    assert config.ears == {"threads": 2, "max_s": 10.0}
    assert config.keywords("options") == {"on_budget": "final_answer"}


def test_keywords_are_what_somebody_set_zero_included(tmp_path: Path) -> None:
    text = 'temperature = 0\nmax_turns = 4\ntool_choice = "required_first"\ncompaction_target = 40\n'
    config = load_config(write(tmp_path, text), environ={"EDGEAGENT_DURABILITY": "power"})
    assert config.keywords("options") == {"temperature": 0.0, "max_turns": 4, "tool_choice": "required_first"}
    assert config.keywords("history") == {"compaction_target": 40, "durability": "power"}
    assert Config().keywords("options") == Config().keywords("history") == Config().keywords("llm") == {}


def test_a_word_for_personal_data_is_all_of_the_table(tmp_path: Path) -> None:
    everywhere = {"user": "redact", "tools": "redact", "log": "redact"}
    assert load_config(write(tmp_path, 'pii = "redact"'), environ={}).pii == everywhere
    assert load_config(write(tmp_path, '[pii]\nuser = "warn"'), environ={}).pii == {"user": "warn"}


def test_fallback_models_are_a_list_one_name_or_a_variable(tmp_path: Path) -> None:
    path = write(tmp_path, 'fallback_models = ["qwen3-0.6b", "my.gguf"]')
    assert load_config(path, environ={}).fallback_models == ("qwen3-0.6b", str(tmp_path / "my.gguf"))
    assert load_config(write(tmp_path, 'fallback_models = "nano"'), environ={}).fallback_models == ("nano",)
    assert load_config(environ={"EDGEAGENT_FALLBACK_MODELS": "a, b"}).fallback_models == ("a", "b")


def test_a_text_with_a_slash_is_a_path_only_where_a_file_may_stand(tmp_path: Path) -> None:
    path = write(tmp_path, 'instructions = "Answer yes/no."\nmodel = "models/a.gguf"')
    config = load_config(path, environ={})
    assert (config.instructions, config.model) == ("Answer yes/no.", str(tmp_path / "models/a.gguf"))


def test_a_variable_that_is_no_setting_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    unknown = {"EDGEAGENT_SPED": "3", "EDGEAGENT_KV_TYPE": "q8_0", "EDGEAGENT_ZZZZZ": "1"}
    elsewhere = {"EDGEAGENT_MODELS": "/models", "EDGEAGENT_EMBEDDED": "1"}
    known = elsewhere | {"EDGEAGENT_SEED": "1", "_EDGEAGENT_COMPLETE": "x", "SPED": "3"}
    assert load_config(environ=unknown | known) == load_config(environ=known)
    assert caplog.messages[:3] == [
        "there is no setting EDGEAGENT_KV_TYPE; it has no variable, set 'expert.kv_type' in a file",
        "there is no setting EDGEAGENT_SPED; did you mean EDGEAGENT_SPEED?",
        "there is no setting EDGEAGENT_ZZZZZ; docs/reference/config.md lists them",
    ]
    assert len(caplog.messages) == 3


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("[engine]\nthread = 3\n", 2, "engine.threads"),
        ("seed = 1\n[engine]\n\nthreads = 0\n", 4, "from 1 to 1024"),
        ("[expert]\nmlock = 1\n", 2, "true or false"),
        ("[engine]\nmlock = true\n", 2, "did you mean 'expert.mlock'"),
        ("engine = 3\n", 1, r"engine is a table: write \[engine\], and its settings below, such as context_window"),
        ("seed = 1\naudio = 3\n", 2, r"audio is a table: write \[audio\], and its settings below, such as input"),
        ("[audio]\nx = 1\n", 2, "there is no setting 'audio.x'; there are input, output, channel"),
        ('seed = 1\npii = "some"\n', 2, "pii.user: should be one of off, warn, redact, not 'some'"),
        ("[[audio]]\ninput = 'USB'\n", 1, "audio is a table"),
        ("expert = true\n", 1, "expert is a table"),
        ('"audio[0].x" = 1\n', 1, "there is no setting"),
        ('"mcp[3].name" = "x"\n', 1, "there is no setting"),
        (f"seed = 0x{'f' * 5000}\n", 1, "not a number of 20,000 bits"),
    ],
)
def test_a_mistake_in_a_table_is_told_with_its_line(tmp_path: Path, text: str, line: int, word: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=rf":{line}: .*{word}"):
        load_config(file, environ={})


def test_a_number_of_thousands_of_digits_is_no_toml(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f"seed = {'1' * 5000}\n")
    with pytest.raises(ConfigError, match="this is not TOML"):
        load_config(file, environ={})


def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edgeagent.toml"
    path.write_text('speed = 2\nsession = "a\\u0000b"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"edgeagent\.toml:2: session: should be a path, not"):
        load_config(path, environ={})


def test_a_list_of_tables_is_read_item_by_item(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[[mcp]]\nname = "a"\ncommand = "server"\ncwd = "there"\nenv = { LANG = "C" }\n'
        '[[mcp]]\nname = "b"\nurl = "http://127.0.0.1/"\ntimeout_s = 5\n[[mcp]]\n'
    )
    config = load_config(path, environ={})
    assert config.mcp == (
        {"name": "a", "command": ("server",), "cwd": tmp_path / "there", "env": {"LANG": "C"}},
        {"name": "b", "url": "http://127.0.0.1/", "timeout_s": 5.0},
        {},
    )
    assert "mcp" in config.given


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('speed = 2\n\n[[mcp]]\nname = "a"\nenv = { A = 1 }', ":5: mcp.env: should be texts by their names, such as"),
        ('[[mcp]]\nname = "a"\n[[mcp]]\nname = 5', ":4: mcp.name: should be a text, not 5"),
        ('[[mcp]]\nnam = "a"', ":2: [[mcp]] has no setting 'nam'; did you mean 'name'?"),
        ("mcp = 5", ":1: mcp is a list of tables: write [[mcp]], and its settings below, such as name"),
    ],
)
def test_a_mistake_in_an_item_of_a_list_has_its_line(tmp_path: Path, written: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(written)
    with pytest.raises(ConfigError) as raised:
        load_config(path, environ={})
    assert told in str(raised.value)
