"""Certified lower bounds: no sum of heads of this class and size comes closer to the kernel.

- by budget, any number of heads: `dual` (LP dual over all rates, enclosed in balls), `weight`
  (exact integers, for single lags);
- by number of heads, any budget: `heads` (Theorem A, isolated lags), `zeros` (zero counting, any
  kernel);
- `lower_bound` takes the best that applies; `check` re-verifies a certificate with code of its own.
"""

from headcount.theory.bounds.best import lower_bound as lower_bound
from headcount.theory.bounds.check import check as check
from headcount.theory.bounds.check import check_weight as check_weight
from headcount.theory.bounds.record import LowerBound as LowerBound
from headcount.theory.bounds.weight import WeightBound as WeightBound
from headcount.theory.bounds.weight import weight_needed as weight_needed
