"""Numbers for pictures: six digits, null for what is no number."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def short(values: Iterable[Any]) -> list[float | None]:
    """Six significant digits each."""
    return [short_one(value) for value in values]


def short_one(value: Any) -> float | None:
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def rows(matrix: np.ndarray) -> list[list[float | None]]:
    """A matrix, row by row."""
    return [short(row) for row in matrix]


def finite(value: Any) -> Any:
    """The same document with null for infinite and undefined numbers: plain JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, np.generic):
        return finite(value.item())
    return value
