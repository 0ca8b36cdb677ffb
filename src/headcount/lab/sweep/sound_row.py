"""Is a row of results what a sweep writes? A checksum that fits says only who wrote it last."""

from typing import Any


def sound_head(named: dict[str, Any]) -> bool:
    """Its own columns, by their types."""
    texts = all(isinstance(named[name], str) for name in ("id", "error", "stored"))
    maybe = all(isinstance(named[name], str | None) for name in ("outcome", "sentence"))
    step = named["step"] is None or _are_numbers([named["step"]])
    return texts and maybe and step


def sound_parts(parts: dict[str, Any]) -> bool:
    """Numbers by name, lists of them by metric, texts by library."""
    if not all(isinstance(part, dict) for part in parts.values()):
        return False
    single = [value for name in ("final", "seconds") for value in parts[name].values()]
    return (
        _are_numbers([value for value in single if value is not None])
        and all(
            isinstance(curve, list) and _are_numbers(curve) for curve in parts["metrics"].values()
        )
        and all(isinstance(version, str) for version in parts["versions"].values())
    )


def _are_numbers(values: list[Any]) -> bool:
    """Floats, or whole numbers that fit into one: by their types, which is quick."""
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        return False
    return int not in kinds or all(abs(v) < 2**63 for v in values if isinstance(v, int))
