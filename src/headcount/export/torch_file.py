"""`model.py` of an exported model: its own parts as PyTorch modules, picked from
`templates/torch_parts.py`; and `look_inside.py`, which reads attention by head and the stream by
name.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.core.errors import InputError
from headcount.core.pick_source import named, pick
from headcount.model.run_file import part_table

ENDS = ("load", "save", "run_with_cache")  # what the file offers, beside its parts
TEMPLATES = Path(__file__).parent / "templates"

OPENING = '''"""The model of this folder in PyTorch: its parts and nothing else.

    from model import load
    model = load()               # an nn.Module, weights from model.safetensors
    y = model(x)                 # {tokens} -> answers at every position [B, N, o]

`model(x, rows=[-1])` answers at the last position only. `run_with_cache(model, x)` gives what
passes the hook points too. `save(model, "trained.safetensors")` writes the weights in the form that
`headcount export` reads back. Needs torch and safetensors.

{parameters}
"""

'''


@functools.cache
def template() -> str:
    """Every part in PyTorch."""
    return (TEMPLATES / "torch_parts.py").read_text(encoding="utf-8")


def torch_file(classes: Mapping[str, str], tokens: str, arrays: Mapping[str, Sequence[int]]) -> str:
    """The text of `model.py` for a model of these parts (part → class name); `arrays` are the
    shapes of its parameters.
    """
    without = [part for part, name in classes.items() if name not in named(template())]
    if without:
        raise InputError(
            f"{without[0]} has no PyTorch form",
            "parts that come with headcount",
            "add the part to the exported file by hand, or use run.py's form as a guide",
        )
    shown = [f"    {name} {list(shape)}" for name, shape in sorted(arrays.items())]
    opening = OPENING.format(tokens=tokens, parameters="\n".join(["Parameters:", "", *shown]))
    filled = {"PARTS": part_table(classes)}
    return opening + pick(template(), [*classes.values(), *ENDS], filled)


def look_inside(config: Mapping[str, Any]) -> str:
    """A small program: attention by head, the stream by name, a head switched off. It takes its
    tokens from `run.py`. Empty for a model without layers.
    """
    text = (TEMPLATES / "look_inside.py").read_text(encoding="utf-8")
    return text if "layers" in config["model"] else ""
