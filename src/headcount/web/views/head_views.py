"""Heads for a kernel: the document of `headcount fit`, its curves over lags, and the proof that
fewer do not do.
"""

import math
from typing import Any

import numpy as np

from headcount.core.cache import cached
from headcount.core.claims import Claim
from headcount.core.threads import one_thread
from headcount.memory.kernels import kernels
from headcount.theory.fit_record import KernelFit
from headcount.theory.heads import DECAYS, family
from headcount.theory.kernel_fit import fit_kernel, with_bound
from headcount.theory.problem import Problem
from headcount.theory.rounding import Dtype
from headcount.theory.shaped_curves import Peak, Rotary, Table
from headcount.web.asked import AskFit
from headcount.web.views.plain_numbers import rows, short, short_one

DENSE_LAGS = 96  # one by one up to here, then thinned
FAR_LAGS = 48
MOST_LAGS = 400  # shown
SMOOTH = 0.02  # of a curve's largest value: how far a line between shown lags may be off
SILENT = 1e-12  # of the largest value of all: a curve below it is none to look at
COLLISION_LAGS = 48
MOST_VECTORS = 4
SHAPES = {"peak": Peak, "table": Table, "rope": Rotary}


def heads_view(asked: AskFit) -> dict[str, Any]:
    """`fit --json`, with `curves`, `evidence` and `collision`."""
    result = fitted(asked)
    drawn = head_curves(result, len(result.target))  # [S, H]
    bound = result.lower_bound
    return {
        **result.to_json(),
        "seconds": None,  # an answer may come from memory: the page measures its own time
        "lags_judged": lags_judged(result),
        "infimum_zero": infimum_zero(result),
        "curves": curves(asked.kernel, asked.bias, result.target, result.drawn(), drawn),
        "evidence": None if bound is None else evidence(bound),
        "collision": None if bound is None else collision(result, drawn),
    }


def curves(
    kernel: Any, bias: str, target: np.ndarray, fit: np.ndarray, heads: np.ndarray
) -> dict[str, Any]:
    """What is drawn: target and fit [S], heads [S, H], on the lags that are shown."""
    left = target - fit
    lags = shown_lags(np.stack([target, left, *heads.T]))
    return {
        "first": first_lag(kernel, bias),
        "lags": lags.tolist(),
        "kernel": short(target[lags]),
        "fit": short(fit[lags]),
        "residual": short(left[lags]),
        "heads": rows(heads[lags].T),
    }


def fitted(asked: AskFit) -> KernelFit:
    """`fit_kernel`. The page asks without a certificate first, to have the picture; then the heads
    come from the cache, and only the certificate is computed.
    """
    result = fit_kernel(
        asked.kernel,
        bias=asked.bias,
        heads=asked.heads,
        budget=math.inf if asked.budget is None else asked.budget,
        norm=asked.norm,
        window=asked.window,
        dtype=asked.dtype,
        certify=False,
    )
    if not asked.certify or asked.bias not in DECAYS:
        return result
    bound = certificate(result.problem, result.heads, float(result.errors.absolute[result.norm]))
    form = None if asked.dtype is None else Dtype(asked.dtype)
    return with_bound(result.problem, result, bound, form)


def certificate(problem: Problem, heads: int, reached: float) -> Claim:
    """The lower bound, kept on disk; the same for every fit where proofs do not aim at one."""
    from headcount.theory.bounds import aims

    return _certificate(problem, heads, reached if aims(problem, heads) else math.inf)


@cached
@one_thread()
def _certificate(problem: Problem, heads: int, reached: float) -> Claim:
    from headcount.theory.bounds import lower_bound

    return lower_bound(problem, heads, reached=reached)


def first_lag(kernel: Any, bias: str) -> int:
    """The first lag that counts: the family sees it, and the kernel has a value there."""
    built = kernels.build(kernel) if isinstance(kernel, str) else None
    singular = built is not None and built.singular_at_zero
    return max(family(bias).first_lag, int(singular))


def lags_judged(result: KernelFit) -> int | None:
    """How many lags count where nobody asked for an end: a kernel whose sum has none is cut. None:
    as asked."""
    cut = result.window is None and not result.errors.tail.included
    return result.problem.length if cut else None


def infimum_zero(result: KernelFit) -> bool:
    """Do so many heads come as close to the kernel as one likes? No lower bound is above 0 then."""
    free = math.isinf(result.problem.budget)
    return result.bias in DECAYS and free and result.problem.interpolated_by(result.heads)


def shown_lags(curves: np.ndarray) -> np.ndarray:
    """All lags at first, then ever fewer; and wherever a line between two of them would hide what
    one of the curves [C, S] does, the lag where it does with its neighbours.  [S']
    """
    length = curves.shape[1]
    far = np.geomspace(DENSE_LAGS, max(length - 1, DENSE_LAGS), FAR_LAGS).round().astype(int)
    lags = np.union1d(np.arange(min(length, DENSE_LAGS)), far)
    lags, places = lags[lags < length], np.arange(length)
    largest = np.abs(curves).max(axis=1, initial=0.0)
    heard = (largest > SILENT * largest.max(initial=0.0)) & np.isfinite(largest)
    loud = curves[heard] / largest[heard, None]
    while len(loud) and len(lags) < MOST_LAGS:
        drawn = np.stack([np.interp(places, lags, curve[lags]) for curve in loud])
        off = np.abs(loud - drawn).max(axis=0)  # [S]
        worst = [g[np.argmax(off[g])] for g in np.split(places, lags[1:])]
        missed = sorted((at for at in worst if off[at] > SMOOTH), key=lambda at: -off[at])
        if not missed:
            break
        new = np.array(missed[: max(1, (MOST_LAGS - len(lags)) // 3)])
        around = np.concatenate([new - 1, new, new + 1])
        lags = np.union1d(lags, around[(0 <= around) & (around < length)])
    return lags


def head_curves(result: KernelFit, length: int) -> np.ndarray:
    """Each head times its coefficient, in float64: for the eye; errors are measured elsewhere.
    [S, H]"""
    lags, weights = np.arange(length), np.array([float(a) for a in result.coefficients])
    if result.bias in DECAYS:
        columns = family(result.bias).columns(np.array(result.rates, float), lags)
    else:
        shape = SHAPES[result.bias]
        columns = np.stack([_curve(shape, p, length) for p in result.parameters], axis=1)
    return columns * weights


def _curve(shape: Any, parameters: dict[str, Any], length: int) -> np.ndarray:
    """The curve of these parameters as JSON holds them: null is a lag switched off.  [S]"""
    given = {
        name: tuple(-math.inf if v is None else v for v in value)
        if isinstance(value, list)
        else value
        for name, value in parameters.items()
    }
    return shape(**given).values(length)


def evidence(bound: Claim) -> dict[str, Any]:
    """What the checker of the bound reads, where it can be drawn."""
    held = bound.evidence
    made: dict[str, Any] = {"kind": held.get("kind")}
    made |= DRAWN.get(held.get("kind"), lambda held, first: {})(held, bound.scope.lags.first)
    return made


def _dual(held: dict[str, Any], first: int) -> dict[str, Any]:
    """A test sequence on which every such sum of heads is small."""
    return {
        "lags": list(held["lags"])[:DENSE_LAGS],
        "y": short(held["y"][:DENSE_LAGS]),
        "maximum": short_one(held["maximum"]),
    }


def _chebyshev(held: dict[str, Any], first: int) -> dict[str, Any]:
    """The coefficients of a polynomial that stays within 1 on [0, 1]: what a head makes of them is
    such a value, times a power; the memory answers with the largest coefficient."""
    start = first + held["lag"] - held["place"]
    top = abs(held["coefficients"][held["place"]])
    y = [coefficient / top for coefficient in held["coefficients"]]  # ints of any size
    return {
        "lags": list(range(start, start + len(y)))[:DENSE_LAGS],
        "y": short(np.array(y[:DENSE_LAGS])),
        "maximum": short_one(1 / top),
    }


def _branch(held: dict[str, Any], first: int) -> dict[str, Any]:
    """The test sequences of the leaves, each constant on blocks of lags; a few are drawn."""
    lags = np.arange(held["blocks"][0], held["blocks"][-1])
    widths = np.diff(held["blocks"])
    vectors = [np.repeat(vector, widths)[:DENSE_LAGS] for vector in held["vectors"]]
    return {
        "lags": lags[:DENSE_LAGS].tolist(),
        "vectors": rows(np.array(vectors[:MOST_VECTORS])),
        "leaves": len(vectors),
    }


def _squeeze(held: dict[str, Any], first: int) -> dict[str, Any]:
    """Signs over lags that change at the places; at a place itself a share between them."""
    places = np.array(held["places"])
    begin, stop = held["lags"]
    lags = np.arange(begin, min(stop, begin + DENSE_LAGS))
    signs = (-1.0) ** np.searchsorted(places, lags)
    y = [None if lag in places else sign for lag, sign in zip(lags, signs, strict=True)]
    return {"places": places.tolist(), "lags": lags.tolist(), "y": y}


DRAWN: dict[Any, Any] = {
    "dual": _dual,
    "chebyshev": _chebyshev,
    "branch": _branch,
    # isolated lags of Theorem A
    "isolated": lambda held, first: {"places": list(held["places"])},
    "squeeze": _squeeze,
    # signs of the residual of the best sum
    "zeros": lambda held, first: {"blocks": [list(block) for block in held["blocks"]]},
}


def collision(result: KernelFit, drawn: np.ndarray) -> dict[str, Any] | None:
    """Two inputs, x and -x, that none of these heads can tell apart, and the memory tells apart as
    much as it can: max <x, rho> with |x| <= 1 and <x, phi_h> = 0 for every head.

    By duality the value is the l1 distance of the kernel from all sums of exactly these heads on
    the lags shown, whatever their coefficients. It is the linear program's answer in float64: a
    picture, while the claim stands on its own evidence.
    """
    from scipy.optimize import linprog

    used = np.flatnonzero(np.abs(drawn).max(axis=0) > 0)
    first = result.problem.first_lag  # what is before it costs nothing
    shown = slice(first, first + COLLISION_LAGS)
    rho, phi = result.target[shown], drawn[shown, used]
    if not len(used) or len(used) >= len(rho) or not rho.any():
        return None
    phi = phi / np.abs(phi).max(axis=0).clip(1e-300)
    found = linprog(-rho, A_eq=phi.T, b_eq=np.zeros(len(used)), bounds=(-1, 1), method="highs")
    if found.x is None:
        return None
    x = found.x
    # huge cancelling coefficients: the program's tolerance is then wider than the heads can see
    if rho @ x > result.errors.l1 * (1 + 1e-6):
        return None
    return {
        "first": first,
        "x": short(x),
        "memory": short_one(2 * rho @ x),
        "heads": short_one(2 * np.abs(phi.T @ x).max()),
    }
