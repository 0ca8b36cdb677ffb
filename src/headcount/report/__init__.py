"""Figures, tables and the self-contained report, from plain records only: nothing here trains or
fits.
"""
