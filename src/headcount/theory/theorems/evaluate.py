"""`bound`: each theorem of the paper with explicit constants, for one target and one architecture.

    |||H - TF||| <= E_FFN + Lip(f) E_Attn
    E_FFN  = 4 R ||f||_B sqrt((D'+1)/m),  D' = (M+1) d               (docs/errata.md#e24)
    E_Attn = sqrt(sum_k e_k^2),  e_k = C_k(n) H_k^-n at the best n   (docs/errata.md#e12)

R is the radius of what the readout sees (docs/errata.md#e14), C_k comes from the lemmas of
`promised`. Adaptive lags cost the same as fixed ones at the largest lag (Lemmas F.2, F.5). What the
paper hides is stated as an assumption of its own: widths (docs/errata.md#e24), head conditions of
nested lags (docs/errata.md#e9), finite token sets (docs/errata.md#e8).
"""

import math
from collections.abc import Callable

from headcount.core.arguments import checked
from headcount.core.errors import require, shown, unknown
from headcount.core.refs import Ref
from headcount.core.spec import LARGEST_WHOLE
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.named import targets, unnamed
from headcount.memory.target import AbstractMemory, AbstractTarget
from headcount.theory.heads import family
from headcount.theory.problem import Problem
from headcount.theory.promised import Lemma, lag_lemma, lemma_of, refusals_of
from headcount.theory.theorems.rate import log_norm, shared
from headcount.theory.theorems.record import Assumption, Evaluated


@checked
def bound(
    theorem: str, target: AbstractTarget | str, bias: str = "lin", heads: int = 8, width: int = 256
) -> Evaluated:
    """Theorem 3.1, 4.1, 4.2, 4.3, 4.4, 4.5 or 5.1 for this target with `heads` heads and `width`
    neurons per layer.
    """
    built = unnamed(targets.build(target))
    if theorem not in THEOREMS:
        raise unknown("theorem", theorem, THEOREMS)
    if bias not in ("lin", "log"):
        raise unknown("bias of the theorems", bias, ("lin", "log"))
    require(heads >= 1, f"{heads} heads", "at least 1", "pass --heads 8")
    require(width >= 1, f"width {width}", "at least 1 neuron", "pass --width 256")
    for name, count in (("heads", heads), ("width", width)):
        require(count < LARGEST_WHOLE, f"{name} {shown(count)}", "below 2**63", "ask for fewer")
    return THEOREMS[theorem](built, bias, heads, width)


def _ref(theorem: str) -> Ref:
    noun = "Proposition" if theorem in ("4.2", "4.3", "4.5") else "Theorem"
    return Ref("wang-e-2024", f"{noun} {theorem}")


def _common(target: AbstractTarget, family_class: type, name: str) -> list[Assumption]:
    """What every theorem asks of target and readout."""
    found = [
        Assumption(
            "family",
            isinstance(target, family_class),
            f"the theorem is about {name} memories; this is {target.kind}",
        )
    ]
    if not isinstance(target, AbstractMemory):
        return found
    profile = target.memory_profile()
    size = target.inputs.bound
    found.append(
        Assumption("bounded tokens", size <= 1 + 1e-9, f"||x|| <= {size:g}, the paper asks for 1")
    )
    lip = "unknown here" if profile.lipschitz is None else f"at most {profile.lipschitz:.4g}"
    norm = "unknown here" if profile.barron is None else f"at most {profile.barron:.4g}"
    found.append(
        Assumption("f Lipschitz", profile.lipschitz is not None, f"Lipschitz constant {lip}")
    )
    found.append(Assumption("f Barron", profile.barron is not None, f"Barron norm {norm}"))
    return found


def _enough(memories: int, heads: int) -> Assumption:
    return Assumption(
        "one head per memory", heads >= memories, f"{heads} heads for {memories} memories"
    )


def _finish(
    theorem: str,
    target: AbstractMemory,
    assumptions: list[Assumption],
    layers: int,
    attention: tuple,
    width: int,
    size: float,
    widths: int | None = None,
) -> Evaluated:
    """E_FFN and the record, once E_Attn is known. `size`: the radius of exact memories."""
    log_attention, n, split, constants = attention
    profile = target.memory_profile()
    reach = size + math.exp(min(log_attention, 700.0))
    radius = max(1.0, reach)
    inputs = (profile.memories + 1) * target.inputs.dim
    ffn = 4 * radius * (profile.barron or 0.0) * math.sqrt((inputs + 1) / width)
    zero = (
        math.sqrt(profile.memories)
        if profile.kernels == ()
        else log_norm([math.log(k.tail(0)) for k in profile.kernels])
    )
    zero = zero if profile.kernels == () else math.exp(zero)
    return Evaluated(
        theorem,
        _ref(theorem),
        tuple(assumptions),
        layers,
        log_attention,
        ffn,
        profile.lipschitz,
        n,
        split,
        constants,
        radius,
        widths,
        zero,
    )


def _theorem_3_1(target: AbstractTarget, bias: str, heads: int, width: int) -> Evaluated:
    assumptions = _common(target, FixedMemory, "fixed")
    if not isinstance(target, FixedMemory):
        return Evaluated("3.1", _ref("3.1"), tuple(assumptions), 1)
    assumptions.append(_enough(len(target.lags), heads))
    if heads < len(target.lags):
        return Evaluated("3.1", _ref("3.1"), tuple(assumptions), 1)
    return _finish(
        "3.1",
        target,
        assumptions,
        1,
        shared([lag_lemma(bias, T) for T in target.lags], heads),
        width,
        target.inputs.bound,
    )


def _theorem_5_1(target: AbstractTarget, bias: str, heads: int, width: int) -> Evaluated:
    assumptions = _common(target, EssentialMemory, "essentially sparse")
    if not isinstance(target, EssentialMemory):
        return Evaluated("5.1", _ref("5.1"), tuple(assumptions), 1)
    problems = [Problem(kernel, family(bias)) for kernel in target.kernel]
    reasons = [reason for problem in problems for reason in refusals_of(problem)]
    assumptions.append(
        Assumption(
            "decay class", not reasons, "; ".join(reasons) or "every kernel decays as the bias asks"
        )
    )
    assumptions.append(_enough(len(problems), heads))
    if reasons or heads < len(problems):
        return Evaluated("5.1", _ref("5.1"), tuple(assumptions), 1)
    size = max(kernel.tail(0) for kernel in target.kernel)
    return _finish(
        "5.1", target, assumptions, 1, shared([lemma_of(p) for p in problems], heads), width, size
    )


def _adaptive(
    theorem: str, nesting: Callable[[AdaptiveMemory], int]
) -> Callable[[AbstractTarget, str, int, int], Evaluated]:
    """Theorems 4.1, 4.3 (K = 0), 4.4 (the target's K) and 4.5 (K = M) differ in which lags share
    a layer's heads.
    """

    def evaluate(target: AbstractTarget, bias: str, heads: int, width: int) -> Evaluated:
        assumptions = _common(target, AdaptiveMemory, "adaptive")
        if not isinstance(target, AdaptiveMemory):
            return Evaluated(theorem, _ref(theorem), tuple(assumptions), 2)
        K, M = nesting(target), len(target.lag_functions)
        layers = K + 1 + (M >= K + 1)
        bounds = target.lag_bounds()
        if theorem in ("4.1", "4.3", "4.5"):
            assumptions.append(
                Assumption(
                    "lags from x_t alone",
                    target.nesting == 0,
                    f"K = {target.nesting}; the statement is for K = 0",
                )
            )
        lowest = min(g.lowest for g in target.lag_functions)
        assumptions.append(
            Assumption(
                "lags of at least 1",
                lowest >= 1,
                f"smallest lag {lowest}"
                + ("; lag 0 is outside the class (docs/errata.md#e16)" if lowest < 1 else ""),
            )
        )
        letters = target.inputs.alphabet
        finite = (
            "a finite, separated set"
            if letters is not None
            else "no finite set: a whole-valued continuous g is constant (docs/errata.md#e8)"
        )
        assumptions.append(
            Assumption("finitely many tokens", letters is not None, f"tokens are {finite}")
        )
        assumptions.append(_enough(M - K, heads))
        known = all(
            (b.barron if bias == "lin" or theorem == "4.3" else b.log_barron) is not None
            for b in bounds
        )
        assumptions.append(
            Assumption(
                "g Barron",
                known,
                (
                    "norms of the lag functions are known"
                    if known
                    else "no norm is known for some lag function"
                ),
            )
        )
        if not all(a.holds for a in assumptions[-3:]) or any(b.largest < 1 for b in bounds):
            return Evaluated(theorem, _ref(theorem), tuple(assumptions), layers)
        needed = _widths(target, bias if theorem != "4.3" else "lin", K)
        assumptions.append(
            Assumption(
                "width for exact lags",
                width >= needed,
                f"{needed} neurons make every lag round to the right one (docs/errata.md#e24),"
                f" {width} given",
            )
        )
        logs, n, split, constants = _layered([lag_lemma(bias, b.largest) for b in bounds], K, heads)
        assumptions += _head_conditions(target, bias, K, logs)
        return _finish(
            theorem,
            target,
            assumptions,
            layers,
            (log_norm(logs), n, split, constants),
            width,
            target.inputs.bound,
            needed,
        )

    return evaluate


def _layered(
    lemmas: list[Lemma], K: int, heads: int
) -> tuple[list[float], int, tuple[int, ...], tuple[float, ...]]:
    """Per-lag log errors: each of the first K lags has a layer's heads to itself, the others
    share one (Theorem 4.4).
    """
    groups = [shared([lemma], heads) for lemma in lemmas[:K]]
    if lemmas[K:]:
        groups.append(shared(lemmas[K:], heads))
    logs: list[float] = []
    for _, n, split, constants in groups:
        logs += [c * math.log(10) - n * math.log(h) for c, h in zip(constants, split, strict=True)]
    return (
        logs,
        groups[-1][1],
        tuple(h for g in groups for h in g[2]),
        tuple(c for g in groups for c in g[3]),
    )


def _widths(target: AdaptiveMemory, bias: str, K: int) -> int:
    """Neurons of the layer that needs most: m_r > 8 ||g||_B^2 ln(2 V^l) (lin), 2 ||log g||_B^2
    ln(2 V^l)/ln^2(1+1/(2T)) (log).
    """
    # the zero vector of a missing token is one more
    letters = len(target.inputs.alphabet or ()) + 1
    each = []
    for b in target.lag_bounds():
        points = math.log(2) + b.arguments * math.log(letters)
        if bias == "lin":
            each.append(math.floor(8 * (b.barron or 0.0) ** 2 * points) + 1)
        else:
            each.append(
                math.floor(
                    2 * (b.log_barron or 0.0) ** 2 * points / math.log1p(1 / (2 * b.largest)) ** 2
                )
                + 1
            )
    return max([*each[:K], sum(each[K:])])


def _head_conditions(
    target: AdaptiveMemory, bias: str, K: int, logs: list[float]
) -> list[Assumption]:
    """docs/errata.md#e9: a lag read off perturbed tokens must still round to the right number."""
    if K == 0 or target.nesting == 0:
        return []
    found = []
    for i, (g, arguments) in enumerate(zip(target.lag_functions, target.arguments, strict=True)):
        if arguments < 2:
            continue
        net = g.network(arguments, target.inputs.alphabet, log=bias == "log")
        seen = logs[: min(i, K)]
        off = (net.lipschitz if net else math.inf) * math.exp(min(log_norm(seen), 700.0))
        allowed = 0.25 if bias == "lin" else math.log1p(1 / (2 * g.largest(arguments))) / 2
        found.append(
            Assumption(
                f"head condition of lag {i + 1}",
                off <= allowed,
                f"Lip(g) E = {off:.3g}, at most {allowed:.3g} (docs/errata.md#e9)",
            )
        )
    return found


def _proposition_4_2(target: AbstractTarget, bias: str, heads: int, width: int) -> Evaluated:
    single = (
        isinstance(target, AdaptiveMemory)
        and len(target.lag_functions) == 1
        and target.nesting == 0
    )
    assumptions = [
        Assumption(
            "target",
            single,
            (
                "y_t = x_{t-g(x_t)} with one lag function"
                if single
                else f"the statement is about y_t = x_(t-g(x_t)); this is {target.kind}"
            ),
        ),
        Assumption("bias", bias == "lin", "stated for the lin bias; lag 0 is invisible to log"),
    ]
    if not (single and bias == "lin"):
        return Evaluated("4.2", _ref("4.2"), tuple(assumptions), 1)
    assert isinstance(target, AdaptiveMemory)
    T = max(target.lag_functions[0].largest(1), 1)
    log_attention, n, split, constants = shared([lag_lemma("lin", T)], heads)
    floor = {
        "value": target.inputs.bound,
        "for": "attention without dot product and without FFN",
        "printed": 2 / 3,
        "source": "docs/errata.md#e16: answering 0 is optimal",
    }
    return Evaluated(
        "4.2",
        _ref("4.2"),
        tuple(assumptions),
        1,
        log_attention,
        0.0,
        1.0,
        n,
        split,
        constants,
        None,
        None,
        1.0,
        floor,
    )


THEOREMS: dict[str, Callable[[AbstractTarget, str, int, int], Evaluated]] = {
    "3.1": _theorem_3_1,
    "4.1": _adaptive("4.1", lambda target: 0),
    "4.2": _proposition_4_2,
    "4.3": _adaptive("4.3", lambda target: 0),
    "4.4": _adaptive("4.4", lambda target: target.nesting),
    "4.5": _adaptive("4.5", lambda target: len(target.lag_functions)),
    "5.1": _theorem_5_1,
}
