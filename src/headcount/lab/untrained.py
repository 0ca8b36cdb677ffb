"""What a reproduction shows and no training gives: floors by experiment, rate tables, the evidence
of the errata page.

All of it begins when the floors are asked for (the sweep is over then, and the cores are free), in
the processes of an `Aside`.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from headcount.lab.aside import Aside
from headcount.lab.experiments import WITH_CORPUS, studies_of
from headcount.lab.experiments.errata import every_evidence
from headcount.lab.experiments.rates import RateTable, rate, rate_names
from headcount.lab.experiments.study import Profile, Study
from headcount.lab.reproduce import Known, known_numbers


class Untrained:
    """The work, by what it is for. `say` is told what is being waited for."""

    def __init__(
        self,
        aside: Aside,
        names: Sequence[str],
        profile: Profile,
        corpus: str | None,
        say: Callable[[str], None],
    ):
        self.aside, self.names, self.profile, self.corpus, self.say = (
            aside,
            names,
            profile,
            corpus,
            say,
        )
        self._tables: list[Future[RateTable]] = []
        self._errata: Future[tuple[str, ...]] | None = None

    def numbers(self, studies: Sequence[Study]) -> Known:
        """What every arm could reach; everything else is begun too, the longest first."""
        tables = rate_names(self.profile) if "rates" in self.names else []
        self._tables = [self.aside.submit(rate, self.profile, name) for name in tables]
        self._errata = self.aside.submit(every_evidence)
        floors = {
            id: self.aside.submit(numbers_of, id, self.profile, self.corpus)
            for id in dict.fromkeys(s.id for s in studies)
        }
        known: dict[str, Any] = {}
        for id, floor in floors.items():
            self.say(f"{id}: what every arm could reach")
            known |= floor.result()
        return known

    def tables(self) -> tuple[RateTable, ...]:
        self.say("rates")
        return tuple(table.result() for table in self._tables)

    def errata(self) -> tuple[str, ...]:
        """The evidence of every point of the errata page."""
        assert self._errata is not None, "numbers() begins it"
        return self._errata.result()


def numbers_of(id: str, profile: Profile, corpus: str | None) -> Known:
    """Those of one experiment: its studies share fits. Called in another process."""
    return known_numbers(studies_of([id], profile, corpus if id in WITH_CORPUS else None))
