"""Run every benchmark of this folder, one after the other, each in a process of its own.

    python benchmarks/all.py                   all of them, as `make bench` does
    python benchmarks/all.py startup metrics   only some

Figures are ratios against a peer or a limit measured in the same run; the machine's own speed cancels out. What needs
a model or data that are not at hand says so and is passed over.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    scripts = [path for path in sorted(HERE.glob("*.py")) if path.stem != "all" and not path.stem.startswith("_")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(path.stem for path in scripts))
    wanted = parser.parse_args().names
    unknown = set(wanted) - {path.stem for path in scripts}
    if unknown:
        parser.error(
            f"no such benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(p.stem for p in scripts)}"
        )
    failed = []
    for path in scripts:
        if wanted and path.stem not in wanted:
            continue
        print(f"\n== {path.stem} ==", flush=True)
        if subprocess.run([sys.executable, str(path)], check=False).returncode:
            failed.append(path.stem)
    print(f"\nmissed its limit or failed: {', '.join(failed)}" if failed else "\nall within their limits")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
