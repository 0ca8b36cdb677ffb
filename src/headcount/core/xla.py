"""Options of the compiler, as far as the installed one knows them."""

import functools
from collections.abc import Mapping
from typing import Any

import jax

# Without fusion emitters a training run compiles three times as fast and runs 1 to 1.6 times as
# long (jaxlib 0.10, ten shapes).
PLAIN: Mapping[str, Any] = {"xla_cpu_use_fusion_emitters": False}
# Up to ten times as fast, and runs 3 to 8 times as long: for what runs once.
QUICK: Mapping[str, Any] = {**PLAIN, "xla_backend_optimization_level": 0}
# Half as long to run as QUICK, and a quarter second more to compile.
SOUND: Mapping[str, Any] = {**PLAIN, "xla_backend_optimization_level": 1}


def known(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that this jaxlib takes; they are for the CPU, so none elsewhere.

    >>> known({"xla_backend_optimization_level": 0, "no_such_option": 1})
    {'xla_backend_optimization_level': 0}
    """
    return (
        {name: value for name, value in options.items() if _takes(name, value)}
        if jax.default_backend() == "cpu"
        else {}
    )


@functools.cache
def _takes(name: str, value: Any) -> bool:
    trivial = jax.jit(lambda x: x).lower(jax.ShapeDtypeStruct((), "float32"))
    try:
        trivial.compile(compiler_options={name: value})
    except Exception:  # the type of this error differs between versions
        return False
    return True
