"""Targets with known memory: three families, their readouts, kernels and inputs, and the named
instances.
"""
