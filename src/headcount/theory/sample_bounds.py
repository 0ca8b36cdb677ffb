"""What so many samples allow: explicit non-asymptotic statements, each a value with its scope.

Notation: n samples, S lags of d numbers each, tokens |x| <= R in each coordinate, risk L (expected
loss), empirical risk L^ on the samples; the loss has range B and is rho-Lipschitz in the answer;
delta is the chance that a statement fails. docs/finite_samples.md derives each one.

    path norm    all networks at once   L - L^ <= 4 rho (Q+1) sqrt(2 ln(2(Sd+1))/n)
                                                  + B sqrt(ln((pi^2/3)(Q+1)^2/delta)/(2n))
    hoeffding    J models, chosen on    L - L^ <= B sqrt(ln(J/delta)/(2n))
    bernstein    other samples          L - L^ <= sqrt(2 V l/n) + 7 B l/(3(n-1)), l = ln(2J/delta)
    lag          one lag among S        n to find it with power 1 - beta, each tested at alpha/S
    deficit      s heads, D retrievals  parameters grow like eps^-k (not of memories of fixed lags)

**Path norm.** One layer without dot products, behind it a network sum_k a_k relu(.), is a two-layer
network on the window: neuron k sees u_k.x + c_k with u_k the heads summed first, so that large
cancelling coefficients do not count. Q = sum_k |a_k| (R ||u_k||_1 + |c_k|): with x/R for x the
tokens lie in [-1, 1]. The Rademacher complexity of all networks with norm at most Q is at most
2 Q sqrt(2 ln(2(Sd+1))/n) (contraction with absolute values costs 2, the maximum of 2(Sd+1)
Rademacher sums the rest), symmetrisation and the Lipschitz loss give 2 rho times it, and one class
per integer Q, with delta shared as 6 delta/(pi^2 Q^2), makes the statement hold for whatever Q
training ends with.

Worked example: a held-out loss of 0.10 on 1000 samples with losses in [0, 1].

    >>> claim = hoeffding(0.10, samples=1000, loss_range=1.0, delta=0.05)
    >>> round(claim.value, 4)
    0.1387
    >>> print(claim)
    risk at most 0.1388 with probability 0.95: 1000 independent samples, losses in [0, 1], \
1 model fixed before (proved: hoeffding)
"""

import math

import numpy as np

from headcount.core.claims import Status
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.theory.lag_power import samples_for_lag
from headcount.theory.sample_claims import LagScope, RetrievalScope, Rows, SampleScope
from headcount.theory.sample_claims import Quantity as Quantity
from headcount.theory.sample_claims import SampleClaim as SampleClaim

OWN = "docs/finite_samples.md"


def _check(delta: float, samples: int, loss_range: float, least: int = 1) -> None:
    require(0 < delta < 1, f"delta {delta}", "a chance in (0, 1)", "pass for example 0.05")
    require(samples >= least, f"{samples} samples", f"at least {least}", "collect more")
    fine = 0 < loss_range < math.inf
    require(fine, f"loss range {loss_range}", "a finite number > 0", "clip the answers")


def path_norm_gap(
    norm: float, samples: int, window: int, *, lipschitz: float, loss_range: float,
    delta: float = 0.05, rows: Rows = Rows.INDEPENDENT, radius: float = 1.0,
) -> SampleClaim:  # fmt: skip
    """L - L^ for every network of path norm Q = `norm` on `window` = S d numbers in [-R, R],
    whatever the training did; Q is that of this `radius` R.
    """
    _check(delta, samples, loss_range)
    require(norm >= 0, f"path norm {norm}", "a number >= 0", "compute it with path_norm")
    complexity = 4 * lipschitz * (norm + 1) * math.sqrt(2 * math.log(2 * (window + 1)) / samples)
    chance = math.log(math.pi**2 / 3 * (norm + 1) ** 2 / delta)
    value = complexity + loss_range * math.sqrt(chance / (2 * samples))
    scope = SampleScope(samples, loss_range, rows, None, lipschitz, norm, radius)
    ref = Ref("headcount", f"{OWN}#path-norm")
    return SampleClaim(Quantity.GAP, value, 1 - delta, scope, "path norm", ref, rows.status)


def hoeffding(
    loss: float, samples: int, loss_range: float, delta: float = 0.05, models: int = 1,
    rows: Rows = Rows.INDEPENDENT,
) -> SampleClaim:  # fmt: skip
    """The risk of each of J models that never saw these samples, from its mean loss on them."""
    _check(delta, samples, loss_range)
    value = loss + loss_range * math.sqrt(math.log(models / delta) / (2 * samples))
    scope = SampleScope(samples, loss_range, rows, models)
    ref = Ref("headcount", f"{OWN}#held-out")
    return SampleClaim(Quantity.RISK, value, 1 - delta, scope, "hoeffding", ref, rows.status)


def empirical_bernstein(
    losses: np.ndarray, loss_range: float, delta: float = 0.05, models: int = 1
) -> SampleClaim:
    """The same from the independent losses themselves, [n]: better where they vary little."""
    losses = np.asarray(losses, np.float64)
    _check(delta, len(losses), loss_range, least=2)
    log, n = math.log(2 * models / delta), len(losses)
    spread = math.sqrt(2 * float(losses.var(ddof=1)) * log / n)
    value = float(losses.mean()) + spread + 7 * loss_range * log / (3 * (n - 1))
    scope = SampleScope(n, loss_range, models=models)
    ref = Ref("headcount", f"{OWN}#held-out")
    return SampleClaim(Quantity.RISK, value, 1 - delta, scope, "empirical bernstein", ref)


def lag_samples(share: float, lags: int, alpha: float = 0.05, power: float = 0.9) -> SampleClaim:
    """Samples with which the t-test at level alpha/lags finds a lag that alone explains `share` of
    the variance (`lag_power`). Approximate, for the rest of an answer is seldom normal.
    """
    for name, value in (("share", share), ("alpha", alpha), ("power", power)):
        require(0 < value < 1, f"{name} {value}", "a number in (0, 1)", "pass for example 0.05")
    require(lags >= 1, f"{lags} lags", "at least 1", "count the lags that are tested")
    value = samples_for_lag(share, alpha / lags, power)
    ref = Ref("headcount", f"{OWN}#identification")
    scope = LagScope(lags, alpha, share)
    return SampleClaim(Quantity.SAMPLES, value, power, scope, "t-test", ref, Status.MEASURED)


def head_deficit(length: int, retrievals: int, heads: int, head_width: int) -> SampleClaim | None:
    """With fewer heads than simultaneous retrievals by content, parameters grow like eps^-k at
    least; None where there is no deficit or the exponent says nothing.

    The theorem is about approximating all targets of a class of its own (`RetrievalScope`). It
    says nothing of memories of fixed lags: one table head copies any number of them.
    """
    if heads >= retrievals:
        return None
    k = (length / 4 - heads - retrievals + 1) / ((head_width + 1) * heads + 1) - 1
    if k <= 0:
        return None
    scope = RetrievalScope(length, retrievals, heads, head_width)
    ref = Ref("yu-2026", "Theorem on head deficit")
    return SampleClaim(Quantity.EXPONENT, k, 1.0, scope, "head deficit of yu-2026", ref)


def effective_samples(tokens: int, window: int, independent: bool) -> int:
    """Independent rows count each; n overlapping windows of S tokens count their n/(2S) blocks.

    Of a series of independent tokens, windows that are S apart share none: the mean over all rows
    is one of S means over at least n/S - 1 independent windows each, and what holds for each by
    exponential moments holds for it. Of dependent tokens a mixing coefficient comes on top.
    """
    return tokens if independent else max(1, tokens // (2 * window))


def least_squares_risk(
    sigma: float, parameters: int, samples: int, *, constant: bool = False
) -> float:
    """E of the excess risk of least squares with p free numbers on centred Gaussian inputs, noise
    sigma: sigma^2 p/(n - p - 1) exactly, and sigma^2 (p - 2/n)/(n - p - 1) where one of the
    numbers is a constant (E of 1/n + (p - 1)(1 + 1/n)/(n - p - 1)); infinite for n <= p + 1.
    """
    left = samples - parameters - 1
    count = parameters - 2 / samples if constant else parameters
    return sigma**2 * count / left if left > 0 else math.inf
