import jax.numpy as jnp
import numpy as np

from headcount.memory.named import Exp2b, Exp2bRepaired, Exp4a


def test_the_sum_of_three_tokens(draw):
    batch = draw(Exp2b(), 20, 1000)
    x = np.asarray(batch.x)[:, :, 0]
    np.testing.assert_array_equal(np.asarray(batch.y)[:, 0, 0], x[:, 47] + x[:, 55] + x[:, 98])


def test_the_repaired_target_is_the_kernel_of_4a():
    assert Exp2bRepaired().target == Exp4a().target
    one = jnp.zeros((1, 5, 1)).at[0, 0, 0].set(1.0)
    assert Exp2bRepaired().evaluate(one).item() == 0.5  # 4^(-1/2)
