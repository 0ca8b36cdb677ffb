"""What a worker says: that it is there, that it has begun, and how its answer ended."""

READY, BEGUN = "ready", "begun"
ANSWERED, REFUSED, FAILED = "answered", "refused", "failed"
