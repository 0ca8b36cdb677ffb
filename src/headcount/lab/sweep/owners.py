"""Who works on which run: two sweeps can share a store, and a dead one's work is taken over.

A sweep is known by a random name and by its process: place (machine, boot and process namespace),
process number and the start time of that process in the kernel's own ticks, which no other process
of that boot shares. It is alive when that process exists *and* its counter moves: every sweep
raises its own counter about once a second. The other side measures with its own monotonic clock how
long it has seen the same value. No wall clock is read anywhere, so setting the time back or forth
changes nothing; and a sweep that was stopped for a while and goes on does no harm either, since a
run computed twice is stored once (the first row stays).
"""

import dataclasses
import os
import socket
import time
import uuid
from pathlib import Path

BEAT_SECONDS = 1.0
# a counter that has not moved for so long belongs to a stopped or unreachable sweep
GRACE_SECONDS = 30.0


@dataclasses.dataclass(frozen=True)
class Owner:
    """A sweep that is, or was, at work on a store."""

    owner: str
    place: str
    pid: int
    started: str
    beat: int = 0

    @classmethod
    def this(cls) -> "Owner":
        """This process, under a fresh name."""
        return cls(uuid.uuid4().hex, place(), os.getpid(), started(os.getpid()))

    @property
    def here(self) -> bool:
        """Can this process see whether that one exists?"""
        return self.place == place()

    @property
    def exists(self) -> bool:
        """False where the process is known to be gone."""
        return not self.here or (_runs(self.pid) and started(self.pid) == self.started)


class Watch:
    """What one sweep has seen of the others' counters, by its own monotonic clock."""

    def __init__(self, grace: float = GRACE_SECONDS):
        self.grace = grace
        # owner → counter, when it was first seen at that
        self._seen: dict[str, tuple[int, float]] = {}

    def alive(self, owner: Owner) -> bool:
        """The process exists and its counter moved not long ago."""
        now = time.monotonic()
        beat, since = self._seen.get(owner.owner, (-1, now))
        if beat != owner.beat:
            since = now
            self._seen[owner.owner] = (owner.beat, now)
        return owner.exists and now - since < self.grace


def place() -> str:
    """The machine, its boot and the process namespace: where a process number means something."""
    return "/".join(
        [socket.gethostname(), _text(Path("/proc/sys/kernel/random/boot_id")), _namespace()]
    )


def started(pid: int) -> str:
    """When the process began, in ticks since boot; '' where the system does not say."""
    stat = _text(Path(f"/proc/{pid}/stat"))
    # field 22; the name before it may hold anything
    return stat.rpartition(")")[2].split()[19] if ")" in stat else ""


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    state = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return not state or state[0] not in "ZX"  # a zombie waits for its parent only


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
