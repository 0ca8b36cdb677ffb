import dataclasses
import json
import math

import numpy as np
import pytest

from headcount.core.claims import Status
from headcount.core.errors import CheckFailed, InputError
from headcount.memory.kernels import Exponential, Lag
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin
from headcount.theory.kernel_fit import fit_kernel, gate
from headcount.theory.measure import measure
from headcount.theory.problem import Problem
from headcount.theory.returned_numbers import from_decimal

KEYS = (
    "kernel",
    "bias",
    "heads",
    "norm",
    "window",
    "budget",
    "rates",
    "coefficients",
    "error",
    "error_float32",
    "error_bfloat16",
    "coefficient_sum",
    "digits_lost",
    "lower_bound",
    "promised",
    "seconds",
)


@pytest.fixture(scope="module")
def lag_two():
    return fit_kernel("lag:2", bias="lin", heads=4, budget=1e3)


def test_json_has_the_promised_shape(lag_two):
    made = json.loads(json.dumps(lag_two.to_json(), allow_nan=False))
    assert tuple(made)[: len(KEYS)] == KEYS
    assert set(made["error"]) == {"l1", "l2", "sup"}
    assert {"value", "certified", "budget", "heads"} <= set(made["lower_bound"])
    assert {"value", "vacuous", "applies", "reasons", "source"} <= set(made["promised"])
    assert made["heads"] == len(made["rates"]) == len(made["coefficients"])


def test_the_error_belongs_to_the_numbers_in_the_json(lag_two):
    made = lag_two.to_json()
    numbers = [from_decimal(str(c)) if isinstance(c, str) else c for c in made["coefficients"]]
    rates = [math.inf if b == "inf" else b for b in made["rates"]]
    heads = HeadSum.of(Lin(), np.array(rates), np.array([float(n) for n in numbers]))
    assert measure(Problem(Lag(2), Lin()), heads).l1 == pytest.approx(made["error"]["l1"], rel=1e-9)


def test_four_numbers_of_a_known_case(lag_two):
    assert lag_two.error.l1 <= 0.0777 * 1.01
    assert 0.0358 * 0.99 <= lag_two.lower_bound.value <= lag_two.error.l1
    assert lag_two.lower_bound.status is Status.PROVED
    assert lag_two.coefficient_sum <= 1e3 * (1 + 1e-9)
    assert lag_two.rounded["float32"].error.l1 == pytest.approx(lag_two.error.l1, rel=0.01)
    assert lag_two.rounded["bfloat16"].error.l1 > 0.1
    assert not lag_two.promised.applies  # a budget is outside the theorem


def test_exact_kernels_need_one_head():
    for kernel, bias in (("exp:0.1", "lin"), ("power:1.5", "log")):
        result = fit_kernel(kernel, bias=bias, heads=1)
        assert result.error.l1 == 0
        assert result.lower_bound.value == 0


def test_tolerance_is_relative_to_the_kernel():
    values = 50.0 * np.exp(-0.2 * np.arange(30))
    result = fit_kernel(values, bias="lin", tol=0.05)
    assert result.errors.relative.l1 <= 0.05
    assert result.kernel == "array of 30 lags"


def test_objects_and_text_mean_the_same():
    assert (
        fit_kernel(Exponential(0.1), heads=1, certify=False).error
        == fit_kernel("exp:0.1", heads=1, certify=False).error
    )
    assert fit_kernel(Exponential(0.1), heads=1, certify=False).kernel == "exp:0.1"


def test_without_certificate_there_is_none():
    assert fit_kernel("exp:0.1", heads=1, certify=False).to_json()["lower_bound"] is None


def test_a_bound_above_the_error_stops_the_run(lag_two):
    wrong = dataclasses.replace(lag_two.lower_bound, value=lag_two.error.l1 * 1.001)
    problem = Problem(Lag(2), Lin(), budget=1e3)
    with pytest.raises(CheckFailed, match="exceeds the measured error"):
        gate(problem, dataclasses.replace(lag_two, lower_bound=wrong))
    guess = dataclasses.replace(wrong, status=Status.CONJECTURED)
    gate(problem, dataclasses.replace(lag_two, lower_bound=guess))
    gate(problem, lag_two)


def test_a_bound_about_other_heads_stops_the_run(lag_two):
    """A fit outside the bound's scope would not be judged by it at all."""
    bound = lag_two.lower_bound
    fast = dataclasses.replace(bound, scope=dataclasses.replace(bound.scope, lowest_rate=5.0))
    with pytest.raises(CheckFailed, match="does not speak about"):
        gate(Problem(Lag(2), Lin(), budget=1e3), dataclasses.replace(lag_two, lower_bound=fast))


@pytest.mark.parametrize(("bias", "heads"), [("peak", 1), ("table", 1), ("rope", 1)])
def test_shaped_biases_share_the_shape(bias, heads):
    result = fit_kernel("lag:40", bias=bias, heads=heads, window=128)
    made = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(KEYS) <= set(made)
    assert made["error"]["l1"] <= 1.01e-9
    assert made["lower_bound"] is None
    assert not made["promised"]["applies"]
    assert len(made["parameters"]) == made["heads"] == 1
    assert made["error_bfloat16"] < 0.02
    assert fit_kernel("lag:40", bias=bias, tol=0.01, window=128).errors.relative.l1 <= 0.01


def test_a_format_chooses_its_own_heads():
    plain = fit_kernel("lag:1", heads=2, window=16, certify=False)
    narrow = fit_kernel("lag:1", heads=2, window=16, dtype="bfloat16", certify=False)
    assert narrow.rounded["bfloat16"].error.l1 <= plain.rounded["bfloat16"].error.l1


def test_progress_is_told():
    told = []
    fit_kernel("lag:1", heads=2, budget=10, progress=told.append)
    assert told[0] == "fitting"
    assert told[-1] == "lower bound"


def test_an_interrupted_bound_keeps_the_fit(monkeypatch):
    def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("headcount.theory.bounds.lower_bound", interrupted)
    result = fit_kernel("exp:0.1", heads=1)
    assert result.error.l1 == 0
    assert result.lower_bound is None
    assert result.interrupted
    assert any("interrupted" in note for note in result.notes)


def test_the_sink_makes_softmax_whole(lag_two):
    result = fit_kernel("exp:0.1", heads=1, certify=False)
    b, t = result.rates[0], 7
    seen = sum(math.exp(-b * s) for s in range(t + 1))
    sink = math.exp(-b * (t + 1) + result.sink["bias"][0])
    assert seen + sink == pytest.approx(1 / -math.expm1(-b), rel=1e-12)


def test_norms_and_windows():
    for norm in ("l2", "sup"):
        result = fit_kernel("lag:1", heads=1, budget=10, norm=norm, window=16)
        assert result.norm == norm
        assert result.lower_bound.value <= result.error[norm]
        assert not result.errors.tail.included  # lags beyond the window do not exist
        endless = fit_kernel("lag:1", heads=1, budget=10, norm=norm, certify=False)
        assert endless.errors.tail.included


REFUSED = [
    ({"kernel": "lag:3", "heads": 0}, "heads 0"),
    ({"kernel": "lag:3", "heads": -2}, "heads -2"),
    ({"kernel": "lag:3"}, "neither"),
    ({"kernel": "lag:3", "heads": 2, "tol": 0.1}, "both"),
    ({"kernel": "lag:3", "tol": 0.0}, "tol 0"),
    ({"kernel": "lag:3", "tol": 2.0}, "tol 2"),
    ({"kernel": "lag:3", "heads": 2, "budget": -1.0}, "budget"),
    ({"kernel": "lag:3", "heads": 2, "budget": math.nan}, "budget is nan"),
    ({"kernel": "lag:9", "heads": 2, "window": 5}, "window 5"),
    ({"kernel": "lag:3", "heads": 2, "norm": "l3"}, "norm"),
    ({"kernel": "lag:3", "heads": 2, "bias": "lim"}, "nearest: 'lin'"),
    ({"kernel": "lag:3", "heads": 2, "dtype": "float8"}, "dtype"),
    ({"kernel": "lag:0", "heads": 2, "bias": "log"}, "cannot see"),
    ({"kernel": [0.0, 0.0], "heads": 2}, "0 at every lag"),
    ({"kernel": [1.0, math.nan], "heads": 2}, "a finite number"),
    ({"kernel": [], "heads": 2}, "empty"),
    ({"kernel": "lagg:3", "heads": 2}, "nearest"),
]


@pytest.mark.parametrize(("options", "word"), REFUSED)
def test_bad_input_is_one_line(options, word):
    with pytest.raises(InputError, match=word) as caught:
        fit_kernel(**options)
    assert "\n" not in str(caught.value)


def test_no_jax_is_needed():
    import subprocess
    import sys

    code = (
        "import sys, headcount.theory.kernel_fit; sys.exit('jax' in sys.modules or 'matplotlib' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_sum_behind_a_proof_is_taken_where_it_is_better():
    """In the sup norm zero counting finds the best sum in more digits than programs have."""
    made = fit_kernel("power:0.3", bias="lin", heads=13, norm="sup", window=400, budget=1000)
    error = made.errors.absolute["sup"]
    assert made.lower_bound.value <= error < 1.001 * made.lower_bound.value
    assert error == pytest.approx(measure(made.problem, made.head_sum).sup)


def test_the_row_of_the_bound_says_how_near_it_is_and_what_its_lags_mean():
    from headcount.theory.fit_text import four_numbers

    def told(*asked, **more):
        rows = {name.strip(): said for name, _, said in four_numbers(fit_kernel(*asked, **more))}
        return rows["at least"]

    near = told("power:2", bias="lin", heads=2)
    assert "all lags cost too" in near
    assert "the fit is within" in near
    assert "all lags cost too" not in told("power:2", bias="lin", heads=2, window=100)
    assert "worth showing" in told("lag:2", bias="lin", heads=4)


def test_heads_that_do_not_help_are_not_said_to_suffice():
    assert any("none of these heads helps" in n for n in fit_kernel("lag:5", heads=3).notes)
