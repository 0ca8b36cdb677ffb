"""Input laws: what the tokens x_t are (see `base`)."""

from headcount.memory.inputs.array import UserArray as UserArray
from headcount.memory.inputs.base import AbstractInputs as AbstractInputs
from headcount.memory.inputs.base import inputs as inputs
from headcount.memory.inputs.continuous import Autoregressive as Autoregressive
from headcount.memory.inputs.continuous import Gaussian as Gaussian
from headcount.memory.inputs.continuous import Uniform as Uniform
from headcount.memory.inputs.signs import Boolean as Boolean
from headcount.memory.inputs.signs import Ternary as Ternary
from headcount.memory.inputs.tokens import Embedded as Embedded
from headcount.memory.inputs.tokens import Markov as Markov
from headcount.memory.inputs.tokens import OneHot as OneHot
