"""Targets with known memory: three families, their readouts, kernels, inputs, named instances."""
