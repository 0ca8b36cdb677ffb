"""Runs, and what is concluded from them."""
