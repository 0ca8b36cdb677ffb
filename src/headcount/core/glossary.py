"""The glossary as data: one source of docs/glossary.md and of `headcount explain`.

A term is asked for by its names, in small letters, the first of them its own. Texts are Markdown.
"""

import dataclasses
import re
import textwrap

from headcount.core.errors import InputError, nearest


@dataclasses.dataclass(frozen=True)
class Term:
    """One entry: what it may be asked for by, and what it means."""

    names: tuple[str, ...]
    text: str  # Markdown

    @property
    def plain(self) -> str:
        """Without Markdown: links by their words, no stars."""
        return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", self.text).replace("*", "")


SECTIONS: dict[str, tuple[Term, ...]] = {
    "Sequences and memories": (
        Term(
            ("token",),
            "**Token** x_t: one input, a vector of size d or a whole number, at position t counted "
            "from 1.",
        ),
        Term(
            ("lag",),
            "**Lag** s: how many steps back; x_{t-s} is the token at lag s, lag 0 is x_t itself.",
        ),
        Term(
            ("window",),
            "**Window** S: the lags 0, …, S − 1 exist and no others. Without a window all lags "
            "count.",
        ),
        Term(
            ("memory", "fixed", "adaptive", "essential"),
            "**Memory**: what an answer depends on. *Fixed*: tokens at given lags. *Adaptive*: "
            "tokens at lags that other tokens ask for. *Essential* (essentially sparse): the past "
            "filtered by kernels.",
        ),
        Term(
            ("kernel",),
            "**Kernel** ρ: one weight per lag; (X∗ρ)(t) = Σ_s ρ(s) x_{t-s}. Also what a sum of "
            "heads draws.",
        ),
        Term(
            ("target",),
            "**Target**: a named map from sequences to answers, with a slow float64 reference of "
            "its own.",
        ),
        Term(
            ("profile of a target", "memoryprofile"),
            "**Profile of a target** (`MemoryProfile`): family, number M of memories, nesting K, "
            "lags or kernels, Lipschitz and Barron bounds of the readout.",
        ),
        Term(
            ("readout",),
            "**Readout** f: the function of x_t and the memories that gives the answer.",
        ),
        Term(
            ("retrieval", "nesting"),
            "**Retrieval**: finding one token by its lag. K of them may follow each other "
            "(*nesting*); r is the number that must.",
        ),
        Term(
            ("pointer chain", "hop"),
            "**Pointer chain**: tokens name the lag of the next one; each step is a *hop*.",
        ),
        Term(
            ("error", "sup error", "l1 error", "l2"),
            "**Error** of an answer: *sup error* is the largest difference from the target over "
            "the sequences that count; *l1 error* of a kernel is Σ_s |difference|, which is the "
            "sup error of a linear answer for tokens of norm 1; *l2* is the root of the sum of "
            "squares, which training on random tokens sees.",
        ),
    ),
    "Models": (
        Term(
            ("head", "draws"),
            "**Head**: one attention pattern. It *draws* a curve over lags, e^{-bs} for `lin`.",
        ),
        Term(
            ("rate", "p in the model"),
            "**Rate** b (p in the model): how fast the curve of a head falls.",
        ),
        Term(
            ("coefficient",),
            "**Coefficient** a: the factor with which a head's curve enters the sum.",
        ),
        Term(
            ("budget", "weight"),
            "**Budget** C: a limit of Σ|a|, the *weight* of a sum of heads. Large cancelling "
            "coefficients lose their digits.",
        ),
        Term(
            ("value weight",),
            "**Value weight** w = a Z: what stands in W_V under softmax, Z being the sum of the "
            "curve.",
        ),
        Term(
            ("bias", "family"),
            "**Bias**: what a head adds to the logit for the lag alone: `lin`, `log`, `log1p`, "
            "`peak`, `table`, `rope` and others. A *family* is a bias whose curves e^{-b·l(s)} "
            "differ in the rate only.",
        ),
        Term(
            ("score",),
            "**Score**: what a head adds for the tokens: `dot` (dot product), `tmx`, or nothing.",
        ),
        Term(
            ("dot-product-free", "dp-free"),
            "**Dot-product-free** (`dp-free`): the weights depend on the lag, not on tokens.",
        ),
        Term(
            ("tmx",),
            "**TMX**: a head whose bias is measured against a lag that the token asks for, p(φ(s) "
            "− φ(w·x_t)), with O(D) parameters per head.",
        ),
        Term(
            ("normaliser",),
            "**Normaliser**: how logits become weights: `softmax`, `none`, `sigmoid`, softmax with "
            "a sink.",
        ),
        Term(
            ("sink",),
            "**Sink**: an extra column with value 0 in the denominator, so that a head may look at "
            "nothing.",
        ),
        Term(
            ("stream", "residual stream"),
            "**Stream** (residual stream): the vector of size D that every layer reads and adds "
            "to.",
        ),
        Term(("slot",), "**Slot**: a named part of the stream that holds one memory."),
        Term(
            ("precision ffn",),
            "**Precision FFN**: a network whose outputs are rounded to whole numbers (or logs of "
            "them).",
        ),
        Term(
            ("gain",),
            "**Gain**: the factor with which a head writes to its slot, after the normaliser is "
            "paid for.",
        ),
        Term(
            ("weight of a sum", "sum|a|"),
            "**Weight of a sum** (sum|a|): Σ_h |a_h|, how large the coefficients are together. "
            "Where it is 10^k, about k decimal digits are lost when the heads are added.",
        ),
        Term(
            ("alibi",),
            "**ALiBi** (`alibi`): the linear bias with fixed slopes, one per head. Nothing of it "
            "is learned.",
        ),
        Term(
            ("t5 bias", "t5"),
            "**T5 bias** (`t5`): a learned number per bucket of lags; near lags have buckets of "
            "their own.",
        ),
        Term(
            ("rope",),
            "**RoPE** (`rope`): rotary positions. Queries and keys are turned by their position, "
            "so that their product depends on the lag; one head can peak at one lag.",
        ),
        Term(
            ("position", "absolute"),
            "**Position** (absolute): a vector added to each token for its place in the sequence, "
            "learned or made of sines.",
        ),
        Term(
            ("hook point",),
            "**Hook point**: a place in an exported PyTorch model where values can be read or "
            "changed, such as `layers.0.attention.hook_pattern`.",
        ),
    ),
    "Statements": (
        Term(
            ("promised", "vacuous"),
            "**Promised**: a theorem's bound with explicit constants. *Vacuous*: no better than "
            "answering 0.",
        ),
        Term(
            ("possible",),
            "**Possible**: the best weights that were constructed, with the error measured.",
        ),
        Term(
            ("representable",),
            "**Representable**: the error of the same weights in float32 or bfloat16.",
        ),
        Term(("learned",), "**Learned**: what training finds, over several seeds."),
        Term(
            ("claim",),
            '**Claim**: a statement "at least" or "at most" as a value: scope, number, status, '
            "method, reference and evidence.",
        ),
        Term(
            ("scope",),
            "**Scope**: which models and which error a claim is about: bias and its rates, heads, "
            "weight, layers, dot product, readout, precision; norm, lags, tokens. A claim answers "
            "a question only where its scope covers it.",
        ),
        Term(("status",), "**Status**: proved and checked, measured, found, or conjectured."),
        Term(
            ("certificate", "evidence"),
            "**Certificate** (evidence): data from which an independent checker confirms a claim.",
        ),
        Term(
            ("at least", "lower bound"),
            "**At least** (lower bound): no heads of the kind that the claim's scope names have a "
            "smaller error, found or not. Over some lags only, it holds for more lags too.",
        ),
        Term(
            ("theorem a", "theorem-a"),
            "**Theorem A** (`theorem-a`): an isolated lag T takes T + 1 lin heads (T log heads); "
            "fewer are no better than none. Its proof is in `theory/bounds/theorem_a.py`.",
        ),
        Term(
            ("dual", "dual bound"),
            "**Dual** (dual bound): a test sequence on which the kernel is large and every sum of "
            "heads within the budget small: no number of heads does better.",
        ),
        Term(
            ("zero counting", "zero-counting"),
            "**Zero counting** (`zero-counting`): a sum of H heads less another one changes sign "
            "at most 2H − 1 times, so none beats a sum whose error changes sign more often, on "
            "blocks of lags.",
        ),
        Term(
            ("squeeze",),
            "**Squeeze**: power laws by lin heads. Improving a sum moves its rates in one "
            "direction, so the best ones are caught between rates from above and from below.",
        ),
        Term(
            ("branches", "branch"),
            "**Branches**: a search tree over signs and rates of a few heads; each leaf is "
            "excluded by a test sequence of its own.",
        ),
        Term(
            ("front",),
            "**Front**: the rows of a plan that no other row beats in layers, heads, neurons, "
            "parameters and error at once.",
        ),
        Term(
            ("tail",),
            "**Tail**: what lies beyond the lags that are handled one by one; its sum is known in "
            "closed form or bounded.",
        ),
        Term(
            ("floor",),
            "**Floor**: a lower bound of the loss of an architecture, before anything is trained.",
        ),
        Term(("unit",), "**Unit** u: the unit roundoff of a number format, 2^-24 for float32."),
        Term(("tolerance", "tol"), "**Tolerance** (tol): the largest error that is accepted."),
        Term(
            ("construction", "draft", "budget table"),
            "**Construction**: a method that writes weights by a formula. Its *draft* is the model "
            "with a promise per slot, its *budget table* what each step may cost.",
        ),
        Term(("refusal",), "**Refusal**: why a construction does not serve a question, as data."),
    ),
    "Experiments": (
        Term(
            ("claim of an insight", "exists", "trained", "contrast"),
            "**Claim of an insight**: what the paper says, of one of three kinds: *exists* (can "
            "weights do it?), *trained* (does a trained model reach a threshold?), *contrast* (a "
            "comparison of two arms).",
        ),
        Term(
            ("hypothesis", "further"),
            "**Hypothesis**: a claim about training with arms, criterion and margin, fixed before "
            "anything runs. **Further** claims are ours, not the paper's.",
        ),
        Term(
            ("arm", "pilot"),
            "**Arm**: one architecture of a comparison, in settings that were tuned on a "
            "**pilot**: runs with seeds that no verdict is judged on.",
        ),
        Term(("cell",), "**Cell**: one setting in which all arms of a study are shown."),
        Term(
            ("effect", "margin"),
            "**Effect, margin**: the paired difference of two arms, and how large it must be to "
            "matter.",
        ),
        Term(("look",), "**Look**: a number of seeds, fixed before, at which a claim is judged."),
        Term(
            ("power",),
            "**Power**: the chance that a design decides as claimed, if the effect is the "
            "registered one.",
        ),
        Term(("verdict",), "**Verdict**: supported, refuted, undecided, or not judged."),
        Term(
            ("study", "variant", "reading map"),
            "**Study**: arms, their runs and floors, and the claims they are to decide. "
            "**Variant**: a study as written, as meant, or further. **Reading map**: which reading "
            "of what a paper leaves open gives which published number.",
        ),
        Term(
            ("profile of a run",),
            "**Profile of a run** (`smoke`, `laptop`, `full`): how many seeds, steps and arms are "
            "afforded.",
        ),
        Term(
            ("signature",),
            "**Signature**: the pattern in a run's numbers that tells what it lacked: heads, "
            "depth, the right bias, or training.",
        ),
        Term(
            ("erratum",),
            "**Erratum**: a point where the paper prints something else than what holds "
            "([list](errata.md)).",
        ),
        Term(
            ("store",),
            "**Store**: the SQLite file that holds every run once, by the content hash of its "
            "spec.",
        ),
        Term(("engine",), "**Engine**: what runs batches: local processes, or a Ray cluster."),
    ),
}

OPENING = """# Glossary

One or two sentences per term; `headcount explain TERM` prints them. Proofs are in
[theory.md](theory.md), numbers in [numerics.md](numerics.md).
"""


def terms() -> list[Term]:
    """All entries, in the order of the page."""
    return [term for entries in SECTIONS.values() for term in entries]


def _as_one(word: str) -> str:
    """Small letters, and no difference between 'lower bound' and 'lower-bound'."""
    return " ".join(word.lower().replace("-", " ").split())


def explained(word: str) -> list[tuple[str, Term]]:
    """The entries that a word opens, each with its section; failing these, those in which it is
    explained.
    """
    asked = _as_one(word.strip("`"))
    every = [(section, term) for section, entries in SECTIONS.items() for term in entries]
    first = [(section, term) for section, term in every if asked == _as_one(term.names[0])]
    found = first or [
        (section, term) for section, term in every if asked in map(_as_one, term.names)
    ]
    if not found:
        known = sorted({name for _, term in every for name in term.names})
        raise InputError(
            f"unknown term {word!r}{nearest(word, known)}",
            "a word of the glossary or a registered name",
            "headcount explain lists the words, headcount list the names",
        )
    return found


def page() -> str:
    """docs/glossary.md."""
    parts = [OPENING]
    for section, entries in SECTIONS.items():
        items = (
            textwrap.fill(
                f"- {term.text}",
                100,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for term in entries
        )
        parts.append(f"## {section}\n\n" + "\n".join(items) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
