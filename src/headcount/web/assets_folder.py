"""Where the page lies inside the package."""

from importlib import resources
from pathlib import Path


def assets() -> Path:
    """The folder of the page."""
    return Path(str(resources.files("headcount.web") / "assets"))
