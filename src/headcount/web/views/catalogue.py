"""What the page offers: registered kernels, memories, lag functions, biases, with formulas."""

from typing import Any

import headcount
from headcount.construct.plan import BIASES
from headcount.core.registry import Registry
from headcount.memory.inputs import inputs
from headcount.memory.kernels import kernels
from headcount.memory.lag_functions import lag_functions
from headcount.memory.named import targets
from headcount.memory.readouts import readouts
from headcount.model.biases import biases
from headcount.theory.heads import FAMILIES
from headcount.web.asked import CLOSED, MOST_DRAWN, MOST_HEADS


def catalogue_view() -> dict[str, Any]:
    """Every part that may be asked for."""
    offered: tuple[Registry[Any], ...] = (kernels, targets, lag_functions, readouts, inputs, biases)
    return {
        "version": headcount.__version__,
        "parts": {registry.noun: _entries(registry) for registry in offered},
        "head_biases": list(FAMILIES),
        "plan_biases": list(BIASES),
        "limits": {"heads": MOST_HEADS, "drawn": MOST_DRAWN},
    }


def _entries(registry: Registry[Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": entry.name,
            "formula": entry.formula,
            "summary": entry.summary,
            "source": str(entry.ref),
            "options": [p.name for p in entry.parameters],
        }
        for entry in registry.entries()
        if entry.name not in CLOSED
    ]
