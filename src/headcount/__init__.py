"""Headcount: how much Transformer does a memory need?"""
__version__ = "0.1.0"
