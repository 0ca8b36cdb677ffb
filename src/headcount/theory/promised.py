"""The paper's bound for one kernel with every constant made explicit (Wang & E 2024, Lemmas F.1,
F.3, F.4, F.6).

All four lemmas run alike. Substitute x = e^{-a s} (lin) or s^{-a} (log), so that heads become
monomials; place a bump Psi((x - mu_T)/sigma_T) of height rho(T) over every lag T, with sigma_T so
small that no bump reaches a neighbour's lag; approximate by a polynomial of degree H - 1 (Jackson:
sup|f - Q| <= sup|f^(n)| / H^n); multiply by e^{-g s} or s^{-1-g} so that the error can be summed.
The l1 error is at most C(n) H^-n with

    lin, lag T:   C = e M(n) (1-e^-a)^-n e^{(g+na)T} / (1-e^-g)
                  a = g = 0.01
    log, lag T:   C = e M(n) T^{1+g} (T^-a - (T+1)^-a)^-n zeta(1+g)
                  a = g = 0.01
    lin, |rho| <= c e^{-beta s}:   C = c e 2^n M(n) (1-e^-a)^-n / (1-e^-g)
                                   a = 0.005,  g = 0.01 beta
    log, |rho| <= c s^{-beta}:     C = c e 2^n M(n) (1-2^-a)^-n zeta(1+g)
                                   a = 0.01,  g = 1e-4 beta

M(n) = sup|Psi^(n)| (`bump`). The 2^n pays for half-width bumps, one over each lag, and
T^-a - (T+1)^-a >= (1-2^-a) T^{-1-a} makes the last line. The Jackson constant 1 holds for n <= 7
always and up to n = 15 once H >= n. For l2 and sup the factor that sums e^{-g s} is replaced by its
l2 norm and by 1. A curve of log1p is one of log, a lag further on.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from headcount.core.refs import Ref
from headcount.memory.kernels import (
    AbstractKernel,
    Exponential,
    Lag,
    MexicanHat,
    Morlet,
    Oscillating,
    Power,
)
from headcount.theory.bump import bump_maximum
from headcount.theory.problem import Norm, Problem

MOST_N = 13
ALWAYS_N = 7  # the Jackson constant is 1 for every H up to here
PAPER_STEP = 0.01
SLACK = 1e-12  # the logarithms below are float64


@dataclasses.dataclass(frozen=True)
class Promised:
    """value: the bound, or None. vacuous: no better than the zero kernel. applies: are the
    theorem's assumptions met?
    """

    value: float | None
    vacuous: bool
    applies: bool
    reasons: tuple[str, ...]
    source: Ref
    n: int | None = None
    log10_value: float | None = None

    def to_json(self) -> dict[str, object]:
        """`value` is null when it does not apply or exceeds a double; `log10_value` then still
        says how large.
        """
        return {
            "value": self.value,
            "vacuous": self.vacuous,
            "applies": self.applies,
            "reasons": list(self.reasons),
            "source": str(self.source),
            "n": self.n,
            "log10_value": self.log10_value,
        }


@dataclasses.dataclass(frozen=True)
class Lemma:
    """n -> log C(n) for n = 1..most_n."""

    source: Ref
    log_constant: Callable[[int], float]
    most_n: int = MOST_N
    notes: tuple[str, ...] = ()


def promised(problem: Problem, heads: int, kernel_norm: float) -> Promised:
    """The bound for `heads` heads at the best admissible n; `kernel_norm` is what the zero
    kernel reaches.
    """
    source, reasons = _source(problem), refusals_of(problem)
    if reasons:
        return Promised(None, False, False, tuple(reasons), source)
    lemma = lemma_of(problem)
    admissible = [n for n in range(1, lemma.most_n + 1) if n <= ALWAYS_N or n <= heads]
    log_value, n = min((lemma.log_constant(n) - n * math.log(heads), n) for n in admissible)
    value = math.exp(log_value) * (1 + SLACK) if log_value < 700 else None
    vacuous = value is None or value >= kernel_norm
    return Promised(value, vacuous, True, lemma.notes, source, n, log_value / math.log(10))


def heads_promised(lemma: Lemma, tol: float) -> int:
    """The fewest heads for which the bound is at most `tol`."""
    counts = []
    for n in range(1, lemma.most_n + 1):
        heads = math.ceil(math.exp((lemma.log_constant(n) - math.log(tol)) / n))
        counts.append(heads if n <= ALWAYS_N else max(heads, n))
    return min(counts)


def lag_lemma(
    bias: str, lag: int, step: float = PAPER_STEP, decay: float = PAPER_STEP, norm: Norm = Norm.L1
) -> Lemma:
    """Lemma F.1 (lin) or F.4 (log) for one lag; `step` is a and `decay` is g."""
    if bias == "lin":
        return Lemma(
            Ref("wang-e-2024", "Lemma F.1"),
            lambda n: (
                1
                + _log_m(n)
                - n * math.log(-math.expm1(-step))
                + (decay + n * step) * lag
                + _log_mass("lin", decay, norm)
            ),
        )
    # T^-a - (T+1)^-a without cancellation
    gap = -math.expm1(-step * math.log1p(1 / lag)) * lag**-step
    return Lemma(
        Ref("wang-e-2024", "Lemma F.4"),
        lambda n: (
            1
            + _log_m(n)
            + (1 + decay) * math.log(lag)
            - n * math.log(gap)
            + _log_mass("log", decay, norm)
        ),
    )


def _log_m(n: int) -> float:
    return math.log(bump_maximum(n))


def _log_mass(bias: str, decay: float, norm: Norm) -> float:
    """log of the norm of e^{-g s} (lin, s >= 0) or s^{-1-g} (log, s >= 1)."""
    power = {Norm.L1: 1, Norm.L2: 2, Norm.SUP: 0}[norm]
    if power == 0:
        return 0.0
    from scipy.special import zeta  # slow to load

    total = 1 / -math.expm1(-power * decay) if bias == "lin" else float(zeta(power * (1 + decay)))
    return math.log(total) / power


def _source(problem: Problem) -> Ref:
    one_lag, lin = isinstance(problem.kernel, Lag), problem.family.name == "lin"
    if one_lag:
        return Ref("wang-e-2024", "Theorem 3.1, Lemma F.1" if lin else "Theorem 3.1, Lemma F.4")
    return Ref("wang-e-2024", "Theorem 5.1 (A), Lemma F.3" if lin else "Theorem 5.1 (B), Lemma F.6")


def refusals_of(problem: Problem) -> list[str]:
    """Every assumption that fails, each as a sentence."""
    kernel, bias = problem.kernel, problem.family.name
    reasons = []
    if not kernel.summable:
        reasons.append(
            f"s^-{kernel.exponent:g} is not summable: the theorem is about kernels in l1"
            if isinstance(kernel, Power)
            else "the kernel is not summable: the theorem is about kernels in l1"
        )
    if math.isfinite(problem.budget):
        reasons.append("the theorem leaves sum|a| unbounded: it says nothing under a budget")
    if isinstance(kernel, Lag) and kernel.T == 0:
        stated = "the theorem is stated for lags of at least 1; lag 0 is the residual's"
        reasons.append("lag 0 is invisible to the log bias" if bias == "log" else stated)
    if isinstance(kernel, Lag) or not kernel.summable:
        return reasons
    if bias == "lin" and isinstance(kernel, Power):
        reasons.append(
            f"s^-{kernel.exponent:g} is not O(e^(-beta s)): for lin heads the theorem asks for"
            " exponential decay"
        )
    elif (
        bias == "lin"
        and isinstance(kernel, (Exponential, Oscillating))
        and _most_n_exponential(kernel.rate) < 1
    ):
        reasons.append(
            f"n runs over 1..floor(99 beta), empty for beta = {kernel.rate:g}: beta of at least"
            " 1/99 is needed"
        )
    elif bias != "lin" and isinstance(kernel, Power) and _most_n_power(kernel.exponent) < 1:
        reasons.append(
            f"n runs over 1..floor(0.99 beta)-1, empty for beta = {kernel.exponent:g}: beta of at"
            " least 2.03 is needed"
        )
    elif _log_envelope(kernel, 1.0) is None and not isinstance(
        kernel, (Power, Exponential, Oscillating)
    ):
        reasons.append(f"no decay class is known for the kernel {kernel.kind!r}")
    return reasons


def lemma_of(problem: Problem) -> Lemma:
    kernel, bias, norm = problem.kernel, problem.family.name, problem.norm
    shift = 1 if bias == "log1p" else 0
    notes = ("log1p heads are log heads one lag further on",) if shift else ()
    if isinstance(kernel, Lag):
        return dataclasses.replace(
            lag_lemma("lin" if bias == "lin" else "log", kernel.T + shift, norm=norm), notes=notes
        )
    if bias == "lin":
        return Lemma(
            _source(problem),
            lambda n: _exponential_constant(kernel, n, norm),
            _most_n(kernel, bias),
        )
    if bias == "log" and float(kernel.values(1)[0]) != 0:
        notes = ("lag 0 is invisible to the log bias and left to the residual",)
    return Lemma(
        _source(problem),
        lambda n: _power_constant(kernel, n, shift, norm),
        _most_n(kernel, bias),
        notes,
    )


def _most_n_exponential(rate: float) -> int:
    return min(MOST_N, math.floor(99 * rate + 1e-9))


def _most_n_power(exponent: float) -> int:
    most = math.floor(0.99 * exponent + 1e-9) - 1
    while most >= 1 and most * 1.01 >= exponent - 1 - 1e-4 * exponent:
        # Lemma F.6's condition n (1+a) < beta - 1 - g, which the theorem's range must not outrun
        most -= 1
    return min(MOST_N, most)


def _most_n(kernel: AbstractKernel, bias: str) -> int:
    if bias == "lin" and isinstance(kernel, (Exponential, Oscillating)):
        return _most_n_exponential(kernel.rate)
    if bias != "lin" and isinstance(kernel, Power):
        return _most_n_power(kernel.exponent)
    return MOST_N  # the kernel decays faster than the class asks for: any beta will do


def _exponential_constant(kernel: AbstractKernel, n: int, norm: Norm) -> float:
    """log C(n) of Lemma F.3; a kernel that decays faster than every exponential uses the
    smallest beta that admits n.
    """
    beta = kernel.rate if isinstance(kernel, (Exponential, Oscillating)) else n / 99
    envelope = (
        0.0 if isinstance(kernel, (Exponential, Oscillating)) else _log_envelope(kernel, beta)
    )
    assert envelope is not None
    return (
        envelope
        + 1
        + n * math.log(2)
        + _log_m(n)
        - n * math.log(-math.expm1(-0.005))
        + _log_mass("lin", 0.01 * beta, norm)
    )


def _power_constant(kernel: AbstractKernel, n: int, shift: int, norm: Norm) -> float:
    """log C(n) of Lemma F.6."""
    beta = kernel.exponent if isinstance(kernel, Power) else (n + 1) / 0.99
    envelope = _log_power_envelope(kernel, beta, shift)
    return (
        envelope
        + 1
        + n * math.log(2)
        + _log_m(n)
        - n * math.log(-math.expm1(-0.01 * math.log(2)))
        + _log_mass("log", 1e-4 * beta, norm)
    )


def _log_envelope(kernel: AbstractKernel, beta: float) -> float | None:
    """log c with |rho(s)| <= c e^{-beta s} for every s, for kernels that have one at every beta."""
    if isinstance(kernel, MexicanHat):  # |rho| <= 2 e^{-u^2/4}; complete the square
        return math.log(2) + beta * kernel.centre + (beta * kernel.scale) ** 2
    if isinstance(kernel, Morlet):
        return beta * kernel.centre + (beta * kernel.scale) ** 2 / 2
    if kernel.support is None:
        return None
    return _log_largest(kernel, beta * np.arange(kernel.support), 0)


def _log_power_envelope(kernel: AbstractKernel, beta: float, shift: int) -> float:
    """log c with |rho(s)| <= c (s + shift)^{-beta} for every s >= 1 - shift."""
    if isinstance(kernel, Power):
        return shift * beta * math.log(2)  # s >= 1: (1+1/s)^beta <= 2^beta
    if kernel.support is not None:
        s = np.arange(kernel.support) + shift
        return _log_largest(kernel, beta * np.log(np.maximum(s, 1)), 1 - shift)
    exponential = isinstance(kernel, (Exponential, Oscillating))
    rate = kernel.rate if exponential else 1 / kernel.scale  # type: ignore[attr-defined]
    start = 0.0 if exponential else _log_envelope(kernel, rate)
    assert start is not None
    peak = max(beta / rate, 1.0)  # e^{-rate u} u^beta is largest at u = beta/rate
    return start + shift * rate + beta * math.log(peak) - rate * peak


def _log_largest(kernel: AbstractKernel, log_weight: np.ndarray, first: int) -> float:
    """log max_s |rho(s)| e^{weight(s)} over the support from `first` on."""
    sizes = np.abs(kernel.values(len(log_weight)))[first:]
    seen = sizes > 0
    return (
        float(np.max(np.log(sizes[seen]) + log_weight[first:][seen])) if seen.any() else -math.inf
    )
