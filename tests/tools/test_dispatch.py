"""What runs beside what, what waits, and what its output becomes."""

import itertools
import threading
import time

import numpy as np
import pytest

from edgeagent import Agent, GoalHandle, Options, ToolContext, ToolMode, ToolRegistry, ToolResult, skill, tool
from edgeagent.errors import ToolDefinitionError
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import capped

LIMIT_S = 10


def results(tools, calls, **options):
    """The results of one batch, in the order asked."""
    agent = Agent("a", llm=ScriptedLLM(calls, "done"), tools=tools, options=Options(**options))
    return [made.result for made in agent.run("go").tool_calls]


class Recorder:
    """Tools that note when they run, and how many at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.now, self.peak, self.order = 0, 0, []

    def body(self, name, barrier=None):
        with self.lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
            self.order.append(f"+{name}")
        if barrier is not None:
            barrier.wait(LIMIT_S)
        else:
            threading.Event().wait(0.01)
        with self.lock:
            self.now -= 1
            self.order.append(f"-{name}")
        return name


def test_three_calls_that_meet_at_a_barrier_finish_in_source_order():
    barrier = threading.Barrier(3)
    seen = Recorder()

    @tool
    def meet(name: str) -> str:
        """Meets."""
        return seen.body(name, barrier)

    made = results([meet], [call("meet", name=n) for n in "abc"])
    assert [r.text for r in made] == ["a", "b", "c"]


def test_no_more_run_at_once_than_allowed():
    seen = Recorder()
    barrier = threading.Barrier(4)

    @tool
    def work(name: str) -> str:
        """Works."""
        return seen.body(name, barrier)

    results([work], [call("work", name=str(i)) for i in range(12)], max_concurrent_tools=4)
    assert seen.peak == 4


def test_batch_mode_keeps_source_order_around_a_skill():
    seen = Recorder()
    barrier = threading.Barrier(2)

    @tool
    def read(name: str) -> str:
        """Reads."""
        return seen.body(name, barrier)

    @skill
    def move(name: str) -> str:
        """Moves."""
        return seen.body(name)

    results([read, move], [call("read", name="r1"), call("read", name="r2"), call("move", name="m")])
    assert set(seen.order[:4]) == {"+r1", "+r2", "-r1", "-r2"}
    assert seen.order[4:] == ["+m", "-m"]

    barrier = threading.Barrier(1)
    seen.order.clear()
    results([read, move], [call("move", name="m"), call("read", name="r")])
    assert seen.order == ["+m", "-m", "+r", "-r"]


def test_sequential_mode_runs_each_alone():
    seen = Recorder()

    @tool
    def read(name: str) -> str:
        """Reads."""
        return seen.body(name)

    results([read], [call("read", name=n) for n in "ab"], tool_execution_mode=ToolMode.SEQUENTIAL)
    assert seen.order == ["+a", "-a", "+b", "-b"]


def test_parallel_mode_gathers_parallel_tools_across_a_sequential_one():
    seen = Recorder()
    barrier = threading.Barrier(2)

    @tool
    def read(name: str) -> str:
        """Reads."""
        return seen.body(name, barrier)

    @tool(mode="sequential")
    def alone(name: str) -> str:
        """Alone."""
        return seen.body(name)

    made = [call("read", name="r1"), call("alone", name="x"), call("read", name="r2")]
    assert [r.text for r in results([read, alone], made, tool_execution_mode=ToolMode.PARALLEL)] == ["r1", "x", "r2"]
    assert seen.order[4:] == ["+x", "-x"]


def test_calls_that_name_a_common_resource_never_overlap():
    seen = Recorder()

    @tool(resources=("arm",))
    def grip(name: str) -> str:
        """Grips."""
        return seen.body(name)

    @tool(resources=("arm", "base"))
    def carry(name: str) -> str:
        """Carries."""
        return seen.body(name)

    made = [call("grip", name="a"), call("carry", name="b"), call("grip", name="c")]
    assert [r.text for r in results([grip, carry], made)] == ["a", "b", "c"]
    assert seen.peak == 1


def test_progress_reaches_the_log_until_the_result_is_in():
    late = []

    @tool
    def count(ctx: ToolContext) -> str:
        """Counts."""
        for i in range(3):
            ctx.progress(i)
        late.append(ctx)
        return "counted"

    agent = Agent("a", llm=ScriptedLLM([call("count")], "x"), tools=[count], deps={"some": "deps"})
    handle = agent.start("go")
    updates = [e.update for e in handle.events() if e.kind == "tool_execution_update"]
    assert updates == [0, 1, 2]
    late[0].progress("too late")
    assert late[0].deps == {"some": "deps"}
    assert late[0].agent.agent_name == "a"


def test_an_async_tool_runs_on_its_worker():
    import asyncio

    @tool
    async def nap(s: float) -> str:
        """Naps."""
        await asyncio.sleep(s)
        return threading.current_thread().name

    assert results([nap], [call("nap", s=0)])[0].text == "tool-nap"


@pytest.mark.parametrize(
    ("value", "text"),
    [("as it is", "as it is"), (None, "done"), ({"a": [1, 2.5]}, '{"a": [1, 2.5]}'), (("ä",), '["ä"]'), (True, "true")],
)
def test_what_a_body_returns_becomes_text(value, text):
    @tool
    def give() -> object:
        """Gives."""
        return value

    made = results([give], [call("give")])[0]
    assert (made.status, made.text, made.value) == ("ok", text, value)


def test_what_a_generator_yields_is_a_list():
    @tool
    def count(to: int) -> list[int]:
        """Counts."""
        yield from range(to)
        if to > 2:
            raise ValueError("too far")

    made = results([count], [call("count", to=2), call("count", to=3)])
    assert (made[0].status, made[0].text, made[0].value) == ("ok", "[0, 1]", [0, 1])
    assert (made[1].status, made[1].text) == ("error", "ValueError: too far")


def test_a_generator_without_an_end_is_over_at_its_time_out():
    closed = threading.Event()

    @tool(timeout_s=0.2)
    def listen() -> list[int]:
        """Listens."""
        try:
            for number in itertools.count():
                threading.Event().wait(0.005)
                yield number
        finally:
            closed.set()

    assert results([listen], [call("listen")])[0].status == "timed_out"
    assert closed.wait(LIMIT_S), "it is not left to fill the memory"


def test_a_skill_that_yields_takes_no_step_after_a_stop():
    steps = []
    begun = threading.Event()

    @skill
    def patrol():
        """Patrols."""
        for step in range(1000):
            steps.append(step)
            begun.set()
            threading.Event().wait(0.005)
            yield step

    agent = Agent("a", llm=ScriptedLLM([call("patrol")], "done"), tools=[patrol])
    handle = agent.start("go")
    assert begun.wait(LIMIT_S)
    handle.abort("safety_stop")
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "interrupted"
    assert len(steps) < 1000


def test_numbers_and_arrays_of_numpy_are_json():
    @tool
    def scan() -> object:
        """Scans."""
        return {"nearest_m": np.float32(0.5), "ranges_m": np.array([[0.5, 2.0]]), "free": np.bool_(True)}

    assert results([scan], [call("scan")])[0].text == '{"nearest_m": 0.5, "ranges_m": [[0.5, 2.0]], "free": true}'


def circular():
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize("make", [threading.Lock, circular])
def test_what_json_cannot_hold_is_an_error_that_says_that_the_tool_ran(make):
    @tool
    def give() -> object:
        """Gives."""
        return make()

    made = results([give], [call("give")])[0]
    assert made.status == "error"
    assert "give ran, but what it returned cannot be shown" in made.text


def test_a_picture_is_told_by_its_type_and_other_bytes_by_what_to_return():
    png = b"\x89PNG\r\n\x1a\nrest"

    @tool
    def give(data: int) -> bytes:
        """Gives."""
        return (png, b"\xff\xd8\xffrest", b"\xfe")[data]

    made = results([give], [call("give", data=number) for number in range(3)])
    assert [one.status for one in made] == ["ok", "ok", "error"]
    assert [one.text for one in made[:2]] == ["a picture, image/png", "a picture, image/jpeg"]
    assert made[0].value == png
    assert made[2].text.endswith("cannot be shown: bytes are no text; return them as ToolResult.value, with a text")


def test_ten_megabytes_are_cut_in_the_middle():
    @tool
    def dump() -> str:
        """Dumps."""
        return "<" + "x" * 10_000_000 + ">"

    made = results([dump], [call("dump")], tool_output_limit=1000)[0]
    assert len(made.text) == 1000
    assert made.text.startswith("<x")
    assert made.text.endswith("x>")
    assert f"{10_000_000 - made.text.count('x')} of 10000002 characters left out" in made.text
    assert len(made.value) == 10_000_002


def test_what_an_interrupted_body_returns_is_cut_as_well():
    began = threading.Event()

    @skill
    def patrol(goal: GoalHandle) -> str:
        """Patrols."""
        began.set()
        while not goal.cancelled:
            threading.Event().wait(0.01)
        return "x" * 5000

    agent = Agent(
        "a", llm=ScriptedLLM([call("patrol")], "done"), tools=[patrol], options=Options(tool_output_limit=200)
    )
    handle = agent.start("go")
    assert began.wait(LIMIT_S)
    next(iter(handle.goals.values())).cancel()
    (made,) = handle.result(LIMIT_S).tool_calls
    assert made.result.status == "interrupted"
    assert len(made.result.text) <= 200


@pytest.mark.parametrize("error", [OSError("no paper"), 5, None])
def test_a_reason_that_is_no_text_is_told_as_one(error):
    @tool
    def print_it() -> ToolResult:
        """Prints."""
        return ToolResult.error(error)

    (made,) = results([print_it], [call("print_it")])
    assert (made.status, made.text) == ("error", str(error))


@pytest.mark.parametrize("limit", [10, 60, 100, 1000])
def test_a_capped_text_is_as_long_as_allowed_or_just_its_note(limit):
    text = capped("y" * 500, limit)
    assert len(text) <= max(limit, 70)
    assert (text == "y" * 500) == (limit >= 500)


@pytest.mark.parametrize(("setting", "limit"), [(None, 16), (2, 2)])
def test_sixteen_bodies_that_never_came_back_are_enough(setting, limit):
    release = threading.Event()
    ran = []

    @tool(timeout_s=0.01)
    def stuck(i: int) -> str:
        """Sticks."""
        release.wait(LIMIT_S)
        return ""

    @tool
    def fine() -> str:
        """Fine."""
        ran.append(1)
        return "fine"

    calls = [call("stuck", i=i) for i in range(limit)]
    llm = ScriptedLLM(calls, [call("fine")], "x", [call("fine")], "y")
    agent = Agent("a", llm=llm, tools=[stuck, fine], options=Options(max_abandoned_tools=setting))
    begin = time.monotonic()
    result = agent.run("go")
    assert time.monotonic() - begin < LIMIT_S / 2
    assert [c.result.status for c in result.tool_calls] == ["timed_out"] * limit + ["blocked"]
    release.set()
    while agent._workers.abandoned:
        threading.Event().wait(0.01)
    assert agent.run("again").tool_calls[0].result.text == "fine"


def test_two_tools_of_one_name_are_refused():
    @tool
    def drive() -> str:
        """One."""
        return ""

    @tool(name="drive")
    def other() -> str:
        """Two."""
        return ""

    with pytest.raises(ToolDefinitionError, match="two tools are called 'drive'"):
        Agent("a", tools=[drive, other])


def test_tools_may_change_between_turns():
    @tool
    def learn() -> str:
        """Learns."""

        def dance() -> str:
            """Dances."""
            return "dancing"

        agent.tools.add(dance)
        return "learnt"

    llm = ScriptedLLM([call("learn")], [call("dance")], "x")
    agent = Agent("a", llm=llm, tools=[learn])
    assert [c.result.text for c in agent.run("go").tool_calls] == ["learnt", "dancing"]
    assert [t.name for t in llm.requests[1].tools] == ["learn", "dance"]
    agent.tools.remove("dance")
    assert "dance" not in agent.tools
    assert isinstance(agent.tools, ToolRegistry)


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_tool_that_wants_to_end_the_program_is_an_error_result(raised):
    @tool
    def leave() -> str:
        """Leaves."""
        raise raised

    assert results([leave], [call("leave")])[0].status == "error"


@pytest.mark.parametrize("mode", list(ToolMode))
def test_a_tool_that_moves_waits_for_the_skill_before_it_in_every_mode(mode):
    order = []

    @skill
    def back() -> ToolResult:
        """Drives back."""
        order.append("back")
        return ToolResult.error("a wall")

    @tool(motion=True)
    def wave() -> str:
        """Waves."""
        order.append("wave")
        return "waved"

    llm = ScriptedLLM([call("back"), call("wave")], "done")
    result = Agent("a", llm=llm, tools=[back, wave], options=Options(tool_execution_mode=mode)).run("go")
    assert [made.result.status for made in result.tool_calls] == ["error", "not_run"]
    assert order == ["back"]


def test_tools_may_be_replaced_between_two_turns():
    @tool
    def first() -> str:
        """The first."""
        return "one"

    @tool
    def second() -> str:
        """The second."""
        return "two"

    def change(state):
        agent.tools = [second]
        return False

    llm = ScriptedLLM([call("first")], [call("second")], "done")
    agent = Agent("a", llm=llm, tools=[first], options=Options(should_stop_after_turn=change))
    result = agent.run("go")
    assert [made.result.status for made in result.tool_calls] == ["ok", "ok"]
    assert ToolRegistry([first, second]).names() == ["first", "second"]
