import jax
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import targets


def test_noise_has_the_stated_deviation_and_leaves_inputs_alone():
    target = targets.build("noisy:of=fixed(lags=1),sigma=0.5")
    batch = target.sample(jax.random.key(0), 4000, 4)
    off = np.asarray(batch.y - target.of.evaluate(batch.x))
    assert off.std() == pytest.approx(0.5, rel=0.05)
    assert target.held_out() == target.of


def test_labels_are_replaced_with_the_stated_chance():
    target = targets.build("noisy:of=pointer-chain(hops=1,symbols=4),sigma=0.4")
    batch = target.sample(jax.random.key(0), 2000, 12)
    clean, mask = np.asarray(target.evaluate(batch.x)), np.asarray(batch.mask)
    wrong = (np.asarray(batch.y) != clean)[mask].mean()
    assert wrong == pytest.approx(0.4 * (1 - 1 / target.outputs), abs=0.03)


def test_sticky_tokens_repeat_with_the_stated_chance_and_keep_their_rule():
    target = targets.build("sticky:of=pointer-chain(hops=1,symbols=8),stay=0.4")
    batch = target.sample(jax.random.key(0), 2000, 16)
    x = np.asarray(batch.x)
    same = (x[:, 1:] == x[:, :-1]).mean()
    assert same == pytest.approx(0.4 + 0.6 / 8, abs=0.01)
    np.testing.assert_array_equal(batch.y, target.of.evaluate(batch.x))
    assert target.held_out() == target  # tested on the same law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noisy:of=fixed(lags=1),sigma=-1", "sigma"),
        ("noisy:of=recall(pairs=2),sigma=1", "chance"),
        ("series:of=recall(pairs=2)", "real tokens"),
        ("series:of=fixed(lags=1,read=all)", "last"),
        ("sticky:of=fixed(lags=1)", "integer tokens"),
        ("sticky:of=recall(pairs=2),stay=1", "chance"),
    ],
)
def test_nonsense_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        targets.build(text)
