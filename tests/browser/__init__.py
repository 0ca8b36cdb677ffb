"""The explorer in a real browser. Not part of `make test`: `make browser-test` installs a browser
and runs these.
"""
