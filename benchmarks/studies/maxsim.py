"""MaxSim over ragged token matrices, against a plain padded einsum in torch and sentence-transformers' own scoring.

python benchmarks/studies/maxsim.py [--documents 2000] [--queries 100] [--dimension 128] [--repetitions 5]

All three score every query with every document and keep the best 100; scores are checked to agree. Times are medians
of interleaved repetitions, on as many threads as the libraries take.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from steelyard.vectors.maxsim import MaxSim, TokenVectors

TOP_K = 100
CHUNK = 64
"""Documents padded together by the plain einsum."""


def made_up(texts: int, low: int, high: int, dimension: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    counts = random.integers(low, high + 1, texts)
    arrays = [random.standard_normal((count, dimension)).astype(np.float32) for count in counts]
    return [array / np.linalg.norm(array, axis=1, keepdims=True) for array in arrays]


def einsum(queries: list[np.ndarray], documents: list[np.ndarray]) -> Callable[[], np.ndarray]:
    """What people write first: pad, einsum, mask, max, sum."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    query = pad_sequence([torch.from_numpy(q) for q in queries], batch_first=True)
    tensors = [torch.from_numpy(d) for d in documents]

    def score() -> np.ndarray:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(tensors), CHUNK):
                part = tensors[start : start + CHUNK]
                padded = pad_sequence(part, batch_first=True)
                mask = torch.arange(padded.shape[1])[None] >= torch.tensor([len(d) for d in part])[:, None]
                products = torch.einsum("qsd,ntd->qnst", query, padded)
                products.masked_fill_(mask[None, :, None], float("-inf"))
                parts.append(products.max(dim=3).values.sum(dim=2))
            return torch.topk(torch.cat(parts, dim=1), TOP_K, dim=1).values.numpy()

    return score


def library(queries: list[np.ndarray], documents: list[np.ndarray]) -> Callable[[], np.ndarray]:
    import torch
    from sentence_transformers.util.similarity import maxsim

    query, tensors = ([torch.from_numpy(text) for text in texts] for texts in (queries, documents))

    def score() -> np.ndarray:
        with torch.inference_mode():
            return torch.topk(maxsim(query, tensors), TOP_K, dim=1).values.numpy()

    return score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (("documents", 2000), ("queries", 100), ("dimension", 128), ("repetitions", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    documents = made_up(arguments.documents, 20, 180, arguments.dimension, 0)
    queries = made_up(arguments.queries, 32, 32, arguments.dimension, 1)
    tokens, asked = TokenVectors.of(documents), TokenVectors.of(queries)
    index = MaxSim(tokens)
    ways: dict[str, Callable[[], np.ndarray]] = {"steelyard": lambda: index.search(asked, TOP_K).scores}
    try:
        ways["torch einsum, padded"] = einsum(queries, documents)
        ways["sentence-transformers"] = library(queries, documents)
    except ImportError as error:
        print(f"peers left out: {error}", file=sys.stderr)
    first = {name: way() for name, way in ways.items()}
    for name, scores in first.items():
        np.testing.assert_allclose(scores, first["steelyard"], rtol=1e-4, err_msg=name)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.repetitions):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"{arguments.queries} queries x 32 tokens, {arguments.documents:,} documents, {len(tokens.matrix):,} tokens")
    for name, median in medians.items():
        print(f"{name:24} {median:8.3f} s   {median / medians['steelyard']:5.2f} x ours")
    tracemalloc.start()
    index.search(asked, TOP_K)
    print(
        f"memory beside the index  {tracemalloc.get_traced_memory()[1] / 1e6:8.1f} MB ({index.size_bytes / 1e6:.0f} MB)"
    )


if __name__ == "__main__":
    main()
