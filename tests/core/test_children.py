"""Where processes that we start look for modules."""

import json
import os
import subprocess
import sys

from headcount.core.children import SAFE_PATH, asked_path, folder_of, safe_children, search_path


def test_the_working_folder_that_nobody_asked_for_is_left_out(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/mine", "/libraries"])
    assert asked_path() == ["/mine", "/libraries"]
    assert search_path(["/mine", "/libraries"]) == f"/mine{os.pathsep}/libraries"


def test_python_m_headcount_did_not_ask_for_it_either(tmp_path):
    """Of our own modules only: who runs another one with -m may keep modules beside it."""
    show = (
        "import json; from headcount.core.children import asked_path;"
        "print(json.dumps(asked_path()))"
    )
    (tmp_path / "mine.py").write_text(show)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("PYTHONSAFEPATH", None)
    told = subprocess.run(
        [sys.executable, "-m", "mine"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=True,
    )
    assert os.path.realpath(json.loads(told.stdout)[0]) == os.path.realpath(tmp_path)


def test_the_folder_of_a_module():
    import headcount.core.errors

    assert (
        folder_of("headcount.core.errors") == folder_of("headcount.core") == folder_of("headcount")
    )
    assert folder_of("builtins") is None
    assert headcount.core.errors.__file__.startswith(folder_of("headcount"))


def test_children_inherit_it_inside_the_block_only(monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with safe_children():
        assert os.environ["PYTHONSAFEPATH"] == SAFE_PATH["PYTHONSAFEPATH"]
    assert "PYTHONSAFEPATH" not in os.environ
