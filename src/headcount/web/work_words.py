"""How a worker's answer ended."""

ANSWERED, REFUSED, FAILED = "answered", "refused", "failed"
