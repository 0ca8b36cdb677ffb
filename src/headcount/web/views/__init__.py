"""Questions to answers: pure functions from a record of `asked` to plain values, run by a worker.

A view calls the same function as the command line and adds what a picture needs: curves over lags,
evidence of a claim, what each position reads.
"""
