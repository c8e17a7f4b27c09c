"""The table of the settings agrees with what is set: same names, same defaults, same choices."""

import dataclasses
import inspect
from typing import Any, get_args, get_type_hints

import pytest

from edgeagent import PII, Options, Session
from edgeagent.agent import CALLBACKS, CHOICES
from edgeagent.app import ENGINES, MAX_TOOL_HOPS, NAME
from edgeagent.audio import Mode
from edgeagent.config import SETTINGS, TABLES, Config, Setting
from edgeagent.journal import Durability
from edgeagent.json_lines import FILES, MAX_MB
from edgeagent.llm import EngineSettings, LlamaLLM
from edgeagent.voice import PRESETS

NO_VALUES = {"on_event", "orchestrator"}
"""Options that only Python can say, beside the callbacks."""
ONLY_PYTHON = {"agent", "resolve_model", "audit_session_id", "out", "status", "options"}
"""Keywords of a session that need an object, or that every session has anew."""


def of(owner: str) -> dict[str, Setting]:
    """The rows of an owner, by its own names."""
    rows = {row.kept.rpartition(".")[2]: row for row in SETTINGS.values() if row.of == owner}
    if owner == "options":
        rows |= {row.kept.partition(".")[2]: row for row in SETTINGS.values() if row.kept.startswith("options.")}
    return rows


def told(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(getattr(default, "value", default))


def test_every_option_that_is_a_value_is_a_setting() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(Options)}
    values = fields.keys() - CALLBACKS - NO_VALUES
    rows = of("options") | {"deadline_s": SETTINGS["deadline_s"]}
    assert rows.keys() == values
    for name, row in of("options").items():
        if fields[name] is not None:
            assert row.default == told(fields[name]), name


def test_every_keyword_of_a_session_that_is_a_value_is_a_setting() -> None:
    parameters = inspect.signature(Session.__init__).parameters
    rows = of("history")
    assert rows.keys() | {"path", "pii", "audit"} == parameters.keys() - ONLY_PYTHON - {"self"}
    for name, row in rows.items():
        if parameters[name].default not in (None, ()):
            assert row.default == told(parameters[name].default), name


def test_what_is_said_of_the_model_is_a_keyword_of_it() -> None:
    assert of("llm").keys() <= inspect.signature(LlamaLLM.__init__).parameters.keys()
    engine = {row.kept.partition(".")[2]: row for row in SETTINGS.values() if row.kept.startswith("engine.")}
    fields = {field.name: field.default for field in dataclasses.fields(EngineSettings)}
    assert engine.keys() - {"context_window"} == fields.keys() - {"prefix_file_after_s"}
    for name in engine.keys() & fields.keys():
        if fields[name] is not None:
            assert engine[name].default == told(fields[name]), name


def test_rotation_is_that_of_every_log() -> None:
    config = Config()
    assert (config.log_max_mb, config.log_files) == (config.audit_max_mb, config.audit_files) == (MAX_MB, FILES)


def test_the_house_robots_own_defaults_are_told() -> None:
    assert SETTINGS["name"].default == NAME
    assert f"{MAX_TOOL_HOPS} for the house robot" in SETTINGS["max_tool_hops"].default


def test_the_choices_of_a_setting_are_those_of_what_it_sets() -> None:
    options = {name: tuple(map(str, CHOICES[name])) for name in CHOICES}
    choices = {row.kept: row.choices for row in SETTINGS.values() if row.choices}
    hints = get_type_hints(EngineSettings)
    assert choices == {
        "tool_choice": options.pop("tool_choice"),
        **{f"options.{name}": values for name, values in options.items()},
        "durability": get_args(Durability),
        **{f"pii.{field.name}": get_args(get_type_hints(PII)[field.name]) for field in dataclasses.fields(PII)},
        "engine.kv_type": get_args(hints["kv_type"]),
        "engine.flash_attention": get_args(hints["flash_attention"]),
        "audio.echo": get_args(Mode),
        "ears.engine": ENGINES,
        "conversation.barge_in": tuple(PRESETS),
    }


@pytest.mark.parametrize("row", SETTINGS.values(), ids=SETTINGS)
def test_every_row_can_be_kept_and_is_told(row: Setting) -> None:
    place = row.kept.partition(".")[0]
    assert place in {field.name for field in dataclasses.fields(Config)}
    assert row.what
    assert row.default
    if row.kind in ("number", "integer"):
        assert row.low < row.high < float("inf")


def test_variables_and_flags_are_unique_and_experts_have_none() -> None:
    for names in ([row.variable for row in SETTINGS.values()], [row.flag for row in SETTINGS.values()]):
        given = [name for name in names if name]
        assert len(given) == len(set(given))
    for name, row in SETTINGS.items():
        if name.startswith("expert."):
            assert (row.variable, row.flag) == (None, None), name
        else:
            assert row.variable, name
    assert "expert" in TABLES
