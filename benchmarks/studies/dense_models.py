"""Encoding with a model of sentence-transformers: our batches against the library's own `encode`.

    python benchmarks/studies/dense_models.py MODEL [TEXTS.jsonl]

Both use the same loaded weights and encode the same texts in turns, paragraphs and short questions mixed as in a
corpus; without a file, functions of the standard library. Shown are medians of seconds (of the clock and of the
processor), their ratio, and the largest difference between vectors. Needs `pip install 'steelyard[torch]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from steelyard.encoders import load_encoder

TEXTS, REPEATS = 160, 3


def texts_of(file: Path | None) -> list[str]:
    if file is not None:
        lines = file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["text"] for line in lines][:TEXTS]
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(os.__file__).parent.glob("[a-d]*.py")))
    return [text for text in source.split("\n\n") if text.strip()][:TEXTS]


def timed(encode: Callable[[], Any]) -> tuple[float, float, Any]:
    clock, processor = time.perf_counter(), time.process_time()
    vectors = encode()
    return time.perf_counter() - clock, time.process_time() - processor, vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("texts", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.model is None:
        print("not run: give the name or the folder of a model")
        return
    model, texts = arguments.model, texts_of(arguments.texts)
    encoder = load_encoder(model, None, {"device": "cpu"})
    library = SentenceTransformer(model, device="cpu", model_kwargs={"dtype": "float32"})
    rounds = []
    for _ in range(REPEATS + 1):
        theirs = timed(lambda: library.encode_document(texts, show_progress_bar=False))
        ours = timed(lambda: encoder.encode(texts, "document"))
        rounds.append((*theirs[:2], *ours[:2]))
    difference = float(np.abs(theirs[2] - ours[2]).max())
    their_clock, their_cpu, our_clock, our_cpu = (
        statistics.median(column)
        for column in zip(*rounds[1:], strict=True)  # the first round warms up
    )
    print(f"{len(texts)} texts, {sum(map(len, texts)) / len(texts):.0f} characters each")
    print(f"library {their_clock:.2f} s ({their_cpu:.2f} cpu)   ours {our_clock:.2f} s ({our_cpu:.2f} cpu)")
    print(f"times   {their_clock / our_clock:.2f} ({their_cpu / our_cpu:.2f} cpu)   difference {difference:.1e}")
    print(f"rate    {len(texts) / our_clock:.1f} texts/s")


if __name__ == "__main__":
    main()
