"""Measure Steelyard side by side with what a user would pick instead, and write docs/benchmarks.md.

    python benchmarks/run.py                    every case, each peer in its own environment (`make bench`)
    python benchmarks/run.py bm25 5             the cases whose name starts with bm25, and those of row 5
    python benchmarks/run.py --quick            short cases, about 10 minutes
    python benchmarks/run.py --here             all contestants in this environment
    python benchmarks/run.py --environments     only make the environments
    python benchmarks/run.py --page             only write the page again, from the stored records
    python benchmarks/run.py --list             the cases, with the time that each took

Ratios are of medians from one run, rounds interleaved. A case whose contestants give different answers is void. A run
that was stopped goes on where it was: what is measured for this commit and this code is measured again with --again
only. A contestant or an environment that fails is recorded as failed and does not stop the others.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import machine, page, record
from harness.case import Case, all_cases
from harness.environments import ENVIRONMENTS, NotInstalled, python_of, versions
from harness.measure import measure

QUICK_ROUNDS = 2
"""The most rounds of a case in a short run."""
PACKAGES = (
    *("numpy", "pyarrow", "bm25s", "numba", "tantivy", "rank-bm25", "pytrec-eval-terrier", "ranx", "ir-measures"),
    *("faiss-cpu", "usearch", "torch", "sentence-transformers", "transformers", "mteb", "scikit-learn", "scipy"),
    *("datasketch", "semhash", "rensa", "datasets", "pandas", "duckdb", "onnxruntime", "optimum-onnx", "evalscope"),
)
"""The packages whose versions are recorded."""


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # ends the process that is measured, too
    arguments = _arguments()
    if arguments.page:
        print(page.write(record.newest()))
        return 0
    if arguments.environments:
        return _make_environments()
    cases = [case for case in all_cases() if _chosen(case, arguments.names) and (case.quick or not arguments.quick)]
    if arguments.list or not cases:
        _list(cases or all_cases())
        return int(not cases)
    waiting = [case for case in cases if arguments.again or not record.measured(case, here=arguments.here)]
    if len(waiting) < len(cases):
        print(f"{len(cases) - len(waiting)} of {len(cases)} cases are measured for this commit; --again repeats them")
    limits = machine.describe() if waiting else {}
    for case in waiting:
        print(f"{case.row:3} {case.name:28} ", end="", flush=True)
        rounds = arguments.rounds or (min(case.rounds, QUICK_ROUNDS) if arguments.quick else None)
        measured = measure(case, here=arguments.here, rounds=rounds)
        measured |= {"source": record.source_of(case), "here": arguments.here}
        print(f"{page.verdict(measured)} [{measured['took']:.0f} s]", flush=True)
        record.write(limits, [measured], _versions(case, arguments.here))
    newest = record.newest()
    print(page.write(newest))
    for case in map(page.with_texts, newest["cases"]):
        if not all(page.reasons(case)):
            print(f"no reason is given: {case['name']}: {page.problem(case)}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", help="beginnings of names, or numbers of rows")
    parser.add_argument("--quick", action="store_true", help="leave out the long cases")
    parser.add_argument("--here", action="store_true", help="run every contestant in this environment")
    parser.add_argument("--again", action="store_true", help="measure again what is measured for this commit")
    parser.add_argument("--rounds", type=int, help="rounds of every case")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--page", action="store_true", help="write the page from the stored records and stop")
    parser.add_argument("--environments", action="store_true", help="make the environments and stop")
    return parser.parse_args()


def _chosen(case: Case, names: list[str]) -> bool:
    return not names or any(case.name.startswith(name) or str(case.row) == name for name in names)


def _list(cases: list[Case]) -> None:
    try:
        took = {case["name"]: case.get("took") for case in record.newest()["cases"]}
    except SystemExit:
        took = {}
    for case in cases:
        seconds = took.get(case.name)
        print(f"{case.row:3} {case.name:28} {'?' if seconds is None else round(seconds):>5} s  {case.title}")


def _make_environments() -> int:
    failed = 0
    for name in ENVIRONMENTS:
        try:
            print(f"{name:28} {python_of(name)}", flush=True)
        except NotInstalled as error:
            failed += 1
            print(f"{name:28} {error}", flush=True)
    return int(failed > 0)


def _versions(case: Case, here: bool) -> dict[str, Any]:
    """Return the versions of the packages that the contestants of a case use, by environment."""
    used = {}
    for one in case.contestants:
        try:
            installed = versions(one.environment, here=here)
        except NotInstalled:
            continue
        name = "steelyard" if here else one.environment
        used[name] = {package: installed[package] for package in PACKAGES if package in installed}
    return used


if __name__ == "__main__":
    sys.exit(main())
