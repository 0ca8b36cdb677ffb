"""The short text form of a part: `name`, `name:1.5`, `name:key=value,key=a+b`, nested as
`key=name(…)`.

>>> split_part("fixed:lags=3+17,readout=teacher(neurons=64,seed=1)")
('fixed', [], {'lags': '3+17', 'readout': 'teacher(neurons=64,seed=1)'})
>>> split_part("essential:kernel=osc:0.05,0.3")
('essential', [], {'kernel': 'osc:0.05,0.3'})
"""

import re

from headcount.core.errors import require, shown

DEEPEST = 16  # brackets within brackets


def split_part(text: str) -> tuple[str, list[str], dict[str, str]]:
    """One level of the text form: name, values given by position, values given by name."""
    text = text.strip()
    match = re.fullmatch(r"([A-Za-z][\w-]*)(?::(.*)|\((.*)\))?", text, flags=re.DOTALL)
    require(
        match,
        shown(text),
        "a name, or name:value,key=value",
        "write it like 'power:1.5' or 'fixed:lags=3+17'",
    )
    assert match
    name, arguments = match[1], match[2] if match[2] is not None else match[3]
    positional: list[str] = []
    named: dict[str, str] = {}
    last = None
    for piece in split_outside(arguments, ",") if arguments else []:
        key, equals, value = piece.partition("=")
        if equals and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", key):
            last = key.strip()
            require(
                last not in named,
                f"{last!r} given twice in {shown(text)}",
                "each key once",
                "remove one",
            )
            named[last] = value.strip()
        elif last is not None:  # kernel=osc:0.05,0.3 — a bare value goes on with the one before it
            named[last] += "," + piece.strip()
        else:
            positional.append(piece.strip())
    return name, positional, named


def split_outside(text: str, separator: str) -> list[str]:
    """Split where the separator stands outside brackets. The '+' of 1e+5 is no separator.

    >>> split_outside("a(1,2),b", ",")
    ['a(1,2)', 'b']
    """
    pieces, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        require(
            depth <= DEEPEST,
            f"brackets {depth} deep in {shown(text)}",
            f"at most {DEEPEST}",
            "nest fewer parts",
        )
        exponent = separator == "+" and re.search(r"\d[eE]$", text[max(0, i - 2) : i])
        if letter == separator and depth == 0 and not exponent:
            pieces.append(text[start:i])
            start = i + 1
    require(depth == 0, shown(text), "as many '(' as ')'", "close every bracket")
    return [*pieces, text[start:]]
