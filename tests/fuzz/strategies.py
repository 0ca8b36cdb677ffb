"""What a hostile user sends: specs, command lines, files and arguments, most of them wrong.

Sizes are small or absurd, never in between: what is not refused must be quick.
"""

import json
import string

from hypothesis import strategies as st

HOSTILE_TEXT = st.one_of(
    st.text(max_size=12),
    st.text(string.printable, max_size=30),
    st.sampled_from(
        [
            "", " ", "-", "--", "[/x]", "[bold]", "\x1b[31m", "\x00", "..", "/", "~", "a" * 300,
            "nan", "inf", "-inf", "1e400", "-1", "0", "9" * 30, "9" * 400, "9" * 5000, "true",
            "null", "None", "{}", "[]", "()", "((((", "%s%n", "${HOME}", "日本", "\ud800",
            "a=b=c", ",,,", "+++", ":::", "lag:", "lag:1:2", "exp:1(", "__class__",
        ]
    ),
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-3, 5).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(["1e308", "1e-308", "9" * 30, "1000000000000", "0x10", "1_0", "²", "1e5j"]),
)
LISTS = st.lists(NUMBERS, max_size=3).map("+".join)
KERNEL_NAMES = [
    "lag", "exp", "power", "osc", "mexican-hat", "morlet", "window", "array", "file", "lagg",
]  # fmt: skip
TARGET_NAMES = [
    "fixed", "essential", "adaptive", "recall", "induction", "pointer-chain", "selective-copy",
    "parity", "n-gram", "algebraic", "wavelet", "prop42", "exp-4a", "exp-4b", "fixd",
]  # fmt: skip
KEYS = [
    "lags", "kernel", "readout", "inputs", "read", "pairs", "symbols", "hops", "n", "seed", "T",
    "neurons", "alphabet", "values", "current", "d", "position", "path", "sha256", "nesting",
    "lgas",
]  # fmt: skip


def part(names: list[str]) -> st.SearchStrategy[str]:
    """The text of a part: a name with values by place and by name, nested now and then."""
    value = st.one_of(NUMBERS, LISTS, HOSTILE_TEXT)
    flat = st.builds(
        lambda name, places, named: name + ":" + ",".join([*places, *named]),
        st.sampled_from(names),
        st.lists(value, max_size=2),
        st.lists(st.builds("{}={}".format, st.sampled_from(KEYS), value), max_size=3),
    )
    nested = st.builds(
        "{}:{}={}({})".format, st.sampled_from(names), st.sampled_from(KEYS), flat, value
    )
    return st.one_of(st.sampled_from(names), flat, nested, HOSTILE_TEXT)


KERNELS, TARGETS = part(KERNEL_NAMES), part(TARGET_NAMES)
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.floats(),
    HOSTILE_TEXT,
    KERNELS,
    TARGETS,
)
VALUES = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.one_of(st.sampled_from([*KEYS, "kind", "memory", "model", "train"]), HOSTILE_TEXT),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
RUN_KEYS = [
    "memory", "model", "train", "seed", "steps", "batch", "length", "lr", "loss", "data", "log",
    "layers", "heads", "width", "bias", "ffn", "norm", "kind", "samples", "epochs", "baseline",
    "axes", "changes", "seeds", "optimiser", "schedule", "evaluation", "precision", "effort",
]  # fmt: skip
MAPPINGS = st.dictionaries(
    st.one_of(st.sampled_from(RUN_KEYS), HOSTILE_TEXT),
    st.one_of(VALUES, st.dictionaries(st.sampled_from(RUN_KEYS), VALUES, max_size=4)),
    max_size=5,
)


def plain_json(values: object) -> str:
    """JSON with what JSON does not have (NaN, lone surrogates) left as Python writes it."""
    return json.dumps(values, default=str)


FILE_TEXTS = st.one_of(
    MAPPINGS.map(plain_json),
    st.text(max_size=60),
    st.lists(st.builds("{}: {}".format, st.sampled_from(RUN_KEYS), HOSTILE_TEXT), max_size=5).map(
        "\n".join
    ),
    st.lists(st.builds("{} = {}".format, st.sampled_from(RUN_KEYS), NUMBERS), max_size=5).map(
        "\n".join
    ),
    st.sampled_from(["[" * 3000, "{" * 3000, "- " * 3000, "a: &a [*a]", "? [a]\n: b", "!!set {a}"]),
)
FILE_NAMES = st.sampled_from(["a.yaml", "a.yml", "a.toml", "a.json", "a.csv", "a.npy", "a"])
# What each verb takes; "target", "kernel" and "file" stand for words of these sorts.
OPTIONS: dict[str, list[str]] = {
    "fit": ["--bias", "--heads", "--tol", "--budget", "--norm", "--window", "--dtype", "--plot"],
    "bound": ["--theorem", "--bias", "--heads", "--width"],
    "plan": ["--tol", "--dtype", "--normaliser", "--length"],
    "build": ["--bias", "--tol", "--heads", "--width", "--precision", "--length", "-o"],
    "train": ["-o"],
    "sweep": ["--store", "--workers", "--engine", "--address"],
    "status": [],
    "results": ["--csv", "--parquet", "--curves"],
    "list": [],
    "reproduce": ["--profile", "--workers", "--corpus", "-o"],
    "fti": [],
}
FIRST = {"fit": KERNELS, "bound": TARGETS, "plan": TARGETS, "build": TARGETS}


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A verb, an argument that may fit it, options that mostly do not."""
    verb = draw(st.sampled_from(sorted(OPTIONS)))
    words = [verb]
    if verb in FIRST:
        words.append(draw(FIRST[verb]))
    elif verb in ("train", "sweep", "status", "results"):
        words.append(draw(st.one_of(FILE_NAMES, HOSTILE_TEXT)))
    else:
        words += draw(st.lists(HOSTILE_TEXT, max_size=2))
    for option in draw(st.lists(st.sampled_from([*OPTIONS[verb], "--json", "--x"]), max_size=3)):
        words.append(option)
        if option not in ("--json", "--csv", "--parquet", "--curves"):
            words.append(draw(st.one_of(NUMBERS, HOSTILE_TEXT)))
    if verb == "reproduce":  # without a wrong word it would do its hours of work
        words += ["--profile", draw(HOSTILE_TEXT)]
    if verb == "train":
        change = st.builds(
            "{}.{}={}".format, st.sampled_from(RUN_KEYS), st.sampled_from(RUN_KEYS), NUMBERS
        )
        words += draw(st.lists(st.one_of(change, HOSTILE_TEXT), max_size=3))
    # the system passes no null bytes; what a shell passes is bytes of some encoding
    return [word.replace("\0", "") for word in words]
