"""The answers of `plan`: a row per bias and attention kind, the least that sizes can be, and the
plan itself. Records that know how to write themselves out, and nothing of how they were found.
"""

import dataclasses
import enum
import math
import shlex
from typing import TYPE_CHECKING, Any

from headcount.construct import plan_words
from headcount.construct.construction import Architecture
from headcount.construct.draft import Draft, Request
from headcount.core.claims import FIELDS, Claim, Precision, Sense, Status
from headcount.core.plural import counted
from headcount.core.refs import Ref
from headcount.memory.target import AbstractTarget
from headcount.model.biases import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOFTMAX = ("softmax", "softmax-bos", "softmax-sink", "softmax-tail")  # tried in this order
T5_EXACT = 16  # lags that T5's 32 buckets tell apart one by one

# what people call it → the bias that plans it; None: no construction is written for it
FAMILIAR: dict[str, str | None] = {
    "ALiBi": "lin", "KERPLE": "log1p", "T5": "table", "RoPE": "rope", "NoPE": "none",
    "FIRE": None, "learned": None, "sinusoidal": None,
}  # fmt: skip
NOT_PLANNED = {
    "FIRE": "no construction here writes the weights of its network of the lag",
    "learned": "absolute positions: every construction here reads lags or tokens",
    "sinusoidal": "absolute positions: every construction here reads lags or tokens",
}


class Need(enum.StrEnum):
    """What a row takes that common models do not have."""

    NO_SOFTMAX = "attention without softmax"
    SINK = "a sink in the softmax"
    PEAK = "our own peak score or bias"
    ONE_LENGTH = "sequences of one length"


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One bias with one kind of attention."""

    bias: str
    attention: str
    normaliser: str
    source: Ref
    construction: str
    request: Request
    reachable: bool | None = None  # None: undecided
    reason: str = ""
    draft: Draft | None = None
    architecture: Architecture | None = None
    parameters: int | None = None
    error: float | None = None  # promised, in float64: `status` says whether proved
    error_float32: float | None = None  # measured
    claims: tuple[Claim, ...] = ()
    missing: tuple[str, ...] = ()  # fields of the scope that keep the claims silent
    layers_asked: int | None = None  # its verdict is about so many layers; None: any number

    def __repr__(self) -> str:
        verdict = {True: "reaches", False: "out of reach", None: "undecided"}[self.reachable]
        a = self.architecture
        size = "" if a is None else f", {a.words()}"
        return f"Row({self.bias}, {self.attention}, {self.normaliser}: {verdict}{size})"

    @property
    def cost(self) -> tuple[int, int, float]:
        """Reachable rows first, common parts before others, then by parameters."""
        return (
            {True: 0, None: 1, False: 2}[self.reachable],
            len(self.needs),
            self.parameters if self.parameters is not None else math.inf,
        )

    @property
    def biases(self) -> tuple[str, ...]:
        """The biases of all layers, each once: a construction may take another one beside `bias`
        that was asked for. Where there is no model yet, the one that was asked for.
        """
        if self.draft is None:
            return (self.bias,)
        return Architecture.biases_of(self.draft.model)

    @property
    def softmax(self) -> bool:
        return self.request.normaliser in SOFTMAX

    @property
    def needs(self) -> tuple[Need, ...]:
        """What common models lack."""
        found = []
        if not self.softmax:
            found.append(Need.NO_SOFTMAX)
        elif self.request.normaliser != "softmax":
            found.append(Need.SINK)
        if "peak" in self.biases or "peak-tmx" in self.attention:
            found.append(Need.PEAK)
        if self.request.normaliser == "softmax" and self._of_one_length:
            found.append(Need.ONE_LENGTH)
        return tuple(found)

    @property
    def _of_one_length(self) -> bool:
        """Is only the last position of the longest sequences promised? Where there is no model yet:
        would it be?
        """
        if self.draft is not None:
            return self.draft.first >= self.request.length > 1
        return self.bias in ("lin", "log", "log1p") and self.attention == "dp-free"

    @property
    def familiar(self) -> str | None:
        """The name that people know it by, where all layers have it; T5 tells the first lags apart
        one by one, no more.
        """
        if len(self.biases) > 1:
            return None
        if self.biases == ("table",):
            few = self.draft is not None and _table_length(self.draft) <= T5_EXACT
            return "T5" if few else None
        return next((name for name, bias in FAMILIAR.items() if (bias,) == self.biases), None)

    @property
    def worst(self) -> float:
        """The error that counts: promised, and measured in float32 where that was asked."""
        return max(self.error or 0.0, self.error_float32 or 0.0)

    @property
    def sizes(self) -> tuple[float, ...]:
        """Layers, heads, neurons, parameters, error: what the front compares."""
        assert self.architecture is not None
        a = self.architecture
        return a.layers, a.heads, a.width, self.parameters or 0, self.worst

    @property
    def status(self) -> Status | None:
        """What stands behind `error`."""
        return None if self.draft is None else self.draft.status

    @property
    def impossibilities(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if claim.sense is Sense.AT_LEAST)

    def to_json(self) -> dict[str, Any]:
        a, below = self.architecture, self.impossibilities
        certificate = None
        if below:
            first = below[0]
            told = {"method": first.method, "source": str(first.ref)}
            certificate = {"claim": str(first.words()), **told}
        return {
            "bias": self.bias,
            "biases": list(self.biases),
            "attention": self.attention,
            "normaliser": self.normaliser,
            "layers": a.layers if a else None,
            "heads": a.heads if a else None,
            "layers_asked": self.layers_asked,
            "width": a.width if a else None,
            "stream": a.stream if a else None,
            "parameters": self.parameters,
            "error": self.error,
            "status": None if self.status is None else str(self.status),
            "error_float32": self.error_float32,
            "reachable": self.reachable,
            "reason": self.reason,
            "claims": [claim.to_json() for claim in self.claims],
            "missing": list(self.missing),
            "source": str(self.source),
            "construction": self.construction,
            "certificate": certificate,
            "needs": [str(need) for need in self.needs],
            "familiar": self.familiar,
        }


@dataclasses.dataclass(frozen=True)
class Minimum:
    """The least that a size can be: `claim` proves it, in its scope; None: `least` holds by
    definition, and whether it is attained is open where a row has more.
    """

    size: str
    least: int
    claim: Claim | None = None

    def words(self, found: int) -> str:
        """`3 heads (>= 3 proved)`."""
        told = counted(found, self.size.removesuffix("s"))
        if self.claim is not None:
            reads = self.claim.scope.reads
            kind = "" if reads is None else f" for {FIELDS['reads'][2](reads)}"
            return f"{told} (>= {self.least} proved{kind})"
        return told if found <= self.least else f"{told} (minimum open)"

    def to_json(self) -> dict[str, Any]:
        claim = None if self.claim is None else self.claim.to_json()
        return {"size": self.size, "least": self.least, "claim": claim}


@dataclasses.dataclass(frozen=True)
class Plan:
    """Rows by cost, and the one to take; None where no row is reachable."""

    target: AbstractTarget
    tol: float
    precision: Precision
    length: int
    rows: tuple[Row, ...]
    recommended: Row | None
    minimum: tuple[Minimum, ...] = ()

    @property
    def front(self) -> tuple[Row, ...]:
        """Reachable rows that no other beats in layers, heads, neurons, parameters and error at
        once.
        """
        return front_of([row for row in self.rows if row.reachable])

    def __repr__(self) -> str:
        best, rows = self.recommended, counted(len(self.rows), "row")
        taken = "nothing found" if best is None or best.architecture is None else f"{best.bias}"
        if best is not None and best.architecture is not None:
            taken += f", {best.architecture.words()}"
        return f"<Plan {self.target.kind} to {self.tol:g}: {rows}; {taken}>"

    def words(self, target: str | None = None) -> str:
        """The answer in one sentence, from the data alone; `target` as the user wrote it."""
        return plan_words.sentence(self, target or self.target.kind)

    def plot(self) -> "Figure":
        """Parameters against error, one mark per reachable row, the front joined."""
        return plan_words.figure(self)

    def _repr_html_(self) -> str:
        return plan_words.html(self)

    def to_json(self, target: str) -> dict[str, Any]:
        best = self.recommended
        return {
            "target": target,
            "tol": self.tol,
            "dtype": str(self.precision),
            "length": self.length,
            "answer": self.words(target),
            "rows": [row.to_json() for row in self.rows],
            "front": [self.rows.index(row) for row in self.front],
            "minimum": [minimum.to_json() for minimum in self.minimum],
            "familiar": {
                name: {
                    "planned_by": bias,
                    "rows": self.numbers(bias),
                    "reason": self.unplanned(name),
                }
                for name, bias in FAMILIAR.items()
            },
            "recommended": (
                None if best is None else {**best.to_json(), "command": self.command(target)}
            ),
        }

    def unplanned(self, name: str) -> str:
        """Why no row is reachable with the bias of this name; empty where one is."""
        bias = FAMILIAR[name]
        rows = [self.rows[i] for i in self.numbers(bias)]
        if not rows:
            mixed = [row.biases for row in self.rows if bias in row.biases]
            beside = ", ".join(dict.fromkeys(b for kinds in mixed for b in kinds if b != bias))
            if beside:
                return f"every model found with it has layers with another bias ({beside})"
            return NOT_PLANNED.get(name, "no construction with this bias serves the target")
        if name == "T5" and any(row.reachable for row in rows):
            exact = any(row.reachable and row.familiar == name for row in rows)
            return "" if exact else f"its buckets tell only the first {T5_EXACT} lags apart"
        return "" if any(row.reachable for row in rows) else rows[0].reason

    def numbers(self, bias: str | None) -> list[int]:
        """Which rows have this bias and no other."""
        return [i for i, row in enumerate(self.rows) if row.biases == (bias,)]

    def command(self, target: str) -> str:
        """How to build the recommended row."""
        best = self.recommended
        assert best is not None
        options = {
            "--tol": f"{self.tol:g}",
            "--bias": best.bias,
            "--normaliser": best.request.normaliser,
            "--construction": best.construction,
            "--precision": str(self.precision),
            "--length": str(self.length),
            "-o": "model",
        }
        words = [word for option in options.items() for word in option]
        return shlex.join(["headcount", "build", target, *words])


def front_of(rows: list[Row]) -> tuple[Row, ...]:
    """Those that no other is at least as good as in every size and better in one."""

    def beaten(row: Row) -> bool:
        return any(
            all(o <= r for o, r in zip(other.sizes, row.sizes, strict=True))
            and other.sizes != row.sizes
            for other in rows
        )

    return tuple(row for row in rows if not beaten(row))


def _table_length(draft: Draft) -> int:
    """How many lags the tables of a draft have."""
    biases = [layer.attention.bias for layer in draft.model.layers]
    return max((bias.table.shape[1] for bias in biases if isinstance(bias, Table)), default=0)
