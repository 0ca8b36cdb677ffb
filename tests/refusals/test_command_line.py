"""Bad input on the command line: one clear line, exit code 2, nothing written."""

import pytest

from tests.command import run, run_alone


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fti", "lag:3"), "fti"),
        (("list", "bais"), "nearest: 'bias'"),
        (("fit", "lagg:3", "--heads", "2"), "nearest: 'lag'"),
        (("fit", "lag:3"), "heads"),
        (("fit", "lag:3", "--heads", "0"), "heads"),
        (("fit", "lag:3", "--heads", "two"), "two"),
        (("fit", "lag:3", "--heads", "2", "--budget", "-1"), "budget"),
        (("fit", "lag:30", "--heads", "2", "--window", "10"), "window"),
        (("fit", "missing.npy", "--heads", "2"), "missing.npy"),
        (("fit", "exp:-1", "--heads", "2"), "rate"),
        (("fit", "lag:3", "--heads", "2", "--bias", "lni"), "lni"),
        (("plan", "fixed:lags=3", "--length", "-4"), "length -4"),
        (("build", "fixed:lags=3", "--length", "0"), "length 0"),
        (("plan", "fixed:lags=3", "--normaliser", "foo"), "unknown normaliser 'foo'"),
        (("build", "fixed:lags=2", "--bias", "nope"), "nearest: 'rope'"),
        (("reproduce", "--profile", "smok"), "nearest: 'smoke'"),
        (("reproduce", "4c"), "nearest: '4"),
        (("reproduce", "4a", "--workers", "0"), "0 workers"),
        (("reproduce", "4a", "-o", "/dev/null/sub"), "cannot write to /dev/null/sub"),
        (("reproduce", "1a", "--corpus", "missing"), "corpus missing"),
        (("reproduce", "4a", "--corpus", __file__), "leave out the corpus"),
        (("reproduce", "1a", "--corpus", "."), "inside it"),
        (("doctor", "--jsn"), "--jsn"),
        (("train", "missing.toml"), "cannot read missing.toml"),
        (("train",), "spec"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, words, tmp_path):
    done = run(*arguments, folder=tmp_path)
    assert done.code == 2
    assert done.faults() == []
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert words in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("fti", "lag:3"), ("fit", "lag:3", "--heads", "0")])
def test_a_script_sees_one_line_and_exit_2(arguments, tmp_path):
    done = run_alone(*arguments, folder=tmp_path)
    assert done.code == 2
    assert done.faults() == []


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        ("memory: [", (), "cannot be parsed"),
        ("3", (), "a mapping"),
        ("model: {heads: 2}", (), "'memory' is missing"),
        ("memory: exp-4a", ("trian.lr=1",), "nearest: 'train'"),
        ("memory: exp-4a", ("train.lrr=1", "model.hedas=2"), "nearest: 'heads'"),
        ("memory: exp-4a", ("train.lr",), "write it like train.lr=0.003"),
        ("memory: exp-4a", ("train.loss=population",), "the attention of layer 1 is dot"),
        ("memory: exp-4z", (), "nearest: 'exp-4"),
    ],
)
def test_bad_training_specs_are_one_line_and_exit_2(text, changes, words, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    done = run("train", str(path), *changes, folder=tmp_path)
    assert done.code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert list(tmp_path.iterdir()) == [path]
