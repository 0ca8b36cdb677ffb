"""What a reproduction shows and no training gives: verdicts on weights, the numbers of every arm,
rate tables, the evidence of the errata page; computed in processes of their own, one per core.

What was computed is kept in the store under the hash of what it depends on (the experiment, the
profile and all of our code), so that a finished command returns at once.
"""

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pydantic
from pydantic_core import to_json

from headcount.core.source_code import Changed, computing, source_hash
from headcount.core.spec import content_hash
from headcount.experiments import WITH_CORPUS, studies_of
from headcount.experiments.errata import POINTS, Erratum, every_evidence
from headcount.experiments.further.rates import RateTable, rate, rate_names
from headcount.lab.judge.verdict import Verdict
from headcount.lab.numbers import Numbers
from headcount.lab.run_studies import Known, known_numbers
from headcount.lab.study import Profile, Study
from headcount.lab.sweep.local_engine import cores
from headcount.lab.sweep.store import Store

Existing = dict[str, tuple[Numbers, ...]]  # key of a claim → what is known of its parts


@contextlib.contextmanager
def script_left_alone() -> Iterator[None]:
    """Processes that start here do not run the caller's script first, which would begin the whole
    job again where it stands outside `if __name__ == "__main__"`. They need nothing of it.
    """
    main = vars(sys.modules["__main__"])
    names: tuple[str, ...] = ("__file__", "__spec__")
    hidden = {name: main.pop(name) for name in names if name in main}
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(hidden)


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
        with script_left_alone():
            return self._pool.submit(function, *arguments)

    def map(self, function: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """Results in order."""
        with script_left_alone():
            return self._pool.map(function, values)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:  # ^C or an error: nobody waits for it
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)


class Kept:
    """A call whose result is in the store, or is on its way and will be."""

    def __init__(
        self, processes: Processes, store: Path, form: Any, function: Callable[..., Any], *args: Any
    ):
        self._store, self._form = store, pydantic.TypeAdapter(form)
        self._key = _key(function.__name__, args)
        text = None
        if self._key is not None:
            with Store(store) as opened:
                text = opened.computed(self._key)
        try:
            self._found = None if text is None else self._form.validate_json(text)
        except pydantic.ValidationError:  # damaged: computed again
            self._found = text = None
        self._begun = None if text is not None else processes.submit(function, *args)

    def result(self) -> Any:
        if self._begun is not None:
            self._found = self._begun.result()
            if self._key is not None:
                with Store(self._store) as opened:
                    opened.keep(self._key, to_json(self._found, inf_nan_mode="constants").decode())
            self._begun = None
        return self._found


def _key(name: str, args: Sequence[Any]) -> str | None:
    """The call and the code; None where that changed while it runs: then nothing is kept."""
    try:
        return content_hash([name, *map(str, args), source_hash(), *computing()])
    except Changed:
        return None


class Computations:
    """The work, by what it is for. `say` is told what is being waited for."""

    def __init__(
        self,
        processes: Processes,
        names: Sequence[str],
        profile: Profile,
        corpus: str | None,
        store: Path,
        say: Callable[..., None],
    ):
        self.processes, self.names, self.profile = processes, names, profile
        self.corpus, self.store, self.say = corpus, store, say
        self._rates: list[Kept] = []
        self._evidence: Kept | None = None

    def existing(
        self, studies: Sequence[Study], told: Callable[[Sequence[Verdict]], None] | None = None
    ) -> tuple[Verdict, ...]:
        """Verdicts on weights, each said as soon as it is there; `told` hears all so far."""
        ids = dict.fromkeys(study.id for study in studies if study.existences)
        begun = {id: self._kept(Existing, exists_of, id) for id in ids}
        verdicts: list[Verdict] = []
        for id, numbers in begun.items():
            self.say(f"{id}: do such weights exist?")
            known = numbers.result()
            for existence in (e for study in studies if study.id == id for e in study.existences):
                verdicts.append(existence.decide(known[existence.key]))
                self.say(f"{id} {verdicts[-1].kind}: {verdicts[-1].sentence}", now=True)
            if told is not None:
                told(verdicts)
        return tuple(verdicts)

    def numbers(self, studies: Sequence[Study]) -> Known:
        """What every arm could reach; everything else is begun too, the longest first."""
        tables = rate_names(self.profile) if "rates" in self.names else []
        self._rates = [
            Kept(self.processes, self.store, RateTable, rate, self.profile, name) for name in tables
        ]
        self._evidence = Kept(self.processes, self.store, tuple[str, ...], every_evidence)
        begun = {
            id: self._kept(dict[str, dict[str, Numbers]], numbers_of, id)
            for id in dict.fromkeys(study.id for study in studies)
        }
        known: dict[str, Any] = {}
        for id, numbers in begun.items():
            self.say(f"{id}: what every arm could reach")
            known |= numbers.result()
        return known

    def _kept(self, form: Any, function: Callable[..., Any], id: str) -> Kept:
        corpus = self.corpus if id in WITH_CORPUS else None
        return Kept(self.processes, self.store, form, function, id, self.profile, corpus)

    def rates(self) -> tuple[RateTable, ...]:
        self.say("rates")
        return tuple(table.result() for table in self._rates)

    def errata(self) -> tuple[tuple[Erratum, str], ...]:
        """Every point of the errata page with its evidence."""
        assert self._evidence is not None, "numbers() begins it"
        return tuple(zip(POINTS, self._evidence.result(), strict=True))


def numbers_of(id: str, profile: Profile, corpus: str | None) -> Known:
    """Those of one experiment: its studies share fits. Called in another process."""
    return known_numbers(studies_of([id], profile, corpus))


def exists_of(id: str, profile: Profile, corpus: str | None) -> Existing:
    """What is known of the weights that an experiment's claims are about, by claim."""
    studies = studies_of([id], profile, corpus)
    return {e.key: e.numbers() for study in studies for e in study.existences}
