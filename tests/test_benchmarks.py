"""Every benchmark can be started: what it imports is there."""

import importlib
import pkgutil

import benchmarks
import pytest

NAMES = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "__main__"])
def test_it_imports(name):
    try:
        importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if error.name != "torch":  # `make bench` installs it
            raise


def test_the_bounds_are_simulated_in_every_case(monkeypatch, capsys):
    """A few problems of each case: all that the docs tell is counted, and nothing is violated."""
    from benchmarks import simulated_bounds

    monkeypatch.setattr(simulated_bounds, "PROBLEMS", 20)
    monkeypatch.setattr(simulated_bounds, "SIZES", (10, 100))
    simulated_bounds.report()
    said = capsys.readouterr().out
    for case in ("Bernoulli 0.5, 10 models", "clipped least squares", "worst networks, Q = 10",
                 "|x| <= 1e+06", "windows of a series", "lag 0.99 of 32"):  # fmt: skip
        assert case in said
    assert "VIOLATED" not in said
