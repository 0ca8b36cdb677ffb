"""Signatures name the cause that a pattern was made with, and say 'undecided' where two causes
fit.
"""

import json

import numpy as np
import pytest

from headcount.construct.methods.pointer_jumps import chain_stages, doubling_stages
from headcount.lab.judge.patterns import (
    FloorPattern,
    HopPattern,
    LagPattern,
    LengthPattern,
    RunPattern,
)
from headcount.lab.judge.signatures import (
    SIGNATURES,
    Answer,
    Failure,
    diagnose,
    signature,
    sufficient_layers,
)


def hops(*accuracy, layers=1, samples=2000, chance=1 / 6, deeper=None):
    return RunPattern(hops=HopPattern(np.array(accuracy), chance, samples, layers, deeper))


def lags(error, heads):
    return RunPattern(lags=LagPattern(np.arange(1, len(error) + 1), np.array(error, float), heads))


def floors(loss, floor, more_heads, other_bias, trivial=1.0):
    return RunPattern(floors=FloorPattern(loss, trivial, floor, more_heads, other_bias))


def lengths(*loss, reach=10):
    return RunPattern(
        lengths=LengthPattern(64 * 2 ** np.arange(len(loss)), np.array(loss), reach, 1.0)
    )


CASES = {
    # accuracy by hops; the first three are pointer chains as measured, 6 symbols
    "one layer, two hops": (hops(1.0, 0.44), Failure.DEPTH),
    # two layers suffice: not depth
    "two layers, two hops": (hops(1.0, 0.74, layers=2), Failure.UNDECIDED),
    "three layers, two hops": (hops(1.0, 0.975, layers=3), Failure.NONE),
    "two layers, cliff at three": (hops(0.99, 0.98, 0.4, 0.3, layers=2), Failure.DEPTH),
    "enough layers by the theorem": (hops(1.0, 1.0, 0.47, layers=4), Failure.UNDECIDED),
    "enough layers by the chain": (hops(1.0, 1.0, 0.47, layers=3), Failure.UNDECIDED),
    "enough layers by doubling": (hops(1.0, 1.0, 1.0, 0.4, layers=3), Failure.UNDECIDED),
    "two layers, cliff at four": (hops(1.0, 1.0, 1.0, 0.4, layers=2), Failure.DEPTH),
    "each hop a little wrong": (
        hops(*(1 / 6 + 5 / 6 * 0.95 ** np.arange(1, 7)), samples=20_000),
        Failure.UNDECIDED,
    ),
    "not even one hop": (hops(0.4, 0.3), Failure.UNDECIDED),
    "too few samples for a cliff": (hops(1.0, 0.7, samples=10), Failure.UNDECIDED),
    "one layer, two hops, a deeper model follows": (
        hops(1.0, 0.44, deeper=[1.0, 0.98]),
        Failure.DEPTH,
    ),
    # as trained for 500 steps
    "one layer, two hops, nobody follows": (hops(1.0, 0.39, deeper=[1.0, 0.41]), Failure.UNDECIDED),
    "two hops at chance, nobody follows": (
        hops(0.996, 0.167, deeper=[1.0, 1 / 6]),
        Failure.UNDECIDED,
    ),
    "longer chains followed": (hops(1.0, 0.5, 0.99), Failure.UNDECIDED),
    # partial errors by lag
    "two heads, five lags, no order": (lags([0.9, 0.01, 1.0, 0.95, 0.02], heads=2), Failure.HEADS),
    "far lags lost, a head for each": (
        lags([0.01, 0.02, 0.05, 0.8, 0.9, 1.0], heads=8),
        Failure.BIAS,
    ),
    "far lags lost, few heads": (
        lags([0.01, 0.02, 0.05, 0.8, 0.9, 1.0], heads=3),
        Failure.UNDECIDED,
    ),
    "order that chance explains": (lags([0.01, 0.9, 0.9], heads=8), Failure.UNDECIDED),
    "no order, heads enough": (lags([0.9, 0.01, 1.0, 0.95, 0.02], heads=8), Failure.UNDECIDED),
    "all half read": (lags([0.3] * 6, heads=2), Failure.UNDECIDED),
    "no lag read": (lags([1.0] * 6, heads=8), Failure.UNDECIDED),
    "all read": (lags([0.01] * 6, heads=8), Failure.NONE),
    # floors; kernels as computed: s^-1/2 on 999 lags with 2 (4) lin heads, lags 48, 56, 99 with lin
    # heads against a table
    "s^-1/2 with two lin heads": (floors(0.25, 0.212, 1.7e-3, 1e-9, trivial=7.48), Failure.HEADS),
    "far lags with lin heads": (floors(2.9, 2.71, 2.71, 0.0, trivial=3.0), Failure.BIAS),
    "s^-1/2 with 64 lin heads as trained": (
        floors(0.194, 4e-8, 1e-9, 1e-9, trivial=7.48),
        Failure.TRAINING,
    ),
    "at a floor that nothing lowers": (floors(0.5, 0.45, 0.44, 0.4), Failure.UNDECIDED),
    "at the constant answer, all biases alike": (
        floors(3.0, 3.0, 3.0, 3.0, trivial=3.0),
        Failure.UNDECIDED,
    ),
    "heads help a little": (floors(0.5, 0.45, 0.1, 0.0), Failure.UNDECIDED),
    "between floor and far": (floors(0.5, 0.1, 0.001, 0.0), Failure.UNDECIDED),
    "learned, though more heads would do more": (floors(1e-3, 1e-3, 1e-6, 1e-6), Failure.NONE),
    # loss by length
    "lost beyond the trained length": (lengths(0.001, 0.5, 0.9), Failure.EXTRAPOLATION),
    "same at every length": (lengths(0.001, 0.001, 0.0015), Failure.NONE),
    "worse, but still learned": (lengths(1e-6, 1e-3, 1e-3), Failure.NONE),
    "a target that is new when longer": (lengths(0.001, 0.5, reach=64), Failure.UNDECIDED),
    "never learned": (lengths(0.5, 0.9), Failure.UNDECIDED),
    "nothing measured": (RunPattern(), Failure.UNDECIDED),
}


@pytest.mark.parametrize("case", list(CASES))
def test_diagnosis(case):
    run, failure = CASES[case]
    found = diagnose(run)
    assert found.failure is failure, found.to_json()


def test_every_failure_is_seen():
    assert {failure for _, failure in CASES.values()} == set(Failure)


def test_compounding_answers_no_where_there_are_samples_enough():
    check = signature(Failure.DEPTH).check(CASES["each hop a little wrong"][0])
    assert check.answer is Answer.NO
    assert "compounding predicts" in check.because


def test_depth_is_not_missing_where_our_own_constructions_have_it():
    for known in range(2, 20):
        assert sufficient_layers(known) == len(doubling_stages(known)) <= len(chain_stages(known))
    check = signature(Failure.DEPTH).check(hops(1.0, 0.74, layers=2))
    assert (check.answer, check.because) == (
        Answer.NO,
        "2 layers suffice for 2 hops, and there are 2",
    )


def test_a_floor_at_the_constant_answer_does_not_clear_the_bias():
    """Lags far back: no decaying head reaches them, so that two such biases have the same floor,
    and both are wrong.
    """
    bias = signature(Failure.BIAS)
    assert bias.check(floors(3.0, 3.0, 3.0, 3.0, trivial=3.0)).answer is Answer.UNDECIDED
    assert bias.check(floors(3.0, 2.7, 2.7, 0.0, trivial=3.0)).answer is Answer.YES
    assert bias.check(floors(0.3, 0.2, 0.2, 0.2, trivial=3.0)).answer is Answer.NO
    assert bias.check(RunPattern()).answer is Answer.UNDECIDED


def test_a_diagnosis_names_the_cell_that_was_read():
    found = diagnose(CASES["one layer, two hops"][0], "lr=0.001,p=log").to_json()
    assert found["cell"] == "lr=0.001,p=log"
    assert found["sentence"] == f"In the cell lr=0.001,p=log: {Failure.DEPTH.sentence}"
    assert diagnose(RunPattern()).sentence == Failure.UNDECIDED.sentence


def test_a_floor_far_below_overrules_the_pattern():
    """A cliff, yet the same architecture is known to do it: not depth."""
    run = RunPattern(
        floors=FloorPattern(0.5, 1.0, 1e-6, 1e-6, 1e-6), hops=CASES["one layer, two hops"][0].hops
    )
    found = diagnose(run)
    assert found.checks[Failure.DEPTH].answer is Answer.UNDECIDED
    assert found.failure is Failure.TRAINING


def test_a_small_mean_loss_does_not_hide_a_cliff():
    """Long chains are rare, so the mean loss is small and far above a floor of 0: that is no
    evidence against the cliff.
    """
    run = RunPattern(
        floors=FloorPattern(1e-3, 1.0, 0.0, 0.0, 0.0), hops=CASES["one layer, two hops"][0].hops
    )
    assert diagnose(run).failure is Failure.DEPTH


def test_observables_that_disagree_leave_it_open():
    run = RunPattern(
        floors=CASES["far lags with lin heads"][0].floors,
        lags=CASES["two heads, five lags, no order"][0].lags,
    )
    found = diagnose(run)
    assert found.failure is Failure.UNDECIDED
    assert "yes: " in found.checks[Failure.BIAS].because
    assert "no: " in found.checks[Failure.BIAS].because


def test_two_failures_at_once_are_not_one():
    run = RunPattern(
        hops=CASES["one layer, two hops"][0].hops,
        lags=CASES["two heads, five lags, no order"][0].lags,
    )
    assert diagnose(run).failure is Failure.UNDECIDED
    shown = {
        failure for failure, check in diagnose(run).checks.items() if check.answer is Answer.YES
    }
    assert shown == {Failure.DEPTH, Failure.HEADS}


def test_learned_within_and_lost_beyond_is_the_bias_beyond():
    run = RunPattern(
        lags=CASES["all read"][0].lags, lengths=CASES["lost beyond the trained length"][0].lengths
    )
    assert diagnose(run).failure is Failure.EXTRAPOLATION


def test_positions_serve_as_lengths():
    loss = np.concatenate([np.full(64, 1e-3), np.full(64, 0.6)])
    run = RunPattern(lengths=LengthPattern.from_positions(loss, trained=64, reach=10, trivial=1.0))
    assert diagnose(run).failure is Failure.EXTRAPOLATION


def test_lin_heads_without_training_show_their_signatures():
    """Real kernels, not made-up errors: the best l2 fit of equal impulses by given heads, least
    squares in float64.

    A lin family of fixed decay rates loses far impulses in order; a table of two one-lag heads
    loses all but two.
    """
    s = np.arange(60)
    wanted = np.zeros(60)
    wanted[[0, 1, 2, 30, 40, 50]] = 1.0
    rates = np.geomspace(0.05, 8, 16)
    drawn = _capped_fit(np.exp(-rates[:, None] * s), wanted)
    run = RunPattern(
        lags=LagPattern(np.flatnonzero(wanted), (drawn - wanted)[wanted > 0] ** 2, heads=16)
    )
    assert diagnose(run).failure is Failure.BIAS
    table = np.zeros(60)
    table[[2, 40]] = 1.0
    run = RunPattern(
        lags=LagPattern(np.flatnonzero(wanted), (table - wanted)[wanted > 0] ** 2, heads=2)
    )
    assert diagnose(run).failure is Failure.HEADS


def _capped_fit(heads, wanted):
    """Least squares with weights that float32 training could hold (ridge 1e-7)."""
    gram = heads @ heads.T + 1e-7 * np.eye(len(heads))
    return np.linalg.solve(gram, heads @ wanted) @ heads


def test_signatures_document_themselves():
    assert [found.failure for found in SIGNATURES] == [
        Failure.DEPTH,
        Failure.HEADS,
        Failure.BIAS,
        Failure.EXTRAPOLATION,
        Failure.TRAINING,
    ]
    for found in SIGNATURES:
        assert found.identified_by
        assert str(found.ref)
        assert found.check(RunPattern()).because.startswith("not measured")
    for failure in Failure:
        assert failure.sentence.endswith(".")
    assert json.dumps(diagnose(RunPattern()).to_json())
