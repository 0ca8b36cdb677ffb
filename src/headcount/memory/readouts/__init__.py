"""Readouts f of the memory families: y = f(z), z the stack of memory slots (see `base`)."""

from headcount.memory.readouts.base import AbstractReadout as AbstractReadout
from headcount.memory.readouts.base import Weights as Weights
from headcount.memory.readouts.base import readouts as readouts
from headcount.memory.readouts.linear import Linear as Linear
from headcount.memory.readouts.lookup import Lookup as Lookup
from headcount.memory.readouts.network import ReluNetwork as ReluNetwork
from headcount.memory.readouts.parity import Parity as Parity
from headcount.memory.readouts.product import Product as Product
from headcount.memory.readouts.relu_sum import ReluSum as ReluSum
from headcount.memory.readouts.teacher import Teacher as Teacher
from headcount.memory.readouts.triangle import Triangle as Triangle
from headcount.memory.readouts.user import CallableReadout as CallableReadout
