"""Readouts one by one: hand values, worked bounds, refusals. What all share is in
tests/contracts/test_readouts.py.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.inputs import Boolean, Gaussian, OneHot, Ternary, Uniform
from headcount.memory.readouts import (
    CallableReadout,
    Linear,
    Lookup,
    Parity,
    Product,
    ReluNetwork,
    ReluSum,
    Teacher,
    Triangle,
    readouts,
)


def signs(count, d=1):
    """All vertices of `count` memories after an x_t of zero.  [2^(count d), count + 1, d]"""
    every = np.array(list(itertools.product((-1.0, 1.0), repeat=count * d))).reshape(
        -1, count, d
    ) / math.sqrt(d)
    return np.concatenate([np.zeros((len(every), 1, d)), every], axis=1)


def test_linear_ignores_the_current_token_unless_it_has_a_weight():
    z = jnp.array([[5.0], [1.0], [2.0]])
    assert Linear()(z).tolist() == [3.0]
    assert Linear((1.0, 10.0))(z).tolist() == [21.0]
    assert Linear((1.0, 1.0, 10.0))(z).tolist() == [26.0]


@pytest.mark.parametrize(("memories", "d"), [(1, 1), (3, 1), (2, 3)])
def test_teacher_has_unit_variance_on_boolean_tokens(memories, d):
    values = np.array([Teacher(seed=4).reference(z)[0] for z in signs(memories, d)])
    assert values.var() == pytest.approx(1, rel=1e-9)


def test_teacher_beyond_enumeration_is_near_unit_variance():
    generator = np.random.default_rng(1)
    z = 2.0 * generator.integers(0, 2, (4000, 21, 1)) - 1
    assert Teacher()(jnp.asarray(z))[:, 0].var() == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("kind", [Teacher, ReluSum])
def test_a_teacher_without_a_seed_is_filled_by_the_run(kind):
    z = np.array([[0.5], [1.0], [-1.0]])
    left = kind(seed=None)
    with pytest.raises(InputError, match="without a seed"):
        left.reference(z)
    filled = left.filled(left.left_open(3, 1, seed=5))
    assert filled.reference(z) == kind(seed=5).reference(z)
    assert kind(seed=5).left_open(3, 1, seed=6) == ()
    assert kind(seed=5).filled(()) == kind(seed=5)


def test_the_printed_sum_has_outer_weights_1_and_is_affine_in_one_sign():
    net = ReluSum(seed=3).network(2, 1)
    assert set(net.a) == {1.0}
    assert not net.c.any()
    low, middle, high = (ReluSum(seed=3).reference(np.array([[0.0], [x]]))[0] for x in (-1, 0, 1))
    assert middle == 0
    assert high - low == pytest.approx(net.b.sum())


def test_teacher_depends_on_its_seed_and_not_on_the_current_token():
    z = np.ones((3, 1))
    assert Teacher(seed=0).reference(z) != Teacher(seed=1).reference(z)
    moved = z.copy()
    moved[0] = -1
    assert Teacher().reference(z) == Teacher().reference(moved)
    assert Teacher(current=True).reference(z) != Teacher(current=True).reference(moved)


def test_a_constant_teacher_is_refused():
    dead = [
        seed
        for seed in range(60)
        if _refused(lambda seed=seed: Teacher(neurons=1, seed=seed).check(2, 1))
    ]
    assert dead  # one neuron is off at both vertices for some seeds
    assert len(dead) < 30


def _refused(action):
    try:
        action()
    except InputError as error:
        return "constant on Boolean tokens" in str(error)
    return False


@pytest.mark.parametrize(("memories", "d"), [(1, 1), (2, 1), (5, 1), (2, 2), (1, 3)])
def test_parity_is_the_product_of_signs_on_every_vertex(memories, d):
    z = signs(memories, d)
    wanted = np.sign(z[:, 1:]).prod((1, 2))
    np.testing.assert_allclose(Parity()(jnp.asarray(z))[:, 0], wanted, atol=1e-5)
    np.testing.assert_allclose([Parity().reference(row)[0] for row in z], wanted, atol=1e-7)


def test_parity_with_the_current_token():
    z = jnp.array([[-1.0], [1.0], [1.0]])
    assert Parity(current=True)(z).tolist() == [-1.0]
    assert Parity()(z).tolist() == [1.0]


def test_parity_barron_bound_by_hand():
    # Three bits: 1 + (3+3) + 2(3+1) + 2(3+1).
    assert Parity().barron(4, 1) == 1 + 6 + 8 + 8
    assert Parity().lipschitz(4, 1) == pytest.approx(math.sqrt(3))


@pytest.mark.parametrize(("p", "d"), [(1, 1), (2, 1), (3, 2), (4, 1)])
def test_product_barron_bound_is_the_limit_of_explicit_networks(p, d):
    """Discretise the integral of the docstring: the networks tend to f, and their path norms to
    the bound from below.
    """
    readout, norms, errors = Product(), [], []
    generator = np.random.default_rng(0)
    z = generator.uniform(-1, 1, (300, p + 1, d)) / math.sqrt(d)
    wanted = np.array([readout.reference(row)[0] for row in z])
    for knots in (50, 400):
        net = _polarised(p, d, knots)
        errors.append(np.abs(net(z.reshape(len(z), -1)) - wanted).max())
        norms.append(net.path_norm)
    assert errors[1] < 1e-3
    assert errors[1] < errors[0] / 20 or errors[0] < 1e-12
    bound = readout.barron(p + 1, d)
    assert norms[1] <= bound * (1 + 1e-9)
    assert norms[1] >= bound * 0.98


def _polarised(p: int, d: int, knots: int) -> ReluNetwork:
    """sum over signs e of (prod e)(e.m)^p / (2^p p!), each power by its interpolant on `knots`
    pieces a side.
    """
    t = np.linspace(0, p, knots + 1)
    slopes = np.diff(t**p) / np.diff(t)
    changes = np.diff(slopes, prepend=0.0)  # relu(u - t_j) for u > 0
    a, b, c = [], [], []
    for e in itertools.product((-1.0, 1.0), repeat=p):
        direction = np.concatenate([np.zeros(d), np.repeat(e, d) / math.sqrt(d)])
        for side in (1.0, -1.0):
            for change, knot in zip(changes, t[:-1], strict=True):
                a.append(math.prod(e) * side**p * change / (2**p * math.factorial(p)))
                b.append(side * direction)
                c.append(-knot)
    return ReluNetwork(np.array(a), np.array(b), np.array(c))


def test_triangle_has_its_teeth():
    u = np.linspace(-1, 1, 20001)
    values = np.asarray(Triangle(teeth=5)(jnp.asarray(np.stack([0 * u, u], axis=1)[:, :, None])))[
        :, 0
    ]
    turns = np.flatnonzero(np.diff(np.sign(np.diff(values))))
    assert len(turns) == 2 * 5 - 1
    assert (values.min(), values.max()) == pytest.approx((-1, 1), abs=1e-3)
    assert Triangle(teeth=5).network(2, 1).neurons == 2 * 5 + 1  # one per piece, and the constant


def test_triangle_of_the_mean():
    z = jnp.array([[0.0], [1.0], [-0.5]])
    assert Triangle(teeth=1, of="mean")(z).item() == pytest.approx(1 - abs(0.25) * 2)
    assert Triangle(teeth=1)(z).item() == pytest.approx(-1)


def test_lookup_reads_its_table_last_memory_fastest():
    table = Lookup(alphabet=((-1.0,), (1.0,)), values=(1.0, 2.0, 3.0, 4.0))
    z = jnp.array([[[0.0], [a], [b]] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    assert table(z)[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert table(jnp.array([[0.0], [0.0], [1.0]])).tolist() == [0.0]  # a missing memory


def test_lookup_barron_bound_on_one_hot_letters():
    values = (1.0, -2.0, 0.0, 4.0)
    net = Lookup(values=values).network(3, 2)
    assert net.neurons == 3  # one per combination of nonzero value
    assert Lookup(values=values).barron(3, 2) == pytest.approx((2 * 2 - 1) * 7)


def test_lookup_from_a_seed_is_centred():
    table = Lookup(seed=3).table(2, 4)
    assert (table.mean(), table.var()) == pytest.approx((0, 1))
    assert not np.array_equal(table, Lookup(seed=4).table(2, 4))


def test_bounds_are_withheld_where_they_do_not_hold():
    assert Product().bounds(3, Uniform()) == (Product().lipschitz(3, 1), Product().barron(3, 1))
    assert Product().bounds(3, Gaussian()) == (None, None)
    assert Product().bounds(3, Boolean(), radius=1.5) == (None, None)
    assert Linear().bounds(3, Gaussian()) == (math.sqrt(2), 4.0)
    assert Lookup().bounds(2, OneHot(3))[0] is not None
    assert Lookup(alphabet=((-1.0,), (1.0,))).bounds(2, Ternary()) == (None, None)
    assert Lookup(alphabet=((-1.0,), (1.0,))).bounds(2, Uniform()) == (None, None)


def test_callable_without_a_slow_form_runs_in_float64():
    readout = CallableReadout(lambda z: z.sum((-2, -1))[..., None] / 3)
    assert readout.reference(np.array([[1.0], [0.0]])) == pytest.approx(1 / 3, abs=1e-16)
    assert (readout.lipschitz(2, 1), readout.barron(2, 1)) == (None, None)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: Teacher(neurons=0), "at least 1"),
        (lambda: Teacher(seed=-1), "at least 0"),
        (lambda: Triangle(teeth=0), "at least 1"),
        (lambda: Triangle(of="last"), "'first' or 'mean'"),
        (lambda: Parity().check(1, 1), "at least one memory"),
        (lambda: Product().check(1, 1), "at least one memory"),
        (lambda: Linear((1.0,)).check(4, 1), "3 or 4"),
        (lambda: Linear((math.nan,)).check(2, 1), "finite"),
        (lambda: Lookup(values=(1.0, 2.0)).check(3, 2), r"2\^2 = 4"),
        (lambda: Lookup(alphabet=((1.0,), (1.0,))), "distinct letters"),
        (lambda: Lookup(alphabet=((1.0,), (1.0, 2.0))), "one size"),
        (lambda: Lookup(alphabet=((1.0,), (2.0,))).check(2, 3), "size 3"),
        (lambda: Lookup(values=(math.inf,)), "finite"),
        (lambda: Lookup().check(7, 16), "at most 65536"),
        (lambda: CallableReadout(3), "should be callable"),
        (lambda: CallableReadout(lambda z: z).check(2, 1), "maps"),
        (lambda: CallableReadout(lambda z: z.no_such_thing).check(2, 1), "AttributeError"),
        (lambda: CallableReadout(lambda z: z, size=0), "at least 1"),
        (lambda: CallableReadout(lambda z: z, barron_bound=-1.0), "barron_bound"),
        (lambda: readouts.build("teacher:neuron=3"), "nearest: 'neurons'"),
        (lambda: readouts.build("paritty"), "nearest: 'parity'"),
    ],
)
def test_refusals(action, words):
    with pytest.raises(InputError, match=words):
        action()
