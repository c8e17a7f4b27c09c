"""What the settings give to an agent: which word counts, what reaches its runs, and the hooks of small models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgeagent import Agent, ModelError, Options, tool
from edgeagent.app import SMALL_WEIGHTS, App, Outfit, build
from edgeagent.config import Config, load_config
from edgeagent.errors import ConfigError
from edgeagent.testing import ScriptedLLM, call

APP = """
from edgeagent import Agent, Options, PII
from edgeagent.testing import ScriptedLLM
"""
MAIL = "write to ada@example.com"


@pytest.fixture
def app_file(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "my_robot.py"
        path.write_text(APP + text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Keywords of the models that the settings made, by name; a model called bad can't be used."""
    made: dict[str, dict[str, Any]] = {}

    def make(name: str, **keywords: Any) -> ScriptedLLM:
        made[name] = keywords
        if name == "bad":
            raise ModelError("bad is truncated")
        return ScriptedLLM(f"{name} says hello", name=name)

    monkeypatch.setattr("edgeagent.llm.llama.LlamaLLM", make)
    return made


def options_of(app: App) -> Options:
    assert app.session.options is not None
    return app.session.options


def from_file(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, environ={})


# --- which word counts ------------------------------------------------------------------------------------------------


def test_the_files_options_count_before_the_agents_and_the_settings_before_both(app_file: Any) -> None:
    path = app_file(
        "options = {'max_turns': 4, 'temperature': 0.4}\n"
        "agent = Agent('a', llm=ScriptedLLM(), options=Options(max_turns=5, temperature=0.5, max_tokens=50))"
    )
    with build(Config(app=path, temperature=0.0)) as app:
        options = options_of(app)
        assert (options.temperature, options.max_turns, options.max_tokens) == (0.0, 4, 50)


def test_whole_options_of_the_file_replace_the_agents(app_file: Any) -> None:
    path = app_file(
        "options = Options(max_turns=4)\nagent = Agent('a', llm=ScriptedLLM(), options=Options(max_tokens=50))"
    )
    with build(Config(app=path)) as app:
        assert (options_of(app).max_turns, options_of(app).max_tokens) == (4, 256)


@pytest.mark.parametrize(
    ("own", "config", "expected"),
    [
        ("", {}, 120),
        ("deadline_s=300", {}, 300),
        ("deadline_s=5", {}, 5),
        ("deadline_s=5", {"deadline_s": 60.0}, 60),
        ("deadline_s=5", {"given": frozenset({"deadline_s"})}, 120),
    ],
)
def test_the_deadline_is_that_of_the_settings_the_app_or_the_default(
    app_file: Any, own: str, config: dict[str, Any], expected: float
) -> None:
    path = app_file(f"agent = Agent('a', llm=ScriptedLLM(), options=Options({own}))")
    with build(Config(app=path, **config)) as app:
        assert options_of(app).deadline_s == expected


def test_the_files_session_keywords_count_and_the_settings_before_them(app_file: Any) -> None:
    path = app_file(
        "session = {'pii': PII(user='redact', tools='warn'), 'response_schema': {'type': 'object'}}\n"
        "agent = Agent('a', llm=ScriptedLLM('{}', '{}'))"
    )
    with build(Config(app=path)) as app:
        app.session.step(MAIL)
        request = app.agent.llm.requests[0]  # type: ignore[union-attr]
        assert request.messages[-1].text == "write to <EMAIL>"
        assert request.response_schema == {"type": "object"}
    with build(Config(app=path, pii={"user": "off"})) as app:
        app.session.step(MAIL)
        assert app.agent.llm.requests[-1].messages[-1].text == MAIL  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("options = {'max_turn': 3}", "options has 'max_turn', which Options does not take; did you mean 'max_turns'?"),
        ("options = 3", "options should be keyword arguments of Options"),
        ("options = {'max_turns': -1}", "max_turns=-1"),
        ("session = {'compact': 3}", "session has 'compact', which Session does not take"),
        ("session = {'options': None}", "session has 'options', which Session does not take"),
        ("session = []", "session should be keyword arguments of Session"),
        ("session = {'pii': 'redat'}", "'redat'"),
        ("options = {'orchestrator': 4}", "orchestrator=4"),
    ],
)
def test_wrong_keywords_of_a_file_are_told(app_file: Any, text: str, told: str) -> None:
    path = app_file(f"{text}\nagent = Agent('a', llm=ScriptedLLM())")
    with pytest.raises(ConfigError) as raised:
        build(Config(app=path))
    assert told in str(raised.value)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ("'path': 42", "path=42"),
        ("'durability': 'full'", "durability='full'"),
        ("'max_context_tokens': 'many'", "max_context_tokens='many'"),
        ("'compaction_target': -1", "target=-1"),
        ("'response_schema': 'answer.json'", "response_schema='answer.json'"),
        ("'out': 4", "out=4"),
    ],
)
def test_a_value_that_a_session_cannot_have_is_told_before_a_run(app_file: Any, session: str, told: str) -> None:
    path = app_file(f"session = {{{session}}}\nagent = Agent('a', llm=ScriptedLLM())")
    with pytest.raises(ConfigError) as raised:
        build(Config(app=path))
    assert told in str(raised.value)


@pytest.mark.parametrize("pair", [("session", "log"), ("session", "audit"), ("audit", "log")])
def test_one_file_for_two_purposes_is_refused_before_it_is_touched(
    tmp_path: Path, app_file: Any, pair: tuple[str, str]
) -> None:
    path = app_file("agent = Agent('a', llm=ScriptedLLM('ok'))")
    file = tmp_path / "robi.journal"
    (tmp_path / "sub").mkdir()
    with pytest.raises(ConfigError, match=f"{pair[0]} and {pair[1]} are one file"):
        build(Config(app=path, **{pair[0]: file, pair[1]: tmp_path / "sub" / ".." / file.name}))
    assert not file.exists()


def test_log_and_audit_may_both_go_to_a_device(app_file: Any) -> None:
    null = Path(os.devnull)
    with build(Config(app=app_file("agent = Agent('a', llm=ScriptedLLM('ok'))"), audit=null, log=null)) as app:
        assert app.session.step("hello").reply == "ok"


@pytest.mark.parametrize("schema", ['{"type": "objct"}', '{"type": "string", "pattern": "("}', '{"$ref": "#/nope"}'])
def test_a_schema_that_no_reply_can_obey_is_told_with_its_file(
    tmp_path: Path, models: dict[str, Any], schema: str
) -> None:
    path = tmp_path / "answer.json"
    path.write_text(schema, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"answer\.json: response_schema cannot be used: schema"):
        build(Config(response_schema=path))


def test_the_files_keywords_may_be_words_as_a_sessions_may(app_file: Any, models: dict[str, Any]) -> None:
    path = app_file(
        "from edgeagent import ModelError\nsession = {'pii': 'redact', 'fallback_models': 'good'}\n"
        "agent = Agent('a', llm=ScriptedLLM(ModelError('gone')))"
    )
    with build(Config(app=path)) as app:
        assert app.session.step(MAIL).reply == "good says hello"
        assert app.session.messages()[0].text == "write to <EMAIL>"


# --- what reaches the runs --------------------------------------------------------------------------------------------


def test_settings_reach_the_options_the_model_and_the_house_robot(tmp_path: Path, models: dict[str, Any]) -> None:
    config = from_file(
        tmp_path,
        'name = "marvin"\ninstructions = "Sigh first."\nthinking_level = "low"\ntool_choice = "none"\nmax_turns = 3\n'
        'constrain_tools = true\ntool_format = "hermes"\ncall_gate = 0.5\nforce_arguments = true\n'
        "tool_timeout_s = 5\n[expert]\nmax_continuations = 0\n",
    )
    with build(config) as app:
        app.session.step("hello")
        request = app.llm.requests[0]  # type: ignore[attr-defined]
        options = options_of(app)
    assert (app.agent.name, request.system) == ("marvin", "Sigh first.")
    assert (request.thinking_level, request.tool_choice) == ("low", "none")
    assert (options.max_turns, options.tool_timeout_s, options.max_continuations) == (3, 5, 0)
    assert options.max_tool_hops == 6, "the house robot's own"
    named = ("constrain_tools", "tool_format", "call_gate", "force_arguments")
    assert {name: models["nano"][name] for name in named} == {
        "constrain_tools": True,
        "tool_format": "hermes",
        "call_gate": 0.5,
        "force_arguments": True,
    }


def test_name_and_instructions_are_the_house_robots_alone(app_file: Any) -> None:
    with build(Config(app=app_file("agent = Agent('a', llm=ScriptedLLM())"), name="marvin")) as app:
        assert app.agent.name == "a"
        assert app.notes == ["name is not used: it is the house robot's, and the app brings an agent"]


def test_a_model_that_cannot_be_used_is_replaced_by_the_next(models: dict[str, Any]) -> None:
    with build(Config(model="bad", fallback_models=("good", "better"))) as app:
        assert app.session.step("hello").reply == "good says hello"
    with pytest.raises(ModelError, match="bad is truncated"):
        build(Config(model="bad"))


def test_a_model_that_fails_at_a_request_is_replaced_by_the_next(app_file: Any, models: dict[str, Any]) -> None:
    path = app_file("from edgeagent import ModelError\nagent = Agent('a', llm=ScriptedLLM(ModelError('gone')))")
    with build(Config(app=path, fallback_models=("good",))) as app:
        assert app.session.step("hello").reply == "good says hello"


def test_a_reply_obeys_the_schema_of_a_file(tmp_path: Path, app_file: Any) -> None:
    path = app_file("agent = Agent('a', llm=ScriptedLLM('{\"answer\": \"noon\"}'))")
    schema = tmp_path / "answer.json"
    schema.write_text('{"type": "object", "properties": {"answer": {"type": "string"}}}', encoding="utf-8")
    with build(Config(app=path, response_schema=schema)) as app:
        assert app.session.step("when?").reply == "noon"


@pytest.mark.parametrize(
    ("text", "told"), [("{\n1}", r"answer\.json:2: response_schema is not JSON"), ("[1]", "should be a JSON object")]
)
def test_a_schema_that_is_none_is_told(tmp_path: Path, app_file: Any, text: str, told: str) -> None:
    schema = tmp_path / "answer.json"
    schema.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=told):
        build(Config(app=app_file("agent = Agent('a', llm=ScriptedLLM())"), response_schema=schema))


@pytest.mark.parametrize(("pii", "kept"), [({}, "<EMAIL>"), ({"log": "off"}, "ada@example.com")])
def test_the_audit_is_as_private_as_the_settings_say(
    tmp_path: Path, app_file: Any, pii: dict[str, str], kept: str
) -> None:
    audit = tmp_path / "audit.jsonl"
    with build(Config(app=app_file("agent = Agent('a', llm=ScriptedLLM('ok'))"), audit=audit, pii=pii)) as app:
        app.session.step(MAIL)
    assert kept in json.loads(audit.read_text(encoding="utf-8").splitlines()[0])["task"]


def test_log_and_audit_are_rotated_as_the_settings_say(tmp_path: Path, app_file: Any) -> None:
    path = app_file("agent = Agent('a', llm=ScriptedLLM(*['ok'] * 40))")
    limits = {"log_max_mb": 0.01, "log_files": 2, "audit_max_mb": 0.01, "audit_files": 3}
    with build(Config(app=path, log=tmp_path / "log", audit=tmp_path / "audit", **limits)) as app:
        for number in range(40):
            app.session.step(f"request {number} {'x' * 500}")
    assert sorted(file.name for file in tmp_path.glob("log*")) == ["log", "log.1"]
    assert sorted(file.name for file in tmp_path.glob("audit*")) == ["audit", "audit.1", "audit.2"]


def test_compaction_is_that_of_the_settings(app_file: Any) -> None:
    path = app_file("agent = Agent('a', llm=ScriptedLLM('ok'))")
    with pytest.raises(ConfigError, match="target=60"):
        build(Config(app=path, compaction_threshold=30, compaction_target=60))


@pytest.mark.parametrize(("durability", "syncs"), [("power", True), ("process", False), (None, False)])
def test_durability_is_that_of_the_settings(
    tmp_path: Path, app_file: Any, monkeypatch: pytest.MonkeyPatch, durability: str | None, syncs: bool
) -> None:
    path = app_file("agent = Agent('a', llm=ScriptedLLM('ok'))")
    synced: list[int] = []
    with build(Config(app=path, session=tmp_path / "robi.journal", durability=durability)) as app:
        monkeypatch.setattr(os, "fsync", synced.append)
        app.session.step("hello")
        assert bool(synced) == syncs


# --- small models -----------------------------------------------------------------------------------------------------


class Measured(ScriptedLLM):
    """A scripted model with a header as a file has one."""

    def __init__(self, weights: int, name: str = "some model") -> None:
        super().__init__([call("get_battery")], '{"percent": 80}')
        self.header = SimpleNamespace(weights=weights, name=name)


@tool(read_only=True)
def get_battery() -> dict[str, int]:
    """Tells how full the battery is."""
    return {"percent": 80}


def reply_of(llm: ScriptedLLM, **settings: Any) -> str:
    agent = Agent("a", llm=llm, tools=[get_battery])
    outfit = Outfit(Config(**settings))
    with outfit.session(agent, outfit.options(agent.options)) as session:
        return session.step("how full?").reply


def test_a_small_model_has_its_hooks_unless_the_settings_say_no() -> None:
    assert reply_of(Measured(600_000_000)) == "Percent: 80."
    assert reply_of(Measured(600_000_000), small_model_hooks=False) == '{"percent": 80}'


def test_a_large_model_nano_and_a_model_without_a_file_have_none_of_them() -> None:
    for llm in (Measured(SMALL_WEIGHTS), Measured(6_000_000, name="edgeagent-nano")):
        assert reply_of(llm) == '{"percent": 80}'
    assert reply_of(ScriptedLLM([call("get_battery")], '{"percent": 80}')) == '{"percent": 80}'


def test_a_bare_agent_has_what_it_was_given() -> None:
    agent = Agent("a", llm=Measured(600_000_000), tools=[get_battery])
    assert agent.run("how full?").reply == '{"percent": 80}'


def test_a_hook_of_the_agents_own_stays_the_only_one_of_its_kind() -> None:
    from edgeagent.hooks import EchoedPayloadHook, LoopDetectorHook

    agent = Agent("a", llm=Measured(1_000), tools=[get_battery], hooks=[EchoedPayloadHook(), LoopDetectorHook()])
    with Outfit(Config()).session(agent, Options()) as session:
        kinds = [type(hook).__name__ for hook in session.context.hooks]
        assert "SchemaRetryHook" in kinds
        assert not {"EchoedPayloadHook", "LoopDetectorHook"} & set(kinds)
        assert session.step("how full?").reply == "Percent: 80."


GARDEN = """
from types import SimpleNamespace
from edgeagent import skill
from edgeagent.testing import call

@skill
def open_vents(percent: int) -> str:
    "Open the roof vents."
    return "the vents are open"

def build(llm):
    def second(request):
        return "As you like." if request.tool_choice == "none" else "They are open."

    llm = ScriptedLLM([call("open_vents", percent=50)], second)
    llm.header = SimpleNamespace(weights=600_000_000, name="some model")
    return Agent("gardener", tools=[open_vents], llm=llm)
"""


@pytest.mark.parametrize(
    ("said", "settings", "reply"),
    [
        ("Don't open the vents, it is freezing outside.", {}, "As you like."),
        ("Don't open the vents, it is freezing outside.", {"small_model_hooks": False}, "They are open."),
        ("Open the vents halfway.", {}, "They are open."),
        ("Mach bitte die Fenster auf.", {}, "They are open."),
    ],
)
def test_a_small_model_moves_nothing_where_it_is_forbidden(
    app_file: Any, said: str, settings: dict[str, Any], reply: str
) -> None:
    with build(Config(app=app_file(GARDEN), **settings)) as app:
        assert app.session.step(said).reply == reply
