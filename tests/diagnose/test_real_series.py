"""The real series of docs/diagnose.md say again what the page says."""

import re

import numpy as np
import pytest

from headcount.diagnose import diagnose
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
