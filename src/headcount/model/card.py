"""`README.md` of a saved model: what it takes, the forward formula with its own parts, what each
head does, how to run it; numbers for programs come last.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from headcount.model.base import AbstractModel
from headcount.model.cost import count_parameters
from headcount.model.head_roles import LENGTH, LONGEST, attentions, head_roles, ranges, reach
from headcount.model.transformer import Transformer

TOLD = 32  # heads of a layer that are told one by one
NUMBERS = "## The numbers"


@dataclasses.dataclass(frozen=True)
class NamedSpace:
    """Coordinates of the stream with a name: what they hold after a sublayer."""

    name: str
    start: int
    stop: int
    layer: int  # from 1
    part: str  # "attention" or "ffn"
    holds: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "coordinates": [self.start, self.stop],
            "layer": self.layer,
            "part": self.part,
            "holds": self.holds,
        }


def tokens_in_words(model: AbstractModel) -> str:
    vocabulary, dim = model.tokens
    return f"integers below {vocabulary}" if vocabulary else f"real vectors of size {dim}"


def card(
    model: AbstractModel,
    formulas: Mapping[str, str],
    note: str,
    spaces: Sequence[NamedSpace],
    runs: bool,
    length: int | None = None,
) -> str:
    """The whole page. `runs`: is there a `run.py` beside it? A block of code in the note comes
    last, under a title of its own. `length`: of the sequences that the model was made for.
    """
    opening, fence, numbers = note.partition("```")
    sections = [
        f"# A {type(model).__name__} saved by Headcount",
        opening.strip(),
        f"- tokens: {tokens_in_words(model)}; answers of size {model.outputs}\n"
        f"- parameters: {count_parameters(model)}",
        _formula(model, formulas),
        _spaces(spaces),
        _heads(model, spaces, length),
        _usage(runs),
        f"{NUMBERS}\n\n{fence}{numbers.strip()}" if fence else "",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def with_section(page: str, section: str) -> str:
    """The page with one more section, before its numbers.

    >>> with_section("# A model\\n", "## Use\\n")
    '# A model\\n\\n## Use\\n'
    """
    before, title, numbers = page.partition(NUMBERS)
    after = f"\n{title}{numbers}" if title else ""
    return f"{before.rstrip()}\n\n{section.rstrip()}\n{after}"


def _formula(model: AbstractModel, formulas: Mapping[str, str]) -> str:
    """The forward pass, and what each part of it is here."""
    lines = ["## What it computes", ""]
    if isinstance(model, Transformer):
        layers = len(model.layers)
        lines += [
            "    x ← embedding(token) (+ position)",
            f"    {f'{layers} layers, one after the other' if layers > 1 else 'one layer'}:",
            "        x ← x + Σ_h W_O^h W_V^h Σ_s w_h(t, s) x_{t-s}     w from z by the normaliser",
            "        x ← x + FFN(x)",
            *(
                ["    the last FFN is the answer: it replaces x"]
                if model.unembedding is None
                else ["    answer = U x"]
            ),
            "",
        ]
    elif not formulas:
        lines += [f"{type(model).__name__}: see `run.py`.", ""]
    lines += [f"- {part}: `{formula}`" for part, formula in sorted(formulas.items())]
    return "\n".join(lines).rstrip()


def _spaces(spaces: Sequence[NamedSpace]) -> str:
    if not spaces:
        return ""
    rows = [
        f"| {s.name} | {ranges(range(s.start, s.stop))} | layer {s.layer}, {s.part} |"
        f" {_cell(s.holds)} |"
        for s in spaces
    ]
    head = [
        "| subspace | coordinates | written by | how exact, before rounding |",
        "|---|---|---|---|",
    ]
    return "\n".join(["## The stream by name", "", *head, *rows])


def _heads(model: AbstractModel, spaces: Sequence[NamedSpace], length: int | None) -> str:
    """A line per head, and how many are left out."""
    sublayers = attentions(model)
    if not sublayers:
        return ""
    names = {s.name: slice(s.start, s.stop) for s in spaces}
    length = min(length, LONGEST) if length else LENGTH + reach(model)
    lines = [f"Lags and shares are those that position {length} sees.", ""]
    for role in head_roles(model, length, most=TOLD):
        lines.append(f"- layer {role.layer}, head {role.head}: {role.sentence(names)}")
    for number, attention in enumerate(sublayers, 1):
        if attention.heads > TOLD:
            lines.append(f"- layer {number}: {attention.heads - TOLD} more heads")
    return "\n".join(["## What each head does", "", *lines])


def _usage(runs: bool) -> str:
    plain = (
        "`python run.py tokens.npy` gives the same answers with NumPy alone.\n\n"
        if runs
        else "A part of it was added from outside, so there is no `run.py`.\n\n"
    )
    return (
        f"## Use\n\n{plain}```python\nimport headcount as hc\n"
        'model = hc.load("path/to/this/folder")\n```\n\n'
        "`headcount export path/to/this/folder --to torch -o DIR` writes it for PyTorch."
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
