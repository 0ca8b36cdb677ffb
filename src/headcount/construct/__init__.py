"""Weights by formula: models that are written down, not trained. One theorem a file; importing
this registers them.
"""

from headcount.construct import adaptive as adaptive
from headcount.construct import chain as chain
from headcount.construct import composed as composed
from headcount.construct import doubling as doubling
from headcount.construct import essential as essential
from headcount.construct import fixed as fixed
from headcount.construct import induction as induction
from headcount.construct import minimal as minimal
from headcount.construct import n_gram as n_gram
from headcount.construct import nested as nested
from headcount.construct import peak_tmx as peak_tmx
from headcount.construct import prop42 as prop42
from headcount.construct import recall as recall
from headcount.construct import selective_copy as selective_copy
from headcount.construct import shaped as shaped
from headcount.construct import tmx as tmx
from headcount.construct.build import construct as construct
from headcount.construct.construction import Construction as Construction
from headcount.construct.draft import constructions as constructions
from headcount.construct.plan import Plan as Plan
from headcount.construct.plan import plan as plan
from headcount.core.verbs import verb

verb(__name__, construct)
