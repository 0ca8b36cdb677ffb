"""A user's own sequences in, their memory and an architecture out.

The way through this folder: `arrays` and `read` make `Sequences`, `samples` makes rows,
`find_values` or `find_tokens` looks for structure and judges models on held-out rows, `conclusion`
gives the verdict, `advice` the architecture. (What went wrong in a training run is another
question: `lab/diagnosis.py`.)
"""

from headcount.core.verbs import verb
from headcount.diagnose.diagnose import diagnose as diagnose
from headcount.diagnose.records import Diagnosis as Diagnosis

verb(__name__, diagnose)
