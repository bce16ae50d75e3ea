"""How long `steelyard --help` takes, against a bare `python -c pass`; the limit is 6 times.

    python benchmarks/startup.py

Interleaved, median of 30 each; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 6.0
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "steelyard --help": [str(Path(sys.executable).with_name("steelyard")), "--help"],
    "import steelyard": [sys.executable, "-c", "import steelyard"],
    "steelyard list groups": [str(Path(sys.executable).with_name("steelyard")), "list", "groups"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=30)
    repetitions = parser.parse_args().repetitions
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repetitions):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = medians["python -c pass"]
    for name, value in medians.items():
        print(f"{name:<24} {value * 1000:7.1f} ms  {value / bare:5.2f} x bare")
    ratio = medians["steelyard --help"] / bare
    print(f"steelyard --help: {ratio:.2f} times bare Python (limit {LIMIT:g})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
