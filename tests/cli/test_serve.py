"""`headcount serve`: what it refuses, and that it starts, answers and ends."""

import importlib.util
import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from headcount.cli.serve import serve
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


def test_it_serves_until_interrupted(tmp_path):
    command = [sys.executable, "-m", "headcount.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        try:
            address = server.stdout.readline().split()[4]
            with urllib.request.urlopen(f"{address}api/found", timeout=60) as answer:
                assert json.loads(answer.read())["models"] == []
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0
        finally:
            server.kill()
