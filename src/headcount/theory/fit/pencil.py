"""Rates from the kernel's values by a matrix pencil (Hua and Sarkar 1990): no search, one singular
value decomposition.

The Hankel matrix of sum_h a_h x_h^s has rank H, and shifting it by one lag multiplies its signal
space by the x_h: they are the eigenvalues of pinv(U[:-1]) U[1:], U the H leading left singular
vectors. Heads need real decaying nodes, so that complex pairs and growing ones are replaced by
their modulus inside (0, 1). Only lin heads are exponentials in the lag.
"""

import math

import numpy as np

from headcount.core.refs import Ref

REF = Ref("hua-sarkar-1990", "Section III")
ROWS = 160


def pencil_rates(values: np.ndarray, heads: int) -> np.ndarray:
    """At most `heads` positive rates b with values(s) ~ sum a e^{-b s}; fewer where the data
    have a lower rank.
    """
    S = len(values)
    rows = min(ROWS, S // 2)
    heads = min(heads, rows - 1)
    if heads < 1 or not np.any(values):
        return np.zeros(0)
    hankel = np.lib.stride_tricks.sliding_window_view(values, S - rows + 1)  # [rows, S - rows + 1]
    U, sizes, _ = np.linalg.svd(hankel, full_matrices=False)
    rank = min(heads, int(np.sum(sizes > 1e-14 * sizes[0])))
    signal = U[:, :rank]
    nodes = np.linalg.eigvals(np.linalg.lstsq(signal[:-1], signal[1:], rcond=None)[0])
    real = np.clip(np.abs(nodes), math.exp(-45.0), 1 - 1e-9)
    return np.sort(np.unique(-np.log(real)))
