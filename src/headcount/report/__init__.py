"""Figures, tables and the self-contained report, from plain records: nothing trains or fits."""
