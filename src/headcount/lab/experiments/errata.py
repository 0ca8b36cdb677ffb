"""What the paper prints, what was found, and what the software does about it: the errata page of the report.

Numbers follow theory 2.1 (1 to 24) and its findings (F1 to F8). Evidence that is a number is computed when asked for, by the same code
that the rest of the software uses, and never typed in.
"""

import dataclasses
import math
from collections.abc import Callable

from headcount.core.refs import Ref
from headcount.lab.experiments.kernel_numbers import fitted
from headcount.lab.experiments.sparse_numbers import affine_floor
from headcount.memory.kernels import Exponential, Power
from headcount.theory.bounds import weight_needed
from headcount.theory.families import family
from headcount.theory.theorems import bound

Evidence = Callable[[], str]


@dataclasses.dataclass(frozen=True)
class Erratum:
    """One point. `evidence` is called when the page is made."""

    id: str
    where: str
    printed: str
    found: str
    does: str
    evidence: Evidence | None = None

    @property
    def ref(self) -> Ref:
        return Ref("wang-e-2024", self.where)


def _weights() -> str:
    needed = ", ".join(f"lag {T}: 10^{weight_needed(T, family('lin'), 0.5).log10:.1f}" for T in (5, 10, 99))
    return f"certified sum|a| for an l1 error of 1/2, any number of lin heads: {needed}"


def _promised() -> str:
    found = {T: bound("3.1", f"fixed:lags={T}", "lin", 64, 256) for T in (10, 952)}
    said = (f"10^{f.log10_value:.0f}" if f.log10_value is not None else "none" for f in found.values())
    return "Theorem 3.1 with constants, 64 lin heads: error at most " + " (lag 10), ".join(said) + " (lag 952)"


def _heavy() -> str:
    return f"8 lin heads leave {fitted(Power(0.5), 'lin', 8, 1000).error.l2 ** 2:.2g} of {sum(1 / s for s in range(1, 1000)):.3g}"


def _light() -> str:
    error = fitted(Exponential(5.0), "log1p", 1, 1000).error.l2 ** 2
    return f"one log1p head leaves {error:.2g}; y = x_t alone leaves {math.exp(-10) / -math.expm1(-10):.2g}"


def _readings() -> str:
    return "arms of experiment 4a as written (profiles laptop and full)"


def _far() -> str:
    floors = [
        f"{bias}, {reading}: {affine_floor(f'exp-2b:reading={reading}', bias)[0]:.2f}"
        for reading in ("positions", "lags")
        for bias in ("lin", "log")
    ]
    return "certified floors of x_48 + x_56 + x_99, out of 3, weights up to 1e9: " + "; ".join(floors)


def _prop42() -> str:
    found = bound("4.2", "prop42", "lin", 8, 256).lower
    return "" if found is None else f"{found['value']:g} for {found['for']}, printed {found['printed']:.3g}"


def _cancel(rate: float = 0.7, wish: int = 3, length: int = 50) -> str:
    plain = [math.exp(-rate * s) for s in range(length)]
    moved = [math.exp(-rate * (s - wish)) for s in range(length)]
    gap = max(abs(a / sum(plain) - b / sum(moved)) for a, b in zip(plain, moved, strict=True))
    return f"largest difference of the normalised weights with and without the term: {gap:.1g}"


def _bump_factor() -> str:
    return f"(1 - 1/e)/(1 - e^-0.01) = {(1 - math.exp(-1)) / -math.expm1(-0.01):.1f} a derivative"


def _tolerance(T: int = 100) -> str:
    return f"T = {T}: log(1 + 1/(2T)) = {math.log1p(1 / (2 * T)):.4g} against 1/(4T) = {1 / (4 * T):.4g}"


FINDINGS: tuple[Erratum, ...] = (
    Erratum(
        "F1",
        "Theorem 3.1",
        "an error that falls like H^-n",
        "the constants, made explicit, are large",
        "shows the bound with constants beside what is possible",
        _promised,
    ),
    Erratum(
        "F2",
        "Theorem 3.1",
        "e^{0.01 T} for lin against T^{1.01} for log",
        "follows from fixing alpha = 0.01; alpha = ln2/T gives a power of T for lin too",
        "claims no separation of lin and log for fixed or adaptive lags",
    ),
    Erratum(
        "F3",
        "Theorem 3.1",
        "no statement about the size of weights",
        "isolating a lag needs weights that grow geometrically with it, whatever the number of heads",
        "shows weights and float32 errors, and refuses what no format bears",
        _weights,
    ),
    Erratum(
        "F4",
        "Theorems 4.1, 4.4",
        "softmax attention with a dot product that is constant in the key",
        "softmax cancels such a term",
        "builds adaptive memories without normalisation or with a sink",
        _cancel,
    ),
    Erratum(
        "F5",
        "Section 6",
        "trained losses as a comparison of what architectures can express",
        "floors lie far below the trained losses, or far above what was hoped",
        "shows floors beside every trained loss; see 18, 19, 21",
        _heavy,
    ),
    Erratum(
        "F6",
        "Proposition 4.2",
        "a lower bound of 2/3 without dot product",
        "the sharp constant is 1: the answer 0 is optimal",
        "uses 1",
        _prop42,
    ),
    Erratum(
        "F7",
        "Proposition 4.5",
        "depth saves heads",
        "it saves heads a layer; the total is the same once blocks are orthogonal",
        "reports both counts",
    ),
    Erratum(
        "F8",
        "Theorem 4.4",
        "K + 1 (+ 1) layers",
        "sufficient, not necessary: pointer doubling needs about log K",
        "offers the doubling construction",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "1",
        "Appendix C",
        "W_Q, W_K as delta_(D-M+k-1,1), delta_(D,1)",
        "transposed with respect to the rule used for W_V",
        "uses e_1 e_idx^T",
    ),
    Erratum(
        "2",
        "Appendix D.1",
        "heads read index D-M+l",
        "the network writes D-M+l-1; the log W_K lacks 1/log 2",
        "names subspaces instead of indices",
    ),
    Erratum("3", "Appendix C.2", "W_O = I in the first layer", "step I needs W_O = 0 there", "sets it to 0"),
    Erratum("4", "Lemma F.1", "M(n) e/(1-1/e)^n", "the factor is (1 - e^-alpha)^-n", "uses the latter", _bump_factor),
    Erratum(
        "5",
        "Lemmas F.3, F.6",
        "sums from lag 1, width D = M d",
        "lag 0 is lost",
        "keeps x_t in a block of its own and folds rho(0) x_t into the readout",
    ),
    Erratum(
        "6", "Proposition 4.3", "phi_log(w.x) with x holding log g", "gives -log log g, infinite at g = 1", "stores g itself and clamps"
    ),
    Erratum("7", "eq. (8)", "H^Adap(1, M) as the warm-up class", "it is K = 0 of (8)", "counts sequential retrievals"),
    Erratum("8", "eq. (8)", "g integer-valued and Barron", "then constant on connected sets of tokens", "asks for finitely many tokens"),
    Erratum(
        "9",
        "Theorem 4.4",
        "no condition on heads",
        "errors of one retrieval must stay within the rounding of the next",
        "states it as an assumption",
    ),
    Erratum("10", "Appendix C", "rounding tolerance 1/(4T) (log)", "log(1 + 1/(2T)) is exact", "uses the exact one", _tolerance),
    Erratum("11", "Appendix D.2", "the two formulas for the heads needed", "they are interchanged", "uses them in their right places"),
    Erratum(
        "12",
        "Theorems 3.1, 4.1",
        "errors of memories added up",
        "blocks are orthogonal: a root of squares",
        "uses the root of squares and the split that suits it",
    ),
    Erratum("13", "Theorem 3.1", "H_k in proportion to weights", "not integers", "allots heads one by one"),
    Erratum("14", "Theorem 5.1", "||rho||_1 <= 1 silently", "the readout sees a ball of radius ||rho||_1", "computes the radius"),
    Erratum("15", "Theorem 5.1", "n <= 99 beta", "an artefact of alpha = 0.005; every n is allowed with alpha = beta/(2n)", "offers both"),
    Erratum("16", "Proposition 4.2", "g takes the value 0", "excluded by g >= 1; the constant for legal g is 1 too", "tests both", _prop42),
    Erratum("17", "Theorems 4.1, 4.4", "softmax", "cancels what does not depend on the key", "offers none, softmax and sinks", _cancel),
    Erratum(
        "18",
        "Section 6, experiment 4a",
        "rho(1000 - s) with s up to 1000",
        "0^-1/2 is undefined, and s^-1/2 is not summable: no theorem applies",
        "lags 1 to 999, a finite window",
        _heavy,
    ),
    Erratum(
        "19",
        "Section 6, experiment 4b",
        "e^{-5t} called heavy-tailed; log bias",
        "a slip; the log bias does not see lag 0, whose weight is 1",
        "offers log(1 + s), and the residual",
        _light,
    ),
    Erratum(
        "20",
        "Section 6, experiments 1b, 2a, 3a",
        "complicated functions of one or three signs",
        "of one sign: 2 neurons are exact; of three: 8",
        "a triangle wave of a uniform token for 2a",
    ),
    Erratum(
        "21",
        "Section 6, experiments 1b, 2a, 2b, 3a",
        "x_48, x_56, x_99",
        "at position 1000 these are lags 952, 944, 901, or lags as they stand",
        "shows both, and reachable lags beside them",
        _far,
    ),
    Erratum("22", "Appendix G.1", "T5 as -r(n) = bucket index", "T5 learns a number a bucket", "has both a table and T5 buckets"),
    Erratum("23", "Lemma G.5", "constant 1", "holds for n <= 7 and all m, and for n <= 15 where m >= n", "uses it within that range"),
    Erratum("24", "Lemma G.6", "O~(||f||_B/sqrt m)", "4 R ||f||_B sqrt((D'+1)/m) with constants", "uses the latter"),
    Erratum(
        "25",
        "Section 6, experiment 4a",
        "lin, 64 heads: 0.19",
        "depends on what is not stated: the maps around the heads, how rates are kept positive, the number of steps",
        "runs these readings as written, and the floors beside them",
        _readings,
    ),
)
