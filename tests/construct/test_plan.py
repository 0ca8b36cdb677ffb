"""Plans are sound: what is recommended can be built to the tolerance, and verdicts come from
claims that cover the row's own question.
"""

import dataclasses
import functools
import math
import shlex

import numpy as np
import pytest

import headcount as hc
from headcount.construct import method as method_module
from headcount.construct import plan_words
from headcount.construct.impossible import accepted
from headcount.construct.plan_minimum import chain_minimum
from headcount.construct.plan_record import Minimum, Need
from headcount.core.claims import Precision, Readout, Sense, Status
from headcount.core.errors import InputError
from headcount.memory.kernels import ArrayKernel, Lag
from headcount.memory.named.pointer_chain import PointerChain
from headcount.theory.bounds import lower_bound
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

QUICK = [("fixed:lags=17", 0.05, 18), ("recall:pairs=2,symbols=3", 0.05, 16)]
SLOW = [
    ("fixed:lags=20", 0.05, 32),
    ("fixed:lags=1+2", 0.1, 64),
    ("fixed:lags=3+17,readout=product", 0.1, 64),
    ("fixed:lags=5+9+300+999", 0.02, 1024),
    ("essential:kernel=exp:0.3", 0.05, 128),
    ("essential:kernel=power:1.5", 0.1, 128),
    ("prop42", 0.1, 64),
    ("induction:symbols=4", 0.05, 24),
    ("pointer-chain:hops=3,symbols=3", 0.05, 32),
    ("exp-1b", 0.1, 1000),
]


@functools.cache
def planned(target: str, tol: float, length: int) -> hc.Plan:
    return hc.plan(target, tol, length=length)


def sound(target: str, tol: float, length: int) -> hc.Plan:
    made = planned(target, tol, length)
    for row in made.rows:
        if row.reachable is True:
            assert [claim.sense for claim in row.claims] == [Sense.AT_MOST] * 2
            assert max(claim.value for claim in row.claims) <= tol
            assert row.error <= tol
            assert row.error_float32 <= tol
        assert row.reachable is True or row.reason
        assert row.reachable is not False or row.impossibilities
    assert set(made.front) <= {row for row in made.rows if row.reachable}
    for row in made.front:
        assert not any(
            all(o <= r for o, r in zip(other.sizes, row.sizes, strict=True))
            and other.sizes != row.sizes
            for other in made.rows
            if other.reachable
        )
    best = made.recommended
    assert best is not None
    assert best.cost == min(row.cost for row in made.rows)
    words = made.command(target).split()
    chosen = {words[i][2:]: words[i + 1] for i in range(len(words)) if words[i].startswith("--")}
    built = hc.construct(
        target,
        bias=chosen["bias"],
        tol=tol,
        normaliser=chosen["normaliser"],
        theorem=chosen["construction"],
        length=length,
    )
    assert built.float32.sup <= tol
    assert built.parameters == best.parameters
    return made


@pytest.mark.parametrize(("target", "tol", "length"), QUICK)
def test_plans_are_sound(target, tol, length):
    sound(target, tol, length)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "tol", "length"), SLOW)
def test_more_plans_are_sound(target, tol, length):
    sound(target, tol, length)


def test_a_spoilt_claim_is_not_accepted():
    problem = Problem(Lag(9), family("lin"), Norm.L1, None, 1e4, residual=True)
    good = lower_bound(problem)
    assert accepted(good)
    wider = dataclasses.replace(good.scope, readout=Readout.ANY)
    for spoilt in (
        dataclasses.replace(good, value=good.value + 0.1),
        dataclasses.replace(good, scope=wider),
        dataclasses.replace(good, scope=dataclasses.replace(good.scope, weight=math.inf)),
        dataclasses.replace(good, evidence={}),
        dataclasses.replace(good, evidence={"bound": "trust me"}),
    ):
        assert not accepted(spoilt)


@functools.cache
def drafts_of(target: str, tol: float, length: int) -> list[str]:
    """Which methods were drafted while planning, with their biases."""
    seen = []
    original = method_module.AbstractMethod.draft

    def watched(self, target, request):
        seen.append(f"{self.kind} {request.bias} {request.normaliser}")
        return original(self, target, request)

    method_module.AbstractMethod.draft = watched
    try:
        hc.plan(target, tol, length=length)
    finally:
        method_module.AbstractMethod.draft = original
    return seen


def test_nothing_is_drafted_twice():
    seen = drafts_of("fixed:lags=1", 0.1, 16)
    assert seen
    assert len(set(seen)) == len(seen)


def test_no_readout_of_decaying_heads_finds_a_late_lag_among_real_numbers():
    """Tokens fill [-1, 1]: proved for every readout. Tokens +-1 can be packed, and nothing is."""
    real = planned("fixed:lags=8,inputs=uniform", 0.05, 12)
    decays = [row for row in real.rows if row.bias in ("lin", "log", "log1p")]
    one_layer = [row for row in decays if row.architecture is None]
    assert {row.bias for row in one_layer} == {"lin", "log", "log1p"}
    for row in one_layer:
        assert row.reachable is False
        claim = row.impossibilities[0]
        assert claim.scope.readout is Readout.ANY
        assert claim.scope.resolution == 2.0**-24
    assert "cannot in one layer" in real.words()
    letters = planned(*QUICK[0])
    assert all(row.reachable is not False for row in letters.rows)
    assert "cannot" not in letters.words()


def test_one_head_as_a_code_where_a_sum_of_decays_needs_more():
    made = planned("fixed:lags=3", 0.1, 64)
    lin = [row for row in made.rows if row.bias == "lin" and row.softmax and row.reachable]
    assert {row.architecture.heads for row in lin} == {1, 4}
    coded = next(row for row in lin if row.architecture.heads == 1)
    assert (coded.construction, coded.architecture.width) == ("coded", 15)
    assert made.recommended.needs == ()
    assert made.recommended.familiar == "T5"


def test_a_row_is_called_by_the_biases_of_all_its_layers():
    made = planned(*QUICK[1])  # the first of its two layers looks one token back, by a peak
    lin = next(row for row in made.rows if row.bias == "lin")
    assert [layer.attention.bias.kind for layer in lin.draft.model.layers] == ["peak", "lin"]
    assert lin.biases == ("peak", "lin")
    assert lin.familiar is None
    assert plan_words.named(lin) == "peak+lin"
    assert Need.PEAK in lin.needs
    best = made.recommended  # common parts before small size
    assert best.needs == ()
    assert best.parameters > lin.parameters
    told = made.to_json("recall")["familiar"]["ALiBi"]
    assert told == {"planned_by": "lin", "rows": [], "reason": told["reason"]}
    assert "another bias (peak)" in told["reason"]


def test_a_peak_in_one_layer_is_no_standard_part():
    made = hc.plan("recall:pairs=2,symbols=3", 0.05, length=16, standard=True)
    (lin,) = [row for row in made.rows if row.bias == "lin"]
    assert (lin.reachable, lin.architecture) == (None, None)
    assert "takes our own peak" in lin.reason
    assert made.recommended.bias == "table"
    assert "with lin (ALiBi) none was found" in made.words()


def test_rows_of_one_layer_say_so_beside_deeper_ones():
    made = planned("fixed:lags=3", 0.1, 64)
    undecided = [row for row in made.rows if row.architecture is None]
    assert {row.layers_asked for row in undecided} <= {1, None}
    for row in undecided:
        asked = "–" if row.layers_asked is None else str(row.layers_asked)
        assert plan_words.cells(row)[2] == asked


def test_what_the_errors_of_a_plan_are():
    made = planned(*QUICK[1])
    assert plan_words.measure(made) == "is promised in float64 or was seen in float32"
    wide = dataclasses.replace(made, precision=Precision.FLOAT64)
    assert plan_words.measure(wide) == "is promised in float64"


def test_the_fewest_layers_of_a_pointer_chain_are_proved():
    made = planned("pointer-chain:hops=3", 0.05, 32)
    best = made.recommended
    assert (best.architecture.layers, best.architecture.heads, best.parameters) == (2, 1, 686)
    layers = made.minimum[0]
    assert (layers.size, layers.least) == ("layers", 2)
    assert layers.claim.value >= 0.5
    assert layers.claim.scope.layers == 1
    assert layers.words(2) == (
        "2 layers (>= 2 proved for heads that read 1 position each, named by their own row)"
    )


def test_a_loose_tolerance_takes_the_proof_of_layers_away():
    """Half of what the adversary moves is reached by a constant."""
    assert chain_minimum(PointerChain(hops=3), 1, 0.49).least == 2
    assert chain_minimum(PointerChain(hops=3), 1, 0.5) == Minimum("layers", 1)


def test_data_that_may_be_letters_prove_no_heads(tmp_path):
    """Signs from a file: one head as a code reads lag 3, so that three heads are no minimum."""
    np.save(tmp_path / "signs.npy", np.sign(np.linspace(-1, 1, 80)).reshape(2, 40, 1))
    asked = {"tol": 0.2, "length": 32, "biases": ["lin"]}
    data = hc.plan(f"fixed:lags=3,inputs=array:{tmp_path / 'signs.npy'}", **asked)
    assert [m.claim for m in data.minimum] == [None, None, None]
    filled = hc.plan("fixed:lags=3,inputs=uniform", **asked)
    assert [(m.least, m.claim is None) for m in filled.minimum] == [
        (1, True),
        (3, False),
        (0, True),
    ]


def test_standard_parts_alone():
    made = hc.plan("fixed:lags=3", 0.1, length=32, standard=True)
    assert {row.bias for row in made.rows} == {"rope", "lin", "table"}
    assert {row.request.normaliser for row in made.rows} == {"softmax"}
    far = hc.plan("fixed:lags=20", 0.1, length=32, standard=True)
    assert "table" not in {row.bias for row in far.rows}


def test_what_people_see():
    made = planned("fixed:lags=3", 0.1, 64)
    assert repr(made).startswith("<Plan fixed to 0.1: ")
    assert len(repr(made)) < 80
    assert "1 layer, 1 head, " in repr(made.recommended)
    assert "<table>" in made._repr_html_()
    figure = made.plot()
    assert figure.axes[0].get_xlabel() == "parameters"
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"front", "tolerance", "RoPE", "RoPE, no softmax"} <= set(named)
    built = hc.construct("fixed:lags=1", bias="peak", tol=0.1, length=8)
    assert len(repr(built)) < 200
    assert "1 layer, 1 head, " in repr(built)
    assert "<table>" in built._repr_html_()


def test_the_command_is_quoted_as_a_shell_reads_it():
    made = planned("fixed:lags=3", 0.1, 64)
    target = "fixed:lags=3,readout=teacher(neurons=4)"
    words = shlex.split(made.command(target))
    assert words[:3] == ["headcount", "build", target]
    assert shlex.split(made.command("a' b"))[2] == "a' b"


def test_a_chain_is_not_drafted_where_doubling_serves():
    seen = drafts_of("pointer-chain:hops=2,symbols=3", 0.1, 16)
    assert any(draft.startswith("doubling") for draft in seen)
    assert not any(draft.startswith("chain") for draft in seen)


def test_the_length_is_honoured():
    """Lag 6 in 7 tokens: one lin layer, where all lags would take six."""
    made = hc.construct("fixed:lags=6", bias="lin", tol=0.1, length=7)
    assert made.architecture.layers == 1
    assert made.architecture.heads <= 7
    assert made.float32.sup < 1e-3


def test_what_is_only_measured_says_so():
    """A teacher behind a network that was drawn from it: no proof for these very weights."""
    text = "fixed:lags=1+2,readout=teacher(neurons=64),inputs=uniform:2"
    built = hc.construct(text, bias="peak", tol=40.0, width=16, length=8)
    assert built.status is Status.MEASURED
    assert built.to_json(text)["status"] == "measured"
    assert sum("not certified" in note for note in built.notes) == 1
    exact = hc.construct("fixed:lags=1", bias="peak", tol=0.1, length=8)
    assert exact.to_json("fixed:lags=1")["status"] == "proved and checked"


def test_json_has_the_promised_fields():
    told = planned(*QUICK[0]).to_json("fixed:lags=20")
    names = [
        "bias",
        "attention",
        "normaliser",
        "layers",
        "heads",
        "width",
        "parameters",
        "error",
        "error_float32",
        "reachable",
        "reason",
        "source",
        "claims",
        "missing",
        "status",
    ]
    assert all(name in row for row in told["rows"] for name in names)
    for row in told["rows"]:
        assert row["claims"] or row["reason"]
        assert row["status"] in ("proved and checked", "measured", None)
    assert {"needs", "familiar"} <= set(told["rows"][0])
    assert told["front"]
    assert [m["size"] for m in told["minimum"]] == ["layers", "heads", "neurons"]
    assert set(told["familiar"]) >= {"ALiBi", "RoPE", "T5", "NoPE", "FIRE"}
    assert told["answer"].startswith("One softmax layer")
    assert told["recommended"]["command"].startswith("headcount build fixed:lags=20 --tol")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 0.0}, "positive"),
        ({"tol": math.inf}, "finite"),
        ({"length": 0}, "length 0"),
        ({"length": -5}, "length -5"),
        ({"length": 10**9}, "length 1000000000"),
        ({"dtype": "float8"}, "float8"),
        ({"dtype": "bfloat16"}, "bfloat16"),
    ],
)
def test_bad_requests(options, words):
    with pytest.raises(hc.InputError, match=words):
        hc.plan("fixed:lags=1", **options)


def test_a_target_without_a_construction_is_refused():
    with pytest.raises(hc.InputError, match="no construction serves"):
        hc.plan("stdlib", 0.1, length=32)


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("fixed:lags=1", {"heads": 2.5}, "whole number"),
        ("fixed:lags=1", {"length": -1}, "length -1"),
        ("fixed:lags=1", {"width": 1, "tol": 0.01}, "readout error"),
        ("fixed:lags=1000000000", {}, "tokens"),
    ],
)
def test_bad_builds(target, options, words):
    with pytest.raises(hc.InputError, match=words):
        hc.construct(target, **options)


def test_a_memory_of_nothing_is_refused():
    with pytest.raises(hc.InputError, match="0 at every lag"):
        hc.plan(hc.EssentialMemory(kernel=(ArrayKernel((0.0, 0.0)),)), 0.1, length=8)


def test_every_familiar_name_is_planned_or_answered():
    made = planned(*QUICK[0])  # lag 20: a table of 21 lags is no T5
    told = made.to_json("fixed:lags=20")["familiar"]
    assert {"ALiBi", "KERPLE", "T5", "RoPE", "NoPE", "FIRE", "learned", "sinusoidal"} == set(told)
    for answer in told.values():
        reached = any(made.rows[i].reachable for i in answer["rows"])
        assert reached or answer["reason"]
    assert told["RoPE"]["reason"] == ""
    assert "first 16 lags" in told["T5"]["reason"]
    assert "absolute" in told["learned"]["reason"]


@pytest.mark.parametrize("ask", [hc.plan, hc.construct])
def test_tokens_without_a_bound_are_refused_in_one_line(ask):
    with pytest.raises(
        InputError, match=r"tokens without a bound \(inputs=gaussian\).*inputs=unif"
    ):
        ask("fixed:lags=2,inputs=gaussian", tol=0.1)
