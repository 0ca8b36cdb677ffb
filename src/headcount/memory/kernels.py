"""Memory kernels rho(s) of the essentially sparse family: y_t = f(sum_s rho(s) x_{t-s}).

A kernel is one formula, evaluated in whatever arithmetic it is handed: `numpy` (float64),
`mpmath.mp`, or the ball arithmetic of `headcount.theory.balls`. Each also bounds its own tail, so
that sums over all lags are exact statements and not truncations.
"""

import abc
import dataclasses
import hashlib
import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from headcount.core.arguments import checked
from headcount.core.array_files import read_array
from headcount.core.errors import InputError, require
from headcount.core.files import read_text
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.core.sizes import require_memory

# sums, squares and quotients of values between them stay far from overflow
SMALLEST, LARGEST = 1e-100, 1e100
MOST_VALUES = 2**20  # lags of a kernel that is given as numbers
# Beyond these a double holds one lag or none of the kernel, or more lags than any sequence has.
RANGE = {"rate": (1e-9, 1e3), "exponent": (1e-6, 1e3), "scale": (1e-3, 1e4)}
FARTHEST = 1e5  # centres and frequencies
PAPER_51 = Ref("wang-e-2024", "Section 5, eq. (13)")


class AbstractKernel(abc.ABC):
    """A real function of the lag s = 0, 1, 2, …

    `m` is a namespace with exp, cos, power (and `convert` where it is not numpy); the formula does
    not care which.
    """

    kind: ClassVar[str]

    @abc.abstractmethod
    def formula(self, s: Any, m: Any) -> Any:
        """rho(s) in the arithmetic `m`; `s` is a lag or an array of lags."""

    @abc.abstractmethod
    def tail(self, start: int) -> float:
        """An upper bound of sum_{s >= start} |rho(s)|; `inf` when the kernel is not summable."""

    @property
    def support(self) -> int | None:
        """rho(s) = 0 for every s >= support; None when there is no such lag."""
        return None

    @property
    def singular_at_zero(self) -> bool:
        """True when rho(0) is defined as 0 because the formula has none (s^-b)."""
        return False

    @checked
    def values(self, length: int) -> np.ndarray:
        """rho(0), …, rho(length-1) in float64."""
        if length > MOST_VALUES:  # shorter ones fit anywhere
            require_memory(16 * length, f"a window of {length} lags", "pass a shorter window")
        require(length >= 1, f"a window of {length} lags", "at least 1", "pass a longer window")
        s = np.arange(length, dtype=np.float64)
        values = np.zeros(length)
        first = 1 if self.singular_at_zero else 0
        values[first:] = self.formula(s[first:], np)
        return values

    def at(self, lag: int, m: Any) -> Any:
        """rho(lag) in the arithmetic `m` (which converts the lag first, so that no product is
        rounded in float64).
        """
        if self.singular_at_zero and lag == 0:
            return m.convert(0)
        return self.formula(m.convert(lag), m)

    @property
    def summable(self) -> bool:
        return math.isfinite(self.tail(1))


kernels: Registry[AbstractKernel] = Registry(
    "kernel", AbstractKernel, from_path=lambda path: FileKernel(str(path).removeprefix("file:"))
)


@kernels.register(
    "lag", formula="rho(s) = 1 if s = T else 0", ref=Ref("wang-e-2024", "Section 3, eq. (5)")
)
@dataclasses.dataclass(frozen=True)
class Lag(AbstractKernel):
    """One lag: the memory x_{t-T}."""

    T: int

    def __post_init__(self):
        require(
            isinstance(self.T, int | np.integer) and self.T >= 0,
            f"lag {self.T}",
            "a whole number of at least 0",
            "lags count back from the read position",
        )

    def formula(self, s, m):
        return (
            np.asarray(s == self.T, dtype=np.float64)
            if m is np
            else m.convert(1 if s == self.T else 0)
        )

    def tail(self, start):
        return 1.0 if start <= self.T else 0.0

    @property
    def support(self):
        return self.T + 1


@kernels.register("exp", formula="rho(s) = e^{-rate s}", ref=PAPER_51)
@dataclasses.dataclass(frozen=True)
class Exponential(AbstractKernel):
    """Light tail: exponential decay."""

    rate: float

    def __post_init__(self):
        _positive("rate", self.rate)

    def formula(self, s, m):
        return m.exp(-self.rate * s)

    def tail(self, start):
        return math.exp(-self.rate * start) / -math.expm1(-self.rate)


@kernels.register("power", formula="rho(s) = s^{-exponent}, rho(0) = 0", ref=PAPER_51)
@dataclasses.dataclass(frozen=True)
class Power(AbstractKernel):
    """Heavy tail: polynomial decay from lag 1 on (lag 0 is the residual's)."""

    exponent: float

    def __post_init__(self):
        _positive("exponent", self.exponent)

    def formula(self, s, m):
        return m.power(s, -self.exponent)

    def tail(self, start):
        if self.exponent <= 1:
            return math.inf
        from scipy.special import zeta

        return float(zeta(self.exponent, max(start, 1))) * (1 + 1e-12)

    @property
    def singular_at_zero(self):
        return True


@kernels.register("osc", formula="rho(s) = e^{-rate s} cos(frequency s)", ref=PAPER_51)
@dataclasses.dataclass(frozen=True)
class Oscillating(AbstractKernel):
    """A damped oscillation: changes sign, so that decaying heads must cancel."""

    rate: float
    frequency: float

    def __post_init__(self):
        _positive("rate", self.rate)
        _finite("frequency", self.frequency)

    def formula(self, s, m):
        return m.exp(-self.rate * s) * m.cos(self.frequency * s)

    def tail(self, start):
        return Exponential(self.rate).tail(start)


@kernels.register(
    "mexican-hat",
    formula="rho(s) = (1 - u^2) e^{-u^2/2}, u = (s - centre)/scale",
    ref=Ref("mallat-1999", "Section 4.3"),
)
@dataclasses.dataclass(frozen=True)
class MexicanHat(AbstractKernel):
    """The second derivative of a Gaussian, centred on a lag."""

    centre: float
    scale: float

    def __post_init__(self):
        _finite("centre", self.centre)
        _positive("scale", self.scale)

    def formula(self, s, m):
        u = (s - self.centre) / self.scale
        return (1 - u * u) * m.exp(-u * u / 2)

    def tail(self, start):
        # |1-u^2| e^{-u^2/2} <= 2 e^{-u^2/4} for all u (the maximum of the ratio is below 1.8).
        return 2 * _gaussian_tail(start, self.centre, self.scale * math.sqrt(2))


@kernels.register(
    "morlet",
    formula="rho(s) = cos(frequency u) e^{-u^2/2}, u = (s - centre)/scale",
    ref=Ref("mallat-1999", "Section 4.3"),
)
@dataclasses.dataclass(frozen=True)
class Morlet(AbstractKernel):
    """A windowed cosine, centred on a lag."""

    centre: float
    scale: float
    frequency: float = 5.0

    def __post_init__(self):
        _finite("centre", self.centre)
        _positive("scale", self.scale)
        _finite("frequency", self.frequency)

    def formula(self, s, m):
        u = (s - self.centre) / self.scale
        return m.cos(self.frequency * u) * m.exp(-u * u / 2)

    def tail(self, start):
        return _gaussian_tail(start, self.centre, self.scale)


@kernels.register("window", formula="rho(s) = kernel(s) if s < length else 0", ref=PAPER_51)
@dataclasses.dataclass(frozen=True)
class Window(AbstractKernel):
    """Another kernel cut off after some lags; without one, the moving sum of `length` tokens."""

    length: int
    kernel: AbstractKernel | None = None

    def __post_init__(self):
        require(
            isinstance(self.length, int | np.integer) and self.length >= 1,
            f"a window of {self.length} lags",
            "a whole number of at least 1",
            "pass a longer window",
        )

    def formula(self, s, m):
        if m is np:
            inside = 1.0 if self.kernel is None else self.kernel.formula(s, m)
            return np.where(np.asarray(s) < self.length, inside, 0.0)
        if s >= self.length:
            return m.convert(0)
        return m.convert(1) if self.kernel is None else self.kernel.formula(s, m)

    def tail(self, start):
        if start >= self.length:
            return 0.0
        return float(np.abs(self.values(self.length)[start:]).sum()) * (1 + 1e-12)

    @property
    def support(self):
        return self.length

    @property
    def singular_at_zero(self):
        return self.kernel is not None and self.kernel.singular_at_zero


@kernels.register("array", formula="rho(s) = values[s], 0 beyond", ref=PAPER_51)
@dataclasses.dataclass(frozen=True)
class ArrayKernel(AbstractKernel):
    """Any finite list of values, one per lag, from lag 0."""

    numbers: tuple[float, ...]

    def __post_init__(self):
        try:
            values = np.asarray(self.numbers, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"kernel values {str(self.numbers)[:60]}",
                "real numbers",
                "give one number per lag, from lag 0",
            ) from None
        _check_values(values, "the kernel")
        object.__setattr__(self, "numbers", tuple(float(x) for x in values.ravel()))

    def formula(self, s, m):
        if m is np:
            table = np.asarray(self.numbers)
            s = np.asarray(s, dtype=np.int64)
            return np.where(s < len(table), table[np.minimum(s, len(table) - 1)], 0.0)
        return m.convert(self.numbers[int(float(s))] if s < len(self.numbers) else 0)

    def tail(self, start):
        return math.fsum(abs(x) for x in self.numbers[start:]) * (1 + 1e-12)

    @property
    def support(self):
        return len(self.numbers)


@kernels.register("file", formula="rho(s) = row s of a .npy or .csv file, 0 beyond", ref=PAPER_51)
@dataclasses.dataclass(frozen=True)
class FileKernel(AbstractKernel):
    """One value per lag from lag 0, from a `.npy` or `.csv` file; its hash is part of the spec."""

    path: str
    sha256: str = ""
    _table: ClassVar[ArrayKernel]  # made from the file, beside the fields

    def __post_init__(self):
        table = ArrayKernel(tuple(_read_values(Path(self.path))))
        digest = hashlib.sha256(np.asarray(table.numbers).tobytes()).hexdigest()[:16]
        require(
            self.sha256 in ("", digest),
            f"{self.path} has hash {digest}",
            f"{self.sha256}",
            "the file changed since the spec was written",
        )
        object.__setattr__(self, "sha256", digest)
        object.__setattr__(self, "_table", table)

    def formula(self, s, m):
        return self._table.formula(s, m)

    def tail(self, start):
        return self._table.tail(start)

    @property
    def support(self):
        return self._table.support


def _read_values(path: Path) -> np.ndarray:
    wanted = "a .npy or .csv file with one number per lag, from lag 0, or columns lag,value"
    try:
        if path.suffix == ".npy":
            values = read_array(path, wanted, "check the file")
            require(
                values.size <= MOST_VALUES,
                f"{path} holds {values.size} values",
                f"at most {MOST_VALUES}",
                "cut it",
            )
        else:
            values = _table(read_text(path).removeprefix("\ufeff"))
    except InputError:
        raise
    except (OSError, ValueError, OverflowError, MemoryError) as error:
        raise InputError(
            f"cannot read the kernel {path} ({error})", wanted, "check the file"
        ) from None
    _check_values(values, str(path))
    return values.astype(np.float64).ravel()


def _table(text: str) -> np.ndarray:
    """Numbers of a .csv: one column or row, or the columns lag,value under a header or counted from
    0; a header is not read.
    """
    rows = [
        [cell.strip() for cell in line.split(",") if cell.strip()]
        for line in text.splitlines()
        if line.strip()
    ]
    header = [cell.lower() for cell in rows[0]] if rows and not _numeric(rows[0]) else None
    numbers = [[float(cell) for cell in row] for row in rows[1 if header else 0 :]]
    for row in numbers if header else []:
        if len(row) != len(header or row):
            raise ValueError(f"{len(row)} values under the header {', '.join(header or [])}")
    values = np.array(numbers, dtype=np.float64)
    alone = len(values) < 2 and header is None  # one row of two numbers: lags 0 and 1
    if values.ndim != 2 or values.shape[1] != 2 or alone:
        return values
    lags = values[:, 0]
    whole = np.isfinite(lags).all() and (lags == np.round(lags)).all() and (lags >= 0).all()
    rising = bool(whole and (np.diff(lags) > 0).all() and lags[-1] < MOST_VALUES)
    if not rising or (header is None and lags.tolist() != list(range(len(lags)))):
        if header is not None:
            raise ValueError(f"columns {', '.join(header)}: the first is no column of lags")
        return values
    placed = np.zeros(int(lags[-1]) + 1)
    placed[lags.astype(int)] = values[:, 1]
    return placed


def _numeric(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


def _check_values(values: np.ndarray, name: str) -> None:
    require(
        values.size >= 1,
        f"{name} is empty",
        "at least one value",
        "give one number per lag, from lag 0",
    )
    require(
        values.ndim == 1 or 1 in values.shape,
        f"{name} has shape {values.shape}",
        "one value per lag",
        "pass a single column",
    )
    require(
        np.issubdtype(values.dtype, np.number) and not np.iscomplexobj(values),
        f"{name} holds {values.dtype}",
        "real numbers",
        "convert it",
    )
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    require(
        largest <= LARGEST,
        f"{name} holds {largest:.3g}",
        f"numbers up to {LARGEST:g}",
        "rescale it: heads scale with it",
    )
    require(
        largest == 0 or largest >= SMALLEST,
        f"{name} holds nothing larger than {largest:.3g}",
        f"a value of {SMALLEST:g} or more",
        "rescale it: heads scale with it",
    )
    bad = np.flatnonzero(~np.isfinite(values.ravel()))
    require(
        bad.size == 0,
        f"{name} is not finite at lag {bad[0] if bad.size else 0}",
        "finite numbers",
        "remove NaN and inf",
    )


def _positive(name: str, value: float) -> None:
    least, most = RANGE[name]
    require(
        least <= value <= most,
        f"{name} {value}",
        f"a positive number from {least:g} to {most:g}",
        f"choose {name} in this range",
    )


def _finite(name: str, value: float) -> None:
    require(
        abs(value) <= FARTHEST,
        f"{name} {value}",
        f"a finite number of size up to {FARTHEST:g}",
        f"choose a smaller {name}",
    )


def _gaussian_tail(start: int, centre: float, scale: float) -> float:
    """sum_{s>=start} e^{-u^2/2}, u=(s-centre)/scale: at most the integral plus the largest term."""
    u = (start - centre) / scale
    largest = math.exp(-(max(u, 0.0) ** 2) / 2)
    return scale * math.sqrt(math.pi / 2) * math.erfc(u / math.sqrt(2)) + largest
