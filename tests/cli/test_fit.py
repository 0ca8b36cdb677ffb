import dataclasses
import json

import pytest

import headcount.theory.fit  # noqa: F401 — loaded before progress is looked at
from headcount.cli.fit import as_proved_of_more, counts, fit, table
from headcount.core.errors import InputError
from headcount.theory.kernel_fit import fit_kernel
from tests.command import run


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
    result = fit_kernel("power:0.5", bias="log", heads=1, window=50, certify=False)
    made = table(result).renderables[0]
    cells = [cell for column in made.columns for cell in column.cells]
    assert "does not apply" in cells
    assert any("not summable" in cell for cell in cells)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_plots(tmp_path, ending, start):
    path = tmp_path / f"kernel.{ending}"
    fit("lag:7", bias="peak", heads="1", window=32, plot=path)
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["kernel.pdf", "missing/kernel.svg"])
def test_bad_plot_names_are_refused_before_the_work(tmp_path, name, capsys):
    with pytest.raises(InputError, match="plot file"):
        fit("lag:7", heads=2, plot=tmp_path / name)
    assert capsys.readouterr().err == ""


def test_error_against_heads(tmp_path, capsys):
    path = tmp_path / "curve.svg"
    fit("power:1.5", heads="1..3", window=40, plot=path, json=True)
    fits = json.loads(capsys.readouterr().out)["fits"]
    errors = [made["error"]["l1"] for made in fits]
    assert [made["heads"] for made in fits] == [1, 2, 3]
    assert errors == sorted(errors, reverse=True)
    assert all(made["lower_bound"]["value"] <= made["error"]["l1"] for made in fits)
    assert path.read_bytes().startswith(b"<?xml")
    fit("exp:0.1", heads="1..2", window=40)
    assert "at least" in capsys.readouterr().out


def test_what_is_proved_of_more_heads_stands_beside_fewer():
    """A short proof of three heads is weaker here than that of two, which says nothing of three."""
    fits = [fit_kernel("mexican-hat:20,5", heads=h, budget=1e5) for h in (1, 2, 3)]
    weak = fit_kernel("mexican-hat:20,5", heads=3, budget=1e5).lower_bound
    fits[0] = dataclasses.replace(fits[0], lower_bound=weak)
    told = [result.lower_bound.value for result in as_proved_of_more(fits)]
    assert told[0] == told[1] == fits[1].lower_bound.value > weak.value == told[2]


def test_a_search_that_its_own_limit_holds_says_so():
    free = fit_kernel("window:7", heads=10, certify=False)
    assert any("1e+10" in note for note in free.notes)
    assert not any("1e+10" in note for note in fit_kernel("power:1.5", heads=4).notes)


def test_heads_as_text():
    assert counts("8") == [8]
    assert counts("2..4") == [2, 3, 4]
    for bad in ("4..2", "x", "1..", "..3", "-1", "1.5", "1..99999", "1..2..3"):
        with pytest.raises(InputError, match="heads"):
            counts(bad)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("exp:0.5", {"bias": "log", "window": 1}),
        ("exp:1e308", {}),
        ("power:1e308", {}),
        ("mexican-hat:5,1e-300", {}),
        ("lag:2", {"budget": 1e-300}),
        ("lag:2", {"budget": "1e3"}),
        ("lag:2", {"window": 7.5}),
        ("lag:2", {"norm": 3}),
        ("lag:2", {"residual": "yes"}),
    ],
)
def test_nonsense_is_one_line(kernel, options):
    with pytest.raises(InputError) as told:
        fit_kernel(kernel, heads=2, **options)
    assert "\n" not in str(told.value)


def test_for_notebooks():
    made = fit_kernel("exp:0.1", heads=1)
    assert repr(made) == "<KernelFit exp:0.1, 1 lin head: l1 error 0>"
    assert "<table>" in made._repr_html_()
    assert made.plot().axes


def test_tables_of_a_file(tmp_path, capsys):
    for name, text in {"a": "lag,value\n0,1\n2,0.5\n", "b": "value\n1\n0\n0.5\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
        made = fit_kernel(f"file:{tmp_path / name}.csv", heads=1, certify=False)
        assert made.target[:4].tolist() == [1.0, 0.0, 0.5, 0.0]
        fit(csv=tmp_path / f"{name}.csv", heads="1", lower_bound=False, json=True)
        assert json.loads(capsys.readouterr().out)["error"]["l1"] == made.error.l1
    (tmp_path / "half.csv").write_text("lag,value\n0.5,1\n")
    with pytest.raises(InputError, match="no column of lags"):
        fit_kernel(f"{tmp_path}/half.csv", heads=1)
    with pytest.raises(InputError, match="lag:2 and --csv"):
        fit("lag:2", csv=tmp_path / "a.csv", heads="1")
    lying = tmp_path / "lie.npy"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    lying.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(117) + b"\n" + b"\0" * 16)
    with pytest.raises(InputError, match="cannot read"):
        fit_kernel(str(lying), heads=1)


def test_a_notebook_sees_the_figure():
    made = fit_kernel("lag:1", heads=2, window=16, certify=False)
    assert made.plot()._repr_png_().startswith(b"\x89PNG")


def test_a_tolerance_is_told_as_a_share_of_the_kernel(tmp_path):
    done = run("fit", "exp:0.5", "--tol", "0.2", "--no-lower-bound", "--window", "20")
    assert "of the kernel itself; at most 0.2, as asked" in done.stdout


def test_a_figure_that_could_not_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "folder.svg").mkdir()
    for name in ("z" * 290 + ".svg", "folder.svg", "nowhere/a.svg"):
        done = run("fit", "lag:2", "--heads", "2", "-o", str(tmp_path / name))
        assert done.code == 2
        assert done.faults() == []
        assert "plot file" in done.stderr
