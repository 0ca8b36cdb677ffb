"""A claim answers exactly the questions that its scope reaches."""

import dataclasses
import math

import pytest

from headcount.core.claims import (
    BALL,
    FIELDS,
    SIGNS,
    Claim,
    Lags,
    Norm,
    Precision,
    Readout,
    Role,
    Scope,
    Sense,
    Status,
    Tokens,
    phrase,
    subject_words,
)
from headcount.core.errors import InputError
from headcount.core.refs import Ref
from headcount.memory.kernels import Lag, Power, Window

TERNARY = Tokens(frozenset({(-1.0,), (0.0,), (1.0,)}))

# field → values from narrow to wide: more models, or more that counts
CHAINS = {
    "bias": ["lin", None],
    "lowest_rate": [2.0, 1.0, 0.0],
    "heads": [1, 6, None],
    "weight": [1.0, 1e3, math.inf],
    "layers": [1, 3, None],
    "dot_product": [False, True],
    "readout": [Readout.LINEAR, Readout.ANY],
    "norm": [Norm.SUP, Norm.L2, Norm.L1],
    "lags": [Lags(1, 5), Lags(0, 5), Lags(0, 9), Lags()],
    "tokens": [SIGNS, TERNARY, BALL],
    "rates": [(1.0,), (1.0, 2.0), None],
    "state": [1, 6, None],
    "reads": [1, 6, None],
    "normalised": [False, True],
    "neurons": [1, 6, None],
    "resolution": [0.0, 1e-6, 0.1],
}
UNORDERED = {"precision": [None, *Precision], "bias": ["lin", "log"]}


def claim(sense: Sense, **scope) -> Claim:
    ref = Ref("headcount", "a test")
    return Claim("lag:3", Scope(**scope), sense, 0.5, Status.PROVED, "test", ref)


def answered(made: Claim, **question) -> bool:
    return made.answers(Scope(**question)).value is not None


def test_every_field_is_ordered_here():
    assert set(CHAINS) | set(UNORDERED) == set(FIELDS)
    assert set(FIELDS) == {field.name for field in dataclasses.fields(Scope)}


@pytest.mark.parametrize("field", CHAINS)
@pytest.mark.parametrize("sense", Sense)
def test_a_claim_reaches_one_way_only(field, sense):
    values = CHAINS[field]
    forwards = (FIELDS[field][0] is Role.CLASS) == (sense is Sense.AT_LEAST)
    for i, ours in enumerate(values):
        for j, asked in enumerate(values):
            covered = j <= i if forwards else i <= j
            assert answered(claim(sense, **{field: ours}), **{field: asked}) == covered


@pytest.mark.parametrize("field", UNORDERED)
@pytest.mark.parametrize("sense", Sense)
def test_names_and_formats_speak_for_themselves(field, sense):
    for ours in UNORDERED[field]:
        for asked in UNORDERED[field]:
            found = answered(claim(sense, **{field: ours}), **{field: asked})
            assert found == (ours == asked)


def test_what_is_missing_is_named():
    proved = claim(Sense.AT_LEAST, bias="lin", weight=2e4)
    asked = Scope(bias="lin", readout=Readout.ANY, precision=Precision.FLOAT32)
    answer = proved.answers(asked)
    assert answer.value is None
    assert [gap.field for gap in answer.gaps] == ["weight", "readout", "precision"]
    assert str(answer.gaps[0]) == "it is about sum|a| <= 20000, the question about any weights"


def test_only_a_proof_excludes_and_only_a_model_reaches():
    low, high = claim(Sense.AT_LEAST), claim(Sense.AT_MOST)
    asked = Scope()
    assert low.excludes(asked, 0.4)
    assert not low.excludes(asked, 0.5)  # 0.5 itself may be reached
    assert not dataclasses.replace(low, status=Status.CONJECTURED).excludes(asked, 0.4)
    assert not low.reaches(asked, 0.6)
    assert high.reaches(asked, 0.5)
    assert not high.reaches(asked, 0.4)
    assert not high.excludes(asked, 0.4)


def test_words_are_rounded_to_the_safe_side():
    low, high = claim(Sense.AT_LEAST), claim(Sense.AT_MOST)
    assert "at least 0.9999 in" in dataclasses.replace(low, value=0.99999).words()
    assert "at most 1 in" in dataclasses.replace(high, value=0.99999).words()
    assert "sum|a| <= 1.23456," in phrase(Scope(weight=1.2345678))
    guess = dataclasses.replace(high, status=Status.CONJECTURED)
    assert not guess.reaches(Scope(), 1.0)


def test_words_hold_the_whole_scope():
    """Every field that differs from the default changes the sentence."""
    plain = phrase(Scope())
    changed = {
        "bias": "log", "lowest_rate": 1.0, "heads": 3, "weight": 7.0, "layers": 2,
        "dot_product": True, "readout": Readout.ANY, "precision": Precision.FLOAT32,
        "lags": Lags(0, 7), "tokens": BALL, "rates": (1.0, 2.0), "state": 3, "reads": 1,
        "neurons": 5, "resolution": 1e-3, "normalised": False,
    }  # fmt: skip
    texts = {phrase(Scope(**{name: value})) for name, value in changed.items()}
    assert len(texts) == len(changed)
    assert plain not in texts
    assert "sup" in claim(Sense.AT_LEAST, norm=Norm.SUP).words()


def test_json_is_plain():
    made = claim(Sense.AT_LEAST, lags=Lags(0, 7)).to_json()
    assert made["scope"]["lags"] == {"first": 0, "stop": 7}
    assert made["scope"]["weight"] is None
    assert made["scope"]["tokens"]["letters"] == [[-1.0], [1.0]]
    assert made["status"] == "proved and checked"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (SIGNS, "tokens -1.0, 1.0"),
        (BALL, "tokens of norm up to 1"),
        (Tokens(frozenset({(0.0, 1.0), (1.0, 0.0)})), "one-hot tokens of size 2"),
        (Tokens(frozenset({(0.0, 1.0), (2.0, 0.0)})), "tokens (0.0, 1.0), (2.0, 0.0)"),
    ],
)
def test_tokens_in_words(tokens, text):
    assert str(tokens) == text


def test_kernels_are_called_as_people_write_them():
    made = claim(Sense.AT_LEAST)
    assert str(dataclasses.replace(made, subject=Lag(2))).startswith("lag:2: at least")
    assert str(dataclasses.replace(made, subject="fixed")).startswith("fixed: at least")


def test_names_become_members_and_strangers_are_refused():
    """A checker that compares by identity must not be passed by with a name of equal text."""
    plain = Scope(norm="sup", readout=str(Readout.ANY), precision="float32")
    assert plain.norm is Norm.SUP
    assert plain.readout is Readout.ANY
    assert plain.precision is Precision.FLOAT32
    assert claim("at least").sense is Sense.AT_LEAST
    for wrong in ({"norm": "l3"}, {"readout": "linear-ish"}, {"precision": "float8"}):
        with pytest.raises(InputError, match="choose one of these"):
            Scope(**wrong)
    with pytest.raises(InputError, match="expected true or false"):
        Scope(dot_product="no")


def test_what_a_kernel_leaves_out_is_not_in_its_name():
    assert subject_words(Window(7)) == "window:7"
    assert subject_words(Window(7, Power(1.5))).startswith("window:7,")
