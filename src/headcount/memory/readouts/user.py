"""A readout given as a Python function: for code, not for stored specs."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.memory.readouts.base import BARRON, AbstractReadout, readouts


@readouts.register(
    "callable", formula="f(z) = function(z), [..., slots, d] -> [..., o]", ref=BARRON
)
@dataclasses.dataclass(frozen=True)
class CallableReadout(AbstractReadout):
    """Any function of the slots, with the constants its author vouches for.

    `function` maps a jax array [..., slots, d] to [..., o]; `slow` maps one [slots, d] float64
    NumPy array to [o] and serves as the reference (without it, `function` itself runs in float64,
    which checks the memory but not f). A function cannot be written to a spec, so a target with
    this readout has no stored form.
    """

    function: Callable
    slow: Callable | None = None
    size: int = 1
    lipschitz_bound: float | None = None
    barron_bound: float | None = None

    def __post_init__(self):
        require(
            callable(self.function),
            f"a {type(self.function).__name__} as the function",
            "one that can be called",
            "pass a function",
        )
        require(self.size >= 1, f"output size {self.size}", "at least 1", "give the size o of f(z)")
        for name, value in (
            ("lipschitz_bound", self.lipschitz_bound),
            ("barron_bound", self.barron_bound),
        ):
            require(
                value is None or value >= 0,
                f"{name} {value}",
                "a number >= 0, or none",
                "leave it out where it is unknown",
            )

    @property
    def outputs(self):
        return self.size

    def check(self, slots, d):
        try:
            made = jax.eval_shape(
                self.function, jax.ShapeDtypeStruct((2, slots, d), jnp.result_type(float))
            )
            shape = getattr(made, "shape", None)
        except Exception as error:
            shape = f"{type(error).__name__}: {error}"
        wanted = (2, self.size)
        require(
            shape == wanted,
            f"the function maps (2, {slots}, {d}) to {shape}",
            f"{wanted}",
            "map [..., slots, d] to [..., o]",
        )

    def __call__(self, z):
        return self.function(z)

    def reference(self, z):
        if self.slow is not None:
            return np.asarray(self.slow(z), np.float64).reshape(self.size)
        with jax.enable_x64(True):
            return np.asarray(self.function(jnp.asarray(z, jnp.float64)))

    def lipschitz(self, slots, d):
        return self.lipschitz_bound

    def barron(self, slots, d):
        return self.barron_bound

    def holds(self, radius, alphabet):
        return True  # the author's word
