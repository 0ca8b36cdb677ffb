"""Random words inside a training step: Threefry-2x32 with few kernels, because a step is only half
a millisecond long.

`jax.random` rolls the cipher's rounds into a loop on the CPU that runs some hundred small kernels a
call; here they are written out, one kernel for all words. The bits are those of JAX: `fold` is
`jax.random.fold_in`, `words` is `jax.random.bits`.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA  # Salmon et al. 2011: makes the third key word
Pair = tuple[jax.Array, jax.Array]


def _schedule(key: jax.Array) -> list[Pair]:
    """What is added to the two words before the first round and after every four.  [2] uint32"""
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    return [(keys[i % 3], keys[(i + 1) % 3] + jnp.uint32(i)) for i in range(6)]


def _rounds(pair: Pair, rotations: Sequence[int], added: Pair) -> Pair:
    """Four rounds, then the key."""
    a, b = pair
    for turn in rotations:
        a = a + b
        b = ((b << jnp.uint32(turn)) | (b >> jnp.uint32(32 - turn))) ^ a
    return a + added[0], b + added[1]


def threefry(key: jax.Array, first: jax.Array, second: jax.Array) -> Pair:
    """Twenty rounds on two words.  [2] uint32 key, [*] uint32 each → same"""
    start, *added = _schedule(key)
    pair = (first + start[0], second + start[1])
    for i in range(5):
        pair = _rounds(pair, ROTATIONS[i % 2], added[i])
    return pair


def fold(key: jax.Array, number: jax.Array | int) -> jax.Array:
    """The key of one step."""
    low = jnp.asarray(number).astype(jnp.uint32)
    return jax.random.wrap_key_data(
        jnp.stack(threefry(jax.random.key_data(key), jnp.zeros_like(low), low))
    )


def words(key: jax.Array, count: int) -> jax.Array:
    """Independent uniform 32-bit words: the two halves of block i, combined.  [count] uint32"""

    def draw(_: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low = jax.lax.iota(jnp.uint32, count)
        first, second = threefry(jax.random.key_data(key), jnp.zeros_like(low), low)
        return jnp.array(True), first ^ second

    # A loop of one turn: its result is stored, else XLA computes a word anew for every bit taken.
    return jax.lax.while_loop(
        lambda state: ~state[0], draw, (jnp.array(False), jnp.zeros(count, jnp.uint32))
    )[1]
