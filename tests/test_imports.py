"""Data flows one way: a folder imports only from folders above it. And importing is quiet, quick
and light.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headcount

ROOT = Path(headcount.__file__).parent
ORDER = (
    "core",
    "memory",
    "model",
    "theory",
    "construct",
    "train",
    "lab",
    "experiments",
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
    assert {_folder(name) for name in files} - {None, "__init__"} <= set(ORDER), (
        "a folder that design.md does not know"
    )
    assert upward_edges(files) == []


def test_the_check_sees_an_upward_edge():
    assert upward_edges({"headcount.memory.x": ["headcount.model.y"]}) == [
        "headcount.memory.x imports model"
    ]


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
