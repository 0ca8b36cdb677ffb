"""What may be asked of the explorer: one strict record per question, with the sizes that a page
needs and no larger.

Parts (kernels, memories) come as the text of the command line or as a mapping. The server opens no
file because a text names it, and calls no function that a text names: `safe_part` refuses both
before a registry sees the text.
"""

import math
import re
from typing import Annotated, Any, Literal

import pydantic

from headcount.core.errors import InputError, require, shown
from headcount.core.spec import Spec

MOST_HEADS = 64
MOST_LAGS = 4096
MOST_DRAWN = 256  # values of a kernel drawn by hand
LARGEST_WHOLE = 65_536  # a lag or a size beyond this is no question for a page
LONGEST_TEXT = 300
LEAST_TOL = 1e-12  # below it float64 has the last word
DEEPEST = 8  # of a mapping that describes a part
# parts that read files, or hold functions: not for a page
CLOSED = frozenset({"file", "stdlib", "english", "callable", "text", "corpus"})
_WORDS = re.compile(r"[A-Za-z][\w-]*")
_PLAIN = re.compile(r"[\w\s:=,+().\-]*", re.ASCII)
_SPACED = re.compile(r"(?<=\d)_(?=\d)")  # 9_999 is a number too

Part = Annotated[str | dict[str, Any], pydantic.AfterValidator(lambda part: safe_part(part))]
Bias = Literal["lin", "log", "log1p", "peak", "table", "rope"]
Whole = Annotated[int, pydantic.Field(strict=True)]
Real = Annotated[float, pydantic.Field(allow_inf_nan=False, strict=True)]
Drawn = Annotated[list[Real], pydantic.Field(min_length=1, max_length=MOST_DRAWN)]
# checked before the two kinds are tried: a fault is then told once, in words
Kernel = Annotated[str | Drawn, pydantic.BeforeValidator(lambda given: kernel(given))]
Name = Annotated[str, pydantic.Field(max_length=LONGEST_TEXT)]
# of a part: no path, no ending, no options
PartName = Annotated[
    str, pydantic.Field(max_length=LONGEST_TEXT, pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$")
]


def safe_part(part: Any, depth: int = 0) -> Any:
    """The same part, or a refusal: no paths, no functions, no huge sizes."""
    require(depth <= DEEPEST, "a part nested too deeply", f"at most {DEEPEST} levels", "flatten it")
    if isinstance(part, dict):
        for key, value in part.items():
            _safe_text(key)
            safe_part(value, depth + 1)
    elif isinstance(part, list):
        require(len(part) <= MOST_LAGS, f"{len(part)} values", f"at most {MOST_LAGS}", "send fewer")
        for value in part:
            safe_part(value, depth + 1)
    elif isinstance(part, str):
        _safe_text(part)
    elif isinstance(part, (int, float)) and not isinstance(part, bool):
        _safe_size(part)
    return part


def kernel(given: Any) -> Any:
    """A kernel by its text or by its values, or a refusal in one line."""
    if isinstance(given, str):
        try:
            return safe_part(given)
        except InputError as error:
            fix = "write it like 'power:1.5' or 'lag:2'"
            raise InputError(error.got, f"{error.expected}; {fix}", fix) from None
    numbers = isinstance(given, list) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf
        for value in given
    )
    require(
        numbers and 1 <= len(given) <= MOST_DRAWN,
        shown(given),
        f"1 to {MOST_DRAWN} numbers like [1, 0.5, 0.25], or a text like 'power:1.5'",
        "draw or type it again",
    )
    return given


def _safe_text(text: str) -> None:
    begun = text[:60]
    require(
        len(text) <= LONGEST_TEXT and _PLAIN.fullmatch(text),
        f"{begun!r}",
        f"at most {LONGEST_TEXT} letters, digits and :=,+().-",
        "write it like 'power:1.5' or 'fixed:lags=3+17'",
    )
    words = set(_WORDS.findall(text))
    for word in sorted(words & CLOSED):
        raise InputError(f"{begun!r} with {word!r}", "parts without files or functions", _BY_HAND)
    dotted = re.search(r"\.\s*[A-Za-z_]", text)
    require(not dotted, f"{begun!r} names a file", "a part by its name", _BY_HAND)
    for digits in re.findall(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", _SPACED.sub("", text)):
        _safe_size(float(digits))


_BY_HAND = "use the command line for files; draw or type the values here"


def _safe_size(value: float) -> None:
    finite = isinstance(value, int) or math.isfinite(value)
    require(
        finite and abs(value) <= LARGEST_WHOLE,
        f"{value:.6g}" if isinstance(value, float) or abs(value) < 10**9 else "a huge number",
        f"numbers up to {LARGEST_WHOLE}",
        "use the command line for larger sizes",
    )


class AskFit(Spec):
    """Heads for a kernel: `fit_kernel`, with its curves. `certify` false answers sooner."""

    kernel: Kernel = "lag:2"
    bias: Bias = "lin"
    heads: Annotated[Whole, pydantic.Field(ge=1, le=MOST_HEADS)] = 3
    budget: Annotated[Real, pydantic.Field(gt=0)] | None = None
    norm: Literal["l1", "l2", "sup"] = "l1"
    window: Annotated[Whole, pydantic.Field(ge=1, le=MOST_LAGS)] | None = None
    dtype: Literal["float32", "bfloat16"] | None = None
    certify: bool = True


class AskDraft(Spec):
    """A first sketch of the heads for a kernel, while `AskFit` searches."""

    kernel: Kernel = "lag:2"
    bias: Literal["lin", "log", "log1p"] = "lin"
    heads: Annotated[Whole, pydantic.Field(ge=1, le=MOST_HEADS)] = 3
    budget: Annotated[Real, pydantic.Field(gt=0)] | None = None
    norm: Literal["l1", "l2", "sup"] = "l1"
    window: Annotated[Whole, pydantic.Field(ge=1, le=MOST_LAGS)] | None = None


class AskBound(AskDraft):
    """The lower bound of such heads, for which no fit is needed."""


class AskMemory(Spec):
    """One memory on one input sequence: what is read where, and the answers."""

    memory: Part = "fixed:lags=1+3"
    length: Annotated[Whole, pydantic.Field(ge=2, le=256)] = 48
    seed: Annotated[Whole, pydantic.Field(ge=0, le=2**31 - 1)] = 0


class AskPlan(Spec):
    """The smallest architecture found for every bias: `plan`."""

    memory: Part = "fixed:lags=1"
    tol: Annotated[Real, pydantic.Field(ge=LEAST_TOL, le=1e6)] = 0.1
    dtype: Literal["float32", "float64"] = "float32"
    length: Annotated[Whole, pydantic.Field(ge=1, le=1024)] = 64


class AskBuild(Spec):
    """A model by formula: `construct`."""

    memory: Part = "fixed:lags=1"
    tol: Annotated[Real, pydantic.Field(ge=LEAST_TOL, le=1e6)] = 0.1
    bias: PartName = "lin"
    normaliser: PartName | None = None
    theorem: PartName | None = None
    precision: Literal["float32", "float64"] = "float32"
    length: Annotated[Whole, pydantic.Field(ge=1, le=1024)] = 64


class AskModel(Spec):
    """A model at work on one sequence: of a folder below the root, or built for a memory. Without a
    sequence one is drawn by the seed.
    """

    folder: Name | None = None
    build: AskBuild | None = None
    sequence: Annotated[list[Real], pydantic.Field(min_length=1, max_length=128)] | None = None
    length: Annotated[Whole, pydantic.Field(ge=1, le=128)] = 24
    seed: Annotated[Whole, pydantic.Field(ge=0, le=2**31 - 1)] = 0


class AskRuns(Spec):
    """A store of training runs below the root, and the curves of some of its runs."""

    store: Name
    curves: Annotated[list[Name], pydantic.Field(max_length=12)] = []


class AskSweep(Spec):
    """Stop the sweeps that are at work on a store below the root, or compute what it lacks."""

    store: Name
    act: Literal["stop", "continue"]


class AskStudy(Spec):
    """A folder with a report (`verdicts.json`) below the root."""

    folder: Name
