"""Weights by formula: models that are written down, not trained.

The way through this folder: `construct` (the verb) asks the `methods` for a `draft`, `check`
measures it, `plan` does so for every bias; `blocks` are what methods are made of. Importing this
registers all methods.
"""

from headcount.construct import methods as methods
from headcount.construct.construct import construct as construct
from headcount.construct.construction import Construction as Construction
from headcount.construct.method import methods as _methods
from headcount.construct.plan import Plan as Plan
from headcount.construct.plan import plan as plan
from headcount.core.verbs import verb

constructions = _methods  # the public name of the registry

verb(__name__, construct)
