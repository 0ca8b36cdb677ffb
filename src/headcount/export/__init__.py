"""Models for other tools: PyTorch and ONNX, and back."""

from headcount.core.verbs import verb
from headcount.export.export import export as export
from headcount.export.weights_back import import_torch as import_torch

verb(__name__, export)
