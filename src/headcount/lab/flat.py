"""Nested specs as rows: dotted names, and a short label from what differs.

>>> flatten({"model": {"heads": 2, "bias": {"kind": "lin"}}, "seed": 0})
{'model.heads': 2, 'model.bias.kind': 'lin', 'seed': 0}
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcount.core.spec import plain


def flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted name → number, text or None; a list becomes JSON text, an empty mapping nothing."""
    return dict(_leaves(values, ""))


def _leaves(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield (
                f"{path}{name}",
                json.dumps(plain(value)) if isinstance(value, list | tuple) else value,
            )


def labels(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each spec what tells it from the others: 'model.heads=2 seed=0'; a lone one is told by
    its memory and seed.

    >>> labels([{"a": {"b": 1}, "seed": 0}, {"a": {"b": 2}, "seed": 0}])
    ['a.b=1', 'a.b=2']
    """
    flat = [flatten(spec) for spec in specs]
    names = list(dict.fromkeys(name for spec in flat for name in spec))
    varied = [
        name for name in names if len({json.dumps(plain(spec.get(name))) for spec in flat}) > 1
    ]
    shown = varied or [name for name in ("memory.kind", "seed") if name in names]
    return [" ".join(f"{name}={spec[name]}" for name in shown if name in spec) for spec in flat]
