import jax.numpy as jnp
import numpy as np

from headcount.memory.named import Exp1b, Exp1bRepaired, Exp3a, Exp3aRepaired


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
