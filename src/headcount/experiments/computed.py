"""What a reproduction shows and no training gives: the numbers of every arm, rate tables, the
evidence of the errata page; computed in processes of their own, one per core.

All of it begins when the numbers are asked for: the sweep is over then, and the cores are free.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from headcount.experiments import WITH_CORPUS, studies_of
from headcount.experiments.errata import POINTS, Erratum, every_evidence
from headcount.experiments.further.rates import RateTable, rate, rate_names
from headcount.lab.run_studies import Known, known_numbers
from headcount.lab.study import Profile, Study
from headcount.lab.sweep.local_engine import cores


class Processes:
    """A pool that is ended with its block, whatever happens. Functions and arguments are
    pickled: pass those of modules.
    """

    def __enter__(self) -> "Processes":
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            cores(), context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
        )
        return self

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Begin a call; processes start with the first."""
        return self._pool.submit(function, *arguments)

    def map(self, function: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """Results in order."""
        return self._pool.map(function, values)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:  # ^C or an error: nobody waits for it
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)


class Computations:
    """The work, by what it is for. `say` is told what is being waited for."""

    def __init__(
        self,
        processes: Processes,
        names: Sequence[str],
        profile: Profile,
        corpus: str | None,
        say: Callable[[str], None],
    ):
        self.processes, self.names, self.profile = processes, names, profile
        self.corpus, self.say = corpus, say
        self._rates: list[Future[RateTable]] = []
        self._evidence: Future[tuple[str, ...]] | None = None

    def numbers(self, studies: Sequence[Study]) -> Known:
        """What every arm could reach; everything else is begun too, the longest first."""
        tables = rate_names(self.profile) if "rates" in self.names else []
        self._rates = [self.processes.submit(rate, self.profile, name) for name in tables]
        self._evidence = self.processes.submit(every_evidence)
        begun = {
            id: self.processes.submit(numbers_of, id, self.profile, self.corpus)
            for id in dict.fromkeys(study.id for study in studies)
        }
        known: dict[str, Any] = {}
        for id, numbers in begun.items():
            self.say(f"{id}: what every arm could reach")
            known |= numbers.result()
        return known

    def rates(self) -> tuple[RateTable, ...]:
        self.say("rates")
        return tuple(table.result() for table in self._rates)

    def errata(self) -> tuple[tuple[Erratum, str], ...]:
        """Every point of the errata page with its evidence."""
        assert self._evidence is not None, "numbers() begins it"
        return tuple(zip(POINTS, self._evidence.result(), strict=True))


def numbers_of(id: str, profile: Profile, corpus: str | None) -> Known:
    """Those of one experiment: its studies share fits. Called in another process."""
    return known_numbers(studies_of([id], profile, corpus if id in WITH_CORPUS else None))
