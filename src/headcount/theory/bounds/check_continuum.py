"""|sum_s y_s phi(s; b)| <= allowed for every rate b: the checker's own proof, by Bernstein
coefficients of Taylor polynomials (the files that produce bounds use shifted Taylor sums).
"""

import math

from flint import arb, arb_mat, arb_poly, fmpq_mat
from flint import fmpq as rational

from headcount.theory.heads import AbstractDecay

DEGREE = 24
MOST_PIECES = 200_000


def never_above(family: AbstractDecay, y: dict[int, arb], lowest: float, allowed: arb) -> bool:
    """|sum_s y_s phi(s; b)| <= allowed for every b in [lowest, inf]?"""
    length = max(y) + 1
    unit = family.curve(1.0, length)
    logs = {s: -unit[s].log() for s in y}
    steps = {s: [v] for s, v in y.items()}
    for s, row in steps.items():
        for k in range(1, DEGREE + 1):
            row.append(row[-1] * -logs[s] / k)
    derivatives = arb_mat([steps[s][:DEGREE] for s in y])
    highest = arb_mat([[abs(steps[s][DEGREE])] for s in y])
    # so that interval ends are exact
    hull_of, left = bernstein(DEGREE - 1), math.floor(lowest * 2.0**30) / 2.0**30
    small = allowed * arb(2.0**-32)
    while True:
        curve = family.curve(left, length)
        limit = family.curve(math.inf, length)
        beyond = sum((abs(v) * curve[s] for s, v in y.items()), arb(0))
        if beyond <= allowed:
            return True
        moving = sum((abs(v) * (curve[s] - limit[s]) for s, v in y.items()), arb(0))
        at_infinity = abs(sum((v * limit[s] for s, v in y.items()), arb(0)))
        if at_infinity + moving <= allowed:
            return True
        if left > 2.0**12:
            return False
        rest = abs((arb_mat([[curve[s] for s in y]]) * highest)[0, 0])
        half = 2.0**6
        while half > 2.0**-30 and not rest * arb(half) ** DEGREE <= small:
            half /= 2
        centre = family.curve(left + half, length)
        taylor = arb_mat([[centre[s] for s in y]]) * derivatives
        poly = arb_poly([taylor[0, k] * arb(half) ** k for k in range(DEGREE)])
        if not _bounded(poly, hull_of, allowed - rest * arb(half) ** DEGREE):
            return False
        left += 2 * half


def bernstein(degree: int) -> arb_mat:
    """Power basis on [-1, 1] → Bernstein coefficients: substitute tau = 2u - 1, then
    b_i = sum_k C(i,k)/C(n,k) a_k.
    """
    shift = [
        [
            rational(math.comb(k, j) * 2**j * (-1) ** (k - j)) if j <= k else rational(0)
            for k in range(degree + 1)
        ]
        for j in range(degree + 1)
    ]
    raise_ = [
        [
            rational(math.comb(i, k), math.comb(degree, k)) if k <= i else rational(0)
            for k in range(degree + 1)
        ]
        for i in range(degree + 1)
    ]
    return arb_mat(fmpq_mat(raise_) * fmpq_mat(shift))


def _bounded(poly: arb_poly, hull_of: arb_mat, allowed: arb) -> bool:
    """|poly| <= allowed on [-1, 1]? A polynomial lies in the hull of its Bernstein coefficients;
    bisect until that shows.
    """
    size = hull_of.ncols()
    work = [(0.0, 1.0)]
    for _ in range(MOST_PIECES):
        if not work:
            return True
        centre, half = work.pop()
        piece = poly(arb_poly([centre, half])).coeffs()
        piece = piece + [arb(0)] * (size - len(piece))
        hull = hull_of * arb_mat([[x] for x in piece])
        if all(abs(hull[i, 0]) <= allowed for i in range(size)):
            continue
        if not abs(piece[0]) <= allowed or half < 2.0**-30:
            return False
        work += [(centre - half / 2, half / 2), (centre + half / 2, half / 2)]
    return False
