"""`run.py` of a saved model: its own parts in plain NumPy, picked from `templates/numpy_parts.py`.

Someone who has the folder and NumPy can read what the model computes and compute it, without us.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.core.pick_source import named, pick

ENDS = ("main", "answers", "example", "load", "HERE")  # what the file offers, beside its parts

OPENING = '''"""The model of this folder in plain NumPy: its parts and nothing else.

    python run.py TOKENS.npy        answers at every position (saved if a second file is named)
    from run import answers, load   answers(x), or the model by its parts

Tokens are {tokens}. Computed in float64; needs NumPy only.
"""

'''


@functools.cache
def template() -> str:
    """Every part in NumPy."""
    path = Path(__file__).parent / "templates" / "numpy_parts.py"
    return path.read_text(encoding="utf-8")


def parts_of(config: Any) -> list[str]:
    """The names of all parts in a description, each once, in order."""
    if isinstance(config, list):
        return list(dict.fromkeys(name for item in config for name in parts_of(item)))
    if not isinstance(config, Mapping):
        return []
    own = [str(config["part"])] if "part" in config else []
    return list(dict.fromkeys([*own, *parts_of(list(config.values()))]))


def part_table(classes: Mapping[str, str]) -> str:
    """The table from a part's name to its class, as source text."""
    lines = (f'    "{part}": {name},' for part, name in classes.items())
    return "\n".join(["PARTS = {", *lines, "}"])


def run_file(
    classes: Mapping[str, str],
    vocabulary: int | None,
    dim: int,
    tokens: str,
    length: int,
    example: Sequence[Any] = (),
    first: int = 1,
) -> str | None:
    """The text of `run.py` for a model of these parts (part → class name); None where one of them
    has no NumPy form (a part that was added from outside). Given no tokens, it tries the example,
    or draws a sequence of this length where there is none. Positions before the `first` have no
    promise.
    """
    if not set(classes.values()) <= set(named(template())):
        return None
    filled = {
        "PARTS": part_table(classes),
        "FIRST": f"FIRST = {first}  # the first position with a promise",
        "EXAMPLE": f"EXAMPLE = {[*example]}",
        "VOCABULARY": f"VOCABULARY, DIM, LENGTH = {vocabulary or 0}, {dim}, {length}",
    }
    picked = pick(template(), [*classes.values(), *ENDS], filled)
    return OPENING.format(tokens=tokens) + picked + '\n\nif __name__ == "__main__":\n    main()\n'
