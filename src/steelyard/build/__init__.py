"""Build Nano-sets: sample a full dataset, add candidate lists, publish; `engine.fidelity` measures samples.

>>> from pathlib import Path
>>> from steelyard.build import Recipe, sample_set
>>> made = sample_set("BeIR/scifact", Path("NanoMine"), Recipe(queries=50))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.build.candidates.adding import build_candidates, candidate_coverage
    from steelyard.build.candidates.hybrid import Hybrid
    from steelyard.build.candidates.lists import CandidatePlan
    from steelyard.build.sample.plan import PlannedTask, SetPlan, read_set_file
    from steelyard.build.sample.recipe import Recipe
    from steelyard.build.sample.sampler import NanoSet, sample_set
    from steelyard.build.upload import Upload, prepare_upload, publish

__all__ = [
    "CandidatePlan",
    "Hybrid",
    "NanoSet",
    "PlannedTask",
    "Recipe",
    "SetPlan",
    "Upload",
    "build_candidates",
    "candidate_coverage",
    "prepare_upload",
    "publish",
    "read_set_file",
    "sample_set",
]

_HOMES = {
    "CandidatePlan": "candidates.lists",
    "Hybrid": "candidates.hybrid",
    "NanoSet": "sample.sampler",
    "PlannedTask": "sample.plan",
    "SetPlan": "sample.plan",
    "read_set_file": "sample.plan",
    "Recipe": "sample.recipe",
    "Upload": "upload",
    "build_candidates": "candidates.adding",
    "candidate_coverage": "candidates.adding",
    "prepare_upload": "upload",
    "publish": "upload",
    "sample_set": "sample.sampler",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard.build' has no attribute {name!r}")
    return getattr(importlib.import_module(f"steelyard.build.{_HOMES[name]}"), name)
