"""What every verb shares: where output goes, and how errors end."""

import json
import math
import sys
from typing import Any

from rich.console import Console

console = Console(highlight=False, soft_wrap=True)  # human output: stdout
progress_console = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Exactly one JSON document on stdout. Infinite and undefined numbers become null: JSON has no others."""
    sys.stdout.write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
