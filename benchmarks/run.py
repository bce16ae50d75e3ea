"""Measure Steelyard side by side with what a user would pick instead, and write docs/benchmarks.md.

    python benchmarks/run.py                    every case, each peer in its own environment (`make bench`)
    python benchmarks/run.py bm25 5             the cases whose name starts with bm25, and those of row 5
    python benchmarks/run.py --quick --here     short cases, all contestants in this environment
    python benchmarks/run.py --page             only write the page again, from the stored records
    python benchmarks/run.py --list             the cases

Ratios are of medians from one run, rounds interleaved. A case whose contestants give different answers is void.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import machine, page, record
from harness.case import ROWS, Case, all_cases
from harness.environments import versions
from harness.measure import measure

PACKAGES = (
    *("numpy", "pyarrow", "bm25s", "numba", "tantivy", "rank-bm25", "rank_bm25", "pytrec-eval-terrier", "ranx"),
    *("pytrec_eval-terrier", "ir-measures", "ir_measures", "faiss-cpu", "torch", "sentence-transformers", "mteb"),
    *("scikit-learn", "scipy", "datasketch", "datasets", "pandas", "duckdb"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", help="beginnings of names, or numbers of rows")
    parser.add_argument("--quick", action="store_true", help="leave out the long cases")
    parser.add_argument("--here", action="store_true", help="run every contestant in this environment")
    parser.add_argument("--rounds", type=int, help="rounds of every case")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--page", action="store_true", help="write the page from the stored records and stop")
    arguments = parser.parse_args()
    if arguments.page:
        print(page.write(record.newest()))
        return 0
    cases = [case for case in all_cases() if _chosen(case, arguments.names) and (case.quick or not arguments.quick)]
    if arguments.list or not cases:
        for case in cases or all_cases():
            print(f"{case.row:3} {case.name:28} {case.title}")
        return int(not cases)
    limits = machine.describe()
    found, used = [], {}
    for case in cases:
        print(f"{case.row:3} {case.name:28}", end="", flush=True)
        measured = measure(case, here=arguments.here, rounds=arguments.rounds)
        print(page.verdict(measured), flush=True)
        found.append(measured)
        for one in case.contestants:
            used |= {k: v for k, v in versions(one.environment, here=arguments.here).items() if k in PACKAGES}
        record.write(limits, found, used)
    print(page.write(record.newest()))
    return 0


def _chosen(case: Case, names: list[str]) -> bool:
    return not names or any(case.name.startswith(name) or str(case.row) == name for name in names)


if __name__ == "__main__":
    assert ROWS
    sys.exit(main())
