"""What the README and the docs say runs: Python blocks are executed, `headcount` commands are
run.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from headcount.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str):
    for page in PAGES:
        for i, text in enumerate(
            re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)
        ):
            yield pytest.param(text, id=f"{page.name}-{i}")


def registers(code: str) -> bool:
    """It adds to a registry, which other tests of this process would meet."""
    return bool(re.search(r"@[\w.]+\.register\b", code))


# The first thing that a reader tries, and what adds to a registry.
ALONE = [next(blocks("python")), *(b for b in blocks("python") if registers(b.values[0]))]
TOGETHER = [b for b in blocks("python") if b.id not in {alone.id for alone in ALONE}]


@pytest.mark.parametrize("code", TOGETHER)
def test_python_blocks_run(code, tmp_path, monkeypatch, capsys):
    """In this process, as the commands below; every warning is an error here too."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<block>", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


@pytest.mark.parametrize("code", ALONE)
def test_python_blocks_run_in_a_process_of_their_own(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


COMMANDS = dict.fromkeys(
    line.split("#")[0].strip()
    for block in blocks("bash")
    for line in block.values[0].splitlines()
    if line.startswith("headcount ")
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, tmp_path, monkeypatch, capsys):
    """In this process, which has loaded everything (`tests/cli/test_cli.py` starts others)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as done:
        main()
    shown = capsys.readouterr()
    assert done.value.code == 0, shown.err
    assert shown.out


def test_the_make_targets_named_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text())):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_links_lead_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
