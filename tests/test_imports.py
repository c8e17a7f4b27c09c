"""Imports point one way: from the command line down to the errors.

A room is a folder or a file directly in the package. An import counts wherever it stands: at the top, in a function,
under TYPE_CHECKING.
"""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

# Lowest first; a room may import the rooms before it,
LAYERS = (
    "front",
    "stop",
    "characters",
    "english",
    "errors",
    "extras",
    "json_lines",
    "onnx",
    "parent",
    "resources",
    "models",
    "messages",
    "pii",
    "journal",
    "events",
    "tools",
    "llm",
    "context",
    "hooks",
    "agent",
    "views",
    "session",
    "audio",
    "tts",
    "stt",
    "robot",
    "house",
    "voice",
    "config",
    "mcp_tools",
    "app",
    "testing",
    "check",
    "train",
    "doctor",
    "web",
    "mcp_agent",
    "cli",
    "__main__",
)
FREE = {"front", "stop"}
"""Every room may import these helpers."""
# ... but some may import fewer.
ONLY = {
    "front": set(),
    "stop": set(),
    "english": {"characters"},
    "characters": set(),
    "json_lines": {"errors"},
    "resources": {"errors"},
    "models": {"errors", "parent", "resources"},
    "messages": {"errors", "characters"},
    "pii": {"errors", "messages"},
    "journal": {"errors", "messages"},
    "llm": {"characters", "english", "errors", "resources", "models", "messages", "events"},
    "robot": {"errors", "messages", "tools"},
    "house": {"errors", "messages", "tools", "robot"},
    "testing": {"errors", "messages", "resources", "llm", "audio", "tts", "voice", "config", "app"},
    "context": {"messages", "events", "llm", "tools"},
    "hooks": {
        "characters",
        "english",
        "errors",
        "json_lines",
        "messages",
        "pii",
        "journal",
        "events",
        "tools",
        "llm",
        "context",
    },
    "extras": {"errors"},
    "onnx": {"errors", "extras"},
    "parent": set(),
    "audio": {"errors", "extras", "onnx", "resources"},
    "tts": {"english", "errors", "characters", "extras", "onnx", "models", "resources", "audio"},
    "stt": {"characters", "english", "errors", "extras", "onnx", "parent", "resources", "audio", "tts"},
    "voice": {
        "characters",
        "english",
        "errors",
        "extras",
        "onnx",
        "messages",
        "events",
        "tools",
        "context",
        "hooks",
        "agent",
        "views",
        "session",
        "audio",
        "tts",
        "stt",
        "robot",
    },
    "config": {"errors", "resources"},
    "mcp_tools": {
        "characters",
        "english",
        "errors",
        "extras",
        "parent",
        "messages",
        "tools",
        "llm",
        "context",
        "hooks",
    },
    "train": {
        "agent",
        "check",
        "english",
        "errors",
        "front",
        "llm",
        "messages",
        "resources",
        "tools",
    },
    "doctor": {"errors", "extras", "models", "messages", "llm", "audio", "tts", "stt"},
    "web": {"errors", "extras", "json_lines", "messages", "pii", "events", "robot", "app"},
}
# What takes long to load or needs a device; `import edgeagent` and text without a model do without.
HEAVY = {"llama_cpp", "numpy", "torch", "gguf", "tokenizers", "sounddevice", "soxr", "pocketsphinx", "webrtcvad"}


class Import(NamedTuple):
    """One import of a module of the package by another."""

    importer: str
    imported: str
    line: int
    runs_on_import: bool


def modules_in(package: Path) -> dict[str, Path]:
    """Every module of a package by its dotted name; a folder stands under its own name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(importer: str, path: Path, modules: dict[str, Path]) -> Iterator[Import]:
    """Read one file's imports of its own package. `from edgeagent import x` names the module x, where there is one."""
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]
    root = importer.partition(".")[0]

    def names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            return
        base = node.module or ""
        if node.level:
            ancestors = package.split(".")
            base = ".".join([*ancestors[: len(ancestors) - node.level + 1], *filter(None, [base])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            if (base, alias.name) != (root, "__version__"):
                yield inner if inner in modules else base

    def walk(node: ast.AST, runs: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in names(node):
                if name.partition(".")[0] == root:
                    yield Import(importer, name, node.lineno, runs)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from walk(child, False)
            for child in node.orelse:
                yield from walk(child, runs)
        else:
            inside = runs and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.expr):  # which holds no import
                    yield from walk(child, inside)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), True)


@cache
def imports_in(package: Path) -> list[Import]:
    """All imports within a package, which are read once."""
    modules = modules_in(package)
    return [found for name, path in modules.items() for found in imports_of(name, path, modules)]


def room(module: str) -> str:
    """The room of a module; the package itself has the empty one."""
    return module.partition(".")[2].partition(".")[0]


def wrong_way(imports: list[Import]) -> list[str]:
    """Complaints about imports that point up, or past what a room may know."""
    complaints = []
    for found in imports:
        above, below = room(found.importer), room(found.imported)
        if above in ("", below):
            continue
        if above not in LAYERS or (below and below not in LAYERS):
            reason = "is of a room that LAYERS in this file does not know"
        elif not below:
            reason = "goes through the public names: import the module itself"
        elif LAYERS.index(below) > LAYERS.index(above):
            reason = "points up"
        elif below not in FREE and below not in ONLY.get(above, LAYERS):
            reason = f"is none that {above} may know"
        else:
            continue
        complaints.append(f"{found.importer}, line {found.line}: the import of {found.imported} {reason}")
    return complaints


def cycle(edges: list[tuple[str, str]]) -> list[str]:
    """One cycle of a graph as the names along it, or nothing."""
    graph: dict[str, set[str]] = {}
    for start, end in edges:
        if start != end:
            graph.setdefault(start, set()).add(end)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_point_down_the_layers(checkout: Path) -> None:
    imports = imports_in(checkout / "edgeagent")
    assert imports, "no imports were found: is the package there?"
    assert not (complaints := wrong_way(imports)), "\n".join(complaints)


def test_no_room_is_in_a_cycle(checkout: Path) -> None:
    imports = imports_in(checkout / "edgeagent")
    assert not cycle([(room(i.importer), room(i.imported)) for i in imports if room(i.importer) and room(i.imported)])


def test_no_modules_import_each_other(checkout: Path) -> None:
    imports = imports_in(checkout / "edgeagent")
    assert not cycle([(i.importer, i.imported) for i in imports if i.runs_on_import])


@pytest.mark.parametrize("name", ["agent", "tools"])
def test_no_modules_of_a_core_room_know_each_other(checkout: Path, name: str) -> None:
    imports = imports_in(checkout / "edgeagent")  # also those under TYPE_CHECKING
    assert not cycle([(i.importer, i.imported) for i in imports if room(i.importer) == room(i.imported) == name])


@pytest.mark.parametrize(
    ("program", "light"), [("import edgeagent", set()), ("from edgeagent import Conversation", {"numpy"})]
)
def test_the_package_loads_no_engine(program: str, light: set[str]) -> None:
    told = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", f"{program}; {told}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert not (HEAVY - light) & set(loaded.stdout.split())


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("llm/base.py", "from edgeagent.agent import Agent", "points up"),
        ("llm/base.py", "from ..agent import Agent", "points up"),
        ("llm/base.py", "def f():\n    import edgeagent.agent", "points up"),
        ("llm/base.py", "if TYPE_CHECKING:\n    from edgeagent import agent", "points up"),
        ("llm/base.py", "from edgeagent.tools import Tool", "none that llm may know"),
        ("house/flat.py", "from edgeagent.llm import LLM", "none that house may know"),
        ("tools/tool.py", "from edgeagent import Agent", "public names"),
        ("garden/tree.py", "from edgeagent.errors import E", "does not know"),
        ("cli.py", "from edgeagent.agent import Agent", None),
        ("cli.py", "from edgeagent import __version__", None),
        ("agent/run.py", "from .state import State\nimport json", None),
        ("__init__.py", "from edgeagent.cli import main", None),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, path: str, text: str, complaint: str | None) -> None:
    for name, content in {"agent/__init__.py": "", path: text}.items():
        file = tmp_path / "edgeagent" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    found = wrong_way(imports_in(tmp_path / "edgeagent"))
    assert (complaint in found[0]) if complaint else not found


def test_a_cycle_is_found_and_named() -> None:
    assert set(cycle([("a", "b"), ("b", "c"), ("c", "a")])) == {"a", "b", "c"}
    assert not cycle([("a", "b"), ("b", "c"), ("a", "c"), ("a", "a")])


def test_every_file_of_the_package_has_a_name_of_its_own(checkout: Path) -> None:
    names = Counter(path.name for path in (checkout / "edgeagent").rglob("*.py"))
    shared = {name for name, count in names.items() if count > 1}
    assert shared == {"__init__.py"}


INNER = re.compile(r"edgeagent\.\w+\.")
"""Stands in every import of a room's inner module, and in few files."""


def past_the_front(source: str) -> list[str]:
    """Imports of a room's inner modules by name; a module itself, which a test patches, comes through the front."""
    if not INNER.search(source):
        return []
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [one.module or "" if isinstance(one, ast.ImportFrom) else one.names[0].name for one in found]
    return [name for name in names if name.startswith("edgeagent.") and name.count(".") > 1]


@pytest.mark.parametrize("folder", ["tests", "scripts", "examples"])
def test_who_uses_the_package_enters_its_rooms_by_the_front(checkout: Path, folder: str) -> None:
    paths = sorted((checkout / folder).rglob("*.py"))
    assert paths
    past = {str(path): past_the_front(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: names for path, names in past.items() if names} == {}


@pytest.mark.parametrize("source", ["from edgeagent.llm.engine import Engine", "import edgeagent.llm.engine"])
def test_an_import_past_the_front_is_found(source: str) -> None:
    assert past_the_front(source)
    assert not past_the_front("from edgeagent.llm import LLM, engine\nfrom edgeagent import Agent")


def test_every_name_of_every_front_is_there(checkout: Path) -> None:
    rooms = [path.parent.name for path in checkout.glob("edgeagent/*/__init__.py")]
    fronts = [importlib.import_module(f"edgeagent.{room}") for room in rooms]
    lazy = [(front, name) for front in fronts for name in getattr(vars(front).get("__getattr__"), "names", ())]
    modules = modules_in(checkout / "edgeagent")
    assert len(lazy) > 300
    for front, name in lazy:
        try:
            assert getattr(front, name) is not None, f"{front.__name__}.{name}"
        except ModuleNotFoundError as error:
            # of all extras this one alone is not installed for tests
            if (front.__name__, error.name) != ("edgeagent.train", "torch"):
                raise
        assert f"{front.__name__}.{name}" not in modules, "hidden by the module of this name"
