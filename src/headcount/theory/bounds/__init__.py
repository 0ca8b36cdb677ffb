"""Certified lower bounds: no model of this class and size comes closer.

Sums of heads, a linear readout:
- by budget, any number of heads: `dual` (LP dual over all rates, enclosed in balls), `weight`
  (exact integers, for single lags);
- by number of heads, any budget: `theorem_a` (isolated lags), `zeros` (zero counting, any kernel),
  `squeeze` (power laws by lin heads in l1, nearly sharp);
- by both together: `branch` (few heads: a search tree over signs and rates);
- `lower_bound` takes the best that applies.

Any readout, several layers, neurons:
- `recovery`: tokens that fill a ball, any function of the head outputs, outputs known to ±eta;
- `codes`: finite letters: windows that collide, cells and pieces that are too few;
- `depth`: states of linear networks, tokens that layers can look at, neurons along a line;
- `dp_free`: affine maps of the window.

Every bound is a `core.claims.Claim`: its scope says which models and which error it is about.
`check` re-verifies a claim about a kernel with code of its own and takes nothing but the claim;
claims about other answers have `check_pair`, `check_code`, `check_depth` and `check_floor`, which
ask for the answers themselves. What is proved, and how tight: docs/proved.md.
"""

from headcount.theory.bounds.best import Effort as Effort
from headcount.theory.bounds.best import aims as aims
from headcount.theory.bounds.best import lower_bound as lower_bound
from headcount.theory.bounds.check import check as check
from headcount.theory.bounds.weight import log10_weight as log10_weight
from headcount.theory.bounds.weight import weight_needed as weight_needed
