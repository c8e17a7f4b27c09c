"""What a builder gives an agent is taken where its meaning is plain, and refused at once where it is a mistake."""

import dataclasses
import functools
import subprocess
import sys

import pytest

from edgeagent import (
    Agent,
    ConfigError,
    EdgeAgentError,
    GoalHandle,
    LlamaLLM,
    Message,
    ModelError,
    events,
    hooks,
    skill,
    tool,
    views,
)
from edgeagent.errors import ToolDefinitionError
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call

# --- a model by its name --------------------------------------------------------------------------------------------


def test_a_model_is_named_as_the_settings_name_it(tmp_path):
    agent = Agent("robi", llm="nano")
    assert isinstance(agent.llm, LlamaLLM)
    assert agent.llm.name == "nano"
    copy = tmp_path / "mine.gguf"
    copy.symlink_to(agent.llm.path)
    agent.llm = copy
    assert agent.llm.name == "mine"
    agent.llm = None
    assert agent.llm is None


def test_a_name_that_is_none_is_told_where_it_is_given():
    with pytest.raises(ModelError, match=r"there is no model 'nanoo'.*nano"):
        Agent("robi", llm="nanoo")
    agent = Agent("robi")
    with pytest.raises(ModelError, match=r"gone\.gguf"):
        agent.llm = "gone.gguf"


def test_what_is_no_model_is_told_where_it_is_given():
    with pytest.raises(ConfigError, match=r"Agent\(llm=42\): it should be a model, or the name of one, such as 'nano'"):
        Agent("robi", llm=42)


def test_an_agent_of_which_nobody_names_a_model_loads_no_engine():
    program = (
        "import sys; from edgeagent import Agent; from edgeagent.testing import ScriptedLLM\n"
        "Agent('a', llm=ScriptedLLM('x')).run('hi'); assert 'llama_cpp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# --- what is said ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "kind"), [(42, "int"), (b"go", "bytes"), (["go"], "list"), ({"text": "go"}, "dict")])
def test_what_is_no_text_is_refused_before_a_run_begins(task, kind):
    agent = Agent("robi", llm=ScriptedLLM("A"))
    for say in (agent.run, agent.start, agent.steer, agent.follow_up):
        with pytest.raises(EdgeAgentError, match=f"text or a Message, not {kind}: "):
            say(task)
    assert not agent.has_pending
    assert agent.run("hi").reply == "A"


def test_a_history_of_texts_is_refused_before_a_run_begins():
    agent = Agent("robi", llm=ScriptedLLM("A"))
    with pytest.raises(EdgeAgentError, match=r"a history holds Messages, not str: 'hi'; write Message\.user"):
        agent.run("on", messages=["hi"])
    assert agent.run("on", messages=[Message.user("hi")]).reply == "A"


# --- arguments of another kind ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"options": 5}, r"Agent\(options=5\): it should be of the class Options"),
        ({"latch": 5}, r"Agent\(latch=5\): it should be an object with a method subscribe"),
        ({"latch": SafetyLatch}, r"Agent\(latch=<class .*>\): it should be an object with a method subscribe"),
        ({"llm": ScriptedLLM}, r"Agent\(llm=<class .*>\): it should be a model"),
        ({"tools": print}, r"Agent\(tools=.*\): it should be a list"),
        ({"hooks": hooks.TimingHook()}, r"Agent\(hooks=.*\): it should be a list"),
        ({"handoffs": Agent("cook")}, r"Agent\(handoffs=.*\): it should be a list"),
        ({"handoffs": ["x"]}, r"Agent\(handoffs='x'\): it should be of the class Agent"),
        ({"handoffs": [5]}, r"Agent\(handoffs=5\): it should be of the class Agent"),
    ],
)
def test_an_argument_of_another_kind_is_told_where_it_is_given(keywords, told):
    with pytest.raises(ConfigError, match=told):
        Agent("robi", **{"llm": ScriptedLLM("A"), **keywords})


def test_a_lone_phrase_is_one_phrase():
    assert Agent("robi", phrases="go home").phrases == ("go home",)


def test_a_function_is_no_callbacks_of_a_run():
    agent = Agent("robi", llm=ScriptedLLM("A"))
    with pytest.raises(ConfigError, match=r"start\(callbacks=.*\): it should be an object with a method ask"):
        agent.start("hi", callbacks=print)
    assert agent.run("hi").reply == "A"


@pytest.mark.parametrize("name", ["options", "context", "stop_event"])
def test_an_argument_of_a_run_of_another_kind_is_refused_before_it_begins(name):
    agent = Agent("robi", llm=ScriptedLLM("A"))
    with pytest.raises(ConfigError, match=rf"run\({name}=5\): it should "):
        agent.run("hi", **{name: 5})
    assert agent.run("hi").reply == "A"


def test_none_is_the_default_of_what_is_a_list():
    agent = Agent("robi", llm=ScriptedLLM("A"), tools=None, handoffs=None, hooks=None, phrases=None)
    assert agent.run("hi", messages=None).reply == "A"


# --- who listens ----------------------------------------------------------------------------------------------------


async def listens(event):
    raise AssertionError(event)


class Listens:
    async def __call__(self, event):
        raise AssertionError(event)


@pytest.mark.parametrize("subscriber", [listens, Listens(), functools.partial(listens), functools.partial(Listens())])
def test_an_async_subscriber_is_refused(subscriber):
    with pytest.raises(ConfigError, match=r"subscribe\(\.\.\.\): it is async; callbacks are plain functions"):
        Agent("robi").subscribe(subscriber)
    with pytest.raises(ConfigError, match=r"Callbacks\(on_content=\.\.\.\): it is async"):
        views.Callbacks(on_content=subscriber)


def test_what_nobody_can_call_is_no_subscriber():
    with pytest.raises(ConfigError, match=r"subscribe\('log'\): it should be a function"):
        Agent("robi").subscribe("log")


# --- tools ----------------------------------------------------------------------------------------------------------


class Lamp:
    """Switches a lamp.

    Args:
        on: Whether it should shine.
    """

    def __init__(self):
        self.shines = False

    def __call__(self, on: bool) -> str:
        self.shines = on
        return f"on: {on}"


class Radio:
    async def __call__(self, station: str) -> str:
        """Plays a station."""
        return f"playing {station}"


def move(place: str, speed_mps: float, *, carefully: bool = False) -> str:
    """Moves to a place.

    Args:
        place: Where to.
    """
    return f"{place} at {speed_mps}, {'carefully' if carefully else 'fast'}"


def schema(agent, name):
    return agent.tools.get(name).parameters


def test_an_object_that_can_be_called_is_a_tool():
    lamp = Lamp()
    llm = ScriptedLLM([call("Lamp", on=True), call("Radio", station="one")], "Done.")
    agent = Agent("robi", llm=llm, tools=[lamp, Radio()])
    assert agent.tools.names() == ["Lamp", "Radio"]
    assert agent.tools.get("Lamp").description == "Switches a lamp."
    assert agent.tools.get("Radio").description == "Plays a station."
    assert schema(agent, "Lamp")["properties"] == {"on": {"type": "boolean", "description": "Whether it should shine."}}
    assert [made.result.text for made in agent.run("music").tool_calls] == ["on: True", "playing one"]
    assert lamp.shines


def test_a_partial_is_a_tool_without_the_arguments_that_it_has():
    slowly = functools.partial(move, speed_mps=0.2)
    home = tool(name="go_home", description="Goes home.", read_only=True)(functools.partial(move, "home", 0.5))
    llm = ScriptedLLM([call("move", place="door"), call("go_home", carefully=True)], "Done.")
    agent = Agent("robi", llm=llm, tools=[slowly, home])
    assert agent.tools.names() == ["move", "go_home"]
    assert agent.tools.get("move").description == "Moves to a place."
    assert list(schema(agent, "move")["properties"]) == ["place", "carefully"]
    assert schema(agent, "move")["required"] == ["place"]
    assert list(schema(agent, "go_home")["properties"]) == ["carefully"]
    made = agent.run("go").tool_calls
    assert [one.result.text for one in made] == ["door at 0.2, fast", "home at 0.5, carefully"]


def logged(function):
    @functools.wraps(function)
    def call_it(*args, **keywords):
        return function(*args, **keywords)

    return call_it


@skill(name="go_to", description="Goes.", stop=print, resources=["base"], timeout_s=60)
def going(place: str, speed_mps: float, goal: GoalHandle) -> str:
    """Not told."""
    return place


@pytest.mark.parametrize(
    "item", [functools.partial(going, speed_mps=0.2), logged(going), tool(going), functools.partial(logged(going))]
)
def test_a_partial_or_a_decorated_one_of_a_skill_is_as_it_was_declared(item):
    agent = Agent("robi", tools=[item])
    made = agent.tools.get("go_to")
    assert (made.description, made.stop, made.traits) == ("Goes.", print, going.traits)


def test_a_tool_made_of_a_skill_is_what_both_say():
    made = tool(name="creep", timeout_s=5, phrases=["creep"])(functools.partial(going, speed_mps=0.1))
    assert (made.name, made.stop) == ("creep", print)
    assert made.traits == dataclasses.replace(going.traits, timeout_s=5, phrases=("creep",))


def test_a_partial_of_a_skill_obeys_the_latch():
    latch = SafetyLatch()
    latch.trip("a stop word")
    llm = ScriptedLLM([call("go_to", place="hall")], "x")
    agent = Agent("robi", llm=llm, tools=[functools.partial(going, speed_mps=0.2)], latch=latch)
    assert agent.run("go").tool_calls[0].result.status == "blocked"


def test_a_partial_of_a_method_and_of_an_object_are_tools_too():
    class Base:
        def turn(self, degrees: float, clockwise: bool) -> str:
            """Turns."""
            return f"{degrees} {clockwise}"

    agent = Agent("robi", tools=[functools.partial(Base().turn, clockwise=True), functools.partial(Lamp(), on=True)])
    assert agent.tools.names() == ["turn", "Lamp"]
    assert list(schema(agent, "turn")["properties"]) == ["degrees"]
    assert schema(agent, "Lamp")["properties"] == {}


class Robot:
    @tool
    def look(self) -> str:
        """Looks."""
        return "saw"

    def turn(self, degrees: int) -> str:
        """Turns."""
        return f"turned {degrees}"


@pytest.mark.parametrize("item", [Robot.look, Robot.turn])
def test_a_method_without_its_object_is_no_tool(item):
    with pytest.raises(ToolDefinitionError, match="is a method of a class; give the one of an object"):
        Agent("robi", tools=[item])
    assert Agent("robi", tools=[Robot().look, Robot().turn]).tools.names() == ["look", "turn"]


def test_a_function_without_a_signature_is_no_tool():
    with pytest.raises(ToolDefinitionError, match="no signature found"):
        tool(max)


@pytest.mark.parametrize("declare", [tool, skill])
@pytest.mark.parametrize(
    "trait",
    [
        {"mode": "serial"},
        {"on_interrupt": "stop"},
        {"timeout_s": -1},
        {"timeout_s": "30"},
        {"timeout_s": True},
        {"timeout_s": float("nan")},
        {"resources": [1]},
        {"resources": 1},
        {"phrases": [None]},
    ],
)
def test_a_trait_that_cannot_be_is_an_error_that_names_it(declare, trait):
    with pytest.raises(ToolDefinitionError, match=f"{next(iter(trait))}=.*: it should be"):
        declare(**trait)


@pytest.mark.parametrize("declare", [tool, skill])
def test_a_lone_text_is_one_resource_and_one_phrase_and_no_time_is_the_default(declare):
    @declare(resources="base", phrases="go home", timeout_s=0)
    def home() -> str:
        """Goes home."""
        return "home"

    assert (home.traits.resources, home.traits.phrases, home.traits.timeout_s) == (("base",), ("go home",), None)


@pytest.mark.parametrize("item", ["look", 42, None, Lamp, Agent("other")])
def test_what_is_no_tool_is_refused_with_a_sentence(item):
    with pytest.raises(ToolDefinitionError, match=r"is no tool: give a function, an object that can be called"):
        Agent("robi", tools=[item])


def test_an_async_generator_of_which_nothing_would_run_is_refused():
    async def watch():
        """Watches."""
        yield "seen"

    for given in (watch, functools.partial(watch)):
        with pytest.raises(ToolDefinitionError, match=r"is an async generator, .* return a list"):
            Agent("robi", tools=[given])


@pytest.mark.parametrize("keyword", ["stop", "pause", "resume"])
def test_a_function_that_could_not_be_called_when_it_is_needed_is_refused(keyword):
    def drive() -> str:
        """Drives."""

    with pytest.raises(ToolDefinitionError, match=f"{keyword}='halt': it should be a function"):
        skill(**{keyword: "halt"})(drive)
    wants = skill(**{keyword: lambda hard: hard})(drive)
    with pytest.raises(ToolDefinitionError, match=f"drive: its {keyword} function gets no arguments"):
        Agent("robi", tools=[wants])


@pytest.mark.parametrize("keyword", ["stop", "pause", "resume"])
def test_an_async_function_that_would_never_stop_anything_is_refused(keyword):
    async def act():
        raise AssertionError

    with pytest.raises(ToolDefinitionError, match=f"{keyword}=.* is async: give a plain function"):

        @skill(**{keyword: act})
        def drive() -> str:
            """Drives."""
            return "there"

    with pytest.raises(ToolDefinitionError, match=f"{keyword}=.* is async: give a plain function"):
        GoalHandle(**{keyword: act})


def test_a_plain_subscriber_hears_everything():
    heard = []
    agent = Agent("robi", llm=ScriptedLLM("A"))
    agent.subscribe(functools.partial(heard.append))
    agent.run("hi")
    assert isinstance(heard[0], events.AgentStart)
    assert isinstance(heard[-1], events.AgentEnd)
