import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import (
    Exp1b,
    Exp1bRepaired,
    Exp2a,
    Exp2aRepaired,
    Exp2b,
    Exp2bRepaired,
    Exp3a,
    Exp3aRepaired,
    Exp4a,
    Exp4b,
)
from headcount.memory.named.paper_experiments import Reading, lags_of
from headcount.memory.target import targets


def test_positions_and_lags_by_hand():
    assert lags_of((48, 56, 99), Reading.POSITIONS, 1000) == (901, 944, 952)
    assert lags_of((48, 56, 99), Reading.LAGS, 1000) == (48, 56, 99)


@pytest.mark.parametrize("name", ["exp-1b", "exp-2a", "exp-2b", "exp-3a"])
def test_the_reading_is_an_option_and_the_position_is_the_read(name):
    paper, other = targets.build(name), targets.build(f"{name}:reading=lags,position=300")
    assert (paper.target.lags[0], paper.read.position) == (901, 1000)
    assert (other.target.lags[-1], other.read.position) == (99, 300)
    assert paper.memory_profile().lags == paper.target.lags


def test_refusals():
    with pytest.raises(InputError, match="more than 99"):
        targets.build("exp-1b:position=99")
    with pytest.raises(InputError, match="reading"):
        targets.build("exp-1b:reading=backwards")


def test_only_the_three_named_tokens_matter(draw):
    target = Exp1b()
    x = np.array(draw(target, 8, 1000).x)
    y = np.asarray(target.evaluate(jnp.asarray(x)))
    rest = np.setdiff1d(np.arange(1000), [47, 55, 98])  # positions count from 1
    x[:, rest] *= -1
    np.testing.assert_array_equal(target.evaluate(jnp.asarray(x)), y)
    for row in (47, 55, 98):
        other = x.copy()
        other[:, row] *= -1
        assert (np.asarray(target.evaluate(jnp.asarray(other))) != y).any()


def test_read_as_lags_the_tokens_count_back(draw):
    target = Exp1b(reading="lags", position=150)
    x = np.array(draw(target, 8, 160).x)
    y = np.asarray(target.evaluate(jnp.asarray(x)))
    x[:, np.setdiff1d(np.arange(160), [149 - 48, 149 - 56, 149 - 99])] *= -1
    np.testing.assert_array_equal(target.evaluate(jnp.asarray(x)), y)


def test_the_teacher_is_not_normalised_and_has_its_own_seed(draw):
    batch = draw(Exp1b(position=100), 4000, 100)
    assert 2 < float(batch.y.std()) < 20  # 64 neurons of outer weight 1
    assert (draw(Exp1b(position=100, seed=1), 4000, 100).y != batch.y).any()


def test_experiment_3a_asks_about_the_same_target():
    assert Exp3a(seed=2).target == Exp1b(seed=2).target
    assert Exp3aRepaired(seed=2).target == Exp1bRepaired(seed=2).target
    assert Exp1bRepaired().memory_profile().lags == (1, 2)


def test_two_neurons_are_exact_on_one_sign(draw):
    target = Exp2a(position=100)
    batch = draw(target, 64, 100)
    sign, y = np.asarray(batch.x)[:, 98, 0], np.asarray(batch.y)[:, 0, 0]
    up, down = y[sign > 0][0], y[sign < 0][0]
    assert up != down
    np.testing.assert_allclose(up * np.maximum(sign, 0) + down * np.maximum(-sign, 0), y, rtol=1e-6)


def test_the_repaired_wave_has_63_breakpoints():
    u = np.linspace(-1, 1, 32 * 16 + 1)
    x = np.stack([u, 0 * u], axis=1)[:, :, None]
    y = np.asarray(Exp2aRepaired().evaluate(jnp.asarray(x)))[:, 0, 0]
    slopes = np.sign(np.diff(y))
    assert (slopes != 0).all()
    assert (np.diff(slopes) != 0).sum() == 63
    assert (y.min(), y.max()) == (-1.0, 1.0)
    assert Exp2aRepaired().memory_profile().lags == (1,)


def test_the_sum_of_three_tokens(draw):
    batch = draw(Exp2b(), 20, 1000)
    x = np.asarray(batch.x)[:, :, 0]
    np.testing.assert_array_equal(np.asarray(batch.y)[:, 0, 0], x[:, 47] + x[:, 55] + x[:, 98])


def test_the_repaired_target_is_the_kernel_of_4a():
    assert Exp2bRepaired().target == Exp4a().target
    one = jnp.zeros((1, 5, 1)).at[0, 0, 0].set(1.0)
    assert Exp2bRepaired().evaluate(one).item() == 0.5  # 4^(-1/2)


def test_the_paper_and_the_repaired_lags():
    assert Exp3a(reading="lags").memory_profile().lags == (48, 56, 99)
    assert Exp3aRepaired().memory_profile().lags == (1, 2)
    assert "3a" in targets["exp-3a"].ref.where


def test_it_keeps_its_own_name_beside_1b():
    assert (Exp3a.kind, Exp1b.kind) == ("exp-3a", "exp-1b")
    assert targets["exp-3a"].formula == targets["exp-1b"].formula
    assert Exp3a() != Exp1b()


def test_lags_one_to_999_and_no_other():
    # lags 0, 1 and 999
    impulse = jnp.zeros((3, 1100, 1)).at[np.arange(3), [1099, 1098, 100], 0].set(1.0)
    assert Exp4a().evaluate(impulse)[:, 0, 0].tolist() == pytest.approx([0.0, 1.0, 999**-0.5])
    assert Exp4a().evaluate(jnp.zeros((1, 1100, 1)).at[0, 99, 0].set(1.0)).item() == 0.0  # lag 1000


def test_the_paper_s_length_by_hand(draw):
    batch = draw(Exp4a(), 3, 1000)
    x = np.asarray(batch.x, np.float64)[:, :, 0]
    by_hand = [sum(s**-0.5 * row[1000 - s - 1] for s in range(1, 1000)) for row in x]
    np.testing.assert_allclose(batch.y[:, 0, 0], by_hand, rtol=1e-4, atol=1e-4)


def test_it_says_that_no_theorem_applies():
    assert "outside the assumptions" in Exp4a().memory_profile().note
    assert Exp4a(exponent=2.0).memory_profile().note == ""
    assert Exp4a().memory_profile().longest_lag == 999


def test_lag_zero_is_included():
    x = jnp.array([[[0.0], [0.0], [1.0]], [[0.0], [1.0], [0.0]], [[1.0], [0.0], [0.0]]])
    assert Exp4b().evaluate(x)[:, 0, 0].tolist() == pytest.approx(
        [1.0, np.exp(-5), np.exp(-10)], rel=1e-5
    )


def test_answering_the_current_token_leaves_what_the_docstring_says(draw):
    batch = draw(Exp4b(), 4000, 12)
    left = np.mean((np.asarray(batch.y, np.float64)[:, 0, 0] - np.asarray(batch.x)[:, -1, 0]) ** 2)
    assert left == pytest.approx(4.5e-5, rel=0.02)
