"""What a hostile user sends: specs, command lines, files and arguments, most of them wrong.

The names and options of parts are those of the registries, so that many inputs get past the first
check. Sizes are small or absurd, never in between: what is not refused must be quick.
"""

import json
import string

from hypothesis import strategies as st

import headcount as hc
from tests.fuzz.mutate import Choice

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
    st.sampled_from(["0.01", "0.5", "1", "2", "3", "4", "8"]),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(["1e308", "1e-308", "9" * 30, "1000000000000", "0x10", "1_0", "²", "1e5j"]),
)
LISTS = st.lists(NUMBERS, max_size=3).map("+".join)
# Targets that read large texts are tried elsewhere; their names are refused options here.
HEAVY = {"english", "stdlib"}
REGISTRIES = {
    "kernel": hc.kernels, "memory": hc.targets, "readout": hc.readouts, "input": hc.inputs,
    "lag-function": hc.lag_functions, "read": hc.reads, "bias": hc.biases, "score": hc.scores,
    "normaliser": hc.normalisers, "norm": hc.norms, "ffn": hc.ffns, "position": hc.positions,
    "baseline": hc.baselines,
}  # fmt: skip
OPTIONS_OF = {
    entry.name: [p.name for p in entry.parameters]
    for registry in REGISTRIES.values()
    for entry in registry.entries()
}
NAMES = {
    noun: sorted({entry.name for entry in registry.entries()} - HEAVY)
    for noun, registry in REGISTRIES.items()
}
INNER = ["linear", "product", "parity", "teacher(neurons=2)", "lookup(alphabet=2)", "exp:0.5",
         "lag:2", "boolean(d=2)", "onehot(symbols=3)", "markov(symbols=2)", "last", "at:3",
         "fixed:lags=1", "table(lags=1+2)", "bits", "softmax", "rope", "lin", "dot"]  # fmt: skip
VALUE = st.one_of(NUMBERS, NUMBERS, LISTS, st.sampled_from(INNER), HOSTILE_TEXT)


@st.composite
def parts(draw: st.DrawFn, noun: str) -> str:
    """The text of a part: a name with values by place and by name, nested now and then."""
    if draw(st.integers(0, 9)) == 0:
        return draw(HOSTILE_TEXT)
    name = draw(st.sampled_from(NAMES[noun]))
    words = draw(st.lists(VALUE, max_size=2)) if draw(st.booleans()) else []
    keys = OPTIONS_OF[name] or ["n"]
    for key in draw(st.lists(st.sampled_from([*keys, *keys, "lgas"]), max_size=3)):
        words.append(f"{key}={draw(VALUE)}")
    if draw(st.integers(0, 5)) == 0:
        words.append(f"{draw(st.sampled_from(keys))}={name}({draw(VALUE)})")
    return f"{name}:{','.join(words)}" if words else name


KERNELS, TARGETS = parts("kernel"), parts("memory")
PARTS = st.sampled_from(sorted(REGISTRIES)).flatmap(
    lambda noun: st.tuples(st.just(Choice(noun)), parts(noun))
)
KEYS = sorted({key for keys in OPTIONS_OF.values() for key in keys} | {"lgas"})
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.floats(),
    HOSTILE_TEXT,
    PARTS.map(lambda pair: pair[1]),
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
    max_leaves=6,
)
FIELDS = {
    "memory": TARGETS,
    "model": sorted(hc.ModelSpec.model_fields),
    "train": sorted(hc.TrainSpec.model_fields),
    "seed": NUMBERS,
}
RUN_KEYS = sorted(
    {*hc.RunSpec.model_fields, *hc.SweepPlan.model_fields, *FIELDS["model"], *FIELDS["train"]}
)


@st.composite
def mappings(draw: st.DrawFn) -> dict[str, object]:
    """What a spec file holds: known keys with values that may fit, and foreign ones."""
    values: dict[str, object] = {}
    for key in draw(st.lists(st.one_of(st.sampled_from(RUN_KEYS), HOSTILE_TEXT), max_size=4)):
        inner = FIELDS.get(key)
        if isinstance(inner, list):
            fields = st.dictionaries(st.sampled_from(inner), st.one_of(LEAF, VALUES), max_size=3)
            values[key] = draw(st.one_of(fields, VALUES))
        else:
            values[key] = draw(VALUES if inner is None else st.one_of(inner, VALUES))
    return values


MAPPINGS = mappings()


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
    st.lists(st.lists(NUMBERS, min_size=1, max_size=3).map(",".join), max_size=5).map("\n".join),
    st.sampled_from(["[" * 3000, "{" * 3000, "- " * 3000, "a: &a [*a]", "? [a]\n: b", "!!set {a}"]),
)
FILE_NAMES = st.sampled_from(["a.yaml", "a.yml", "a.toml", "a.json", "a.csv", "a.npy", "a"])
# Changes of a file's bytes: where (a share of its length), what is put there, what is cut off.
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.binary(max_size=6), st.integers(0, 40)), min_size=1, max_size=3
)

TEXT_OPTION, FLAG = "text", "flag"
TOL, HEADS = {"--tol": TEXT_OPTION}, {"--heads": TEXT_OPTION, "--width": TEXT_OPTION}
OUT, LENGTH = {"-o": TEXT_OPTION}, {"--length": TEXT_OPTION, "--normaliser": TEXT_OPTION}
SCALE = {"--workers": TEXT_OPTION, "--engine": TEXT_OPTION, "--dry-run": FLAG}
# What each verb takes.
OPTIONS: dict[str, dict[str, str]] = {
    "fit": {"--bias": "bias", "--budget": TEXT_OPTION, "--norm": TEXT_OPTION, "--csv": "file",
            "--window": TEXT_OPTION, "--dtype": TEXT_OPTION, "--no-lower-bound": FLAG,
            **TOL, "--heads": TEXT_OPTION, **OUT},
    "bound": {"--theorem": "theorem", "--target": "memory", "--bias": "bias", **HEADS},
    "plan": {"--dtype": TEXT_OPTION, "--standard": FLAG, **TOL, **LENGTH},
    "build": {"--bias": "bias", "--precision": TEXT_OPTION, "--construction": TEXT_OPTION, **TOL,
              **HEADS, **LENGTH, **OUT},
    "train": {"--example": FLAG, **OUT},
    "sweep": {"--store": "file", "--address": TEXT_OPTION, "--example": FLAG, **SCALE},
    "status": {},
    "results": {"--csv": FLAG, "--parquet": FLAG, "--curves": FLAG, "--summary": FLAG},
    "diagnose": {"--target": "column", "--max-lag": TEXT_OPTION, "--lags": TEXT_OPTION,
                 "--alpha": TEXT_OPTION, "--seed": TEXT_OPTION, "--order": TEXT_OPTION,
                 "--segments": "column", "--tokens": TEXT_OPTION, "--detrend": FLAG, **OUT},
    "export": {"--to": TEXT_OPTION, "--weights": "file", **OUT},
    "list": {},
    "explain": {},
    "cache": {},
    "zoo": {"--memory": "memory", "--list": FLAG, **SCALE, **OUT},
    "study": {**SCALE, **OUT},
    "serve": {"--port": TEXT_OPTION, "--host": TEXT_OPTION, "--root": "file"},
    "reproduce": {"--corpus": "file", "--replication": TEXT_OPTION, **SCALE, **OUT},
    "fti": {},
}  # fmt: skip
FILES = st.one_of(
    st.sampled_from(["run.yaml", "data.csv", "kernel.npy", "runs.sqlite", "model", "."]),
    FILE_NAMES,
    HOSTILE_TEXT,
)
SAID = {
    "memory": TARGETS,
    "bias": st.one_of(st.sampled_from(NAMES["bias"]), parts("bias")),
    "theorem": st.one_of(st.sampled_from(["3.1", "4.1", "4.4", "5.1"]), HOSTILE_TEXT),
    "column": st.one_of(st.sampled_from(["x", "y", "next:x"]), HOSTILE_TEXT),
    "file": FILES,
    TEXT_OPTION: st.one_of(NUMBERS, HOSTILE_TEXT),
}
FIRST = {"fit": KERNELS, "plan": TARGETS, "build": TARGETS, "study": st.one_of(
    st.sampled_from(["finite-sample", "robustness", "rivals", "mad"]), HOSTILE_TEXT)}  # fmt: skip
FILE_VERBS = {"train", "sweep", "status", "results", "diagnose", "export"}
ENDING = {
    "reproduce": ["--profile", "smok"],
    "zoo": ["--profile", "smok"],
    "study": ["--profile", "smok"],
    "serve": ["--workers", "-1"],
    "diagnose": ["--no-learner", "--no-advice"],
}
CHANGES = st.one_of(
    st.builds("{}={}".format, st.sampled_from(["seed", "memory", "model.kind"]), VALUE),
    st.builds("model.{}={}".format, st.sampled_from(FIELDS["model"]), VALUE),
    st.builds("train.{}={}".format, st.sampled_from(FIELDS["train"]), VALUE),
    HOSTILE_TEXT,
)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A verb, an argument that may fit it, options that may too."""
    verb = draw(st.sampled_from(sorted(OPTIONS)))
    words = [verb]
    if verb in FIRST:
        words.append(draw(FIRST[verb]))
    elif verb in FILE_VERBS:
        words.append(draw(FILES))
    else:
        words += draw(st.lists(HOSTILE_TEXT, max_size=2))
    known = {**OPTIONS[verb], "--json": FLAG}
    for option in draw(st.lists(st.sampled_from([*known, "--x"]), max_size=3)):
        words.append(option)
        sort = known.get(option, TEXT_OPTION)
        if sort != FLAG:
            words.append(draw(SAID[sort]))
    if verb == "train":
        words += draw(st.lists(CHANGES, max_size=3))
    return words


def guarded(words: list[str]) -> list[str]:
    """The command line with a last word that ends it soon, where it would take hours or listen for
    ever, and as the system passes it: without null bytes.
    """
    words = [word.replace("\0", "") for word in words]
    verbs = [word for word in words[:3] if word in ENDING]
    return [*words, *(ENDING[verbs[0]] if verbs else [])]
