"""The map of variants: cells that can be trained, outcomes with a controlled rate of errors."""

import functools
import math

import equinox as eqx
import jax
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.lab.judge.statistics import Looks
from headcount.lab.judge.verdict import Outcome
from headcount.lab.study import Profile
from headcount.studies import robustness as module
from headcount.studies.alternatives import ALTERNATIVES
from headcount.studies.probes import BASE, PROBES, VARIANTS
from headcount.studies.robustness import (
    EFFORTS,
    Cell,
    Robustness,
    _specs,
    asked,
    cell_of,
    combinations,
    joined,
    judged,
)
from headcount.train.run import train

PROBE = {probe.insight: probe for probe in PROBES}


def cell(insight, effects, variants=(BASE,), left=0.0):
    """`left`: the share of the best constant's loss that both models leave."""
    effects = np.asarray(effects, float)
    return Cell(PROBE[insight], variants, effects, np.full((2, len(effects)), left))


def test_every_insight_has_a_probe_and_most_variants_apply():
    assert list(PROBE) == ["1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b"]
    for probe in PROBES:
        used = [v for v in VARIANTS if v.applies(probe)]
        assert len(used) >= 10
        assert not any(v.factor in probe.compares for v in used)


def test_clear_cells_are_decided_and_unclear_ones_are_not():
    yes, no = np.full(8, 1.0), np.full(8, -1.0)
    mixed = np.array([1.0, -1.0] * 4)
    found = judged([cell("4a", yes), cell("4a", no), cell("4a", mixed)])
    assert [c.outcome for c in found] == [Outcome.SUPPORTED, Outcome.REFUTED, Outcome.UNDECIDED]


def test_false_discoveries_are_rare_where_every_effect_lies_on_the_margin():
    rng = np.random.default_rng(0)
    margin, false = PROBE["4a"].claim.margin, 0
    for _ in range(100):
        cells = [cell("4a", margin + rng.standard_cauchy(8)) for _ in range(40)]
        false += any(c.outcome.decided for c in judged(cells))
    assert false <= 20  # both sides at 5% each


def test_looking_twice_is_paid_for():
    looks, margin = Looks((7, 10)), PROBE["4a"].claim.margin
    once = cell("4a", np.full(7, margin + 1))
    assert once.p(True, looks) == pytest.approx(looks.factor * once.p(True))
    assert once.p(True, looks) > once.p(True)


def test_a_variant_that_changes_nothing_is_no_cell():
    questions, _ = asked(["3b"], "smoke")
    names = [variants[0].name for _, variants in questions]
    assert len(names) == len(set(names))
    full, _ = asked(["1a"], "full")
    told = {(v.factor, v.name) for _, variants in full if len(variants) == 1 for v in variants}
    assert ("norm", "pre-ln") not in told  # what the probe has already
    assert ("norm", "none") in told
    named = {"bias", "score", "normaliser", "norm", "ffn", "residual", "width", "optimiser",
             "rate", "precision", "length", "noise", "inputs"}  # fmt: skip
    assert {factor for factor, _ in told} == {"base", *named}


def test_a_variant_that_makes_both_models_the_same_does_not_apply():
    bare = next(v for v in VARIANTS if v.factor == "ffn" and v.name == "none")
    assert not bare.applies(PROBE["2a"])  # it compares numbers of neurons
    assert bare.applies(PROBE["1b"])


def test_laws_of_inputs_keep_the_size_of_tokens():
    law = next(v for v in VARIANTS if v.name == "autoregressive")
    assert law.memory(PROBE["2a"]).endswith("inputs=ar1(phi=0.7,d=2)")
    assert law.memory(PROBE["2b"]).endswith("inputs=ar1(phi=0.7,d=1)")
    assert not law.applies(PROBE["3b"])


def test_tokens_that_depend_on_the_one_before_are_for_integer_tokens():
    sticky = next(v for v in VARIANTS if v.name == "sticky")
    assert sticky.memory(PROBE["3b"]) == "sticky:of=recall(pairs=3,symbols=4),stay=0.3"
    assert not sticky.applies(PROBE["2b"])
    noisy = joined([sticky, next(v for v in VARIANTS if v.factor == "noise")])
    assert noisy.memory(PROBE["3b"]).startswith("noisy:of=sticky(of=recall(")


def test_a_model_of_heads_alone_cannot_lose_its_residual():
    bare = next(v for v in VARIANTS if v.name == "none at all")
    _, refused = asked(["4a"], "laptop")
    assert (bare.factor, bare.name) in {(factor, name) for _, factor, name, _ in refused}


def test_every_alternative_gets_a_verdict_by_memory():
    cheap = {a.name: a for a in ALTERNATIVES}
    assert set(cheap) == {"without dot products", "TMX", "deeper, fewer heads", "log bias"}
    probes = cheap["log bias"].probes
    good, bad = np.full(10, -1.0), np.full(10, 1.0)
    learned = np.zeros((2, 10))
    cells = judged([Cell(probe, (BASE,), effects, learned)
                    for probe, effects in ((probes[0], good), (probes[1], bad))])  # fmt: skip
    found = Robustness(Profile.SMOKE, tuple(cells), ())
    (verdict,) = found.verdicts()
    assert verdict["as good"] == ["a heavy tail"]
    assert verdict["worse"] == ["a light tail"]
    assert found.sentences()[-2] == (
        "Log bias instead of a number per lag: as good on a heavy tail; worse on a light tail."
    )
    for probe in cheap["deeper, fewer heads"].probes:
        deep, wide = (sum(w.size for w in jax.tree.leaves(_shapes(probe, fields)))
                      for fields in (probe.first, probe.second))  # fmt: skip
        assert deep <= wide, probe.insight


def _shapes(probe, fields):
    from headcount.memory.named import targets
    from headcount.model.spec import ModelSpec

    target = targets.build(probe.memory)
    size = {"vocabulary": target.vocabulary} if target.vocabulary else {"dim": target.dim}
    spec = ModelSpec.from_values(fields)
    build = functools.partial(spec.build, outputs=target.outputs, **size)
    return eqx.filter(eqx.filter_eval_shape(build, jax.random.key(0)), _is_array)


def _is_array(leaf):
    return hasattr(leaf, "size")


def test_a_variant_without_any_effect_is_not_counted_as_evidence():
    t5, sgd = (next(v for v in VARIANTS if v.name == name) for name in ("t5", "sgd"))
    base = 1 + 0.1 * np.arange(8)
    cells = judged([cell("2b", base), cell("2b", base, (t5,)), cell("2b", base + 1, (sgd,))])
    found = Robustness(Profile.SMOKE, tuple(cells), ())
    assert [c["as_base"] for c in found.to_json()["map"]] == [False, True, False]
    assert "in 2 of 2 variants; 1 more change no figure." in found.sentences()[0]
    assert [row for row in found.factors() if row[0] == "bias"] == []  # not tried in effect


def test_seeds_on_which_both_models_diverge_decide_nothing():
    good = cell("2b", np.full(10, 2.0))
    assert judged([good])[0].outcome is Outcome.SUPPORTED
    zero = cell("2b", np.zeros(10))
    assert judged([zero])[0].outcome is Outcome.REFUTED
    void = cell("2b", np.zeros(10), left=math.inf)
    assert judged([void])[0].outcome is Outcome.UNDECIDED
    assert void.to_json()["void"] == 10


def test_two_models_that_learn_nothing_are_alike_and_decide_nothing():
    for insight in ("3a", "2b"):  # one says that there is no difference, the other is refuted by it
        same = np.full(10, 0.001)
        assert judged([cell(insight, same, left=0.05)])[0].outcome.decided
        (idle,) = judged([cell(insight, same, left=0.9)])
        assert idle.outcome is Outcome.UNDECIDED
        assert not idle.to_json()["learned"]
        assert idle.to_json()["losses"] == {"first": 0.9, "second": 0.9}
        told = Robustness(Profile.SMOKE, (idle,), ()).sentences()[0]
        assert told.endswith("1 undecided, 1 of them because neither model learned the memory.")


def test_a_difference_decides_even_where_little_is_learned():
    better, worse = np.full(10, 1.0), np.full(10, -1.0)
    assert judged([cell("2b", better, left=0.9)])[0].outcome is Outcome.SUPPORTED
    assert judged([cell("2b", worse, left=0.9)])[0].outcome is Outcome.REFUTED
    assert judged([cell("3a", better, left=0.9)])[0].outcome is Outcome.REFUTED
    assert judged([cell("3a", worse, left=0.9)])[0].outcome is Outcome.SUPPORTED


def test_figures_of_runs_become_losses_and_effects():
    for probe in (PROBE["1a"], PROBE["2b"]):
        pair = _specs((probe, (BASE,)), EFFORTS[Profile.SMOKE], 3)
        name = "eval_loss" if probe.tokens else "relative_loss"
        finals = {spec.content_hash: {name: 0.1} for side in pair for spec in side}
        assert cell_of((probe, (BASE,)), pair, finals).void == 0
        for side in pair:
            finals[side[1].content_hash] = {}
        finals[pair[0][2].content_hash] = {name: 1e12}  # as good as none
        found = cell_of((probe, (BASE,)), pair, finals)
        assert found.void == 1
        assert found.losses[:, 0] == pytest.approx(0.1 / probe.constant)
        assert np.isinf(found.losses[0, 2])
        assert found.effects[:2] == pytest.approx(0.0)
        assert found.effects[2] > 0  # only the first model diverged
    assert PROBE["1a"].constant == pytest.approx(math.log(4))


def test_what_turns_a_conclusion_is_told():
    sgd = next(v for v in VARIANTS if v.name == "sgd")
    cells = judged([cell("4a", np.full(8, 1.0)), cell("4a", np.full(8, -1.0), (sgd,))])
    found = Robustness(Profile.SMOKE, tuple(cells), ())
    assert [c.name for c in found.turning()] == ["sgd"]
    assert "not with optimiser sgd" in found.sentences()[0]


def test_a_map_of_several_insights_is_told_as_a_whole_first():
    sgd = next(v for v in VARIANTS if v.name == "sgd")
    good, bad = 1 + 0.1 * np.arange(8), np.full(8, -1.0)
    cells = judged([cell("4a", good), cell("4a", bad, (sgd,)), cell("2b", good)])
    found = Robustness(Profile.SMOKE, tuple(cells), ())
    assert found.sentences()[:2] == (
        "Of 3 variants of the paper's insights 2 support theirs, 1 refute it, 0 are undecided; at"
        " least 90% of the variants support 2b.",
        "What turns a conclusion: optimiser (1 of 1 cells).",
    )


def test_combinations_fill_the_space_and_join_their_changes():
    probe = PROBE["2a"]
    singles = [v for v in VARIANTS if v.applies(probe)]
    made = combinations(probe, singles, 12)
    assert all(len({v.factor for v in c}) == len(c) == 3 for c in made)
    used = [sum(v in c for c in made) for v in singles]
    assert max(used) - min(used) <= 2
    both = joined([next(v for v in VARIANTS if v.name == "x4"), VARIANTS[0]])
    assert both.width == 4
    assert both.model == {"bias": "lin"}
    for picked in made:  # no variant undoes another
        fields = [field for v in picked for field in v.model]
        assert len(fields) == len(set(fields))


@pytest.mark.parametrize(("together", "found"), [(0.2, 0), (-0.4, 1), (1.2, 1)])
def test_an_interaction_is_what_single_changes_do_not_add_up_to(together, found):
    a, b = VARIANTS[0], VARIANTS[11]
    spread = 0.01 * np.arange(10)
    cells = judged([cell("2a", level + spread, variants) for level, variants in
                    ((1.0, (BASE,)), (0.6, (a,)), (0.6, (b,)), (together, (a, b)))])  # fmt: skip
    told = Robustness(Profile.SMOKE, tuple(cells), ()).interactions()
    assert [c.variants for c in told] == [(a, b)] * found


def test_the_standard_designs_learn_their_memories():
    """On a pilot seed, with the steps of the laptop profile, where that takes a moment."""
    probes = {probe.insight: probe for each in ALTERNATIVES for probe in each.probes}
    for name in ("without dot products: two lags", "log bias: a heavy tail"):
        spec = _specs((probes[name], (BASE,)), EFFORTS[Profile.LAPTOP], 1)[1][0]
        record = train(spec.target(), spec.model, spec.train, seed=90).record
        assert record.final["relative_loss"] <= probes[name].enough


def test_smoke_asks_for_few_cells_and_refuses_nonsense():
    questions, refused = asked(["4b"], "smoke")
    assert asked(["tmx"], "smoke")[0] == asked(["TMX"], "smoke")[0] != []
    assert not refused
    assert {v.factor for _, vs in questions for v in vs} == {
        "base", *EFFORTS[Profile.SMOKE].factors
    }  # fmt: skip
    with pytest.raises(InputError, match="insight"):
        asked(["9z"], "smoke")
    with pytest.raises(InputError, match="profile"):
        asked(None, "huge")


@pytest.mark.parametrize(("left", "looked"), [(0.05, [7, 10]), (0.8, [7])])
def test_a_cell_in_which_neither_model_learns_is_not_looked_at_again(monkeypatch, left, looked):
    seeds = []

    def trained(specs, *rest):
        """Effects on both sides of the margin: undecided."""
        seeds.append(len({spec.seed for spec in specs}))
        worse = {1: 3.0, 4: 1.0}  # by heads, on every other seed
        return {
            spec.content_hash: {"relative_loss": left * worse[spec.model.heads] ** (spec.seed % 2)}
            for spec in specs
        }

    monkeypatch.setattr(module, "trained", trained)
    question = (PROBE["2b"], (BASE,))
    specs = _specs(question, EFFORTS[Profile.LAPTOP], 10)
    (found,) = module._cells([question], EFFORTS[Profile.LAPTOP], None, None, None)
    assert seeds == looked
    assert len(found.effects) == looked[-1] <= len(specs[0])
    assert not found.outcome.decided
