"""The pages in docs/: readable, complete, and with numbers that can be computed again."""

import importlib
import math
import pkgutil
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli import reference
from headcount.core.refs import bibliography

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))}


def table_after(page: str, anchor: str = "") -> list[list[str]]:
    """The cells of the first table of a page (behind an anchor), header first, without the rule
    below it.
    """
    text = PAGES[page].split(f'<a id="{anchor}"></a>')[1] if anchor else PAGES[page]
    lines = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE).group().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


@pytest.mark.parametrize("name", PAGES)
def test_no_heading_is_empty(name):
    text = re.sub(r"<!--.*?-->|<a id=.*?></a>", "", PAGES[name], flags=re.DOTALL)
    parts = re.split(r"^(#+) .*$", text, flags=re.MULTILINE)[1:]
    for level, body, following in zip(parts[::2], parts[1::2], [*parts[2::2], ""], strict=True):
        assert body.strip() or len(following) > len(level), name


@pytest.mark.parametrize("name", PAGES)
def test_files_that_are_named_exist(name):
    root = Path(hc.__file__).parent
    for file in re.findall(r"`(?:headcount/)?([a-z_/]+/[a-z_]+\.py)`", PAGES[name]):
        assert (root / file).exists() or (root.parents[1] / file).exists(), file


def test_the_architecture_page_knows_every_folder():
    named = {row[0].strip("`/") for row in table_after("architecture.md")[1:]}
    root = Path(hc.__file__).parent
    folders = {p.name for p in root.iterdir() if (p / "__init__.py").exists()}
    assert folders <= named
    assert named <= {p.name for p in root.rglob("*") if p.is_dir()}


def test_the_errata_page_has_the_points_of_the_code():
    modules = pkgutil.walk_packages(hc.__path__, "headcount.")
    name = next(module.name for module in modules if module.name.endswith(".errata"))
    errata = importlib.import_module(name)
    ids = [e.id for e in (*errata.FINDINGS, *errata.ERRATA)]
    headings = re.findall(r"^### (F?\d+)\.", PAGES["errata.md"], flags=re.MULTILINE)
    assert headings == ids
    anchors = re.findall(r'<a id="([ef]\d+)"></a>', PAGES["errata.md"])
    assert anchors == [i.lower() if i.startswith("F") else f"e{i}" for i in ids]


TERMS = """
    arm budget cell certificate claim coefficient dot-product-free floor head kernel lag learned
    normaliser possible promised rate readout representable scope signature sink slot stream tmx
    window
"""


def test_the_glossary_defines_the_terms():
    found = re.findall(r"^- \*\*(.+?)\*\*", PAGES["glossary.md"], flags=re.MULTILINE)
    defined = {re.split(r"[ (,]", words.lower())[0] for words in found}
    assert set(TERMS.split()) - defined == set()


def shifted_chebyshev(degree: int) -> list[int]:
    """Coefficients of T_n(2x - 1) by the recurrence, in whole numbers."""
    before, now = [1], [-1, 2]
    if degree == 0:
        return before
    for _ in range(degree - 1):
        twice = [2 * (2 * a - b) for a, b in zip([0, *now], [*now, 0], strict=True)]
        longer = before + [0] * (len(twice) - len(before))
        before, now = now, [a - b for a, b in zip(twice, longer, strict=True)]
    return now


def largest_coefficient(lag: int) -> int:
    best = 0
    for degree in range(2 * lag + 4):
        sizes = [abs(c) for c in shifted_chebyshev(degree)]
        if sizes.index(max(sizes)) <= lag:
            best = max(best, *sizes)
    return best


def test_the_weights_of_theorem_b():
    lags, printed = table_after("theory.md", "weight")
    assert len(lags) > 10
    for lag, shown in zip(map(int, lags[1:]), printed[1:], strict=True):
        if lag <= 32:
            assert float(shown) == pytest.approx(largest_coefficient(lag), rel=0.03)


def test_the_weights_of_the_binomial_certificate():
    text = PAGES["theory.md"].split('<a id="binomial"></a>')[1].replace("\n", " ")
    shown = re.search(r"For an error of 1/2: (.*?) at T = ([\d, ]+)\.", text)
    for value, lag in zip(shown[1].split(", "), map(int, shown[2].split(", ")), strict=True):
        least = min(
            Fraction((lag - j // 2) ** (lag - j // 2) * j**j, (lag + j // 2) ** (lag + j // 2))
            / math.comb(j, j // 2)
            for j in range(2, 2 * lag + 1, 2)
        )
        assert float(value) == pytest.approx(float(Fraction(1, 2) / least), rel=0.06)


def test_the_heads_that_theorem_3_1_asks_for():
    lags, lin, log, *_ = table_after("theory.md", "heads-promised")
    for bias, row in (("lin", lin), ("log", log)):
        for lag, heads in zip(lags[1:4], row[1:4], strict=True):
            found = hc.bound("3.1", f"fixed:lags={lag}", bias, round(float(heads)), 100)
            assert math.exp(found.log_attention) == pytest.approx(0.1, rel=0.1)


def test_the_interpolation_bounds():
    """(B): the bounds for y = 1/2 and y = 0.08, against the sum itself."""

    def error(lag: int, more: int, y: Fraction) -> float:
        heads, total = lag + 1 + more, Fraction(0)
        for s in range(heads, heads + 40):
            value = y ** (s - lag)
            for j in range(heads):
                if j != lag:
                    value *= (y**s - y**j) / (y**lag - y**j)
            total += abs(value)
        return float(total)

    half = Fraction(1, 2)
    for lag in (1, 3, 6):
        assert error(lag, 2, half) < 0.29
        assert error(lag, 3, half) < 0.021
        assert error(lag, 4, half) < 7e-4
        assert error(lag, 0, Fraction(2, 25)) < 0.096


def test_a_row_of_the_table_of_lags():
    header, *rows = table_after("numerics.md", "indicators")
    row = next(row for row in rows if row[0] == "lin 2")
    column = header.index("C=1e3: H=4, H=8")
    fit = hc.fit_kernel("lag:2", bias="lin", heads=4, budget=1000)
    assert fit.error.l1 == pytest.approx(float(row[column].split(",")[0]), rel=0.01)
    assert fit.lower_bound.value == pytest.approx(float(row[column + 1]), abs=1e-4)


def test_the_pages_made_from_the_program_are_current():
    assert PAGES["commands.md"] == reference.page()
    assert PAGES["bibliography.md"] == bibliography()


def test_the_site_knows_every_page():
    import yaml

    named = re.findall(r"(\w+\.md)", (DOCS.parent / "mkdocs.yml").read_text())
    assert sorted(named) == sorted(PAGES)
    assert yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())["plugins"] == []


def test_the_site_builds_offline(tmp_path):
    pytest.importorskip("mkdocs")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    config = ["--config-file", str(DOCS.parent / "mkdocs.yml"), "--site-dir", str(tmp_path / "s")]
    done = subprocess.run([*words, *config], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s" / "glossary.html").exists()
