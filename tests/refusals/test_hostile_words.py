"""Command lines and files that once ended in a traceback, or were taken at their word."""

import os

import pytest

import headcount as hc
from headcount.core.errors import InputError
from headcount.core.files import read_mapping
from tests.command import run

RUN = "memory: exp-4b\nmodel: {attention: dp-free, ffn: none, width: 4}\ntrain: {steps: 3}\n"


@pytest.fixture
def folder(tmp_path):
    """A run in a folder whose path looks like markup, and links that lead nowhere."""
    (tmp_path / "[").mkdir()
    for name in ("[/r].yaml", "r.yaml"):
        (tmp_path / name).write_text(RUN)
    (tmp_path / "r.csv").write_text("1\n2\n1\n3\n")
    # the header of a saved array without its last bracket
    (tmp_path / "r.npy").write_bytes(b"\x93NUMPY\x01\x00\x06\x00{'a':1")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("pool")
    (tmp_path / "pool").symlink_to("loop")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "[/z].yaml"], "[/z].yaml"),
        (["train", "[/r].yaml", "seed=true"], "no truth value"),
        (["train", "r.yaml", "-o", "dangling"], "dangling"),
        (["train", "r.yaml", "-o", "loop"], "loop"),
        (["train", "r.yaml", "-o", "loop/x"], "loop/x"),
        (["train", "r.yaml", "-o", "b" * 260], "bytes"),
        (["train", "r.yaml", "-o", "mine"], "no saved model"),
        (["train", "r.yaml", "-o", "r.yaml/x"], "no folder"),
        (["train", "r.yaml", f"seed={'7' * 31}"], "less than"),
        (["train", "r.yaml", f"train.steps={'7' * 450}"], "below 2**63"),
        (["train", "r.yaml", f"train.steps={'7' * 4500}"], "steps"),
        (["train", "r.yaml", 'model={"kind":"lstm","width":0}'], "greater than or equal to 1"),
        (["fit", f"lag:{'7' * 450}", "--heads", "2"], "below 2**63"),
        (["fit", "exp:1e307", "--heads", "1"], "rate"),
        (["fit", "power:1e307", "--heads", "1"], "exponent"),
        (["fit", "mexican-hat:4,1e-290", "--heads", "1"], "scale"),
        (["fit", "[/k]", "--heads", "1"], "'[/k]'"),
        (["plan", f"fixed:lags={'7' * 31}"], "below 2**63"),
        (["plan", "fixed:lags=2", "--normaliser", "[/n]"], "unknown normaliser '[/n]'"),
        (["build", "fixed:lags=2,readout=lookup(alphabet=90000)"], "0 on every token"),
        (["zoo", "nothing", "--profile", "smoke"], "unknown model"),
        (["zoo", "gru:width=4", "--profile", "smoke", "-o", "loop/x"], "loop/x"),
        (["study", "rivals", "lag-5", "--profile", "smoke", "-o", "mine/diary.txt"], "diary"),
        (["diagnose", "r.csv", "-o", "mine"], "no saved model"),
        (["fit", "r.npy", "--heads", "1"], "cannot read"),
        (["list", "\x1b[31m"], "\\x1b[31m"),
        (["status", "\udcff"], "\\udcff"),
    ],
)
def test_refused_in_one_line(words, said, folder):
    before = sorted(path.name for path in folder.rglob("*"))
    done = run(*words, folder=folder)
    assert done.faults() == []
    assert done.code == 2, done
    assert said in done.stderr
    assert sorted(path.name for path in folder.rglob("*")) == before


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 14)
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "7: 8", "no text"),
        ("a.yaml", "true: 8", "no text"),
        ("a.yaml", "? [a, b]\n: 8", "no text"),
        ("a.yaml", "steps: 7\nsteps: 8", "'steps' stands twice"),
        ("a.json", '{"steps": 7, "steps": 8}', "'steps' stands twice"),
        ("a.toml", "steps = 7\nsteps = 8", "cannot be parsed"),
        ("a.yaml", BOMB, "more than 200000 values"),
        ("a.yaml", "a: &a [*a]", "recursive"),
        ("a.yaml", "a: " + "[" * 200_000, "too deeply"),
        ("a.yaml", "- " * 50_000, "too deeply"),
        ("a.json", '{"a": ' + "[" * 90_000, "too deeply"),
        ("a.json", '{"a": ' + "[" * 40 + "]" * 40 + "}", "deep"),
        ("a.yaml", "a: " + "7" * 4500, "digits"),
        ("a.yaml", "x" * 5_000_000, "MB"),
    ],
)
def test_files_that_are_no_specs(name, text, said, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=r"cannot (be parsed|read)") as caught:
        read_mapping(path)
    assert said in str(caught.value)


def test_a_base_that_is_merged_gives_way_to_what_is_written(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("base: &b {x: 1, y: 2}\nmine: {<<: *b, y: 3}\nlist: [*b, *b]\n")
    assert read_mapping(path)["mine"] == {"x": 1, "y": 3}


def test_a_pipe_is_no_spec(tmp_path):
    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(InputError, match="not a file"):
        read_mapping(tmp_path / "a.yaml")


def test_a_pipe_is_no_array(tmp_path):
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(InputError, match="not a file"):
        hc.kernels.build(str(tmp_path / "a.npy"))


def test_a_list_that_holds_itself_is_refused():
    endless: list[object] = []
    endless.append(endless)
    for make in (lambda: hc.ModelSpec(bias=endless), lambda: hc.FixedMemory(lags=endless)):
        with pytest.raises(InputError, match="at most 32 levels"):
            make()


def test_counts_of_hundreds_of_digits_are_refused(folder):
    done = run("bound", "--theorem", "3.1", "--target", "fixed:lags=1", "--heads", "9" * 400)
    assert (done.code, done.faults()) == (2, [])


def test_a_full_disk_is_one_line_and_leaves_nothing(folder, monkeypatch):
    import errno

    import safetensors.numpy

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    before = sorted(path.name for path in folder.rglob("*"))
    done = run("train", "r.yaml", "train.loss=population", "-o", "new", folder=folder)
    assert done.code == 2, done
    assert "No space left" in done.stderr
    assert not done.crash
    assert sorted(path.name for path in folder.rglob("*")) == before
