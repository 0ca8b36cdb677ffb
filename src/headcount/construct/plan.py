"""`plan`: for a target and a tolerance, the smallest architecture found for every bias and
attention kind, side by side, and the front of those that no other beats.

A row is one method with one bias, under softmax or without. Its draft (weights and a bound) makes
claims: the error is at most so much. Where no draft is found, what is proved about the search comes
along as claims: the error is at least so much. The row's own question is whether *any* model of its
kind reaches the tolerance: any number of heads, any weights, any function behind the heads, on the
lags that exist. The verdict comes from claims alone:

    reachable    True where claims reach the question, False where a proved and checked claim
                 excludes it, else None: undecided, with the fields that keep the claims silent.

Head outputs are then known to one rounding unit of the format (`Scope.resolution`): "computed in
float32" itself is nobody's theorem.

What is drafted. Small methods first; where one serves a bias, dearer ones of that bias are not
drafted, since they only add sizes. Rows are measured without a compiler. The recommended row has
passed the whole check of a build, with the draft that it has.
"""

import dataclasses
import enum
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headcount.construct import plan_words
from headcount.construct.check import Probe, check, errors, sampled
from headcount.construct.construct import by_cost
from headcount.construct.construction import Architecture, in_precision
from headcount.construct.draft import (
    Draft,
    Request,
    Unreachable,
    known_parts,
    longest_of,
    offered_precision,
    refuse_nothing,
    require_tolerance,
)
from headcount.construct.impossible import accepted
from headcount.construct.method import AbstractMethod, methods
from headcount.core.arguments import checked
from headcount.core.claims import (
    FIELDS,
    Claim,
    Lags,
    Precision,
    Readout,
    Scope,
    Sense,
    Status,
    Tokens,
    rounded,
)
from headcount.core.errors import CheckFailed, InputError, require
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Uniform
from headcount.memory.kernels import Lag
from headcount.memory.named import targets, unnamed
from headcount.memory.named.pointer_chain import PointerChain
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractTarget
from headcount.model.biases import Table
from headcount.model.cost import count_parameters
from headcount.theory.bounds import check as check_claim
from headcount.theory.bounds.check_depth import check_depth
from headcount.theory.bounds.depth import chain_adversary, chain_layers, layers_claim
from headcount.theory.bounds.recovery import recovery_claim
from headcount.theory.heads import family
from headcount.theory.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BIASES = ("rope", "table", "lin", "log1p", "log", "none", "peak")
SOFTMAX = ("softmax", "softmax-bos", "softmax-sink", "softmax-tail")  # tried in this order
NOTHING_FOUND = "undecided: no construction found here"
T5_EXACT = 16  # lags that T5's 32 buckets tell apart one by one
Progress = Callable[[str], None]

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
STANDARD = ("rope", "lin", "table")  # of --standard: RoPE, ALiBi, T5


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

    def __repr__(self) -> str:
        verdict = {True: "reaches", False: "out of reach", None: "undecided"}[self.reachable]
        a = self.architecture
        size = "" if a is None else f", {a.layers} layers, {a.heads} heads, {a.width} neurons"
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
        if self.bias == "peak" or "peak-tmx" in self.attention:
            found.append(Need.PEAK)
        decays = self.bias in ("lin", "log", "log1p") and self.attention == "dp-free"
        if self.request.normaliser == "softmax" and decays:
            found.append(Need.ONE_LENGTH)
        return tuple(found)

    @property
    def familiar(self) -> str | None:
        """The name that people know it by; T5 tells the first lags apart one by one, no more."""
        if self.bias == "table":
            few = self.draft is not None and _table_length(self.draft) <= T5_EXACT
            return "T5" if few else None
        return next((name for name, bias in FAMILIAR.items() if bias == self.bias), None)

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
            "attention": self.attention,
            "normaliser": self.normaliser,
            "layers": a.layers if a else None,
            "heads": a.heads if a else None,
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
        noun = self.size if found != 1 else self.size.removesuffix("s")
        if self.claim is not None:
            reads = self.claim.scope.reads
            kind = "" if reads is None else f" for {FIELDS['reads'][2](reads)}"
            return f"{found} {noun} (>= {self.least} proved{kind})"
        return f"{found} {noun}" if found <= self.least else f"{found} {noun} (minimum open)"

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
        return f"Plan({self.target.kind}, tol={self.tol:g}: {len(self.rows)} rows; {self.words()})"

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
        rows = [self.rows[i] for i in self.numbers(FAMILIAR[name])]
        if not rows:
            return NOT_PLANNED.get(name, "no construction with this bias serves the target")
        if name == "T5" and any(row.reachable for row in rows):
            exact = any(row.reachable and row.familiar == name for row in rows)
            return "" if exact else f"its buckets tell only the first {T5_EXACT} lags apart"
        return "" if any(row.reachable for row in rows) else rows[0].reason

    def numbers(self, bias: str | None) -> list[int]:
        """Which rows have this bias."""
        return [i for i, row in enumerate(self.rows) if row.bias == bias]

    def command(self, target: str) -> str:
        """How to build the recommended row."""
        best = self.recommended
        assert best is not None
        parts = f"--bias {best.bias} --normaliser {best.request.normaliser}"
        return (
            f"headcount build '{target}' --tol {self.tol:g} {parts}"
            f" --construction {best.construction} --precision {self.precision}"
            f" --length {self.length} -o model"
        )


def front_of(rows: list[Row]) -> tuple[Row, ...]:
    """Those that no other is at least as good as in every size and better in one."""

    def beaten(row: Row) -> bool:
        return any(
            all(o <= r for o, r in zip(other.sizes, row.sizes, strict=True))
            and other.sizes != row.sizes
            for other in rows
        )

    return tuple(row for row in rows if not beaten(row))


@checked
def plan(
    target: AbstractTarget | str,
    tol: float = 0.01,
    dtype: str = "float32",
    *,
    normaliser: str | None = None,
    length: int | None = None,
    standard: bool = False,
    biases: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The smallest (layers, heads, width) found for each bias (of `biases`, or all) and attention
    kind that reaches `tol` (sup error) in this precision. `standard`: softmax with RoPE, ALiBi or
    T5 alone.
    """
    built = targets.build(target)
    require_tolerance(tol)
    known_parts(None, normaliser)
    precision, longest = offered_precision(dtype, "dtype"), longest_of(built, length)
    refuse_nothing(unnamed(built), longest)
    say = progress or (lambda message: None)
    probe: list[Probe] = []
    rows: list[Row] = []
    for method, request in _attempts(built, tol, precision, normaliser, longest, standard, biases):
        if not _worthwhile(rows, method, request):
            continue
        say(f"{method.kind}, bias {request.bias}")
        probe = probe or [sampled(built, request)]
        rows.append(_row(built, method, request, probe[0]))
    require(
        rows,
        f"no construction serves {built.kind}" + (" with standard parts" if standard else ""),
        "a target of a known family",
        "see headcount list construction",
    )
    ordered = sorted(_best_of_each(rows), key=lambda row: row.cost)
    ordered, recommended = _recommended(built, ordered, say)
    least = minima(built, recommended, longest)
    return Plan(built, tol, precision, longest, tuple(ordered), recommended, least)


def _attempts(
    target: AbstractTarget,
    tol: float,
    precision: Precision,
    normaliser: str | None,
    length: int,
    standard: bool,
    biases: Sequence[str] | None,
) -> Iterator[tuple[AbstractMethod, Request]]:
    """Every method of the target's family with every bias it takes, under softmax (the first kind
    of it that the method takes) and without; small methods first.
    """
    modes: tuple[tuple[str, ...], ...] = (SOFTMAX, ("none",))
    if standard:
        modes = (("softmax",),)
    if normaliser:
        modes = ((normaliser,),)
    made = [methods.build(entry.name) for entry in by_cost()]
    planned = [method for method in made if method.planned]
    for method in sorted(planned, key=lambda m: (not m.drafted_first, not m.saves_heads)):
        for bias in STANDARD if standard else BIASES:
            if biases is not None and bias not in biases:
                continue
            if standard and bias == "table" and target.shortest > T5_EXACT:
                continue  # T5's buckets do not tell these lags apart
            for names in modes:
                for name in names:
                    request = Request(
                        bias, tol, normaliser=name, precision=precision, length=length
                    )
                    if not method.refusals(target, request):
                        yield method, request
                        break


def _worthwhile(rows: list[Row], method: AbstractMethod, request: Request) -> bool:
    """Not where a row of the bias serves already: only a code may still save heads."""
    served = [
        row
        for row in rows
        if row.reachable
        and row.bias == request.bias
        and row.softmax == (request.normaliser in SOFTMAX)
    ]
    if not served:
        return True
    sizes = [row.architecture for row in served if row.architecture]
    return method.saves_heads and all(a.layers > 1 or a.heads > 1 for a in sizes)


def minima(target: AbstractTarget, row: Row | None, length: int) -> tuple[Minimum, ...]:
    """The least layers, heads and neurons of any model of the recommended row's kind."""
    if row is None or row.architecture is None:
        return ()
    layers, heads = Minimum("layers", 1), Minimum("heads", 1)
    if isinstance(target, PointerChain):
        layers = chain_minimum(target, row.architecture.heads, row.request.tol or math.inf)
    lag = isolated_lag(target) if fills_a_line(target) else None
    if lag is not None and row.bias in ("lin", "log", "log1p") and row.architecture.layers == 1:
        claim = recovery_claim(
            Problem(Lag(lag), family(row.bias), window=max(length, lag + 1)), heads=max(lag - 1, 1)
        )
        question = dataclasses.replace(
            claim.scope, heads=lag - 1, tokens=tokens_of(target), lags=Lags(0, length)
        )
        if lag > 1 and claim.excludes(question, row.request.tol or math.inf) and accepted(claim):
            heads = Minimum("heads", lag, claim)
    return layers, heads, Minimum("neurons", 0)


def chain_minimum(target: PointerChain, heads: int, tol: float) -> Minimum:
    """The fewest layers of heads that read one addressed row each, by the adversary that changes
    a token which was not looked at; the answer is the token found, 0 or 1 on its sequences. Nothing
    is said of other heads, nor where a constant answer is within the tolerance.
    """
    least = chain_layers(target.hops, heads)
    if least == 1:
        return Minimum("layers", 1)
    base, changes = chain_adversary(target.hops)

    def found(words: tuple[tuple[float, ...], ...]) -> float:
        tokens = [int(word[0]) for word in words]
        return float(target.answer(tokens, len(tokens) - 1))

    claim = layers_claim(target.kind, found, base, changes, heads, least - 1)
    proved = claim.excludes(claim.scope, tol) and check_depth(claim, found)
    return Minimum("layers", least, claim) if proved else Minimum("layers", 1)


def isolated_lag(target: AbstractTarget) -> int | None:
    """T where the answer is x_{t-T} itself (a linear readout of one lag, weight 1)."""
    found = unnamed(target)
    if isinstance(found, FixedMemory) and len(found.lags) == 1:
        readout = found.readout
        if isinstance(readout, Linear) and readout.full(2).tolist() == [0.0, 1.0]:
            return found.lags[0]
    return None


def fills_a_line(target: AbstractTarget) -> bool:
    """Do tokens fill the line on which a pair lies? An array of data may hold letters alone, which
    one head packs into a code.
    """
    return isinstance(getattr(unnamed(target), "inputs", None), Uniform)


def _row(target: AbstractTarget, method: AbstractMethod, request: Request, probe: Probe) -> Row:
    kind = (request.bias, method.attention, request.normaliser, method.ref, method.kind)
    row = Row(*kind, request)
    try:
        draft = method.draft(target, request)
    except Unreachable as refusal:
        claims = tuple(claim for claim in refusal.claims if accepted(claim))
        claims = (*any_readout(target, method, request), *claims)
        question = question_of(target, method, request)
        return _excluded(row, target.kind, claims, question, refusal)
    except (InputError, CheckFailed) as refusal:
        return dataclasses.replace(row, reason=f"{NOTHING_FOUND}: {refusal}")
    narrow = in_precision(draft.model, Precision.FLOAT32)
    architecture, error = Architecture.of(draft.model), draft.output.at(Precision.FLOAT64)
    asked = request.precision is Precision.FLOAT32
    drafted = dataclasses.replace(
        row,
        attention=architecture.attention,
        normaliser=architecture.normaliser,
        draft=draft,
        architecture=architecture,
        parameters=count_parameters(narrow),
        error=error,
        error_float32=_measured(target, draft, probe) if asked else None,
    )
    return _reached(target, method, drafted)


def _table_length(draft: Draft) -> int:
    """How many lags the tables of a draft have."""
    biases = [layer.attention.bias for layer in draft.model.layers]
    return max((bias.table.shape[1] for bias in biases if isinstance(bias, Table)), default=0)


def _measured(target: AbstractTarget, draft: Draft, probe: Probe) -> float:
    return float(errors(target, draft.model, probe, Precision.FLOAT32).max(initial=0.0))


def any_readout(
    target: AbstractTarget, method: AbstractMethod, request: Request
) -> tuple[Claim, ...]:
    """What no readout of any number of decaying heads can do, where tokens fill a ball and the
    answer is one lag: head outputs are known to one rounding unit.
    """
    lag = isolated_lag(target) if fills_a_line(target) else None
    decays = request.bias in ("lin", "log", "log1p") and method.attention == "dp-free"
    if lag is None or not decays or method.layers != 1:
        return ()
    radius = unnamed(target).inputs.bound  # type: ignore[attr-defined]
    problem = Problem(Lag(lag), family(request.bias), window=max(request.length, lag + 1))
    claim = recovery_claim(problem, resolution=request.precision.unit, radius=radius)
    return (dataclasses.replace(claim, subject=target.kind),) if check_claim(claim) else ()


def question_of(target: AbstractTarget, method: AbstractMethod, request: Request) -> Scope:
    """What the row asks: can any model of this kind answer, whatever its weights?"""
    return Scope(
        bias=request.bias,
        layers=method.layers,
        dot_product=method.attention != "dp-free",
        readout=Readout.ANY,
        precision=None,
        resolution=request.precision.unit,
        lags=Lags(0, request.length),
        tokens=tokens_of(target),
    )


def tokens_of(target: AbstractTarget) -> Tokens:
    """The letters, symbols by their number; or all vectors up to a norm."""
    if target.vocabulary is not None:
        return Tokens(frozenset((float(symbol),) for symbol in range(target.vocabulary)))
    inputs = unnamed(target).inputs  # type: ignore[attr-defined]
    if inputs.alphabet is None:
        return Tokens(None, inputs.bound)
    return Tokens(frozenset(tuple(map(float, letter)) for letter in inputs.alphabet))


def _excluded(
    row: Row, subject: str, claims: tuple[Claim, ...], question: Scope, refusal: Unreachable
) -> Row:
    """Out of reach where a claim about this target covers the question; else undecided, and why."""
    tol = row.request.tol or math.inf
    # what is proved of one kernel says nothing of a target that is more than it
    if any(claim.subject == subject and claim.excludes(question, tol) for claim in claims):
        return dataclasses.replace(row, reachable=False, claims=claims, reason=str(claims[0]))
    gaps = {gap.field: gap for claim in claims for gap in claim.answers(question).gaps}
    words = [FIELDS[name][2](gap.claimed) for name, gap in gaps.items()]
    other = any(claim.subject != subject for claim in claims)
    told = f": {refusal}"
    if claims:
        least = f"error at least {rounded(claims[0].value, 3, up=False)}"
        about = f" of the kernel {kernel_words(claims[0].subject)}" if other else ""
        told = f"; {least}{about} is proved for {', '.join(words)}"
    return dataclasses.replace(
        row,
        claims=claims,
        missing=(*(["subject"] if other else []), *gaps),
        reason=f"{NOTHING_FOUND}{told}",
    )


def kernel_words(subject: Any) -> str:
    """`lag:6` for the kernel that a claim is about."""
    values = ",".join(str(value) for value in vars(subject).values())
    return f"{subject.kind}:{values}" if len(values) < 40 else str(subject.kind)


def _reached(target: AbstractTarget, method: AbstractMethod, row: Row) -> Row:
    """The claims that a draft makes, and whether they reach the question: what is promised, for a
    computation in float64, and what was measured in the precision asked for.
    """
    assert row.draft is not None
    assert row.architecture is not None
    assert row.error is not None
    question, tol = question_of(target, method, row.request), row.request.tol or math.inf
    held = dataclasses.replace(
        question, heads=row.architecture.heads, layers=row.architecture.layers, resolution=0.0
    )
    found = [(Precision.FLOAT64, row.error, row.draft.status)]
    if row.error_float32 is not None:
        found.append((Precision.FLOAT32, max(row.error, row.error_float32), Status.MEASURED))
    claims = tuple(
        Claim(
            target.kind,
            dataclasses.replace(held, precision=precision),
            Sense.AT_MOST,
            value,
            status,
            method.kind,
            method.ref,
        )
        for precision, value, status in found
    )
    good = all(
        claim.reaches(
            dataclasses.replace(question, precision=claim.scope.precision, resolution=0.0), tol
        )
        for claim in claims
    )
    last = claims[-1]
    reason = f"error {row.error:.3g} {row.draft.status}, {last.value:.3g} in {last.scope.precision}"
    return dataclasses.replace(
        row, claims=claims, reachable=True if good else None, reason="" if good else reason
    )


def _best_of_each(rows: list[Row]) -> list[Row]:
    """The cheapest row of every bias and attention kind, those of the front, and beside them one
    that tells what is proved of the rest.
    """
    groups: dict[tuple[str, str, bool, bool], list[Row]] = {}
    for row in rows:
        kind = (row.bias, row.attention, row.softmax, bool(row.impossibilities))
        groups.setdefault(kind, []).append(row)
    best = [min(group, key=lambda row: row.cost) for group in groups.values()]
    front = [
        row
        for bias, softmax in dict.fromkeys((row.bias, row.softmax) for row in rows)
        for row in front_of(
            [r for r in rows if r.reachable and (r.bias, r.softmax) == (bias, softmax)]
        )
    ]
    kept = [row for row in rows if row in best or row in front]
    served = {(row.bias, row.softmax) for row in kept if row.reachable}
    # a search that failed says nothing where another served, unless it proves something
    return [
        row
        for row in kept
        if row.reachable or row.impossibilities or (row.bias, row.softmax) not in served
    ]


def _recommended(
    target: AbstractTarget, rows: list[Row], say: Progress
) -> tuple[list[Row], Row | None]:
    """The cheapest reachable row that passes the whole check; a row that does not is called
    undecided, with what was seen.
    """
    for i, row in enumerate(rows):
        if row.reachable is not True or row.draft is None:
            break
        say(f"checking {row.construction}, bias {row.bias}")
        precision, tol = row.request.precision, row.request.tol or math.inf
        measured, narrow, _ = check(target, row.request, row.draft)
        seen = narrow.sup if precision is Precision.FLOAT32 else measured.sup
        if seen <= tol:
            worst = max(narrow.sup, row.error_float32 or 0.0)
            return rows, dataclasses.replace(row, error_float32=worst)
        rows[i] = dataclasses.replace(
            row,
            reachable=None,
            reason=f"error {seen:.3g} in {precision} on adversarial inputs",
            error_float32=narrow.sup,
        )
    return sorted(rows, key=lambda row: row.cost), None
