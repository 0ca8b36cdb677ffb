"""A runner that needs no training: its figures follow from the spec alone, and its faults are
real.
"""

import dataclasses
import hashlib
import os
import signal
import time
from pathlib import Path

import pydantic

from headcount.core.errors import require
from headcount.core.spec import Spec, content_hash
from headcount.lab.sweep.engine import AbstractRunner


class ToySpec(Spec):
    """`fault`: raise, die (SIGKILL to itself), die-once (the first time; the marker file tells),
    cry (prints, then dies).
    """

    value: int = 0
    shape: str = "a"
    seconds: float = 0.0
    fault: str = "none"
    marker: str = ""
    busy: bool = False
    seed: int = 0

    @pydantic.model_validator(mode="after")
    def _check(self) -> "ToySpec":
        require(self.value >= 0, f"value {self.value}", "zero or more", "raise it")
        return self


@dataclasses.dataclass(frozen=True)
class Toy(AbstractRunner):
    """Pseudo-training. Every computed run leaves a line in the log, so that a test can count how
    often each was computed.
    """

    log: str = ""
    weights: bool = False

    def read(self, values):
        return ToySpec.from_values(values)

    def key(self, spec):
        return spec.shape

    def shortened(self, spec):
        few, more = (spec.model_copy(update={"seconds": spec.seconds / part}) for part in (10, 5))
        return few.model_copy(update={"seed": 1}), few, more, 9.0

    def run(self, specs):
        for spec in specs:
            _work(spec)
            self._fault(spec)
            if self.log:
                with open(self.log, "a") as file:
                    file.write(f"{content_hash(spec)} {os.getpid()}\n")
            files = (
                {"config.json": b"{}", "model.safetensors": content_hash(spec).encode()}
                if self.weights
                else {}
            )
            yield spec, record(spec), files

    def _fault(self, spec):
        if spec.fault == "raise":
            raise ArithmeticError(f"value {spec.value} is unlucky")
        if spec.fault == "cry":
            print("the last words of a worker", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if spec.fault == "die" or (spec.fault == "die-once" and not Path(spec.marker).exists()):
            if spec.marker:
                Path(spec.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)


def _work(spec):
    """Take so long; where the spec says busy, on the processor."""
    if not spec.busy:
        time.sleep(spec.seconds)
        return
    until = time.process_time() + spec.seconds
    while time.process_time() < until:
        pass


def record(spec):
    """What a run of this spec gives, wherever it is computed."""
    digits = hashlib.sha256(content_hash(spec).encode()).digest()
    losses = [digit / 7.0 for digit in digits[:5]]
    return {
        "outcome": "diverged" if digits[5] < 16 else "finished",
        "step": 4 if digits[5] < 16 else None,
        "sentence": "toy",
        "metrics": {
            "step": [0, 1, 2, 3, 4],
            "train_loss": losses,
            "eval_loss": [float("nan"), *losses[1:]],
        },
        "final": {"eval_loss": losses[-1]},
        "seconds": {"compile": 0.0, "run": spec.seconds},
        "peak_memory_bytes": 1 << 20,
        "versions": {
            "threads": os.environ.get("OMP_NUM_THREADS", ""),
            "flags": os.environ.get("XLA_FLAGS", ""),
        },
    }


def plan(count, **common):
    return [ToySpec(value=i, shape="ab"[i % 2], **common) for i in range(count)]
