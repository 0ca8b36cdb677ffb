"""Data flows one way: a folder imports only from folders above it, and no modules import each other
in a circle. Importing is quiet, quick and light. And what a newcomer meets first: file names that
tell files apart, lines that fit.
"""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import headcount

ROOT = Path(headcount.__file__).parent
TREE = Path(__file__).parent.parent
MOST_REPEATED, WIDEST = 15, 100
ORDER = (
    "core",
    "memory",
    "model",
    "theory",
    "construct",
    "train",
    "export",
    "plot",
    "lab",
    "experiments",
    "studies",
    "study",
    "diagnose",
    "report",
    "pipeline",
    "web",
    "cli",
)
HEAVY = ("matplotlib", "torch", "starlette", "fastapi", "ray", "pandas")


def _folder(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "headcount" and len(parts) > 1 else None


def _imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def upward_edges(files: dict[str, list[str]]) -> list[str]:
    """Edges from a folder to one that comes after it in ORDER."""
    edges = []
    for name, imports in files.items():
        home = _folder(name)
        for target in (_folder(m) for m in imports):
            if home in ORDER and target in ORDER and ORDER.index(target) > ORDER.index(home):
                edges.append(f"{name} imports {target}")
    return edges


def test_no_folder_imports_from_below():
    files = {
        "headcount." + ".".join(p.relative_to(ROOT).with_suffix("").parts): list(_imports(p))
        for p in ROOT.rglob("*.py")
    }
    assert len(files) > 20
    assert {_folder(name) for name in files} - {None, "__init__", "__main__"} <= set(ORDER), (
        "a folder that is not in ORDER"
    )
    assert upward_edges(files) == []


def test_the_check_sees_an_upward_edge():
    assert upward_edges({"headcount.memory.x": ["headcount.model.y"]}) == [
        "headcount.memory.x imports model"
    ]


def _module(path: Path) -> str:
    parts = ("headcount", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def _names_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def imported_on_loading(body: list[ast.stmt]) -> Iterator[str]:
    """What a module imports when it is loaded: not inside functions, not for type checkers."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and _names_checking(node.test):
            yield from imported_on_loading(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers"):
                yield from imported_on_loading(getattr(node, field, []))


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Module → modules among `sources` that it names in an import. (That a package is loaded before
    its modules is no edge: its `__init__` may collect names from them.)"""
    graph = {}
    for name, text in sources.items():
        found = imported_on_loading(ast.parse(text).body)
        # `from a.b import c` names the module a.b.c, or c of the module a.b
        homes = (word if word in sources else word.rpartition(".")[0] for word in found)
        graph[name] = {home for home in homes if home in sources}
    return graph


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other, each sorted (a module alone: if it imports
    itself)."""
    reach = {name: _reached(graph, name) for name in graph}
    found = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in graph
        if name in reach[name]
    }
    return sorted(map(list, found))


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    left = list(graph[start])
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left.extend(graph[name])
    return seen


def test_no_modules_import_each_other_in_a_circle():
    graph = import_graph({_module(path): path.read_text() for path in ROOT.rglob("*.py")})
    assert len(graph) > 20
    assert sum(map(len, graph.values())) > len(graph)
    assert cycles(graph) == []


def test_the_check_sees_a_circle():
    hidden = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a\n"
    sources = {
        "p": "from p.a import f",
        "p.a": "try:\n    from p.b import g\nexcept ImportError:\n    pass",
        "p.b": "import p.c",
        "p.c": "if True:\n    from p.a import f",
        "p.d": f"{hidden}def late():\n    from p.e import h",
        "p.e": "from p.d import late",
    }
    assert cycles(import_graph(sources)) == [["p.a", "p.b", "p.c"]]
    # a name taken from the package that collects it is a circle too
    sources["p.c"] = "from p import f"
    assert cycles(import_graph(sources)) == [["p", "p.a", "p.b", "p.c"]]


def test_file_names_tell_files_apart():
    names = Counter(path.name for path in ROOT.rglob("*.py") if path.name != "__init__.py")
    repeated = sorted(name for name, count in names.items() if count > 1)
    assert len(repeated) <= MOST_REPEATED, repeated


def test_no_line_is_too_wide():
    pages = [
        path
        for folder in ("docs",)
        for path in (TREE / folder).rglob("*")
        if path.suffix == ".md"  # ruff folds and counts the lines of code
    ]
    assert len(pages) > 5
    wide = [
        f"{path.relative_to(TREE)}:{number}"
        for path in sorted(pages)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > WIDEST
    ]
    assert wide == []


def test_import_is_quiet_and_light():
    code = "import sys, headcount as hc; hc.ModelSpec, hc.targets; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert not {m.split(".")[0] for m in done.stdout.split()} & set(HEAVY)


def test_kernel_fitting_does_not_load_jax():
    code = "import sys, headcount as hc; hc.fit_kernel; print('jax' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


@pytest.mark.parametrize("name", headcount.__all__)
def test_every_public_name_exists(name):
    assert getattr(headcount, name) is not None


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = headcount.nothing
