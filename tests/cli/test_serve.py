"""`headcount serve`: what it refuses, and that it starts, answers and ends."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from headcount.cli.serve import serve
from headcount.core.children import folder_of
from headcount.core.errors import InputError
from headcount.web import static_site

pytest.importorskip("uvicorn")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"workers": 0}, "0 workers"),
        ({"port": 70000}, "port 70000"),
        ({"host": "0.0.0.0"}, "one address"),
        ({"host": "é\u202e"}, "cannot listen"),
        ({"json": True}, "--json without --static"),
    ],
)
def test_bad_options_are_refused(options, told):
    with pytest.raises(InputError, match=told):
        serve(**options)


def test_without_the_extra_it_names_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"headcount\[web\]"):
        serve()


def test_a_static_copy_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(static_site, "questions", lambda: [("catalogue", {})])
    serve(static=tmp_path / "site", json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["views"] == 1
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(monkeypatch):
    monkeypatch.setattr(static_site, "answer", lambda *_: pytest.fail("computed"))
    with pytest.raises(InputError, match="cannot write to"):
        serve(static=Path("/proc/site"))


def test_it_serves_until_interrupted(tmp_path):
    command = [sys.executable, "-m", "headcount.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        try:
            address = server.stdout.readline().split()[4]
            with urllib.request.urlopen(f"{address}api/found", timeout=60) as answer:
                assert json.loads(answer.read())["models"] == []
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 130
        finally:
            server.kill()


HOSTILE = ("csv", "random", "numpy", "selectors", "optax")


def test_nothing_in_the_working_folder_runs_and_nothing_is_left(tmp_path):
    """Files that are named like modules, as somebody's downloads may be."""
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    for name in HOSTILE:
        text = (
            f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\nraise ImportError('not ours')"
        )
        (here / f"{name}.py").write_text(text)
    command = tmp_path / "bin" / "headcount"  # as pip installs it: no option of Python is set
    command.parent.mkdir()
    command.write_text("from headcount.cli import main\nif __name__ == '__main__':\n    main()\n")
    words = [sys.executable, str(command), "serve", "--port", "0", "--workers", "1"]
    # what runs tests may have put the working folder on the search path itself
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": folder_of("headcount")}
    environment.pop("PYTHONSAFEPATH", None)
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
        env=environment,
        start_new_session=True,
    ) as server:
        try:
            address = server.stdout.readline().split()[4]
            asked = urllib.request.Request(
                f"{address}api/memory", b"{}", {"content-type": "application/json"}
            )
            with urllib.request.urlopen(asked, timeout=100) as answer:
                assert json.loads(answer.read())["x"]
            os.killpg(server.pid, signal.SIGINT)  # as a terminal sends it: to the children too
            _, said = server.communicate(timeout=60)
        finally:
            server.kill()
    assert not (tmp_path / "ran").exists()
    assert (server.returncode, said.splitlines()) == (
        130,
        ["error: interrupted; run the same command again"],
    )
    assert [path.name for path in temporary.iterdir() if path.name.startswith("headcount-")] == []
