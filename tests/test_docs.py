"""The pages show what is so."""

import ast
import contextlib
import dataclasses
import importlib
import inspect
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from edgeagent import Agent, Options, PolicyViolationError, hooks, tool
from edgeagent.agent import CALLBACKS
from edgeagent.messages import Status
from edgeagent.testing import ScriptedLLM, call

WITH_EXAMPLES = tuple(
    """agent cli conversation hooks robot sound testing tools
    reference/config reference/limits reference/voice-words""".split()
)
ROOT = Path(__file__).parent.parent
LINKED = ["README.md", "CHANGELOG.md", *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/**/*.md")))]
"""Files whose links are followed."""
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| (?P<names>`.*?) \| (?P<default>.*?) \| (?P<unit>.*?) \|.*\| `(?P<room>\w+)` \|$", re.MULTILINE)
IS_A_LIMIT = re.compile(r"_S$|MAX|MOST|LIMIT|LONGEST|LARGEST|CEILING|TIMEOUT|DEEPEST|KEPT|TIMES$|PATIENCE|LOST")
NO_LIMITS = {
    "pii._LONGEST_CARD",  # what a card's number looks like
    "house.STEP_S",  # of the simulation's clock
    "house._BEFORE_LEADING_S",  # how the simulated person behaves
    "house._PATIENCE_STEPS",
    "tools._LARGEST",  # of all floats
    "tts._LOST",  # how like a word is to itself
    "english.LONGEST",  # of markers
}
ROOMS = """agent app audio check cli config doctor hooks house journal json_lines llm mcp_agent mcp_tools models pii
robot session stop tools tts views web""".split()
"""Where limits are looked for."""
SIGNAL = {
    f"edgeagent.audio.{name}"
    for name in (
        *("alignment", "delay", "early_echo", "echo", "echo_search", "endpoint", "far_end", "linear_echo"),
        *("residual_gate", "stream_clock", "vad"),
    )
}
"""Whose constants say how sound is computed."""


def _page(checkout: Path, name: str) -> str:
    return (checkout / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_run_and_print_what_they_say(
    name: str, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _page(checkout, name)
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"docs/{name}.md has no example"
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "docs_" + name.replace("/", "_")}
    for block in blocks:
        code, printed = block[1], io.StringIO()
        above = text.count("\n", 0, block.start(1))  # so that an error names the line of the page
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * above + code, f"docs/{name}.md", "exec"), namespace)  # noqa: S102 - our own page
        assert printed.getvalue().splitlines() == PRINTED.findall(code)


@pytest.mark.parametrize("path", LINKED)
def test_every_link_leads_somewhere(path: str, checkout: Path) -> None:
    page = checkout / path
    for target, _, place in re.findall(r"\]\(([^)#:]*)(#([^)]+))?\)", page.read_text(encoding="utf-8")):
        leads_to = page.parent / target if target else page
        assert leads_to.exists(), target
        if place:
            headings = re.findall(r"^#+ (.*)$", leads_to.read_text(encoding="utf-8"), re.MULTILINE)
            assert place in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.stem)
def test_every_page_begins_with_a_list_of_its_sections(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    listed = re.match(r"# .*\n\nOn this page: (.*?)\.\n\n", text, re.DOTALL)
    assert listed, page.name
    assert re.findall(r"\[(.*?)\]\(#", " ".join(listed[1].split())) == re.findall(r"^## (.*)$", text, re.MULTILINE)


def test_the_readme_links_every_page(checkout: Path) -> None:
    readme = (checkout / "README.md").read_text(encoding="utf-8")
    for page in sorted((checkout / "docs").rglob("*.md")):
        assert f"({page.relative_to(checkout)})" in readme, page.name


def test_the_hooks_page_has_every_hook_and_callback(checkout: Path) -> None:
    text = _page(checkout, "hooks")
    built_in = {name for name in hooks.__all__ if name.endswith("Hook") and name not in ("BaseHook", "Hook")}
    assert set(re.findall(r"^\| `(\w+Hook)\b", text, re.MULTILINE)) == built_in
    assert set(re.findall(r"^\| `(\w+)\(.*?\)` \|", text, re.MULTILINE)) >= CALLBACKS


@pytest.mark.parametrize("callback", sorted(CALLBACKS))
def test_a_callback_that_raises_does_what_the_hooks_page_says(callback: str, checkout: Path) -> None:
    row = re.search(rf"^\| `{callback}\(.*\| (.*) \|$", _page(checkout, "hooks"), re.MULTILINE)
    assert row is not None

    def broken(*_: object) -> None:
        raise LookupError("it is broken")

    @tool(destructive=True)
    def fail() -> str:
        raise OSError("no")

    llm = ScriptedLLM([call("fail")], "Done.")
    max_turns = 1 if callback == "continue_confirm" else 15
    options: dict[str, Any] = {callback: broken, "max_turns": max_turns}
    agent = Agent("robi", llm=llm, tools=[fail], options=Options(**options))
    try:
        result = agent.run("go on")
    except LookupError:
        assert row[1] == "the run fails"
    except PolicyViolationError:
        assert row[1] == "denied"
    else:
        (made,) = result.tool_calls
        assert result.reason == ("completed" if max_turns > 1 else "budget")
        assert made.result is not None
        assert (row[1] == "that call is an error") == ("it is broken" in made.result.text)
        assert row[1] == "that call is an error" or row[1].startswith("logged")
        assert (row[1] == "logged, counted") == (agent.subscriber_errors > 0)


def test_the_tools_page_has_every_status(checkout: Path) -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|.*\| (?:yes|no) \|", _page(checkout, "tools"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(Status.__args__)


# --- limits ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Limit:
    """A row of the table."""

    name: str
    default: str
    room: str


def _limits(checkout: Path) -> list[Limit]:
    """One for each name of each row; a default for every name, or one for all."""
    limits = []
    for row in ROW.finditer(_page(checkout, "reference/limits")):
        names = re.findall(r"`([^`]+)`", row["names"])
        defaults = row["default"].split("; ")
        defaults = defaults * len(names) if len(defaults) == 1 else defaults
        limits += [Limit(n, d, row["room"]) for n, d in zip(names, defaults, strict=True)]
    return limits


@cache
def _modules(checkout: Path, room: str) -> tuple[Any, ...]:
    """The modules of a room, wherever in it they stand."""
    package = checkout / "edgeagent"
    paths = sorted((package / room).rglob("*.py")) or [package / f"{room}.py"]
    names = (".".join(path.relative_to(checkout).with_suffix("").parts) for path in paths)
    return tuple(importlib.import_module(name.removesuffix(".__init__")) for name in names)


def _values(limit: Limit, module: Any) -> Iterator[Any]:
    """Defaults in a module of what has this name: a constant, ``Class.field``, or ``function(parameter)``."""
    call = re.fullmatch(r"([\w.]+)\((\w+)\)", limit.name)
    owner, name = (call[1], call[2]) if call else limit.name.rpartition(".")[::2]
    found: Any = module
    for part in filter(None, owner.split(".")):
        found = getattr(found, part, None)
    if found is None:
        return
    if call:
        yield inspect.signature(found).parameters[name].default
    elif owner:
        yield from (field.default for field in dataclasses.fields(found) if field.name == name)
    elif hasattr(found, name):
        yield getattr(found, name)


def _read(default: str) -> Any:
    return None if default == "none" else ast.literal_eval(default.replace(",", "").replace(" to ", ", "))


def test_every_default_in_the_table_is_the_code_s(checkout: Path) -> None:
    limits = _limits(checkout)
    assert len(limits) > 90
    for limit in limits:
        values = [value for module in _modules(checkout, limit.room) for value in _values(limit, module)]
        assert _read(limit.default) in values, f"{limit.room}: {limit.name} is {values} in the code"


def test_every_number_of_the_options_is_in_the_table(checkout: Path) -> None:
    told = {limit.name for limit in _limits(checkout)}
    fields = [field for field in dataclasses.fields(Options) if field.name not in CALLBACKS]
    numbers = {field.name for field in fields if re.search(r"\b(int|float)\b", str(field.type))}
    assert {f"Options.{name}" for name in numbers - {"temperature"}} <= told


def _constants(checkout: Path) -> Iterator[tuple[str, Any]]:
    """Every constant of the package that is a number and is called like a limit: its room and name, and its value."""
    for path in sorted((checkout / "edgeagent").rglob("*.py")):
        module = ".".join(path.relative_to(checkout).with_suffix("").parts)
        room = module.split(".")[1]
        if room not in ROOMS or module in SIGNAL:
            continue
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name)) if name.isupper() and IS_A_LIMIT.search(name):
                    value = getattr(importlib.import_module(module), name)
                    if isinstance(value, int | float) and not isinstance(value, bool):
                        yield f"{room}.{name}", value


def test_every_constant_that_is_a_limit_is_in_the_table(checkout: Path) -> None:
    told = {(f"{limit.room}.{limit.name}", _read(limit.default)) for limit in _limits(checkout)}
    missing = [(name, value) for name, value in _constants(checkout) if name not in NO_LIMITS]
    assert [limit for limit in missing if limit not in told] == []


def test_every_test_that_the_safety_page_names_is_there(checkout: Path) -> None:
    there = {
        name
        for path in (checkout / "tests/robot").glob("test_*.py")
        for name in re.findall(r"^def test_(\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    rows = [line for line in (checkout / "docs/safety.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    named = {name for row in rows for name in re.findall(r"`(\w+_\w+_\w+_\w+)`", row.rsplit("|", 2)[1])}
    assert len(named) > 30
    assert named <= there
