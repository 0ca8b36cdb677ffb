"""What every readout promises, over the whole registry: jit = reference, and constants that
hold.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json, content_hash, plain
from headcount.memory.readouts import CallableReadout, readouts


def ball(generator, count, slots, d):
    """Slots in the unit ball, some of them zero (before the first token)."""
    z = generator.standard_normal((count, slots, d))
    z *= generator.random((count, slots, 1)) / np.linalg.norm(z, axis=-1, keepdims=True)
    return z * (generator.random((count, slots, 1)) < 0.9)


def vertices(generator, count, slots, d):
    return (2.0 * generator.integers(0, 2, (count, slots, d)) - 1) / np.sqrt(d)


def from_letters(letters):
    # and missing tokens
    letters = np.concatenate([np.asarray(letters, float), np.zeros((1, len(letters[0])))])
    return lambda generator, count, slots, d: letters[
        generator.integers(0, len(letters), (count, slots))
    ]


# text → (slots, d, points of the domain)
EXAMPLES = {
    "linear": (3, 2, ball),
    "linear:weights=2+-1": (3, 1, ball),
    "linear:weights=0.5+2+-1": (3, 3, ball),
    "teacher": (4, 1, ball),
    "teacher:neurons=8,seed=3,current=true": (3, 2, ball),
    "teacher:neurons=16": (6, 3, vertices),
    "relu-sum": (4, 1, vertices),
    "relu-sum:neurons=5,seed=2,current=true": (3, 2, ball),
    "parity": (4, 1, vertices),
    "parity:current=true": (3, 2, ball),
    "product": (4, 1, ball),
    "product:current=true": (3, 4, ball),
    "triangle:teeth=4": (3, 1, ball),
    "triangle:teeth=32,of=mean": (3, 2, ball),
    "triangle:teeth=3,of=mean,current=true": (2, 1, ball),
    "lookup": (3, 4, from_letters(np.eye(4))),
    "lookup:seed=2,current=true": (2, 3, from_letters(np.eye(3))),
    "lookup:alphabet=-1+1": (4, 1, from_letters([[-1], [1]])),
    "lookup:alphabet=-1+0+1,seed=5": (3, 1, from_letters([[-1], [0], [1]])),
    "lookup:alphabet=-1+1,values=1+2+3+4": (3, 1, from_letters([[-1], [1]])),
}
CALLABLE = CallableReadout(
    lambda z: jnp.tanh(z).sum((-2, -1))[..., None],
    slow=lambda z: np.tanh(z).sum(keepdims=True)[0],
    lipschitz_bound=np.sqrt(6.0),
)
CASES = [*((text, *case) for text, case in EXAMPLES.items()), (CALLABLE, 3, 2, ball)]


@pytest.fixture(params=CASES, ids=[str(case[0]).split(" at 0x")[0][:60] for case in CASES])
def case(request):
    text, slots, d, domain = request.param
    readout = readouts.build(text)
    readout.check(slots, d)
    return readout, slots, d, domain


def points(case, count=200, seed=0):
    _, slots, d, domain = case
    return domain(np.random.default_rng(seed), count, slots, d)


def exact(readout, z):
    """Values by the fast path in float64.  [count, o]"""
    with jax.enable_x64(True):
        return np.asarray(jax.jit(readout)(jnp.asarray(z, jnp.float64)))


def test_every_entry_has_an_example():
    assert {readouts.build(text).kind for text, *_ in CASES} == set(readouts.names())


@pytest.mark.parametrize(("x64", "tolerance"), [(True, 1e-12), (False, 1e-5)])
def test_fast_equals_reference(case, x64, tolerance):
    readout, slots, d, _ = case
    with jax.enable_x64(x64):
        z = jnp.asarray(points(case), jnp.result_type(float))
        got = jax.jit(readout)(z.reshape(20, 10, slots, d))
        assert got.shape == (20, 10, readout.outputs)
        assert got.dtype == z.dtype
        wanted = np.array([readout.reference(row) for row in np.asarray(z, np.float64)])
        scale = 1 + (readout.lipschitz(slots, d) or 0)  # rounding of z is magnified that much
        np.testing.assert_allclose(
            np.asarray(got).reshape(200, -1), wanted, rtol=0, atol=tolerance * scale
        )


def test_lipschitz_bound_holds(case):
    readout, slots, d, _ = case
    bound = readout.lipschitz(slots, d)
    assert bound is not None
    far, near = points(case, 400), points(case, 400, seed=1)
    # segments stay in the ball
    steps = np.random.default_rng(2).random((400, 1, 1)) if case[3] is ball else 1.0
    near = far + steps * (near - far)
    change = np.linalg.norm(exact(readout, far) - exact(readout, near), axis=-1)
    distance = np.sqrt(((far - near) ** 2).sum((1, 2)))
    assert np.all(change <= bound * distance * (1 + 1e-9) + 1e-12)
    assert change.max() > 0.01 * bound * distance[change.argmax()]  # and it is not absurdly large


def test_barron_bound_is_the_path_norm_of_a_network_that_equals_it(case):
    readout, slots, d, _ = case
    net = readout.network(slots, d)
    if net is None:
        # the product's continuous network is checked beside its file
        assert readout.kind in ("product", "callable")
        return
    z = points(case, 500)
    np.testing.assert_allclose(
        net(z.reshape(500, -1)), exact(readout, z)[:, 0], rtol=0, atol=1e-9 * (1 + net.path_norm)
    )
    assert readout.barron(slots, d) == pytest.approx(net.path_norm, rel=1e-12)
    by_hand = sum(
        abs(a) * (sum(abs(w) for w in b) + abs(c))
        for a, b, c in zip(net.a, net.b, net.c, strict=True)
    )
    assert net.path_norm == pytest.approx(by_hand, rel=1e-12)


def test_the_networks_extension_keeps_the_lipschitz_bound(case):
    """Theorems perturb the slots before they apply f: the two constants must belong to one
    function.
    """
    readout, slots, d, _ = case
    net = readout.network(slots, d)
    if net is None:
        return
    generator = np.random.default_rng(3)
    z = points(case, 400).reshape(400, -1)
    moved = z + 0.05 * generator.standard_normal(z.shape)
    change = np.abs(net(z) - net(moved))
    assert np.all(
        change
        <= readout.lipschitz(slots, d) * np.linalg.norm(z - moved, axis=1) * (1 + 1e-9) + 1e-12
    )


def test_spec_round_trip(case):
    readout = case[0]
    if readout.kind == "callable":
        with pytest.raises(InputError, match="cannot be written to a spec"):
            plain(readout)
        return
    again = readouts.build(json.loads(canonical_json(readout)))
    assert again == readout
    assert hash(again) == hash(readout)
    assert content_hash(again) == content_hash(readout)
