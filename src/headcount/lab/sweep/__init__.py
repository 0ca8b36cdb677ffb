"""Sweeping: a plan of runs, computed by worker processes into a store."""
