"""Headcount: how much Transformer does a memory need?

Public names, each listed once and loaded when first used, so that `import headcount` is quiet and
quick.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "headcount.construct": ("Construction", "Plan", "construct", "constructions", "plan"),
    "headcount.core.errors": ("CheckFailed", "HeadcountError", "InputError"),
    "headcount.core.refs": ("PAPERS", "Ref"),
    "headcount.core.registry": ("PartSpec", "Registry"),
    "headcount.core.seeds": ("Seeds",),
    "headcount.core.spec": ("Spec", "canonical_json", "content_hash"),
    "headcount.diagnose": ("Diagnosis", "diagnose"),
    "headcount.export": ("export", "import_torch"),
    "headcount.lab.sweep.local_engine": ("LocalEngine",),
    "headcount.lab.sweep.sweep_plan": ("SweepPlan",),
    "headcount.lab.sweep.ray_engine": ("RayEngine",),
    "headcount.lab.sweep.results": ("results", "status"),
    "headcount.lab.sweep.store": ("Store",),
    "headcount.lab.sweep.driver": ("Summary", "sweep"),
    "headcount.lab.sweep.trainer": ("Trainer",),
    "headcount.memory.adaptive": ("AdaptiveMemory",),
    "headcount.memory.essential": ("EssentialMemory",),
    "headcount.memory.fixed": ("FixedMemory",),
    "headcount.memory.inputs": ("inputs",),
    "headcount.memory.kernels": ("kernels",),
    "headcount.memory.lag_functions": ("lag_functions",),
    "headcount.memory.named": ("targets",),
    "headcount.memory.read": ("At", "Everywhere", "Last", "reads"),
    "headcount.memory.readouts": ("readouts",),
    "headcount.memory.target": ("AbstractTarget", "Batch", "MemoryProfile"),
    "headcount.model.attention": ("Attention",),
    "headcount.model.base": ("AbstractModel",),
    "headcount.model.baselines": ("baselines",),
    "headcount.model.biases": ("biases",),
    "headcount.model.cost": ("Cost", "cost", "count_parameters"),
    "headcount.model.embedding": ("LinearEmbedding", "TokenEmbedding", "positions"),
    "headcount.model.ffn": ("ffns",),
    "headcount.model.normalisers": ("normalisers",),
    "headcount.model.norms": ("norms",),
    "headcount.model.save": ("load", "save"),
    "headcount.model.scores": ("scores",),
    "headcount.model.spec": ("ModelSpec",),
    "headcount.model.transformer": ("Layer", "Transformer"),
    "headcount.pipeline": ("Reproduction", "reproduce"),
    "headcount.studies.zoo": ("ZooProfile", "zoo"),
    "headcount.study": ("study",),
    "headcount.plot": ("plot",),
    "headcount.theory.fit_record": ("KernelFit",),
    "headcount.theory.kernel_fit": ("fit_kernel",),
    "headcount.theory.theorems": ("Evaluated", "bound"),
    "headcount.train": ("Record", "Run", "train"),
    "headcount.train.run_spec": ("RunSpec", "TrainSpec"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    home = importlib.import_module(_HOME[name])
    # a folder that is a verb is callable itself
    value = home if home.__name__ == f"headcount.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
