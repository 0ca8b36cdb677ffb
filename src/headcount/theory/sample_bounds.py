"""What so many samples allow: explicit non-asymptotic statements, each a value with its scope.

Notation: n samples, S lags of d numbers each, tokens |x| <= 1, risk L (expected loss), empirical
risk L^ on the samples; the loss has range B and is rho-Lipschitz in the answer; delta is the chance
that a statement fails. docs/finite_samples.md derives each one.

    path norm    all networks at once   L - L^ <= 4 rho (Q+1) sqrt(2 ln(2(Sd+1))/n)
                                                  + B sqrt(ln((pi^2/3)(Q+1)^2/delta)/(2n))
    hoeffding    J models, chosen on    L - L^ <= B sqrt(ln(J/delta)/(2n))
    bernstein    other samples          L - L^ <= sqrt(2 V l/n) + 7 B l/(3(n-1)), l = ln(2J/delta)
    lag          one lag among S        n to find it with power 1 - beta at level alpha
    deficit      s heads, D retrievals  parameters grow like eps^-k

**Path norm.** One layer without dot products, behind it a network sum_k a_k relu(.), is a two-layer
network on the window: neuron k sees u_k.x + c_k with u_k the heads summed first, so that large
cancelling coefficients do not count. Q = sum_k |a_k| (||u_k||_1 + |c_k|). The Rademacher complexity
of all networks with norm at most Q is at most 2 Q sqrt(2 ln(2(Sd+1))/n) (contraction with absolute
values costs 2, the maximum of 2(Sd+1) Rademacher sums the rest), symmetrisation and the Lipschitz
loss give 2 rho times it, and one class per integer Q, with delta shared as 6 delta/(pi^2 Q^2),
makes the statement hold for whatever Q training ends with.

Worked example: a held-out loss of 0.10 on 1000 samples with losses in [0, 1].

    >>> claim = hoeffding(0.10, samples=1000, loss_range=1.0, delta=0.05)
    >>> round(claim.value, 4)
    0.1387
    >>> print(claim)
    risk at most 0.1388 with probability 0.95: 1000 independent samples, losses in [0, 1], \
1 model fixed before (proved: hoeffding)
"""

import dataclasses
import enum
import math

import numpy as np
from scipy import stats

from headcount.core.claims import Status, rounded
from headcount.core.errors import require
from headcount.core.refs import Ref

OWN = "docs/finite_samples.md"


class Quantity(enum.StrEnum):
    """What a statement bounds."""

    RISK = "risk"  # at most
    GAP = "risk minus empirical risk"  # at most
    SAMPLES = "samples"  # that suffice
    EXPONENT = "exponent of the parameters"  # at least


@dataclasses.dataclass(frozen=True)
class SampleScope:
    """What a statement is about. None: it plays no part."""

    samples: int | None = None
    independent: bool = True  # False: blocks of a dependent series, counted as `samples`
    loss_range: float | None = None  # losses lie in [0, B]
    lipschitz: float | None = None  # of the loss in the answer
    models: int | None = 1  # compared, fixed before the samples were seen; None: all of a class
    path_norm: float | None = None  # Q of the class

    def words(self) -> str:
        parts = []
        if self.samples is not None:
            kind = "independent samples" if self.independent else "blocks of a dependent series"
            parts.append(f"{self.samples} {kind}")
        if self.loss_range is not None:
            parts.append(f"losses in [0, {self.loss_range:g}]")
        if self.path_norm is not None:
            parts.append(f"any network of path norm {rounded(self.path_norm, 4, up=True)}")
        elif self.models is not None and self.samples is not None:
            parts.append(f"{self.models} model{'s' if self.models > 1 else ''} fixed before")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class SampleClaim:
    """`quantity` is at most (an exponent: at least) `value` with probability `confidence`."""

    quantity: Quantity
    value: float
    confidence: float
    scope: SampleScope
    method: str
    ref: Ref
    status: Status = Status.PROVED

    def __str__(self) -> str:
        up = self.quantity is not Quantity.EXPONENT
        side = "at most" if up else "at least"
        if self.quantity is Quantity.SAMPLES:
            side = "enough:"
        return (
            f"{self.quantity} {side} {rounded(self.value, 4, up)} with probability"
            f" {self.confidence:g}: {self.scope.words()} ({_SAID[self.status]}: {self.method})"
        )

    @property
    def trivial(self) -> bool:
        """Does it say no more than the range of the loss?"""
        limit = self.scope.loss_range
        return limit is not None and self.value >= limit

    def to_json(self) -> dict[str, object]:
        return {
            "quantity": str(self.quantity), "value": self.value, "confidence": self.confidence,
            "method": self.method, "status": str(self.status), "source": str(self.ref),
            "scope": dataclasses.asdict(self.scope), "words": str(self),
        }  # fmt: skip


_SAID = {Status.PROVED: "proved", Status.MEASURED: "approximate"}


def _check(delta: float, samples: int, loss_range: float, least: int = 1) -> None:
    require(0 < delta < 1, f"delta {delta}", "a chance in (0, 1)", "pass for example 0.05")
    require(samples >= least, f"{samples} samples", f"at least {least}", "collect more")
    fine = 0 < loss_range < math.inf
    require(fine, f"loss range {loss_range}", "a finite number > 0", "clip the answers")


def path_norm_gap(
    norm: float, samples: int, window: int, *, lipschitz: float, loss_range: float,
    delta: float = 0.05, independent: bool = True,
) -> SampleClaim:  # fmt: skip
    """L - L^ for every network of path norm Q = `norm` on `window` = S d numbers, whatever the
    training did.
    """
    _check(delta, samples, loss_range)
    require(norm >= 0, f"path norm {norm}", "a number >= 0", "compute it with path_norm")
    complexity = 4 * lipschitz * (norm + 1) * math.sqrt(2 * math.log(2 * (window + 1)) / samples)
    chance = math.log(math.pi**2 / 3 * (norm + 1) ** 2 / delta)
    value = complexity + loss_range * math.sqrt(chance / (2 * samples))
    scope = SampleScope(samples, independent, loss_range, lipschitz, None, norm)
    ref = Ref("headcount", f"{OWN}#path-norm")
    return SampleClaim(Quantity.GAP, value, 1 - delta, scope, "path norm", ref)


def hoeffding(
    loss: float, samples: int, loss_range: float, delta: float = 0.05, models: int = 1,
    independent: bool = True,
) -> SampleClaim:  # fmt: skip
    """The risk of each of J models that never saw these samples, from its mean loss on them."""
    _check(delta, samples, loss_range)
    value = loss + loss_range * math.sqrt(math.log(models / delta) / (2 * samples))
    scope = SampleScope(samples, independent, loss_range, None, models)
    ref = Ref("headcount", f"{OWN}#held-out")
    return SampleClaim(Quantity.RISK, value, 1 - delta, scope, "hoeffding", ref)


def empirical_bernstein(
    losses: np.ndarray, loss_range: float, delta: float = 0.05, models: int = 1,
    independent: bool = True,
) -> SampleClaim:  # fmt: skip
    """The same from the losses themselves, [n]: better where their variance is small."""
    losses = np.asarray(losses, np.float64)
    _check(delta, len(losses), loss_range, least=2)
    log, n = math.log(2 * models / delta), len(losses)
    spread = math.sqrt(2 * float(losses.var(ddof=1)) * log / n)
    value = float(losses.mean()) + spread + 7 * loss_range * log / (3 * (n - 1))
    scope = SampleScope(n, independent, loss_range, None, models)
    ref = Ref("headcount", f"{OWN}#held-out")
    return SampleClaim(Quantity.RISK, value, 1 - delta, scope, "empirical bernstein", ref)


def lag_samples(
    partial_r2: float, lags: int, alpha: float = 0.05, power: float = 0.9
) -> SampleClaim:
    """Samples to find one lag that explains the share `partial_r2`, among `lags` candidates tested
    at level alpha/lags: (z_{1-alpha/2S} + z_power)^2 (1 - r2)/r2, a normal approximation.
    """
    fine = 0 < partial_r2 < 1
    require(fine, f"partial R2 {partial_r2}", "a share in (0, 1)", "pass for example 0.05")
    z = stats.norm.isf(alpha / (2 * lags)) + stats.norm.ppf(power)
    value = math.ceil(float(z) ** 2 * (1 - partial_r2) / partial_r2)
    ref = Ref("headcount", f"{OWN}#identification")
    return SampleClaim(
        Quantity.SAMPLES, value, power, SampleScope(models=None), "lag", ref, Status.MEASURED
    )


def head_deficit(length: int, retrievals: int, heads: int, head_width: int) -> SampleClaim | None:
    """With fewer heads than simultaneous retrievals, parameters grow like eps^-k at least; None
    where there is no deficit or the exponent says nothing.
    """
    if heads >= retrievals:
        return None
    k = (length / 4 - heads - retrievals + 1) / ((head_width + 1) * heads + 1) - 1
    if k <= 0:
        return None
    ref = Ref("yu-2026", "Theorem on head deficit")
    return SampleClaim(Quantity.EXPONENT, k, 1.0, SampleScope(models=None), "head deficit", ref)


def effective_samples(tokens: int, window: int, independent: bool) -> int:
    """Independent rows count each; a dependent series of n tokens counts its n/(2S) blocks that
    are a window apart (the rest of its dependence, its mixing coefficient, comes on top of delta).
    """
    return tokens if independent else max(1, tokens // (2 * window))


def least_squares_risk(sigma: float, parameters: int, samples: int) -> float:
    """E of the excess risk of least squares with p free numbers, Gaussian inputs and noise: exactly
    sigma^2 p / (n - p - 1); infinite for n <= p + 1.
    """
    left = samples - parameters - 1
    return sigma**2 * parameters / left if left > 0 else math.inf
