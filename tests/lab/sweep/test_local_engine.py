"""Where worker processes look for the runner: beside the user's script, and in no working folder
before the libraries.
"""

import os
import subprocess
import sys

import pytest

from headcount.lab.sweep.local_engine import _path

RUNNER = "from tests.lab.sweep.toy import Toy\nclass Mine(Toy):\n    pass\n"
SCRIPT = """
import sys
from mine import Mine
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.local_engine import LocalEngine
from tests.lab.sweep.toy import plan
done = sweep(plan(2), sys.argv[1], engine=LocalEngine(1), runner=Mine())
assert done.complete, done
"""


@pytest.mark.parametrize("how", ["beside", "prompt"])
def test_a_runner_of_the_user_is_found_and_what_lies_around_is_not_run(tmp_path, how):
    """A script with its runner beside it; and a prompt, whose folder Python adds by itself."""
    (tmp_path / "mine.py").write_text(RUNNER)
    ran = tmp_path / "ran"
    # modules that a worker needs and this process has loaded before it looks here
    if how == "prompt":
        (tmp_path / "queue.py").write_text(
            f"open({str(ran)!r}, 'w')\nraise ImportError('not ours')"
        )
    (tmp_path / "script.py").write_text(SCRIPT)
    loaded = (
        f"import sys; sys.path.remove(''); import queue; sys.path.insert(0, ''); {_one(SCRIPT)}"
    )
    words = ["script.py"] if how == "beside" else ["-c", loaded]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        [sys.executable, *words, str(tmp_path / "runs.sqlite")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not ran.exists()


def _one(script):
    return f"exec({script!r})"


def test_the_runners_folder_comes_last_where_nobody_named_it(tmp_path, monkeypatch):
    (tmp_path / "another.py").write_text(RUNNER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *filter(None, sys.path)])
    try:
        from another import Mine

        assert _path(Mine()).split(os.pathsep)[-1] == str(tmp_path.resolve())
        assert str(tmp_path.resolve()) not in _path(Mine()).split(os.pathsep)[:-1]
        monkeypatch.setattr(sys, "path", [str(tmp_path), *filter(None, sys.path)])
        assert _path(Mine()).split(os.pathsep)[0] == str(tmp_path.resolve())
        assert _path(Mine()).split(os.pathsep).count(str(tmp_path.resolve())) == 1
    finally:
        sys.modules.pop("another", None)
