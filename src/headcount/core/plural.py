"""Counts as people write them."""


def counted(count: int, noun: str) -> str:
    """The number and its noun.

    >>> counted(1, "head"), counted(0, "layer")
    ('1 head', '0 layers')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
