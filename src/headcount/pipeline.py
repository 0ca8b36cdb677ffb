"""The main job: studies → runs → floors → verdicts → signatures → report, into one folder.

    names, profile   which experiments, how much of them      experiments/
    studies          arms, seeds, claims                      experiments/paper, experiments/further
    exists           verdicts on weights, before any training experiments/computed.py
    runs             resumable sweeps into runs.sqlite, more  lab/sweep, lab/run_studies.py
                     seeds for what is undecided
    floors           what every arm could reach, computed     experiments/computed.py
    verdicts         on claims fixed before                   lab/judge
    signatures       why arms failed                          lab/diagnosis.py
    report           report.html, verdicts.json, arms.csv,    report/
                     figures/, specs/

Everything that can be refused is refused before anything runs, and the folder is made last.
"""

import dataclasses
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.core.arguments import checked
from headcount.core.errors import require, unknown
from headcount.experiments import EXPERIMENTS, chosen, further_families, studies_of
from headcount.lab.judge.verdict import Verdict, ordered
from headcount.lab.study import Profile, Study
from headcount.lab.study_outcome import StudyOutcome
from headcount.lab.sweep.progress import Say, progress_teller, silent
from headcount.report.folder import ready
from headcount.report.write import check_replaced, verdict_rows, write

if TYPE_CHECKING:
    from headcount.experiments.further.rates import RateTable

STORE = "runs.sqlite"
REPLICATIONS = 4_000_000  # a thousand seeds each, below 2**32


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """What was found, and where its report is."""

    profile: Profile
    outcomes: tuple[StudyOutcome, ...]
    rates: "tuple[RateTable, ...]"
    seconds: float
    page: Path

    def __repr__(self) -> str:
        return f"Reproduction({self.profile}: {len(self.verdicts)} verdicts, {self.page})"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every claim once, in the order of the insights, the paper's own before further ones."""
        return ordered(verdict for outcome in self.outcomes for verdict in outcome.verdicts)

    def to_json(self) -> dict[str, Any]:
        """The document of `headcount reproduce --json`."""
        found = verdict_rows(self.outcomes, self.profile)
        return found | {"seconds": self.seconds, "report": str(self.page)}


@checked
def reproduce(
    names: Sequence[str] | None = None,
    profile: str = "laptop",
    folder: str | Path | None = None,
    *,
    corpus: str | Path | None = None,
    workers: int | None = None,
    replication: int = 0,
    say: Say = silent,
    told: Callable[[Sequence[Verdict]], None] | None = None,
) -> Reproduction:
    """Run experiments as registered claims, judge them, and write figures and a report.

    `names` are "1a" … "4b", "rates", "depth", "heads", "bias", "failures", or "all"; none means
    the paper's eight, and for profile full all. `profile` is smoke, laptop or full. Another
    `replication` has other seeds and repeats what is judged. `folder` is made if need be (default:
    reproduction-PROFILE, with the names if not all); a call that was interrupted goes on where it
    stopped. `corpus` is a text file or a folder of texts for 1a and 3b. `say` is told how far the
    work is, `told` hears all verdicts so far whenever there are new ones.
    """
    started = time.perf_counter()
    if profile not in list(Profile):
        raise unknown("profile", profile, [str(p) for p in Profile])
    size = Profile(profile)
    everything = size is Profile.FULL and not replication  # further checks hold no claim to repeat
    usual = chosen(["all"] if everything else EXPERIMENTS)
    wanted = chosen(name.lower() for name in names) if names else usual
    selected = [] if wanted == usual else wanted
    again = [str(replication)] if replication else []
    place = Path(folder) if folder else Path("-".join(["reproduction", profile, *selected, *again]))
    text = None if corpus is None else str(corpus)
    _check(text, place, size, workers)
    check_replaced(place, size, wanted)
    require(
        0 <= replication <= REPLICATIONS,
        f"replication {replication}",
        f"0 to {REPLICATIONS}",
        "0 has the registered seeds",
    )
    studies = studies_of(wanted, size, text, replication)
    require(
        studies or not replication,
        f"replication {replication} of what profile {size} does not judge",
        "profile laptop or full",
        "leave out the replication",
    )
    ready(place)
    _announce(studies, size, say)
    command = _command(selected, size, folder, text, replication)
    return _reproduce(wanted, studies, size, place, text, workers, command, started, say, told)


def _reproduce(
    names: list[str],
    studies: Sequence[Study],
    profile: Profile,
    folder: Path,
    corpus: str | None,
    workers: int | None,
    command: str,
    started: float,
    say: Say,
    told: Callable[[Sequence[Verdict]], None] | None,
) -> Reproduction:
    from headcount.experiments.computed import Computations, Processes
    from headcount.experiments.tuning import registration
    from headcount.lab.run_studies import run_studies
    from headcount.lab.sweep.local_engine import LocalEngine
    from headcount.report.from_studies import report_of

    with Processes() as processes:
        work = Computations(processes, names, profile, corpus, folder / STORE, say)
        existing = work.existing(studies, told)
        done = run_studies(
            studies,
            folder / STORE,
            engine=LocalEngine(workers),
            watch=progress_teller(say),
            numbers=work.numbers,
            existing=existing,
            families=further_families(names),
            tell=_teller(say, existing, told),
        )
        errata, rates = work.errata(), work.rates()
        report = report_of(
            done.outcomes,
            rates=rates,
            errata=errata,
            profile=profile,
            command=command,
            store=STORE,
            versions=done.versions,
            pilots=registration(),
        )
        say("figures")
        page = write(report, folder, processes.map)
    seconds = time.perf_counter() - started
    return Reproduction(profile, done.outcomes, rates, seconds, page)


def _check(corpus: str | None, folder: Path, profile: Profile, workers: int | None) -> None:
    """Workers there are, and a corpus that can be read and stays as it is: the output must not
    grow inside it.
    """
    require(
        workers is None or workers >= 1,
        f"{workers} workers",
        "at least 1",
        "leave the option out for one per core",
    )
    if corpus is None:
        return
    texts = Path(corpus)
    require(texts.exists(), f"corpus {corpus}", "an existing file or folder", "check the path")
    inside = texts.resolve() in (folder.resolve(), *folder.resolve().parents)
    require(
        not inside,
        f"corpus {corpus} with the output {folder} inside it",
        "an output folder outside the corpus",
        "choose one with -o",
    )
    require(
        profile is not Profile.LAPTOP,
        f"corpus {corpus} with profile {profile}, which runs no text",
        "profile full",
        "pass --profile full, or leave out the corpus",
    )
    from headcount.experiments.recipes import TEXT_SIZES, check_corpus

    check_corpus(TEXT_SIZES[profile], corpus)


def _announce(studies: Sequence[Study], profile: Profile, say: Say) -> None:
    """What is about to run, before it starts."""
    from headcount.lab.run_studies import planned

    unique = len({run.spec.content_hash for study in studies for run in planned(study)})
    counted = "1 study" if len(studies) == 1 else f"{len(studies)} studies"
    say(
        f"{counted}, {unique} training runs; profile {profile}: {profile.takes} on 2 free cores",
        now=True,
    )


def _teller(
    say: Say, existing: Sequence[Verdict], told: Callable[[Sequence[Verdict]], None] | None
) -> Callable[[Sequence[Verdict]], None]:
    """Tells every verdict when it is decided, and after each look what is still open."""
    said: set[str] = set()

    def tell(verdicts: Sequence[Verdict]) -> None:
        if told is not None:
            told((*existing, *verdicts))
        for verdict in verdicts:
            if verdict.outcome.decided and verdict.key not in said:
                said.add(verdict.key)
                say(f"{verdict.insight} {verdict.kind}: {verdict.sentence}", now=True)
        left = [v.key for v in verdicts if not v.outcome.decided]
        if left:
            say(f"still open: {', '.join(left)}", now=True)

    return tell


def _command(
    names: list[str], profile: Profile, folder: Any, corpus: str | None, replication: int
) -> str:
    """What does the same from a shell."""
    options = ["--profile", profile]
    options += ["--replication", str(replication)] if replication else []
    options += ["-o", str(folder)] if folder else []
    options += ["--corpus", corpus] if corpus else []
    return shlex.join(["headcount", "reproduce", *names, *options])
