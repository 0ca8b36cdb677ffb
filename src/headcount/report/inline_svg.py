"""A figure's SVG as part of an HTML page: no prolog, ids of its own, colours by CSS variable, a
text alternative.

Several drawings stand in one page, so ids must not meet; the page has a light and a dark face, so
colours are variables (`palette.LIGHT` is what the drawing holds, the page's style sheet says what
each name is). The SVG is parsed and written again rather than edited as text, so what comes out is
well formed and escaped.
"""

import re
from xml.etree import ElementTree

from headcount.report.palette import LIGHT

VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
COLOURED = ("style", "fill", "stroke")
DROPPED = ("metadata", "style")


def inline_svg(svg: bytes, name: str, title: str, description: str) -> str:
    """`name` becomes the prefix of every id in the drawing."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in [child for child in parent if _local(child.tag) in DROPPED]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {
            _local(key): _value(_local(key), value, name) for key, value in element.attrib.items()
        }
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-description",
        "style": "stroke-linejoin: round; stroke-linecap: butt",
    }
    root[:0] = [
        _text("title", f"{name}-title", title),
        _text("desc", f"{name}-description", description),
    ]
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _value(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return re.sub(r"^#", f"#{name}-", value)
    if key == "clip-path":
        return re.sub(r"url\(#", f"url(#{name}-", value)
    if key in COLOURED:
        return re.sub(r"#[0-9a-f]{6}", lambda found: VARIABLES.get(found[0], found[0]), value)
    return value


def _text(tag: str, name: str, text: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, {"id": name})
    element.text = text
    return element
