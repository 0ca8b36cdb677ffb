"""Training: what gradient descent finds, as a whole run inside one compiled program."""

from headcount.core.verbs import verb
from headcount.train.run import Record as Record
from headcount.train.run import Run as Run
from headcount.train.run import train as train
from headcount.train.run import train_group as train_group

verb(__name__, train)
