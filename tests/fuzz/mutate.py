"""Inputs made from inputs: a leaf changed or taken from another input, an element gone or doubled.

Drawing an input costs ten times what refusing it does; changing one costs nothing. So a long run
draws a few and changes each many times.
"""

import random
from typing import Any

KEPT = 5000  # leaves that later inputs may take
PIECES = ["", "0", "-", ":", ",", "=", "+", "(", ")", "[", "{", " ", "\n", "1e9", ".", "nan", "é"]


class Choice(str):
    """One of few texts that say what is tried, not what is sent: never changed."""


class Mutator:
    """Remembers the leaves of what it has seen and mixes them into what comes."""

    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.leaves: list[Any] = []

    def see(self, value: Any) -> None:
        """Keep the leaves of an input."""
        if isinstance(value, dict):
            for key, inner in value.items():
                self.see(key)
                self.see(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                self.see(inner)
        elif isinstance(value, Choice):
            pass
        elif len(self.leaves) < KEPT:
            self.leaves.append(value)
        else:
            self.leaves[self.chance.randrange(KEPT)] = value

    def of(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same input with one to three changes; how many parts it has stays."""
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            at = self.chance.randrange(len(values))
            values = (*values[:at], self._changed(values[at]), *values[at + 1 :])
        return values

    def _changed(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._mapping(dict(value))
        if isinstance(value, tuple):
            return self.of(value) if value else value
        if isinstance(value, list):
            return self._list(list(value))
        return self._leaf(value)

    def _list(self, value: list[Any]) -> list[Any]:
        at = self.chance.randrange(len(value) + 1)
        what = self.chance.random()
        if what < 0.1:
            value.insert(at, self._other(value[0] if value else None))
        elif what < 0.2 and len(value) > 1:
            del value[at - 1]
        elif value:
            value[at - 1] = self._changed(value[at - 1])
        return value

    def _mapping(self, value: dict[Any, Any]) -> dict[Any, Any]:
        if not value:
            return value
        key = self.chance.choice(list(value))
        what = self.chance.random()
        if what < 0.15:
            del value[key]
        elif what < 0.3:
            value[self._leaf(key)] = value.pop(key)
        else:
            value[key] = self._changed(value[key])
        return value

    def _other(self, value: Any) -> Any:
        """A leaf of the same type from another input, where there is one."""
        for _ in range(8):
            if self.leaves and type(leaf := self.chance.choice(self.leaves)) is type(value):
                return leaf
        return value

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, Choice):
            return value
        what = self.chance.random()
        if what < 0.3:
            return self._other(value)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bytes):
            return bytes(self.chance.randrange(256) for _ in range(self.chance.randrange(7)))
        if isinstance(value, bool) or value is None:
            return self.chance.choice((None, True, False))
        if isinstance(value, int):
            return self.chance.choice((value + 1, -value, 2 * value, 0, 1, 2, 2**63, 10**40))
        if isinstance(value, float):
            return self.chance.choice((self.chance.random(), value / 2, 0.0, 1.0, -value))
        return value

    def _text(self, text: str) -> str:
        a, b = sorted(self.chance.randrange(len(text) + 1) for _ in range(2))
        what = self.chance.random()
        if what < 0.25:
            return text[:a] + self.chance.choice(PIECES) + text[a:]
        if what < 0.4:
            return text[:a] + text[min(b, a + 3) :]
        if what < 0.6:
            return text[:a] + self._other(text)[:200] + text[b:]
        if what < 0.75 and (digits := [i for i, c in enumerate(text) if c.isdigit()]):
            at = self.chance.choice(digits)
            return text[:at] + str(self.chance.randrange(12)) + text[at + 1 :]
        return text[:a] + text[a:b] * self.chance.choice((0, 2)) + text[b:]
