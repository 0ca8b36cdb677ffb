"""Certified lower bounds: no sum of heads of this class and size comes closer to the kernel.

- by budget, any number of heads: `dual` (LP dual over all rates, enclosed in balls), `weight`
  (exact integers, for single lags);
- by number of heads, any budget: `theorem_a` (isolated lags), `zeros` (zero counting, any kernel);
- `lower_bound` takes the best that applies; `check` re-verifies a claim with code of its own.

Every bound is a `core.claims.Claim`: its scope says which rates, lags, weights and readouts it is
about, and the checker takes nothing but the claim.
"""

from headcount.theory.bounds.best import lower_bound as lower_bound
from headcount.theory.bounds.check import check as check
from headcount.theory.bounds.weight import log10_weight as log10_weight
from headcount.theory.bounds.weight import weight_needed as weight_needed
