"""Sampling inside jit, as users do; op by op it would take seconds."""

import jax
import pytest


@pytest.fixture(scope="session")
def draw():
    """`draw(target, batch, length, seed=0)` → Batch."""
    compiled = jax.jit(
        lambda target, key, batch, length: target.sample(key, batch, length),
        static_argnums=(0, 2, 3),
    )
    return lambda target, batch, length, seed=0: compiled(
        target, jax.random.key(seed), batch, length
    )
