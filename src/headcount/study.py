"""`hc.study`: the studies as functions, each listed once.

>>> import headcount as hc
>>> hc.study.finite_sample.__name__, hc.study.rivals.__name__, hc.study.robustness.__name__
('finite_sample', 'rivals', 'robustness')
"""

from headcount.studies.finite_sample import FiniteSample as FiniteSample
from headcount.studies.finite_sample import finite_sample as finite_sample
from headcount.studies.mad_tasks import Predictions as Predictions
from headcount.studies.mad_tasks import mad as mad
from headcount.studies.rivals import Rivals as Rivals
from headcount.studies.rivals import rivals as rivals
from headcount.studies.robustness import Robustness as Robustness
from headcount.studies.robustness import robustness as robustness
