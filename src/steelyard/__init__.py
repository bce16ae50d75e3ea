"""Steelyard evaluates retrieval and embedding models under one set of conditions.

>>> import steelyard
>>> task = steelyard.load_task("NanoAlmanac/en")                             # doctest: +SKIP
>>> results = steelyard.evaluate(["bm25", "dense"], "NanoAlmanac/en")        # doctest: +SKIP
>>> print(results)                                                           # doctest: +SKIP

Names are imported on first use, so `import steelyard` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.audit import audit
    from steelyard.build import build_candidates, publish, sample_set
    from steelyard.comparison import Comparison, compare
    from steelyard.compat.evalscope import run_task
    from steelyard.config import Settings
    from steelyard.datasets import load_task, load_tasks
    from steelyard.engine import evaluate
    from steelyard.engine.executors.planning import plan
    from steelyard.engine.fidelity import measure_fidelity
    from steelyard.engine.pages import build_pages
    from steelyard.engine.runs import score_run
    from steelyard.errors import SteelyardError
    from steelyard.racing import race
    from steelyard.recommendation import recommend
    from steelyard.results import Result, Results, load_results
    from steelyard.retrievers import load_retriever
    from steelyard.types import Run, Task
    from steelyard.warehouse import import_results
    from steelyard.web import write_site

__version__ = "0.1.0"

_HOMES = {
    "build_pages": "steelyard.engine.pages",
    "measure_fidelity": "steelyard.engine.fidelity",
    "compare": "steelyard.comparison",
    "Comparison": "steelyard.comparison",
    "audit": "steelyard.audit",
    "evaluate": "steelyard.engine",
    "plan": "steelyard.engine.executors.planning",
    "Results": "steelyard.results",
    "load_task": "steelyard.datasets",
    "load_tasks": "steelyard.datasets",
    "load_retriever": "steelyard.retrievers",
    "race": "steelyard.racing",
    "recommend": "steelyard.recommendation",
    "Result": "steelyard.results",
    "load_results": "steelyard.results",
    "Run": "steelyard.types",
    "Task": "steelyard.types",
    "SteelyardError": "steelyard.errors",
    "run_task": "steelyard.compat.evalscope",
    "write_site": "steelyard.web",
    "score_run": "steelyard.engine.runs",
    "import_results": "steelyard.warehouse",
    "publish": "steelyard.build",
    "build_candidates": "steelyard.build",
    "sample_set": "steelyard.build",
    "Settings": "steelyard.config",
}

__all__ = [
    "Comparison",
    "Result",
    "Results",
    "Run",
    "Settings",
    "SteelyardError",
    "Task",
    "__version__",
    "audit",
    "build_candidates",
    "build_pages",
    "compare",
    "evaluate",
    "import_results",
    "load_results",
    "load_retriever",
    "load_task",
    "load_tasks",
    "measure_fidelity",
    "plan",
    "publish",
    "race",
    "recommend",
    "run_task",
    "sample_set",
    "score_run",
    "write_site",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    # `steelyard.audit` is a package that can be called, so that both audit(...) and audit.load_audit(...) work.
    return module if module.__name__ == f"steelyard.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
