"""Run every benchmark of this folder, one after the other, each in a process of its own.

`make bench` calls this. Figures are ratios against a peer or a limit measured in the same run; the machine's own speed
cancels out. Give names to run only some: `python benchmarks/all.py startup metrics`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(wanted: list[str]) -> int:
    scripts = [path for path in sorted(HERE.glob("*.py")) if path.stem != "all" and not path.stem.startswith("_")]
    unknown = set(wanted) - {path.stem for path in scripts}
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(p.stem for p in scripts)}")
        return 2
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
    sys.exit(main(sys.argv[1:]))
