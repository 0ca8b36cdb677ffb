"""Relative positional biases, one class each."""

from headcount.model.biases.base import AbstractBias as AbstractBias
from headcount.model.biases.base import biases as biases
from headcount.model.biases.decaying import Alibi as Alibi
from headcount.model.biases.decaying import KerpleLog as KerpleLog
from headcount.model.biases.decaying import KerplePower as KerplePower
from headcount.model.biases.decaying import Lin as Lin
from headcount.model.biases.decaying import Log as Log
from headcount.model.biases.decaying import Log1p as Log1p
from headcount.model.biases.decaying import NoBias as NoBias
from headcount.model.biases.decaying import Positive as Positive
from headcount.model.biases.decaying import Spacing as Spacing
from headcount.model.biases.shaped import T5 as T5
from headcount.model.biases.shaped import Fire as Fire
from headcount.model.biases.shaped import Peak as Peak
from headcount.model.biases.shaped import Rope as Rope
from headcount.model.biases.shaped import Table as Table
