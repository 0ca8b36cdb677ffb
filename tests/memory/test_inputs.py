"""Input laws one by one: their law, hand checks, refusals. What all share is in
tests/contracts/test_inputs.py.
"""

import jax
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.core.spec import canonical_json
from headcount.memory.inputs import (
    Autoregressive,
    Boolean,
    Embedded,
    Gaussian,
    Markov,
    OneHot,
    Ternary,
    Uniform,
    UserArray,
)


def draw(law, batch, length, seed=0):
    return np.asarray(
        jax.jit(lambda key: law.sample(key, batch, length))(jax.random.key(seed)), np.float64
    )


def test_ternary_is_uniform():
    x = draw(Ternary(), 300, 1000).ravel()
    shares = [(x == value).mean() for value in (-1, 0, 1)]
    assert shares == pytest.approx([1 / 3] * 3, abs=5 * np.sqrt(2 / 9 / x.size))
    pairs = np.mean(x[1:] * x[:-1])  # digits of one word are independent too
    assert abs(pairs) < 5 * (2 / 3) / np.sqrt(x.size)


def test_ar1_has_its_autocorrelation_everywhere():
    x = draw(Autoregressive(phi=0.8), 20000, 40)[:, :, 0]
    for start, lag in ((0, 1), (0, 5), (30, 1), (30, 3), (7, 32)):
        assert np.mean(x[:, start] * x[:, start + lag]) == pytest.approx(0.8**lag, abs=0.04)
    assert x.std(0) == pytest.approx(np.ones(40), abs=0.04)


def test_ar1_equals_its_recurrence():
    law = Autoregressive(phi=-0.7)
    x = draw(law, 2, 37)
    noise = (x[:, 1:] + 0.7 * x[:, :-1]) / np.sqrt(1 - 0.49)
    plain = np.asarray(jax.random.normal(jax.random.key(0), (2, 37, 1)))[:, 1:]
    np.testing.assert_allclose(noise, plain, atol=1e-5)


def test_markov_has_its_transitions_from_the_first_token():
    law = Markov(symbols=3, transition=((0.5, 0.5, 0.0), (0.1, 0.2, 0.7), (0.3, 0.3, 0.4)))
    states = draw(law, 20000, 4).argmax(-1)
    for t in (0, 2):
        for i in range(3):
            after = states[states[:, t] == i, t + 1]
            assert np.bincount(after, minlength=3) / len(after) == pytest.approx(
                law.transition[i], abs=0.03
            )
    assert np.bincount(states[:, 0]) / len(states) == pytest.approx(law.stationary(), abs=0.02)
    assert law.stationary() @ law.matrix() == pytest.approx(law.stationary(), abs=1e-12)


def test_periodic_chains_have_a_stationary_law():
    assert Markov(transition=((0.0, 1.0), (1.0, 0.0))).stationary() == pytest.approx([0.5, 0.5])


def test_embedded_vectors_have_norm_one_and_come_from_the_seed():
    assert np.linalg.norm(Embedded(7, 3).vectors(), axis=1) == pytest.approx(np.ones(7))
    assert not np.array_equal(Embedded(7, 3).vectors(), Embedded(7, 3, seed=1).vectors())
    assert Embedded(7, 3).vectors() is Embedded(7, 3).vectors()


def test_user_array_samples_windows_of_its_rows():
    data = np.arange(5 * 12.0).reshape(5, 12)  # [n, N]: rows of consecutive numbers
    x = draw(UserArray.of(data), 200, 4)[:, :, 0]
    assert (np.diff(x, axis=1) == 1).all()
    assert (x[:, 0] // 12 == x[:, -1] // 12).all()  # windows stay inside a row
    assert set(x[:, 0] // 12) == {0, 1, 2, 3, 4}
    assert set(x[:, 0] % 12) == set(range(9))


def test_user_array_keeps_the_hash_and_not_the_data():
    data = np.random.default_rng(0).standard_normal((3, 50, 2))
    law = UserArray.of(data)
    assert len(canonical_json(law)) < 100
    assert UserArray.of(data.copy()) == law
    assert UserArray.of(data + 1e-9) != law
    assert law.bound == pytest.approx(np.linalg.norm(data, axis=-1).max())
    data[:] = 0  # the wrapped copy is its own
    assert np.abs(law.data).max() > 0


def test_user_array_from_a_file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((2, 5, 1), np.float32))
    law = UserArray(path=str(path))
    assert UserArray(path=str(path), sha256=law.sha256) == law
    np.save(path, np.zeros((2, 5, 1)))
    with pytest.raises(InputError, match="the file changed"):
        UserArray(path=str(path), sha256=law.sha256)
    path.write_bytes(path.read_bytes()[:90])
    with pytest.raises(InputError, match="cannot read"):
        UserArray(path=str(path))


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: Boolean(0), "at least 1"),
        (lambda: Ternary(0), "at least 1"),
        (lambda: Uniform(-1), "at least 1"),
        (lambda: Gaussian(1, 0.0), "scale"),
        (lambda: Autoregressive(phi=1.0), "stationary"),
        (lambda: Autoregressive(phi=0.5, scale=float("nan")), "scale"),
        (lambda: OneHot(1), "at least 2"),
        (lambda: Embedded(3, 1), "at least 2"),
        (lambda: Embedded(3, 2, seed=-1), "at least 0"),
        (lambda: Markov(3, ((0.5, 0.5), (0.5, 0.5))), "3 rows"),
        (lambda: Markov(2, ((0.5, 0.6), (0.5, 0.5))), "sum to 1"),
        (lambda: Markov(2, ((1.5, -0.5), (0.5, 0.5))), "probabilities"),
        (lambda: Markov(2, ((1.0, 0.0), (0.0, 1.0))), "stationary laws"),
        (lambda: UserArray(), "without data"),
        (lambda: UserArray(sha256="0123456789abcdef"), "is loaded"),
        (lambda: UserArray.of(np.ones(3)), "has shape"),
        (lambda: UserArray.of(np.ones((2, 3, 1, 1))), "has shape"),
        (lambda: UserArray.of(np.ones((2, 0, 1))), "at least one"),
        (lambda: UserArray.of(np.array([[0.0, np.nan]])), r"\[0, 1, 0\]"),
        (lambda: UserArray.of(np.array([["a", "b"]])), "real numbers"),
        (lambda: UserArray.of(np.array([[1j]])), "real numbers"),
        (lambda: UserArray.of(np.ones((2, 5, 1))).sample(jax.random.key(0), 1, 6), "at most 5"),
    ],
)
def test_refusals(action, words):
    with pytest.raises(InputError, match=words):
        action()
