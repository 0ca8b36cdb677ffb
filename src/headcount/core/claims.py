"""Claims: statements of the form "at most", "at least", "cannot", "needs", as values.

A claim says how small the error of a memory can be, for a class of models, in a measure of error:

    AT_LEAST   no model of the class has an error below `value`     (a lower bound)
    AT_MOST    some model of the class has an error of `value`      (a construction, a fit)

Everything that such a statement is about is its `Scope`. Fields of the *class* (bias, rates, heads,
weights, layers, dot product, readout, neurons, precision, …) say which models are meant; fields of
the *measure* (norm, lags, tokens, resolution) say what counts as error. A question has a scope too,
and a claim speaks about a question only where one contains the other:

    AT_LEAST   the models asked about lie inside the class, and the error asked about counts at
               least what the claim counts (more lags, more tokens, a larger norm);
    AT_MOST    the other way round.

`claim.answers(question)` is the only way from a claim to an answer. Where a field stands in the
way it is named (`Gap`), so that "undecided" always says what is missing. "Needs weights of W for an
error of e" is AT_LEAST e with weights up to W; "needs T + 1 heads" is AT_LEAST 1 with T heads: one
form for all of them.

Worked example: what is proved for lin heads on all lags says nothing on a window of 7 lags, where
later lags do not exist.

    >>> from headcount.core.refs import Ref
    >>> proved = Claim("lag:6", Scope(bias="lin", heads=6), Sense.AT_LEAST, 1.0, Status.PROVED,
    ...                "theorem-a", Ref("headcount", "Theorem A"))
    >>> proved.answers(Scope(bias="lin", heads=5)).value
    1.0
    >>> [str(gap.field) for gap in proved.answers(Scope(bias="lin", heads=6, lags=Lags(0, 7))).gaps]
    ['lags']
    >>> print(proved)  # doctest: +NORMALIZE_WHITESPACE
    lag:6: at least 1 in l1, for lin heads with rates >= 0, at most 6 heads, any weights, 1 layer
    without dot product, a linear readout, over all lags (proved and checked: theorem-a)
"""

import dataclasses
import decimal
import enum
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from headcount.core.errors import require, shown
from headcount.core.plural import counted
from headcount.core.refs import Ref


class Norm(enum.StrEnum):
    """Norm over lags in which an error is measured; for one error, sup <= l2 <= l1."""

    L1 = "l1"
    L2 = "l2"
    SUP = "sup"


class Precision(enum.StrEnum):
    """A number format."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"

    @property
    def unit(self) -> float:
        """The unit roundoff u: half the distance from 1 to the next number."""
        return {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-9}[self]


class Sense(enum.StrEnum):
    """Which side of the error is bounded."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


class Status(enum.StrEnum):
    """What stands behind a claim."""

    PROVED = "proved and checked"  # a certificate that an independent checker accepts
    MEASURED = "measured"  # on inputs or points that are not all of them
    FOUND = "found"  # by a search; nothing says that it is the best
    CONJECTURED = "conjectured"


class Readout(enum.StrEnum):
    """What may stand behind the heads; each contains the ones before it."""

    LINEAR = "a linear readout"
    ANY = "any function of the head outputs and x_t"


@dataclasses.dataclass(frozen=True)
class Lags:
    """The lags first..stop-1 count; `stop` None: all from `first` on. Sequences of at most N tokens
    have the lags below N. `first` is 1 where x_t comes free through the residual."""

    first: int = 0
    stop: int | None = None

    def __contains__(self, lag: int) -> bool:
        return self.first <= lag and (self.stop is None or lag < self.stop)

    def __str__(self) -> str:
        start = "" if self.first == 0 else f" from {self.first} on"
        return f"all lags{start}" if self.stop is None else f"lags {self.first} to {self.stop - 1}"


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The tokens of the sequences that an error is the worst case of: a finite set of letters, or
    (None) every vector of norm at most `radius`."""

    letters: frozenset[tuple[float, ...]] | None
    radius: float = 1.0

    def __le__(self, other: "Tokens") -> bool:
        if self.letters is None or other.letters is None:
            return other.letters is None and self._largest <= other.radius
        return self.letters <= other.letters

    @property
    def _largest(self) -> float:
        if self.letters is None:
            return self.radius
        return max((math.hypot(*letter) for letter in self.letters), default=0.0)

    def __str__(self) -> str:
        if self.letters is None:
            return f"tokens of norm up to {self.radius:g}"
        size = len(self.letters)
        if size > 1 and all(len(a) == size and sorted(a)[-2:] == [0, 1] for a in self.letters):
            return f"one-hot tokens of size {size}"
        plain = [letter[0] if len(letter) == 1 else letter for letter in sorted(self.letters)]
        return f"tokens {', '.join(map(str, plain[:8]))}{', …' if len(plain) > 8 else ''}"

    def to_json(self) -> dict[str, Any]:
        """`letters` is null where every vector of norm up to `radius` is a token."""
        letters = None if self.letters is None else sorted(map(list, self.letters))
        return {"letters": letters, "radius": self._largest}


SIGNS = Tokens(frozenset({(-1.0,), (1.0,)}))
BALL = Tokens(None)


def _as_member(record: Any, field: str, kind: type[enum.StrEnum]) -> None:
    """A field of a frozen record as a member of its enumeration."""
    given = getattr(record, field)
    offered = [str(member) for member in kind]
    require(given in offered, f"{field} {shown(given)}", ", ".join(offered), "choose one of these")
    object.__setattr__(record, field, kind(given))


@dataclasses.dataclass(frozen=True)
class Scope:
    """Which models, and which error. The defaults are one dot-product-free layer with a linear
    readout in exact arithmetic; None and `inf` mean no limit."""

    bias: str | None = None  # one head family; None: every bias
    lowest_rate: float = 0.0  # rates b >= lowest_rate are admitted
    heads: int | None = None  # at most so many; None: any number
    weight: float = math.inf  # sum|a| at most
    layers: int | None = 1  # at most so many
    dot_product: bool = False  # may scores look at the tokens?
    readout: Readout = Readout.LINEAR
    precision: Precision | None = None  # None: exact arithmetic
    rates: tuple[float, ...] | None = None  # heads of these rates only; None: of every rate
    state: int | None = None  # sum of rank(W_V) over all heads and layers at most
    normalised: bool = True  # may heads be divided by a sum that depends on the position?
    reads: int | None = None  # a head reads at most so many positions, which its own row names
    neurons: int | None = None  # ReLU neurons behind the heads, in one hidden layer, at most
    norm: Norm = Norm.L1
    lags: Lags = Lags()
    tokens: Tokens = SIGNS
    # Head outputs are known to so much only: the error is the worst over every change of each
    # weighted mean of tokens by up to resolution * (largest token), attention weights being <= 1.
    resolution: float = 0.0

    def __post_init__(self):
        # names as JSON has them become values: checkers compare by identity
        _as_member(self, "readout", Readout)
        _as_member(self, "norm", Norm)
        if self.precision is not None:
            _as_member(self, "precision", Precision)
        for name in ("dot_product", "normalised"):
            given = getattr(self, name)
            require(isinstance(given, bool), f"{name} {shown(given)}", "true or false", "say which")

    def to_json(self) -> dict[str, Any]:
        """Plain values; null means no limit."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["weight"] = self.weight if math.isfinite(self.weight) else None
        plain["lowest_rate"] = self.lowest_rate if self.lowest_rate > -math.inf else None
        plain["lags"] = {"first": self.lags.first, "stop": self.lags.stop}
        plain["tokens"] = self.tokens.to_json()
        return {name: str(v) if isinstance(v, enum.Enum) else v for name, v in plain.items()}


class Role(enum.Enum):
    """Does a field of a scope say which models, or which error?"""

    CLASS = "class"
    MEASURE = "measure"


def _up_to(narrow: float | None, wide: float | None) -> bool:
    """Limits from above, None for no limit."""
    return wide is None or (narrow is not None and narrow <= wide)


def _one_of(narrow: Any, wide: Any) -> bool:
    """A name, or None for all of them."""
    return wide is None or narrow == wide


def _inner_lags(narrow: Lags, wide: Lags) -> bool:
    return wide.first <= narrow.first and _up_to(narrow.stop, wide.stop)


def _among(narrow: tuple[float, ...] | None, wide: tuple[float, ...] | None) -> bool:
    return wide is None or (narrow is not None and set(narrow) <= set(wide))


_NORMS, _READOUTS = [Norm.SUP, Norm.L2, Norm.L1], list(Readout)

# field → (role, `within(narrow, wide)`, words of a value)
FIELDS: Mapping[str, tuple[Role, Callable[[Any, Any], bool], Callable[[Any], str]]] = {
    "bias": (Role.CLASS, _one_of, lambda v: f"{v} heads" if v else "heads of any bias"),
    "lowest_rate": (Role.CLASS, lambda n, w: n >= w, lambda v: f"rates >= {v:g}"),
    "heads": (
        Role.CLASS, _up_to,
        lambda v: "any number of heads" if v is None else f"at most {counted(v, 'head')}",
    ),
    "weight": (
        Role.CLASS, _up_to,
        lambda v: "any weights" if math.isinf(v) else f"sum|a| <= {rounded(v, 6, up=False)}",
    ),
    "layers": (
        Role.CLASS, _up_to,
        lambda v: "any number of layers" if v is None else f"{v} layer{'s' if v != 1 else ''}",
    ),
    "dot_product": (
        Role.CLASS, lambda n, w: w or not n,
        lambda v: "with dot product" if v else "without dot product",
    ),
    "readout": (Role.CLASS, lambda n, w: _READOUTS.index(n) <= _READOUTS.index(w), str),
    # A computation in a format is a function of its own: exact arithmetic says nothing about it.
    "precision": (
        Role.CLASS, lambda n, w: n == w,
        lambda v: "exact arithmetic" if v is None else f"computed in {v}",
    ),
    "rates": (
        Role.CLASS, _among,
        lambda v: "every rate" if v is None else f"rates among {', '.join(f'{b:g}' for b in v)}",
    ),
    "state": (
        Role.CLASS, _up_to,
        lambda v: "values of any rank" if v is None else f"sum of rank(W_V) <= {v}",
    ),
    "normalised": (
        Role.CLASS, lambda n, w: w or not n,
        lambda v: "normalised or not" if v else "heads that are not normalised",
    ),
    "reads": (
        Role.CLASS, _up_to,
        lambda v: "heads that read every position" if v is None
        else f"heads that read {v} position{'s' if v != 1 else ''} each, named by their own row",
    ),
    "neurons": (
        Role.CLASS, _up_to,
        lambda v: "any number of neurons" if v is None
        else f"at most {v} ReLU neurons in one hidden layer" if v else "no neurons",
    ),
    "norm": (Role.MEASURE, lambda n, w: _NORMS.index(n) <= _NORMS.index(w), str),
    "lags": (Role.MEASURE, _inner_lags, str),
    "tokens": (Role.MEASURE, lambda n, w: n <= w, str),
    "resolution": (
        Role.MEASURE, lambda n, w: n <= w,
        lambda v: f"each head output may be off by up to {v:.3g}" if v
        else "head outputs known exactly",
    ),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Gap:
    """One field in which a claim does not reach a question."""

    field: str
    claimed: Any
    asked: Any

    def __str__(self) -> str:
        words = FIELDS[self.field][2]
        return f"it is about {words(self.claimed)}, the question about {words(self.asked)}"


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a claim says about a question: a value, or the gaps that keep it silent."""

    value: float | None
    gaps: tuple[Gap, ...] = ()


@dataclasses.dataclass(frozen=True)
class Claim:
    """About `subject` (a kernel or a target): the best error in this scope is `sense` `value`.

    `evidence` is plain data (numbers, strings, tuples) for the checker of its `method`.
    """

    subject: Hashable
    scope: Scope
    sense: Sense
    value: float
    status: Status
    method: str
    ref: Ref
    evidence: Mapping[str, Any] = dataclasses.field(repr=False, default_factory=dict)

    def __post_init__(self):
        _as_member(self, "sense", Sense)
        _as_member(self, "status", Status)

    def answers(self, question: Scope) -> Answer:
        """The value for every question about the same subject that the scope reaches, else what is
        missing."""
        require(
            isinstance(question, Scope),
            f"a question {shown(question)}",
            "a Scope",
            "ask about a scope, for example that of another claim",
        )
        gaps = []
        for name, (role, within, _) in FIELDS.items():
            ours, theirs = getattr(self.scope, name), getattr(question, name)
            asked_inside = (role is Role.CLASS) == (self.sense is Sense.AT_LEAST)
            if not (within(theirs, ours) if asked_inside else within(ours, theirs)):
                gaps.append(Gap(name, ours, theirs))
        return Answer(None, tuple(gaps)) if gaps else Answer(self.value)

    def excludes(self, question: Scope, tol: float) -> bool:
        """Does it prove that nothing in this scope has an error of `tol` or less?"""
        found = self.answers(question).value
        certain = self.status is Status.PROVED and self.sense is Sense.AT_LEAST
        return certain and found is not None and found > tol

    def reaches(self, question: Scope, tol: float) -> bool:
        """Does it show a model in this scope with an error of `tol` or less?"""
        found = self.answers(question).value
        shown = self.status is not Status.CONJECTURED and self.sense is Sense.AT_MOST
        return shown and found is not None and found <= tol

    def __str__(self) -> str:
        return f"{subject_words(self.subject)}: {self.words()}"

    def words(self) -> str:
        """The statement with all of its scope, from the data alone."""
        up = self.sense is Sense.AT_MOST
        return (
            f"{self.sense} {rounded(self.value, 4, up)} in {self.scope.norm}, for"
            f" {phrase(self.scope)} ({self.status}: {self.method})"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values for `--json`; the evidence stays with the object."""
        return {
            "sense": str(self.sense), "value": self.value, "status": str(self.status),
            "method": self.method, "source": str(self.ref), "scope": self.scope.to_json(),
            "words": self.words(),
        }  # fmt: skip


def subject_words(subject: Any) -> str:
    """`lag:6` for a kernel, by its name alone where its values are many; a target's name as it
    is.
    """
    if not hasattr(subject, "kind"):
        return str(subject)
    values = ",".join(str(value) for value in vars(subject).values() if value is not None)
    return f"{subject.kind}:{values}" if 0 < len(values) < LONGEST_VALUES else str(subject.kind)


def rounded(value: float, digits: int, up: bool) -> str:
    """So many digits, never on the wrong side: down for what is at least, up for what is at most.

    >>> rounded(0.99999, 4, up=False), rounded(0.99999, 4, up=True), rounded(1.0, 4, up=False)
    ('0.9999', '1', '1')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    with decimal.localcontext(prec=digits, rounding=decimal.ROUND_UP if up else decimal.ROUND_DOWN):
        return f"{float(+decimal.Decimal(value)):.{digits}g}"


def phrase(scope: Scope) -> str:
    """A scope in words. What is the default of every model here (signs, exact, no limit of the
    rarer kinds) is left out."""
    say = {name: words(getattr(scope, name)) for name, (_, _, words) in FIELDS.items()}
    parts = [
        say["bias"] + (f" with {say['lowest_rate']}" if scope.lowest_rate > -math.inf else ""),
        say["heads"], say["weight"],
        f"{say['layers']} {say['dot_product']}", say["readout"],
    ]  # fmt: skip
    plain = Scope()
    rarer = [name for name in _RARER if getattr(scope, name) != getattr(plain, name)]
    parts += [say[name] for name in rarer]
    parts.append(f"over {say['lags']}")
    if scope.tokens != SIGNS:
        parts.append(say["tokens"])
    return ", ".join(parts)


LONGEST_VALUES = 40  # letters of a kernel's values
_RARER = ("rates", "state", "normalised", "reads", "neurons", "precision", "resolution")
