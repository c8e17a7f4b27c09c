"""docs/architecture.md names every room, thread, timer and process that the code has, and no others.

What the page names in a walk is there too: the file, and the function in it.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_imports import FREE, LAYERS, ONLY

FILE = re.compile(r"`((?:\w+/)*\w+\.py)`(?:\s+\(((?:`[\w.]+`(?:,\s+)?)+)\))?")
"""A file of the package in code style, and names in parentheses of what stands in it."""
OTHER_WAYS = re.compile(r"ThreadPoolExecutor|ProcessPoolExecutor|multiprocessing|start_new_thread|to_thread|os\.fork\(")
"""Ways to start threads and processes that nothing here uses, because their names would not be found."""


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def package(checkout: Path) -> Path:
    return checkout / "edgeagent"


@pytest.fixture(scope="module")
def files(package: Path) -> dict[str, "Source"]:
    return sources(package)


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table whose first column has a heading, row by row."""
    section = page.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()[2:]]


def named(cell: str) -> list[str]:
    """What stands in code style in a cell."""
    return re.findall(r"`([^`]+)`", cell)


# --- threads, timers and processes of the code ----------------------------------------------------------------------


class Started(NamedTuple):
    """Something that runs by itself, with `<>` for what is filled into its name, and the file that names it."""

    name: str
    file: str


class Source:
    """A file of the package as a tree, with its constants, and the names that a comprehension gives to values.

    It is read only where something is looked for that stands in it.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self._text)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        return {
            statement.target.id: statement.value
            for statement in self.tree.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value
        }

    @cached_property
    def parameters(self) -> set[str]:
        return {
            argument.arg
            for node in self._nodes
            if isinstance(node, ast.FunctionDef)
            for argument in [*node.args.args, *node.args.kwonlyargs]
        }

    @cached_property
    def filled(self) -> dict[str, list[str]]:
        return {
            ast.unparse(target): list(_literals(node.iter, place))
            for node in self._nodes
            if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Tuple)
            for place, target in enumerate(node.target.elts)
        }

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of functions by the last part of their name."""
        if any(f"{name}(" in self._text for name in names):
            yield from (node for node in self._nodes if isinstance(node, ast.Call) and _last(node.func) in names)

    def spelled(self, name: ast.expr) -> list[str]:
        """The texts that an expression may be; none where it is a parameter, which callers spell."""
        match name:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Name(id=known) if known in self.constants:
                return self.spelled(self.constants[known])
            case ast.Name(id=known) if known in self.filled:
                return self.filled[known]
            case ast.IfExp(body=one, orelse=other):
                return self.spelled(one) + self.spelled(other)
            case ast.FormattedValue(value=value):
                return self.spelled(value) or ["<>"]
            case ast.JoinedStr(values=parts):
                return ["".join(texts) for texts in product(*map(self.spelled, parts))]
        return []


def _last(function: ast.expr) -> str:
    """The last part of a function's name."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _literals(values: ast.expr, place: int) -> Iterator[str]:
    for row in values.elts if isinstance(values, ast.Tuple) else ():
        if isinstance(row, ast.Tuple) and isinstance(text := row.elts[place], ast.Constant):
            yield str(text.value)


def sources(package: Path) -> dict[str, Source]:
    """Every file of a package by its path in the package."""
    paths = sorted(package.rglob("*.py"))
    return {str(path.relative_to(package)): Source(path.read_text(encoding="utf-8")) for path in paths}


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def threads(files: Mapping[str, Source]) -> set[Started]:
    """Threads by name: of ``Thread(name=...)``, of what hands its ``name`` to it, and of the second argument of
    ``run`` or ``do``, by which work names the pool's thread that does it.

    Raises:
        AssertionError: A thread has no name, or one that this cannot read.
    """
    found, passing = set(), set()
    for file, source in files.items():
        for call in source.calls("Thread"):
            name = keyword(call, "name")
            assert name is not None, f"{file}, line {call.lineno}: a thread without a name"
            texts = source.spelled(name)
            if not texts:
                assert ast.unparse(name) in source.parameters, f"{file}, line {call.lineno}: {ast.unparse(name)}"
                passing.add(_function_around(source.tree, call))
            found |= {Started(text, file) for text in texts}
    for file, source in files.items():
        for call in source.calls(*passing):
            found |= {Started(text, file) for text in source.spelled(keyword(call, "name") or ast.Constant(None))}
        for call in source.calls("run", "do"):
            if len(call.args) == 2 and isinstance(call.args[1], ast.JoinedStr | ast.Constant):
                found |= {Started(text, file) for text in source.spelled(call.args[1])}
    return found


def _function_around(tree: ast.Module, call: ast.Call) -> str:
    return next(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.lineno <= call.lineno <= (node.end_lineno or 0)
    )


def callers(files: Mapping[str, Source], *names: str) -> set[str]:
    """Files that call one of these functions."""
    return {file for file, source in files.items() if any(source.calls(*names))}


def subprocesses(files: Mapping[str, Source]) -> set[str]:
    """Files that start a process."""
    calls = ("subprocess.run", "subprocess.Popen")
    return {
        file
        for file, source in files.items()
        if any(ast.unparse(call.func) in calls for call in source.calls("run", "Popen"))
    }


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[str]:
    """Functions and classes of a file, those in classes with the name of the class before them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from definitions(node, f"{prefix}{node.name}.")


# --- the page -------------------------------------------------------------------------------------------------------


def test_every_thread_of_the_code_is_on_the_page_and_no_other(page: str, files: dict[str, Source]) -> None:
    told = {
        Started(re.sub(r"<\w+>", "<>", name), file)
        for names, where, *_ in rows(page, "thread")
        for name, file in product(named(names), named(where))
    }
    assert told == threads(files)


def test_every_timer_of_the_code_is_on_the_page_and_no_other(page: str, files: dict[str, Source]) -> None:
    assert {file for where, *_ in rows(page, "timer in") for file in named(where)} == callers(files, "Timer")


def test_every_process_of_the_code_is_on_the_page_and_no_other(page: str, files: dict[str, Source]) -> None:
    told = {file for _, where, *_ in rows(page, "process") for file in named(where)}
    assert told == subprocesses(files)


def test_every_recogniser_s_process_is_on_the_page_by_its_name(page: str, files: dict[str, Source]) -> None:
    told = {re.sub(r"<\w+>", "<>", name) for names, *_ in rows(page, "process") for name in named(names)}
    workers = {
        text for source in files.values() for call in source.calls("Worker") for text in source.spelled(call.args[0])
    }
    assert workers
    assert workers == told


def test_no_thread_or_process_is_started_in_a_way_that_is_not_looked_for(package: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [path for path, text in texts.items() if OTHER_WAYS.search(text)] == []


def test_every_room_of_the_package_has_a_row_and_no_other(page: str, package: Path) -> None:
    paths = [path for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    rooms = {path.stem for path in paths} - {"__init__", "__main__"}
    told = [name for cell, *_ in rows(page, "room") for name in named(cell)]
    assert set(told) == rooms
    assert told == [name for name in LAYERS if name in rooms], "the rows stand as the floors do, the lowest first"


def test_every_room_may_import_what_its_row_says(page: str) -> None:
    told = {name: cells[2] for cells in rows(page, "room") for name in named(cells[0])}
    for name, cell in told.items():
        below = set(LAYERS[: LAYERS.index(name)]) - FREE
        allowed = ONLY.get(name, below) - FREE
        match cell.split("`")[0].strip():
            case "nothing":
                assert allowed == set(), name
            case "all above":
                assert allowed == below, name
            case "all above but":
                assert allowed == below - set(named(cell)), name
                assert set(named(cell)) <= below, name
            case _:
                assert allowed == set(named(cell)), name


def test_every_file_that_the_page_names_is_there_and_so_is_what_it_names_in_the_file(
    page: str, package: Path, files: dict[str, Source]
) -> None:
    mentions = list(FILE.finditer(page))
    assert len(mentions) > 100
    for file, names in (mention.groups() for mention in mentions):
        if file.startswith("tests/"):
            assert (package.parent / file).exists(), file
            continue
        assert file in files, file
        assert set(named(names or "")) <= set(definitions(files[file].tree)), file


@pytest.mark.parametrize("walk", ["typed line", "token", "microphone block", "spoken stop", "abort"])
def test_every_walk_is_a_list_of_steps_with_files(page: str, walk: str) -> None:
    section = next(part for part in re.split(r"^##+ ", page, flags=re.MULTILINE) if walk in part.partition("\n")[0])
    steps = re.findall(r"^(\d+)\. (.*(?:\n   .*)*)", section, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert len(steps) >= 5
    assert [text for _, text in steps if not FILE.search(text)] == []


def test_every_term_of_the_glossary_is_used_and_they_stand_in_order(page: str, checkout: Path) -> None:
    terms = [cells[0] for cells in rows(page, "term")]
    assert len(terms) >= 30
    assert terms == sorted(terms, key=str.lower)
    used = "\n".join(
        path.read_text(encoding="utf-8")
        for path in [*(checkout / "edgeagent").rglob("*.py"), *(checkout / "docs").glob("*.md")]
        if path.name != "architecture.md"
    ).lower()
    assert [term for term in terms if not re.search(rf"\b{term.lower()}\b".replace(" ", r"[\s_-]"), used)] == []


# --- the code is read right -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('threading.Thread(target=f, name="mouth")', {"mouth"}),
        ('PART: Final = "transcriber"\nThread(target=f, name=PART)', {"transcriber"}),
        ('Thread(target=f, name=f"agent-{self.name}")', {"agent-<>"}),
        ("[Thread(target=t, name=f'{n}-{p}') for p, t in (('read', f), ('write', g))]", {"<>-read", "<>-write"}),
        ("def ask(name):\n    Thread(target=f, name=name)\nask(name='confirm')", {"confirm"}),
        ("pool.run(work, f\"{'stop' if halts else 'hold'}-{name}\")", {"stop-<>", "hold-<>"}),
        ("subprocess.run(command, check=False)", set()),
    ],
)
def test_a_thread_is_found_by_its_name(text: str, names: set[str]) -> None:
    assert {name for name, _ in threads({"a.py": Source(text)})} == names


@pytest.mark.parametrize("text", ["Thread(target=f)", "Thread(target=f, name=chosen())"])
def test_a_thread_whose_name_nobody_can_read_fails(text: str) -> None:
    with pytest.raises(AssertionError, match=r"a\.py, line 1"):
        threads({"a.py": Source(text)})


def test_a_function_is_found_in_its_file() -> None:
    tree = ast.parse("def f(): ...\nclass A:\n    def g(self): ...\n    class B:\n        async def h(self): ...")
    assert set(definitions(tree)) == {"f", "A", "A.g", "A.B", "A.B.h"}
