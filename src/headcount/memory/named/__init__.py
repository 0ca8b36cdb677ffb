"""Named targets: the paper's examples and experiments, and the field's standard tasks.

Importing this registers them and the three families: `targets` is then the whole registry.
"""

from headcount.memory.named.adaptive_boolean import AdaptiveBoolean as AdaptiveBoolean
from headcount.memory.named.algebraic import Algebraic as Algebraic
from headcount.memory.named.base import unnamed as unnamed
from headcount.memory.named.english import English as English
from headcount.memory.named.examples import EXAMPLES as EXAMPLES
from headcount.memory.named.harder_recall import FuzzyRecall as FuzzyRecall
from headcount.memory.named.harder_recall import NoisyRecall as NoisyRecall
from headcount.memory.named.induction import Induction as Induction
from headcount.memory.named.n_gram import NGram as NGram
from headcount.memory.named.observed import Noisy as Noisy
from headcount.memory.named.observed import Series as Series
from headcount.memory.named.observed import Sticky as Sticky
from headcount.memory.named.paper_experiments import Exp1b as Exp1b
from headcount.memory.named.paper_experiments import Exp1bRepaired as Exp1bRepaired
from headcount.memory.named.paper_experiments import Exp2a as Exp2a
from headcount.memory.named.paper_experiments import Exp2aRepaired as Exp2aRepaired
from headcount.memory.named.paper_experiments import Exp2b as Exp2b
from headcount.memory.named.paper_experiments import Exp2bRepaired as Exp2bRepaired
from headcount.memory.named.paper_experiments import Exp3a as Exp3a
from headcount.memory.named.paper_experiments import Exp3aRepaired as Exp3aRepaired
from headcount.memory.named.paper_experiments import Exp4a as Exp4a
from headcount.memory.named.paper_experiments import Exp4b as Exp4b
from headcount.memory.named.paper_experiments import Reading as Reading
from headcount.memory.named.parity import SparseParity as SparseParity
from headcount.memory.named.pointer_chain import PointerChain as PointerChain
from headcount.memory.named.prop42 import Prop42 as Prop42
from headcount.memory.named.recall import Recall as Recall
from headcount.memory.named.selective_copy import SelectiveCopy as SelectiveCopy
from headcount.memory.named.stdlib import Stdlib as Stdlib
from headcount.memory.named.wavelet import WaveletFeatures as WaveletFeatures
from headcount.memory.target import targets as targets
