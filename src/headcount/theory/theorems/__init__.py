"""The paper's theorems as numbers: `bound` evaluates one for a target and an architecture."""

from headcount.theory.theorems.evaluate import THEOREMS as THEOREMS
from headcount.theory.theorems.evaluate import bound as bound
from headcount.theory.theorems.record import Assumption as Assumption
from headcount.theory.theorems.record import Evaluated as Evaluated
