"""The verdicts after the last look, kept in the store, so that they can be watched while more seeds
are trained. The report is made from the runs themselves and never reads them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headcount.lab.judge.verdict import Verdict, ordered
from headcount.lab.sweep.store import Store

LATEST = "verdicts of the last look"


def keep_verdicts(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Replace what an earlier look said."""
    rows = [verdict.to_json() for verdict in ordered(verdicts)]
    with Store(path) as store:
        store.keep(LATEST, json.dumps(rows, allow_nan=False))


def latest_verdicts(store: Store) -> list[dict[str, Any]]:
    """The rows of `verdicts.json` as the last look had them; none before the first."""
    told = store.computed(LATEST)
    try:
        rows = [] if told is None else json.loads(told)
    except (ValueError, RecursionError):  # damaged: the next look writes it anew
        return []
    good = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if good else []
