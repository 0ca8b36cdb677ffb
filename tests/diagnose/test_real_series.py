"""The real series of docs/diagnose.md say again what the page says."""

import re
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from headcount.diagnose import diagnose
from headcount.diagnose.decay import decay
from headcount.diagnose.symbols import text_of
from headcount.diagnose.words import sentence
from tests.test_docs import PAGES

ROWS = re.findall(
    r"^- \*\*(.+?)\*\* \((\d+) lags\): (.+?\.)$(?=\n- |\n\n)",
    PAGES["diagnose.md"],
    flags=re.MULTILINE | re.DOTALL,
)
datasets = pytest.importorskip("statsmodels.datasets")


def series(name):
    macro = datasets.macrodata.load_pandas().data
    made = {
        "sunspots, square root": lambda: np.sqrt(
            datasets.sunspots.load_pandas().data["SUNACTIVITY"].to_numpy()
        ),
        "CO2, weekly": lambda: datasets.co2.load_pandas().data["co2"].to_numpy(),
        "Nile": lambda: datasets.nile.load_pandas().data["volume"].to_numpy(),
        "El Niño, monthly": lambda: (
            datasets.elnino.load_pandas().data.iloc[:, 1:].to_numpy().ravel()
        ),
        "unemployment": lambda: macro["unemp"].to_numpy(),
        "inflation": lambda: macro["infl"].to_numpy(),
    }
    return made[name]().astype(float)


@pytest.mark.filterwarnings("ignore")  # statsmodels and pandas warn about each other
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_says_what_is_found(row):
    name, lags, words = row
    found = diagnose(series(name), max_lag=int(lags), tokens=False, advise=False, learner=False)
    assert sentence(found) == " ".join(words.split())


def test_all_series_are_on_the_page():
    assert len(ROWS) == 6


MODULES = """argparse configparser csv dataclasses difflib enum functools heapq inspect optparse
pathlib random shutil statistics string subprocess textwrap threading traceback uuid"""


@pytest.fixture(scope="module")
def library():
    """Modules that every Python has as files; pathlib became a folder in 3.13."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [root / f"{name}.py" for name in MODULES.split()]
    return [file.read_bytes() for file in files if file.exists()]


@pytest.mark.slow
def test_recall_adds_to_the_words_of_the_standard_library(library):
    found = diagnose(text_of(library, "words"), max_lag=64, advise=False, learner=False)
    assert (found.memory, found.addressing) == ("adaptive", "content")
    gains = {model.name: model.gain for model in found.models}
    assert 0.05 < gains["recall over 1 lag"] - gains["table"] < 0.2  # of about 4.2 nats


@pytest.mark.slow
def test_bytes_of_the_standard_library_decay_by_a_power_law(library):
    text = text_of(library, "bytes")
    found = decay(text.values, text.starts, len(text.alphabet), 1024, 0)
    assert found.shape == "power"
    assert 0.9 < found.rate < 1.3
    assert found.fitted[0] == 1
