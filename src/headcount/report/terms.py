"""The words of the report that a reader may not know, each with its meaning in one sentence: shown
as a tooltip where the word first stands in a table.
"""

from headcount.lab.judge.statistics import FEWEST_SEEDS

LEARNED = (
    "what training found: the mean over seeds, and in brackets its 90% interval, or of fewer than"
    f" {FEWEST_SEEDS} seeds the lowest and the highest"
)
TERMS = {
    "promised": "the theorem's bound with explicit constants, or why there is none",
    "possible": "the error of the best weights that were constructed; nothing is trained",
    "lower bound": "certified: no weights of that class and size have a smaller error",
    "float32": "the best weights found that survive rounding to float32",
    "bfloat16": "the best weights found that survive rounding to bfloat16",
    "learned": LEARNED,
    "Exists": "what is said of weights: by constructions, fits and bounds; nothing is trained",
    "Trained": "a trained model of the named size against the claim's threshold",
    "Contrast": "two arms with the same seeds, compared seed by seed",
    "seeds": "how many runs there are that differ by their random numbers alone",
    "power": "the chance that this design finds the registered effect if it is there",
}
