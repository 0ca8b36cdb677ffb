"""Jobs that no machine could do: refused from their sizes, with the estimate and how to allow
more.
"""

import pytest

from headcount.core import sizes
from headcount.core.errors import InputError
from tests.command import run

RUN = "memory: exp-4b\nmodel: {width: 4, hidden: 4}\ntrain: {steps: 5, batch: 4, length: 16}\n"


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    """Four gigabytes and a minute, whatever this machine has."""
    monkeypatch.setenv(sizes.MEMORY, "4")
    monkeypatch.setenv(sizes.MINUTES, "1")


@pytest.mark.parametrize(
    "words",
    [
        "plan fixed:lags=2000000000",
        "plan fixed:lags=2 --length 700000000",
        "build fixed:lags=2 --length 700000000",
        "build fixed:lags=2 --heads 2000000",
        "plan recall:symbols=300000000",
        "plan induction:symbols=300000000",
        "plan fixed:lags=2,readout=teacher(neurons=300000000)",
        "plan fixed:lags=2,readout=relu-sum(neurons=3000000000)",
        "plan fixed:lags=2,inputs=boolean(d=900000)",
        "plan fixed:lags=2,inputs=onehot(symbols=900000)",
        "plan fixed:lags=2,inputs=embedded(symbols=900000,d=900000)",
        "plan fixed:lags=2,inputs=markov(symbols=900000)",
        "plan pointer-chain:hops=2000000",
        "plan pointer-chain:hops=2000,symbols=2",
        "plan pointer-chain:hops=500",
        "plan algebraic:beta=3,memories=200",
        "build algebraic:beta=3,memories=200",
        "plan fixed:lags=2,readout=teacher(neurons=300000)",
        "build fixed:lags=2,readout=teacher(neurons=300000)",
        "train run.yaml model.width=2000000000",
        "train run.yaml model.layers=200000",
        'train run.yaml model={"kind":"convolution","layers":200000}',
        'train run.yaml model={"kind":"gru","width":2000000}',
        "train run.yaml model.bias=table:window=20000000000",
        "train run.yaml model.position=learned:longest=20000000000",
        "train run.yaml train.data.samples=3000000000000",
        "train run.yaml train.batch=3000000000",
        "train run.yaml train.length=3000000000",
        "train run.yaml train.evaluation.batches=3000000000",
        "train run.yaml train.steps=2000000000 train.log=2000000000",
        "train run.yaml train.steps=3000000000000",
        "train run.yaml memory=recall:symbols=2000000000",
        "train run.yaml model.layers=30 model.width=60000 model.heads=1 train.batch=60000",
    ],
)
def test_what_does_not_fit_is_refused_from_its_sizes(words, tmp_path):
    (tmp_path / "run.yaml").write_text(RUN)
    done = run(*words.split(), folder=tmp_path)
    assert done.faults() == []
    assert done.code == 2, done
    assert "at most" in done.stderr or "from 1 to" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.yaml"]


def test_many_log_points_of_few_steps_are_as_many_as_steps(tmp_path):
    from headcount.train.run_plan import stops_of
    from headcount.train.run_spec import TrainSpec

    assert stops_of(TrainSpec(steps=7, log=3_000_000_000), 0, 1) == tuple(range(1, 8))
    assert stops_of(TrainSpec(steps=8, log=3), 0, 1) == (3, 6, 8)


def test_the_estimate_and_the_way_to_allow_more_are_told(monkeypatch):
    with pytest.raises(InputError, match=r"at least 9 GB.*at most 4 GB.*HEADCOUNT_MAX_GB=9"):
        sizes.require_memory(9e9, "nine", "use less")
    monkeypatch.setenv(sizes.MEMORY, "9")
    sizes.require_memory(9e9, "nine", "use less")
    with pytest.raises(InputError, match=r"at least 2 hours.*HEADCOUNT_MAX_MINUTES=120"):
        sizes.require_time(7200, "long", "use less")
    monkeypatch.setenv(sizes.MINUTES, "120")
    sizes.require_time(7200, "long", "use less")


@pytest.mark.parametrize("text", ["lots", "-1", "0", "nan"])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv(sizes.MEMORY, text)
    with pytest.raises(InputError, match="a positive number"):
        sizes.require_memory(1, "one", "use less")


def test_without_a_limit_the_free_memory_counts(monkeypatch):
    monkeypatch.delenv(sizes.MEMORY)
    assert 0 < sizes.memory_limit() < 1e14
    monkeypatch.setattr(sizes, "_free", lambda: 5.0)
    with pytest.raises(InputError):
        sizes.require_memory(6, "six bytes", "use less")
