import json

import pytest

from headcount.cli.fit import draw, fit, table
from headcount.core.errors import InputError
from headcount.theory.kernel_fit import fit_kernel


def test_json_is_one_document_and_nothing_else(capsys):
    fit("exp:0.1", heads=2, json=True)
    captured = capsys.readouterr()
    made = json.loads(captured.out)
    assert made["error"] == {"l1": 0.0, "l2": 0.0, "sup": 0.0}
    assert made["heads"] == 2
    assert captured.err == ""  # a quick fit has no progress to tell


def test_people_read_the_four_numbers(capsys):
    fit("lag:5", heads=3)
    shown = capsys.readouterr().out
    for word in ("promised", "possible", "at least", "representable", "bfloat16", "(vacuous)"):
        assert word in shown


def test_no_lower_bound_when_not_asked_for(capsys):
    fit("exp:0.1", heads=1, lower_bound=False)
    assert "no lower bound was asked for" in capsys.readouterr().out


def test_table_says_why_the_theorem_does_not_apply():
    made = table(fit_kernel("power:0.5", bias="log", heads=1, window=50, certify=False))
    cells = [cell for column in made.columns for cell in column.cells]
    assert "does not apply" in cells
    assert any("not summable" in cell for cell in cells)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_plots(tmp_path, ending, start):
    path = tmp_path / f"kernel.{ending}"
    draw(fit_kernel("lag:7", bias="peak", heads=1, window=32), path)
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["kernel.pdf", "missing/kernel.svg"])
def test_bad_plot_names_are_refused_before_the_work(tmp_path, name, capsys):
    with pytest.raises(InputError, match="plot file"):
        fit("lag:7", heads=2, plot=tmp_path / name)
    assert capsys.readouterr().err == ""
