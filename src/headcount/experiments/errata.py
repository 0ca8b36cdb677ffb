"""What the paper prints, what was found, and what the software does about it: the errata page of
the report.

Numbers are those of docs/errata.md: corrections 1 to 25, findings F1 to F8. Evidence that is a
number is computed when asked for (`errata_evidence.py`), and never typed in; where it is a matter
of reading, `seen` says what to read.
"""

import dataclasses
import enum
from collections.abc import Callable

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.experiments import errata_evidence as evidence

Evidence = Callable[[], str]


class Severity(enum.StrEnum):
    """How much a point matters, gravest first: the order in which a reader meets them."""

    CONCLUSION = "changes what may be concluded"
    CONDITION = "changes a condition or a constant"
    DETAIL = "a slip in a proof or a definition"


@dataclasses.dataclass(frozen=True)
class Erratum:
    """One point. `evidence` is called when the page is made; without it `seen` says where in the
    paper the point can be seen.
    """

    id: str
    severity: Severity
    where: str
    printed: str
    found: str
    does: str
    evidence: Evidence | None = None
    seen: str = ""
    experiments: tuple[str, ...] = ()  # of the paper, whose setting or reading it is about

    def __post_init__(self):
        require(
            (self.evidence is None) == bool(self.seen),
            f"erratum {self.id}: evidence and seen",
            "one of them",
            "give the other up",
        )

    def shown(self) -> str:
        """The evidence in words."""
        return self.evidence() if self.evidence is not None else self.seen

    @property
    def ref(self) -> Ref:
        return Ref("wang-e-2024", self.where)


EVERY = ("1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b")  # experiments of the paper
FINDINGS: tuple[Erratum, ...] = (
    Erratum(
        "F1",
        Severity.CONCLUSION,
        "Theorem 3.1",
        "an error that falls like H^-n",
        "the constants, made explicit, are large",
        "shows the bound with constants beside what is possible",
        evidence.promised_bound,
    ),
    Erratum(
        "F2",
        Severity.CONCLUSION,
        "Theorem 3.1",
        "e^{0.01 T} for lin against T^{1.01} for log",
        "follows from fixing alpha = 0.01; alpha = ln2/T gives a power of T for lin too",
        "claims no separation of lin and log for fixed or adaptive lags",
        evidence.suited_steps,
    ),
    Erratum(
        "F3",
        Severity.CONCLUSION,
        "Theorem 3.1",
        "no statement about the size of weights",
        "isolating a lag needs weights that grow geometrically with it, whatever the number of"
        " heads",
        "shows weights and float32 errors, and refuses what no format bears",
        evidence.weights_needed,
    ),
    Erratum(
        "F4",
        Severity.CONCLUSION,
        "Theorems 4.1, 4.4",
        "softmax attention with a dot product that is constant in the key",
        "softmax cancels such a term",
        "builds adaptive memories without normalisation or with a sink",
        evidence.cancelled_term,
    ),
    Erratum(
        "F5",
        Severity.CONCLUSION,
        "Section 6",
        "trained losses as a comparison of what architectures can express",
        "what heads could reach lies far below the trained losses, or certified bounds lie far"
        " above the reported ones",
        "shows floors beside every trained loss; see 18, 19, 21",
        evidence.trained_beside_possible,
        experiments=EVERY,
    ),
    Erratum(
        "F6",
        Severity.CONDITION,
        "Proposition 4.2",
        "a lower bound of 2/3 without dot product",
        "the sharp constant is 1: the answer 0 is optimal",
        "uses 1",
        evidence.prop42,
    ),
    Erratum(
        "F7",
        Severity.CONCLUSION,
        "Proposition 4.5",
        "depth saves heads",
        "it saves heads per layer; the total is the same once blocks are orthogonal",
        "reports both counts",
        evidence.depth,
    ),
    Erratum(
        "F8",
        Severity.CONCLUSION,
        "Theorem 4.4",
        "K + 1 (+ 1) layers",
        "sufficient, not necessary: pointer doubling needs about log K",
        "offers the doubling construction",
        evidence.doubling,
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "1",
        Severity.DETAIL,
        "Appendix C",
        "W_Q, W_K as delta_(D-M+k-1,1), delta_(D,1)",
        "transposed with respect to the rule used for W_V",
        "uses e_1 e_idx^T",
        evidence.transposed,
    ),
    Erratum(
        "2",
        Severity.DETAIL,
        "Appendix D.1",
        "heads read index D-M+l",
        "the network writes D-M+l-1; the log W_K lacks 1/log 2",
        "names subspaces instead of indices",
        evidence.shifted_index,
    ),
    Erratum(
        "3",
        Severity.DETAIL,
        "Appendix C.2",
        "W_O = I in the first layer",
        "step I needs W_O = 0 there",
        "sets it to 0",
        seen="Appendix C.2: step III beside step I",
    ),
    Erratum(
        "4",
        Severity.CONDITION,
        "Lemma F.1",
        "M(n) e/(1-1/e)^n",
        "the factor is (1 - e^-alpha)^-n",
        "uses the latter",
        evidence.bump_factor,
    ),
    Erratum(
        "5",
        Severity.CONDITION,
        "Lemmas F.3, F.6",
        "sums from lag 1, width D = M d",
        "lag 0 is lost",
        "keeps x_t in a block of its own and folds rho(0) x_t into the readout",
        evidence.lag0,
    ),
    Erratum(
        "6",
        Severity.CONDITION,
        "Proposition 4.3",
        "phi_log(w.x) with x holding log g",
        "gives -log log g, infinite at g = 1",
        "stores g itself and clamps",
        evidence.loglog,
    ),
    Erratum(
        "7",
        Severity.DETAIL,
        "eq. (8)",
        "H^Adap(1, M) as the warm-up class",
        "it is K = 0 of (8)",
        "counts sequential retrievals",
        seen="eq. (9) beside eq. (8): every lag of (9) is a function of x_t alone",
    ),
    Erratum(
        "8",
        Severity.CONDITION,
        "eq. (8)",
        "g integer-valued and Barron",
        "then constant on connected sets of tokens",
        "asks for finitely many tokens",
        seen=(
            "Barron functions are continuous, and a continuous function with whole values is"
            " constant on connected sets"
        ),
    ),
    Erratum(
        "9",
        Severity.CONDITION,
        "Theorem 4.4",
        "no condition on heads",
        "errors of one retrieval must stay within the rounding of the next",
        "states it as an assumption",
        evidence.retrieval_errors,
    ),
    Erratum(
        "10",
        Severity.DETAIL,
        "Appendix C",
        "rounding tolerance 1/(4T) (log)",
        "log(1 + 1/(2T)) is exact",
        "uses the exact one",
        evidence.tolerance,
    ),
    Erratum(
        "11",
        Severity.DETAIL,
        "Appendix D.2",
        "the two formulas for the heads needed",
        "they are interchanged",
        "uses them in their right places",
        evidence.heads_by_depth,
    ),
    Erratum(
        "12",
        Severity.CONDITION,
        "Theorems 3.1, 4.1",
        "errors of memories added up",
        "blocks are orthogonal: a root of squares",
        "uses the root of squares and the split that suits it",
        evidence.added_errors,
    ),
    Erratum(
        "13",
        Severity.DETAIL,
        "Theorem 3.1",
        "H_k in proportion to weights",
        "not integers",
        "allots heads one by one",
        evidence.integer_heads,
    ),
    Erratum(
        "14",
        Severity.CONDITION,
        "Theorem 5.1",
        "no condition on ||rho||_1",
        "the readout sees a ball of radius ||rho||_1, which may exceed 1",
        "computes the radius",
        evidence.masses,
    ),
    Erratum(
        "15",
        Severity.CONDITION,
        "Theorem 5.1",
        "n <= 99 beta",
        "comes from alpha = 0.005; a smaller alpha, such as beta/(3n), allows every n",
        "evaluates the theorem in the printed range",
        evidence.every_n,
    ),
    Erratum(
        "16",
        Severity.CONDITION,
        "Proposition 4.2",
        "g takes the value 0",
        "excluded by g >= 1; the constant for legal g is 1 too",
        "tests both",
        evidence.prop42_lags,
    ),
    Erratum(
        "17",
        Severity.CONCLUSION,
        "Theorems 4.1, 4.4",
        "softmax",
        "cancels what does not depend on the key",
        "offers none, softmax and sinks",
        evidence.cancelled_term,
    ),
    Erratum(
        "18",
        Severity.CONCLUSION,
        "Section 6, experiment 4a",
        "rho(1000 - s) with s up to 1000",
        "0^-1/2 is undefined, and s^-1/2 is not summable: no theorem applies",
        "lags 1 to 999, a finite window",
        evidence.heavy_tail,
        experiments=("4a",),
    ),
    Erratum(
        "19",
        Severity.CONCLUSION,
        "Section 6, experiment 4b",
        "e^{-5t} called heavy-tailed; log bias",
        "its tail is light; the log bias does not see lag 0, whose weight is 1",
        "offers log(1 + s), and the residual",
        evidence.light_tail,
        experiments=("4b",),
    ),
    Erratum(
        "20",
        Severity.CONCLUSION,
        "Section 6, experiments 1b, 2a, 3a",
        "complicated functions of one or three signs",
        "of one sign: 2 neurons are exact; of three: 8",
        "a triangle wave of a uniform token for 2a",
        evidence.signs,
        experiments=("1b", "2a", "3a"),
    ),
    Erratum(
        "21",
        Severity.CONCLUSION,
        "Section 6, experiments 1b, 2a, 2b, 3a",
        "x_48, x_56, x_99",
        "at position 1000 these are lags 952, 944, 901, or lags as they stand",
        "shows both, and reachable lags beside them",
        evidence.far_lags,
        experiments=("1b", "2a", "2b", "3a"),
    ),
    Erratum(
        "22",
        Severity.DETAIL,
        "Appendix G.1",
        "T5 as -r(n) = bucket index",
        "T5 learns a number per bucket",
        "has both a table and T5 buckets",
        seen="Appendix G.1 beside the definition of T5's bias (Raffel et al. 2020, Section 2.1)",
    ),
    Erratum(
        "23",
        Severity.CONDITION,
        "Lemma G.5",
        "constant 1",
        "holds for n <= 7 and all m, and for n <= 15 where m >= n",
        "uses it within that range",
        evidence.jackson_constant,
    ),
    Erratum(
        "24",
        Severity.CONDITION,
        "Lemma G.6",
        "O~(||f||_B/sqrt m)",
        "4 R ||f||_B sqrt((D'+1)/m) with constants",
        "uses the latter",
        evidence.sampled,
    ),
    Erratum(
        "25",
        Severity.CONCLUSION,
        "Section 6, experiment 4a",
        "lin, 64 heads: 0.19",
        "depends on what is not stated: the maps around the heads, how rates are kept positive, the"
        " number of steps",
        "runs these readings as written, and the floors beside them",
        seen=(
            "Section 6 states none of the three; the arms of experiment 4a as written are such"
            " readings"
        ),
        experiments=("4a",),
    ),
)


POINTS = (*FINDINGS, *ERRATA)


def every_evidence() -> tuple[str, ...]:
    """The evidence of every point, computed now, in their order."""
    return tuple(erratum.shown() for erratum in POINTS)
