"""Lag functions: fast = reference, ranges, exact networks, separation, refusals."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.spec import plain
from headcount.memory.inputs import Boolean, Embedded, OneHot, Ternary, Uniform
from headcount.memory.lag_functions import (
    Affine,
    Bits,
    CallableLag,
    Table,
    combinations,
    lag_functions,
)

TERNARY = Ternary().alphabet
CASES = [
    (Affine(offset=1, slope=1, T=2, allow_zero=True), 1, TERNARY),
    (Affine(offset=2.5, slope=-2, T=3), 2, TERNARY),
    (Table(lags=(3, 9, 1)), 1, OneHot(3).alphabet),
    (Table(lags=(4, 2), alphabet=Boolean().alphabet), 2, Boolean().alphabet),
    (
        Table(lags=(5, 0, 7, 7, 2), alphabet=Embedded(5, 3).alphabet, allow_zero=True),
        1,
        Embedded(5, 3).alphabet,
    ),
    (Bits(), 3, Boolean().alphabet),
    (Bits(first=4, stride=3), 2, TERNARY),
    (
        CallableLag(
            lambda tokens: 2 + tokens[..., -1, 0], T=3, slow=lambda tokens: 2 + int(tokens[-1][0])
        ),
        1,
        TERNARY,
    ),
]


@pytest.fixture(params=CASES, ids=[f"{g.kind}-{n}" for g, n, _ in CASES])
def case(request):
    return request.param


def test_every_entry_has_a_case():
    assert {g.kind for g, _, _ in CASES} == set(lag_functions.names())


@pytest.mark.parametrize("x64", [False, True])
def test_fast_equals_reference_and_stays_in_range(case, x64):
    g, n, alphabet = case
    tokens = combinations(alphabet, n)
    with jax.enable_x64(x64):
        lags = jax.jit(g)(jnp.asarray(tokens, jnp.result_type(float)))
    assert lags.dtype == jnp.int32
    assert lags.tolist() == [g.reference(row) for row in tokens]
    assert set(lags.tolist()) <= set(g.possible(n))
    assert lags.max() <= g.largest(n)
    assert lags.min() >= (0 if g.allow_zero else 1)


@pytest.mark.parametrize("log", [False, True])
def test_barron_bound_is_the_path_norm_of_an_exact_network(case, log):
    g, n, alphabet = case
    tokens = combinations(alphabet, n)
    lags = np.array([g.reference(row) for row in tokens], float)
    net = g.network(n, alphabet, log)
    bound = g.log_barron(n, alphabet) if log else g.barron(n, alphabet)
    if log and lags.min() == 0:
        assert net is None is bound
        return
    np.testing.assert_allclose(
        net(tokens.reshape(len(tokens), -1)),
        np.log(lags) if log else lags,
        atol=1e-9 * (1 + net.path_norm),
    )
    assert bound == net.path_norm


def test_separation_is_the_smallest_distance_across_lags(case):
    g, n, alphabet = case
    tokens = combinations(alphabet, n)
    pairs = [
        (a, b) for a, b in itertools.combinations(tokens, 2) if g.reference(a) != g.reference(b)
    ]
    wanted = min(np.linalg.norm(a - b) for a, b in pairs)
    assert g.separation(n, alphabet) == pytest.approx(wanted, abs=1e-6)


def test_without_an_alphabet_nothing_is_promised(case):
    g, n, _ = case
    assert (g.network(n, None), g.separation(n, None)) == (None, None)
    assert Uniform().alphabet is None


def test_spec_round_trip(case):
    g = case[0]
    if g.kind == "callable":
        with pytest.raises(InputError, match="cannot be written"):
            plain(g)
    else:
        assert lag_functions.build(plain(g)) == g


def test_constant_lags_are_infinitely_separated():
    assert Table(lags=(3, 3)).separation(1, OneHot(2).alphabet) == math.inf


def test_affine_rounds_halves_up_and_clips():
    g = Affine(offset=0, slope=10, T=4)
    assert [g.reference(np.array([[x]])) for x in (-1, 0.05, 0.15, 0.25, 0.35, 1)] == [
        1,
        1,
        2,
        3,
        4,
        4,
    ]


def test_bits_network_is_its_formula():
    assert Bits(first=2, stride=3).barron(2, Boolean().alphabet) == 2 + 3 * 3


def test_callable_lags_out_of_range():
    g = CallableLag(lambda tokens: tokens[..., -1, 0] * 9, T=3)
    assert g(jnp.array([[1.0]])) == 3  # clipped: under jit nothing can be refused
    with pytest.raises(InputError, match="from 1 to 3"):
        g.reference(np.array([[1.0]]))


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: Affine(offset=math.nan, slope=1, T=2), "finite"),
        (lambda: Affine(offset=1, slope=math.inf, T=2), "finite"),
        (lambda: Affine(offset=1, slope=1, T=0), "at least 1"),
        (lambda: Table(lags=()), "one lag per letter"),
        (lambda: Table(lags=(0, 1)), "allow_zero"),
        (lambda: Table(lags=(-1, 1), allow_zero=True), "at least 0"),
        (lambda: Table(lags=(1, 2, 3), alphabet=((0.0,), (1.0,))), "one lag per letter"),
        (lambda: Table(lags=(1, 2), alphabet=((1.0,), (1.0,))), "distinct"),
        (lambda: Table(lags=(1, 2), alphabet=((1.0,), (1.0, 2.0))), "one size"),
        (lambda: Table(lags=(1, 2)).check(1, 3), "size 2"),
        (lambda: Bits(first=0), "at least 1"),
        (lambda: Bits(stride=0), "at least 1"),
        (lambda: Bits().check(25, 1), "at most 24"),
        (lambda: CallableLag(2, T=1), "should be callable"),
        (lambda: CallableLag(lambda tokens: tokens, T=1).check(1, 1), "maps"),
    ],
)
def test_refusals(action, words):
    with pytest.raises(InputError, match=words):
        action()
