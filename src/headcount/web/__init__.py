"""The explorer: a small JSON service over the same functions as the command line, and a page.

asked.py      what may be asked: one strict record per question
views/        question → plain answer; pure, run in a worker process
pool.py       worker processes with a bounded queue, a time limit and an end on request
service.py    answers kept in memory, equal questions asked once
sweeps.py     the one sweep that a button may continue; continue_sweep.py what it runs
guard.py      who may ask: Host, Origin, sizes, depth, slow clients
app.py        the routes; openapi.py their description
static_site.py  the same page with answers that were computed before
"""
