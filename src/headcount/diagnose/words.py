"""A diagnosis in words, made from its values alone."""

from collections.abc import Callable, Sequence

from headcount.diagnose.clock import Clock
from headcount.diagnose.kernel_tail import TailClass
from headcount.diagnose.records import Addressing, Advice, Diagnosis, Memory, ModelScore, Reason
from headcount.diagnose.samples import Note, Setting

FIRST = 5  # lags of an interrupted search
MANY = 8  # lags that are named one by one


def listed(items: Sequence[object]) -> str:
    """'1, 2 and 9'."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def sentence(found: Diagnosis) -> str:
    """The answer in one sentence."""
    if found.advice is None or found.memory is Memory.UNDECIDED:
        return finding(found)
    return f"{finding(found)[:-1]}; {advice_words(found.advice)}."


def finding(found: Diagnosis) -> str:
    """What memory there is, in one sentence, without the advice."""
    told = f"{_given_clock(found)}{_memory(found)}."
    return told[0].upper() + told[1:]


def _given_clock(found: Diagnosis) -> str:
    words = clock_words(found.clock)
    return f"given {words}, " if words and found.reason is not Reason.SHIFT_OR_LAG else ""


def clock_words(clock: Clock | None) -> str:
    if not clock:
        return ""
    parts = []
    if clock.degree:
        parts.append("a linear trend" if clock.degree == 1 else "a quadratic trend")
    parts += [f"a period of {period.length:.2f}" for period in clock.periods]
    if clock.step is not None:
        parts.append(f"a shift of the level at element {clock.step}")
    return listed(parts)


def _explained(found: Diagnosis) -> str:
    if found.r2 is None:
        return ""
    kind = f"{100 * found.r2:.0f} % of the nats" if found.method.tokens else f"R² {found.r2:.2f}"
    return f" ({kind} on held-out rows)"


def _memory(found: Diagnosis) -> str:
    answer = _answer(found)
    if found.period is not None:
        return f"the sequence repeats itself: {answer} is the one {found.period} before"
    says: dict[Memory, Callable[[], str]] = {
        Memory.NONE: lambda: _none(found, answer),
        Memory.FIXED: lambda: f"{answer} depends on {_lags(found)}{_explained(found)}",
        Memory.ADAPTIVE: lambda: f"{answer} {_adaptive(found)}{_explained(found)}",
        Memory.ESSENTIAL: lambda: (
            f"{answer} depends on all lags, {_tail(found)}{_explained(found)}"
        ),
        Memory.UNDECIDED: lambda: _undecided(found, answer),
    }
    return says[found.memory]()


def _answer(found: Diagnosis) -> str:
    if found.method.setting is Setting.SELF:
        return f"the next element of {found.answer}" if found.answer else "the next element"
    return f"the answer ({found.answer})" if found.answer else "the answer"


def _none(found: Diagnosis, answer: str) -> str:
    words = f"no memory of {answer} was found up to lag {found.method.max_lag}"
    if found.variance is not None:
        words += f", but its variance depends on lag {found.variance.lag}"
    return words


def _lags(found: Diagnosis) -> str:
    lags = found.lags
    channels = dict.fromkeys(lag.channel for lag in lags)
    several = len(channels) > 1 or (found.answer != "" and set(channels) != {found.answer})
    parts = [
        _named([x.lag for x in lags[:MANY] if x.channel == name], f" of {name}" if several else "")
        for name in channels
        if any(x.channel == name for x in lags[:MANY])
    ]
    more = f" and {len(lags) - MANY} more" if len(lags) > MANY else ""
    together = " together" if any(lag.partners for lag in lags) else ""
    together = " by a function of one weighted sum" if found.bent else together
    return f"{listed(parts)}{more}{together}"


def _named(lags: Sequence[int], of: str) -> str:
    """'lags 3 and 10 of price'."""
    return f"lag{'s' if len(lags) > 1 else ''} {listed(lags)}{of}"


def whole(found: Diagnosis) -> str:
    """Some lines for a terminal or a notebook: the answer, what it rests on, what to beware of."""
    width = max(len(name) for name, _ in facts(found))
    told = [f"{name:{width}}  {words}" for name, words in facts(found)]
    notes = [f"note: {note_words(note)}" for note in found.notes]
    return "\n".join([sentence(found), "", *told, "", *notes, closing(found)])


def _adaptive(found: Diagnosis) -> str:
    if found.addressing is Addressing.CONTENT and found.recall is not None:
        rule = found.recall
        beside = "after" if rule.offset > 0 else "before"
        key = "element" if rule.key_length == 1 else f"{rule.key_length} elements"
        where = "" if rule.key_lag == 0 else f" (ending {rule.key_lag} before the newest)"
        return (
            f"is, in {100 * rule.weight:.0f} % of matches, what stood {abs(rule.offset)} {beside}"
            f" the latest earlier match of the newest {key}{where}"
        )
    deepest = max(entry.level for entry in found.map)
    lags = sorted({lag for entry in found.map if entry.level == deepest for lag in entry.lags})
    by = "the newest element" if deepest == 1 else f"what {deepest - 1} earlier reading(s) found"
    return f"reads one of the lags {listed(lags)}, chosen by {by}"


def _tail(found: Diagnosis) -> str:
    tail = found.tail
    if tail is None or tail.shape is TailClass.NEITHER:
        return "by a kernel that is neither exponential nor a power law (at 1 %)"
    if tail.shape is TailClass.UNDECIDED or tail.rate is None or tail.interval is None:
        return "by a kernel whose tail cannot be told"
    low, high = tail.interval
    name = "exponentially at rate" if tail.shape is TailClass.EXP else "by a power law of exponent"
    return f"decaying {name} {tail.rate:.3g} [{low:.3g}, {high:.3g}]"


def _undecided(found: Diagnosis, answer: str) -> str:
    assert found.reason is not None
    words = f"undecided: {found.reason}"
    if found.reason is Reason.SHIFT_OR_LAG and found.clock is not None:
        words += f" (element {found.clock.step}, {_lags(found) if found.lags else 'lag 1'})"
    elif found.suspected is not None and found.lags:
        words += f"; {answer} depends at least on {_lags(found)}{_explained(found)}"
    elif found.lags:
        words += f" ({_lags(found)})"
    elif found.reason is Reason.INTERRUPTED and found.profile:
        striking = sorted(found.profile, key=lambda point: -abs(point[2]))[:FIRST]
        words += (
            f" (most striking by themselves so far: lags {listed([s for _, s, _ in striking])})"
        )
    return words


def advice_words(advice: Advice) -> str:
    if not advice.heads:
        neurons = f", followed by {advice.neurons} neurons" if advice.neurons else ""
        return f"no attention needed: the newest element is enough{neurons}"
    dot = "the dot product is needed" if advice.dot_product else "no dot product needed"
    layers = "one layer" if advice.layers == 1 else f"{advice.layers} layers"
    heads = f"{advice.heads} head{'s' if advice.heads != 1 else ''}"
    neurons = f", {advice.neurons} neurons" if advice.neurons else ""
    return f"{dot}: {layers}, {heads} with {advice.bias} bias{neurons}"


NOTES: dict[str, str] = {
    "holes interpolated": "{count} missing values were interpolated",
    "read as tokens": "only {values} different values: read as tokens",
    "cycle, not clock": "a cycle of about {period:.1f} does not extrapolate: no clock",
    "trend or unit root": "the series wanders: a trend and a unit root cannot be told apart",
    "skewed answers": "answers are skewed ({skew:.1f}): a square root or logarithm may help",
    "blocked folds": "few rows: judged by {folds} blocks instead of the last 30 %",
    "lag near the largest searched": "lag {lag} is near the largest searched ({searched}): look"
    " further with --max-lag",
    "products of three not searched": "lags that matter only three together were not searched"
    " (--order 3)",
    "too sparse to condition further": "too few rows per context to look for further lags",
    "large data": "{rows:,} rows: all lags once, then the best {kept_lags} of them on fewer rows",
    "tokens skipped in the map": "{count} rare tokens were left out of the map",
    "pointer p approximate": "tokens are autocorrelated: the p of pointers is from replicates of"
    " the map",
    "no generic learner": "scikit-learn is missing: no generic learner was compared (install"
    " headcount[{extra}])",
    "time column": "column {name} was read as time",
    "time uneven": "steps of column {name} differ: a lag counts rows, not time",
    "time goes back": "column {name} goes back in time (row {row}): are the rows in order?",
    "last column": "column {name}, the last one, is predicted from its past and the others'",
    "empty column": "column {name} is empty and was left out",
    "alphabet cut": "the {kept} most frequent tokens were kept ({share:.0%} of all), the rest is"
    " one token",
    "rows cut": "only the last {rows:,} rows were used",
    "sequences dropped": "{count} sequences were too short and left out",
    "interventions": "{count:,} interventions on the black box",
    "no advice": "no construction is known for this memory",
}


def note_words(note: Note) -> str:
    return NOTES[note.kind].format(**note.numbers)


ALWAYS = (
    "Lags are predictive, not causal; a finite set of lags can stand for a hidden state. Lags"
    " beyond {max_lag} were not searched."
)


# models whose names in the data are short, with what stands before and behind their lags
MODELS: dict[str, tuple[str, str]] = {
    "none": ("no memory", ""),
    "lags": ("sum of lags", ""),
    "lags, hinges": ("sum of lags", ", bent"),
    "one sum": ("function of one sum of lags", ""),
    "exp": ("exponential kernel", ""),
    "power": ("power-law kernel", ""),
    "ridge": ("all lags (ridge)", ""),
    "boosted trees": ("all lags (boosted trees)", ""),
    "table": ("table of lags", ""),
    "joint table": ("joint table of lags", ""),
}


def model_words(model: ModelScore) -> str:
    """A model and its lags."""
    name, behind = MODELS.get(model.name, (model.name, ""))
    lags = f" {', '.join(map(str, model.lags))}" if model.lags else ""
    return f"{name}{lags}{behind}"


def closing(found: Diagnosis) -> str:
    return ALWAYS.format(max_lag=found.method.max_lag)


def facts(found: Diagnosis) -> list[tuple[str, str]]:
    """How it was found, and what else is known: (name, words)."""
    method = found.method
    behind = f", filter of order {method.filter_order}" if method.filter_order else ""
    folds = "last 30 %" if method.folds == 1 else f"{method.folds} blocks"
    spent = ", ".join(f"{name} {level:.3g}" for name, level in method.spending.items())
    made = [
        ("rows", f"{method.rows:,} ({method.setting}), {method.judged:,} judged ({folds})"),
        ("effective rows", f"{method.effective_rows:,.0f}"),
        ("lags searched", f"up to {method.max_lag}"),
        ("null", f"{method.null}{behind}, {method.replicates} replicates, seed {method.seed}"),
        ("level", f"{method.alpha:g}: {spent}"),
    ]
    if found.clock:
        made.append(("clock", f"{clock_words(found.clock)} (R² {found.clock.r2:.2f})"))
        past = ", ".join(map(str, found.past_lags)) or "none"
        made.append(("as past values", f"lags {past}"))
    if found.variance is not None:
        made.append(("variance", f"depends on lag {found.variance.lag}, p {found.variance.p:.3g}"))
    if found.share is not None:
        best = MODELS.get(str(found.best_model), (found.best_model,))[0]
        made.append(("share", f"{found.share:.2f} of what the best model gains ({best})"))
    if found.long_memory is not None and found.long_memory.long:
        long = found.long_memory
        made.append(("long memory", f"d = {long.d:.2f} ± {long.error:.2f}"))
    if found.decay is not None and found.decay.rate is not None and found.decay.fitted:
        first, last = found.decay.fitted
        words = f"{found.decay.shape}, rate {found.decay.rate:.2f} on lags {first} to {last}"
        made.append(("two-point information", words))
    if found.n_needed is not None:
        made.append(("rows needed", f"{found.n_needed:,}"))
    if found.advice is not None and found.advice.claim:
        made.append(("advice rests on", str(found.advice.claim["words"])))
    if found.advice is not None and found.advice.command:
        made.append(("all options", found.advice.command))
    return made
