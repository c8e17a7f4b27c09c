"""A trial asks each case in a session of its own, and counts what the robot would have done."""

from pathlib import Path

import pytest

from edgeagent import ConfigError
from edgeagent.check import Case, Expected, Report, Trial, difference, read_cases
from edgeagent.config import Config

ANSWERING = """
import json
def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return "Done."
    name, _, arguments = last.text.partition(" ")
    return [call(name, **json.loads(arguments or "{}"))] if name in ("wave", "walk", "fly") else "I heard you."
llm = ScriptedLLM(*[answer] * 100)
"""
AGENT = "agent = Agent('rover', 'Be kind.', llm=llm, tools=[wave, walk])\n"


def tried(robot, cases: str, tmp_path: Path, *, app: str = ANSWERING + AGENT) -> Report:
    path = tmp_path / "cases.toml"
    path.write_text(cases, encoding="utf-8")
    file = robot(app)
    with Trial(Config(app=file.path)) as trial:
        report = trial.run(read_cases(path, trial.tools))
    assert file.bodies == []
    return report


WAVE = "{ name = 'wave' }"
STEPS = "{{ name = 'walk', arguments = {{ steps = {} }} }}"


@pytest.mark.parametrize(
    ("said", "calls", "right"),
    [
        ("wave", f"[{WAVE}]", True),
        ("wave", "[{ name = 'wave', arguments = { times = 1, hand = 'right' } }]", True),
        ('wave {"hand": "LEFT"}', "[{ name = 'wave', arguments = { hand = 'left' } }]", True),
        ('walk {"steps": 2.0}', f"[{STEPS.format(2)}]", True),
        ('walk {"steps": "2"}', f"[{STEPS.format(2)}]", True),
        ('walk {"steps": 3}', f"[{STEPS.format(2)}]", False),
        ('walk {"steps": 3}', f"[]\nalso_right = [[{WAVE}], [{STEPS.format(3)}]]", True),
        ("hello", "[]", True),
        ("hello", f"[{WAVE}]", False),
        ("wave", "[]", False),
        ("fly", "[]", True),
        ("wave", f"[{WAVE}, {WAVE}]", False),
    ],
)
def test_calls_are_right_by_name_order_and_arguments_as_the_tool_gets_them(
    robot, tmp_path: Path, said: str, calls: str, right: bool
) -> None:
    (outcome,) = tried(robot, f"[[case]]\nsay = '{said}'\ncalls = {calls}\n", tmp_path).outcomes
    assert outcome.right is right


def test_the_figures_tell_commands_from_talk(robot, tmp_path: Path) -> None:
    cases = """
[[case]]
say = "wave"
calls = [{ name = "wave" }]
[[case]]
say = 'walk {"steps": 1}'
calls = [{ name = "walk", arguments = { steps = 2 } }]
[[case]]
say = "hello"
calls = []
[[case]]
say = 'walk {"steps": 5}'
calls = []
"""
    report = tried(robot, cases, tmp_path)
    assert (report.agent, report.model, report.window) == ("rover", "scripted", 4096)
    assert [outcome.right for outcome in report.commands] == [True, False]
    assert [outcome.names_right for outcome in report.commands] == [True, True]
    assert [outcome.right for outcome in report.talk] == [True, False]
    assert report.exact == 0.5
    assert [outcome.case.line for outcome in report.wrong_actions] == [5, 11]
    assert [outcome.case.line for outcome in report.missed] == [5, 11]


def test_a_call_that_never_came_to_its_body_is_told_with_the_reason(robot, tmp_path: Path) -> None:
    (outcome,) = tried(robot, "[[case]]\nsay = 'walk {\"steps\": 1.5}'\ncalls = []\n", tmp_path).outcomes
    (refused,) = outcome.refused
    assert (refused.call.name, refused.result.status, outcome.made) == ("walk", "invalid", ())


def test_no_case_knows_of_the_one_before(robot, tmp_path: Path) -> None:
    app = "llm = ScriptedLLM(*[lambda request: str(len(request.messages))] * 2)\n" + AGENT
    cases = "[[case]]\nsay = 'a'\ncalls = []\n[[case]]\nsay = 'b'\ncalls = []\n"
    assert [outcome.reply for outcome in tried(robot, cases, tmp_path, app=app).outcomes] == ["1", "1"]


def test_a_model_that_fails_misses_its_case_and_the_next_is_asked(robot, tmp_path: Path) -> None:
    app = "llm = ScriptedLLM(RuntimeError('boom'), {'error': 'broken'}, 'Hello.')\n" + AGENT
    cases = "".join(f"[[case]]\nsay = '{say}'\ncalls = []\n" for say in "abc")
    report = tried(robot, cases, tmp_path, app=app)
    assert [outcome.error for outcome in report.outcomes] == ["boom", "broken", None]
    assert [outcome.right for outcome in report.outcomes] == [False, False, True]


def test_the_journal_and_the_audit_of_the_robot_are_left_alone(robot, tmp_path: Path) -> None:
    app = ANSWERING + AGENT + "session = {'path': RAN.with_suffix('.journal'), 'audit': RAN.with_suffix('.audit')}\n"
    file = robot(app)
    settings = {name: tmp_path / name for name in ("session", "audit", "log")}
    with Trial(Config(app=file.path, **settings)) as trial:
        assert trial.ask(Case("wave", (Expected("wave", {"times": 1, "hand": "right"}),))).right
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["robot.py"]


def test_the_file_is_closed(robot) -> None:
    file = robot(ANSWERING + AGENT + "def close():\n    ran('close')\n")
    with Trial(Config(app=file.path)):
        pass
    assert file.bodies == ["close"]


def test_the_asked_for_model_answers_in_place_of_the_app_s_own(robot) -> None:
    file = robot(ANSWERING + "other = Agent('other', llm=llm)\nagent = Agent('a', llm=llm, handoffs=[other])\n")
    with Trial(Config(app=file.path, model="nano")) as trial:
        assert trial.llm.name == "scripted"
    with Trial(Config(app=file.path, model="nano"), override=True) as trial:
        assert trial.llm.name == "nano"
        assert trial.agent.handoffs[0].llm is None


def test_hooks_of_the_app_have_their_say(robot, tmp_path: Path) -> None:
    app = ANSWERING + AGENT + "options = {'before_tool_call': lambda call, stop: ToolResult.blocked('not now')}\n"
    (outcome,) = tried(robot, "[[case]]\nsay = 'wave'\ncalls = []\n", tmp_path, app=app).outcomes
    assert outcome.right
    assert outcome.refused[0].result.status == "blocked"


def test_a_run_that_a_hook_ended_is_told_as_such(robot, tmp_path: Path) -> None:
    hook = """
class Guard:
    points = frozenset({FirePoint.AFTER_LLM})
    def __call__(self, point, ctx, payload):
        return HookResult.end_turn("How far?")
"""
    app = ANSWERING + hook + "agent = Agent('rover', llm=llm, tools=[wave], hooks=[Guard()])"
    (outcome,) = tried(robot, f"[[case]]\nsay = 'wave'\ncalls = [{WAVE}]\n", tmp_path, app=app).outcomes
    assert (outcome.made, outcome.stopped, outcome.right) == ((), True, False)
    assert difference(outcome).endswith("got no call; a hook ended the run")


def test_the_cost_of_the_tools_is_counted_by_the_model_s_tokens(robot, nano) -> None:
    file = robot("agent = Agent('rover', 'Be kind.', tools=[wave, walk])")
    with Trial(Config(app=file.path)) as trial:
        report = trial.report()
    (cost,) = report.costs
    assert cost.text == "Tools: wave(times?: integer, hand?: left|right) = wave a hand, walk(steps: integer) = walk"
    assert set(cost.each) == {"wave", "walk"}
    assert 0 < cost.each["walk"] < cost.each["wave"] < cost.tokens < 60
    assert report.notes == ("nano was not trained on wave and walk: expect wrong calls",)


def test_a_model_that_shows_no_prompts_has_the_tools_as_they_are_declared(robot) -> None:
    file = robot(ANSWERING + AGENT)
    with Trial(Config(app=file.path)) as trial:
        (cost,) = trial.report().costs
    assert "wave: Wave a hand. {" in cost.text
    assert cost.tokens > 0


def test_every_miss_has_its_prompt_and_its_raw_reply(robot) -> None:
    file = robot("agent = Agent('rover', tools=[walk])")
    with Trial(Config(app=file.path)) as trial:
        outcome = trial.ask(Case("hello there", ()))
    assert outcome.turns[0].prompt.endswith("<|im_start|>user\nhello there<|im_end|>\n<|im_start|>assistant\n")
    assert outcome.turns[0].raw


def test_there_has_to_be_an_app() -> None:
    with pytest.raises(ConfigError, match=r"--app my_robot\.py"):
        Trial(Config())
