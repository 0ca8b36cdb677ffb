"""The paper's eight experiments and five further checks, one file each, by id.

    >>> [name for name in chosen(["4a", "1b"])]
    ['1b', '4a']

A value of `STUDIES` is called with a profile (1a and 3b also take a corpus) and gives the studies;
its file is imported at that moment, so that listing what there is costs nothing. `rates` trains
nothing: its studies are none, its tables are `rates.rates(profile)`.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headcount.core.errors import require, unknown
from headcount.core.overrides import merged

if TYPE_CHECKING:
    from headcount.lab.study import Profile, Study

EXPERIMENTS = ("1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b")
CHECKS = ("rates", "depth", "heads", "bias", "failures")
ALL = "all"
WITH_CORPUS = ("1a", "3b")
FILES = {"heads": "head_counts"}  # of a check that is not named like its file
EFFORT = {"smoke": "low", "laptop": "medium", "full": "high"}  # short runs are mostly compilation
# Version 1 was judged on seeds from 100 on, arms are tuned on seeds below.
FIRST_SEED = 1000
REPLICATION = 1000  # seeds between one replication and the next: they share none


def _late(id: str) -> "Callable[..., tuple[Study, ...]]":
    """The `studies` of a file that is imported when called."""
    file = f"paper.experiment_{id}" if id in EXPERIMENTS else f"further.{FILES.get(id, id)}"

    def studies(profile: "Profile", corpus: str | None = None) -> "tuple[Study, ...]":
        made = importlib.import_module(f"headcount.experiments.{file}").studies
        return made(profile, corpus) if id in WITH_CORPUS else made(profile)

    return studies


STUDIES: "dict[str, Callable[..., tuple[Study, ...]]]" = {
    id: _late(id) for id in (*EXPERIMENTS, *CHECKS)
}


def chosen(ids: Iterable[str]) -> list[str]:
    """The ids asked for, in the order of `STUDIES`, each once; "all" (or none) means every one."""
    wanted = list(ids) or [ALL]
    for id in wanted:
        if id != ALL and id not in STUDIES:
            raise unknown("experiment", id, [*STUDIES, ALL])
    return [id for id in STUDIES if ALL in wanted or id in wanted]


def studies_of(
    ids: Iterable[str], profile: "Profile", corpus: str | None = None, replication: int = 0
) -> "tuple[Study, ...]":
    """The studies of these ids, in order. Another `replication` has other seeds, all of them, and
    repeats what is judged: maps of readings and learning rates are shown once.
    """
    names = chosen(ids)
    used = corpus is None or any(id in WITH_CORPUS for id in names)
    require(
        used,
        f"corpus {corpus} for {', '.join(names)}",
        f"an experiment on text: {' or '.join(WITH_CORPUS)}",
        "leave out the corpus",
    )
    made = tuple(
        registered(study, replication) for id in names for study in STUDIES[id](profile, corpus)
    )
    if replication:
        made = tuple(study for study in made if study.claims or study.id in CHECKS)
    if profile == "smoke":  # it shows that everything runs, and judges nothing
        made = tuple(dataclasses.replace(s, hypotheses=(), existences=()) for s in made)
    return tuple(quickly(study, EFFORT[profile]) for study in made)


def further_families(ids: Iterable[str]) -> dict[str, int]:
    """How many further claims about training each insight has in all, whatever a profile runs."""
    from headcount.lab.study import Profile

    asked = [id for id in chosen(ids) if id in EXPERIMENTS]
    studies = studies_of(asked, Profile.FULL) if asked else ()
    claims = [h for study in studies for h in study.hypotheses if h.further]
    return {id: sum(h.insight == id for h in claims) for id in EXPERIMENTS}


def registered(study: "Study", replication: int = 0) -> "Study":
    """With seeds that no pilot has seen."""
    first = FIRST_SEED + REPLICATION * replication
    return dataclasses.replace(study, seeds=tuple(first + seed for seed in study.seeds))


def quickly(study: "Study", effort: str) -> "Study":
    """With this effort of the compiler in all arms that do not choose their own."""
    default = {"train": {"effort": effort}}
    return dataclasses.replace(
        study,
        arms=tuple(dataclasses.replace(arm, run=merged(default, arm.run)) for arm in study.arms),
    )
