"""Run the tests of floating-point numbers as on other processors: `make cpus`.

The instructions of torch (ATEN_CPU_CAPABILITY) and of OpenBLAS (OPENBLAS_CORETYPE) and the number of threads change
the order of sums, and so the last digits of vectors and scores. Each setting runs in its own processes. The setting
that the libraries really use is printed first. A setting with instructions that the processor does not have is not run,
which is printed and counts as neither passed nor failed.

    python tests/cpu_settings.py                              every setting
    python tests/cpu_settings.py avx512-SkylakeX-1 -- -x      one, with options for pytest
    python tests/cpu_settings.py -- tests/vectors             other tests
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = ("default-Haswell-1", "avx2-Haswell-2", "avx2-SkylakeX-2", "avx512-Haswell-2", "avx512-SkylakeX-1")
"""Instructions of torch, core of OpenBLAS, threads: every two values of different parts occur together."""
NEEDS_AVX512 = ("avx512", "SkylakeX")
TESTS = (
    *("metrics", "stats", "tasks", "vectors", "retrievers/bm25", "retrievers/chunking", "retrievers/rerank"),
    *(f"retrievers/test_{name}.py" for name in ("dense", "fusion", "model_variants")),
    *(f"retrievers/test_{name}.py" for name in ("late", "late_transformers", "sparse", "sparse_transformers")),
    *(f"encoders/backends/transformers/test_{name}.py" for name in ("dense_encoder", "packed_bert")),
    *("encoders/backends/test_onnx.py", "encoders/use/test_encoder.py", "encoders/test_compute_options.py"),
    *("encoders/cache/test_cached_encoder.py", "compat/mteb/test_mteb_files.py"),
    *("engine/test_stability.py", "engine/test_batch_determinism.py"),
)
"""Tests that compare floating-point numbers with those of other programs, of other batches or of another run."""
EFFECTIVE = """
import numpy, scipy.linalg, threadpoolctl, torch
blas = [one for one in threadpoolctl.threadpool_info() if "blas" in one["prefix"]]
print("torch", torch.backends.cpu.get_cpu_capability(), torch.get_num_threads(), "threads; OpenBLAS", end=" ")
print(*sorted({f"{one['architecture']} {one['num_threads']} threads" for one in blas}))
"""


def environment(setting: str) -> dict[str, str]:
    """Return the variables of a setting.

    >>> environment("avx2-Haswell-1")["OPENBLAS_CORETYPE"]
    'Haswell'
    """
    capability, core, threads = setting.split("-")
    counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    return {**os.environ, "ATEN_CPU_CAPABILITY": capability, "OPENBLAS_CORETYPE": core, **counts}


def has_avx512() -> bool:
    """Return whether the processor has AVX-512: then torch uses it unless a variable forbids it."""
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    variables = {name: value for name, value in os.environ.items() if name != "ATEN_CPU_CAPABILITY"}
    used = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)
    return used.stdout.strip() == "AVX512"


def main() -> int:
    words = sys.argv[1:]
    chosen, options = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    files = [] if any(Path(word).exists() for word in options) else [f"tests/{name}" for name in TESTS]
    failed, not_run, avx512 = [], [], has_avx512()
    for setting in chosen or SETTINGS:
        if not avx512 and any(part in NEEDS_AVX512 for part in setting.split("-")):
            not_run.append(setting)
            continue
        print(f"== {setting}", flush=True)
        subprocess.run([sys.executable, "-c", EFFECTIVE], env=environment(setting), cwd=ROOT, check=True)
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not server and not browser", *options, *files]
        if subprocess.run(command, env=environment(setting), cwd=ROOT, check=False).returncode:
            failed.append(setting)
    if not_run:
        print(f"not run, because this processor does not have AVX-512: {', '.join(not_run)}")
    print(f"failed: {', '.join(failed)}" if failed else "passed with every setting that was run")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
