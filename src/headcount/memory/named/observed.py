"""A memory as it is observed: with noise on its answers, through one long series, or with tokens
that depend on the one before.

All wrap another target. What is trained on is the observation; with noise or a series `held_out`
gives the target itself, so that the test loss is the excess risk E (answer - f*)^2 and not the
noise on top of it.

Worked example — noise changes answers, never inputs, and testing is clean:

    >>> import jax
    >>> from headcount.memory.fixed import FixedMemory
    >>> clean = FixedMemory(lags=(1,))
    >>> noisy = Noisy(clean, sigma=0.5)
    >>> key = jax.random.key(0)
    >>> observed, asked = noisy.sample(key, 4, 8), clean.evaluate(noisy.sample(key, 4, 8).x)
    >>> bool((observed.y != asked).all()), noisy.held_out() == clean
    (True, True)
"""

import dataclasses

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import UNDEFINED, AbstractNamed, AbstractTokens
from headcount.memory.read import Last
from headcount.memory.target import AbstractTarget, Batch, targets

LARGEST_SIGMA = 1e9  # its square is far from the end of float32
SAMPLES = Ref("headcount", "docs/finite_samples.md")


@targets.register("noisy", formula="y + sigma e, e ~ N(0, 1); labels: wrong with chance sigma",
                  ref=SAMPLES)  # fmt: skip
@dataclasses.dataclass(frozen=True)
class Noisy(AbstractNamed):
    """Answers with noise: Gaussian of deviation sigma, or labels that are replaced by a random one
    with probability sigma.
    """

    of: AbstractTarget
    sigma: float = 0.1

    def describe(self):
        label = self.of.labels
        fine = 0 <= self.sigma < 1 if label else 0 <= self.sigma <= LARGEST_SIGMA
        expected = "a chance in [0, 1)" if label else f"a number from 0 to {LARGEST_SIGMA:g}"
        require(fine, f"sigma {self.sigma}", expected, "pass for example sigma=0.1")
        return self.of

    def filled(self, weights):
        return dataclasses.replace(self, of=self.of.filled(weights)) if weights else self

    def held_out(self):
        return self.of.held_out()

    def sample(self, key, batch, length):
        drawn, noise, which = jax.random.split(key, 3)
        made = self.of.sample(drawn, batch, length)
        if not self.labels:
            return made._replace(y=made.y + self.sigma * jax.random.normal(noise, made.y.shape))
        other = jax.random.randint(noise, made.y.shape, 0, self.outputs)
        wrong = jax.random.bernoulli(which, self.sigma, made.y.shape)
        return made._replace(y=jnp.where(wrong & made.mask, other, made.y))


@targets.register("series", formula="row i: tokens i, …, i + N - 1 of one long sequence",
                  ref=SAMPLES)  # fmt: skip
@dataclasses.dataclass(frozen=True)
class Series(AbstractNamed):
    """Overlapping windows of one long sequence, read at the last token: n rows of N tokens are
    n + N - 1 tokens, not n N. They are not independent samples.
    """

    of: AbstractTarget

    def describe(self):
        inner = self.of.of if isinstance(self.of, Noisy) else self.of
        plain = isinstance(inner.read, Last) and inner.vocabulary is None
        what = f"a series of {inner.kind}"
        require(plain, what, "real tokens, read at the last", "use read=last")
        return self.of

    def filled(self, weights):
        return dataclasses.replace(self, of=self.of.filled(weights)) if weights else self

    def held_out(self):
        return self.of.held_out()

    def sample(self, key, batch, length):
        self.check_length(length)
        tokens, noise = jax.random.split(key)
        whole = self.of.sample(tokens, 1, batch + length - 1).x[0]  # [n + N - 1, d]
        rows = jnp.arange(batch)[:, None] + jnp.arange(length)[None, :]
        x = whole[rows]  # [n, N, d]
        y = self.of.evaluate(x)
        if isinstance(self.of, Noisy):
            y = y + self.of.sigma * jax.random.normal(noise, y.shape)
        return Batch(x, y, jnp.ones(y.shape[:2], bool))


@targets.register("sticky", formula="x_t = x_{t-1} with chance `stay`, answers by the same rule",
                  ref=SAMPLES)  # fmt: skip
@dataclasses.dataclass(frozen=True)
class Sticky(AbstractNamed):
    """Integer tokens that are not independent: each repeats the one before it with chance `stay`;
    reads whose question has no answer then do not count.
    """

    of: AbstractTarget
    stay: float = 0.3

    def describe(self):
        require(0 <= self.stay < 1, f"stay {self.stay}", "a chance in [0, 1)", "pass stay=0.3")
        tokens = isinstance(self.of, AbstractTokens)
        require(tokens, f"sticky tokens of {self.of.kind}", "a memory of integer tokens",
                "for real tokens use inputs=ar1(phi=0.7)")  # fmt: skip
        return self.of

    def filled(self, weights):
        return dataclasses.replace(self, of=self.of.filled(weights)) if weights else self

    def sample(self, key, batch, length):
        drawn, stays = jax.random.split(key)
        x = self.of.sample(drawn, batch, length).x  # [B, N]
        new = jax.random.bernoulli(stays, 1 - self.stay, x.shape).at[:, 0].set(True)
        last = jax.lax.cummax(jnp.where(new, jnp.arange(length), 0), axis=1)  # where it came from
        x = jnp.take_along_axis(x, last, axis=1)
        y = self.of.evaluate(x)
        return Batch(x, y, y != UNDEFINED)
