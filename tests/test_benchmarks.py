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
