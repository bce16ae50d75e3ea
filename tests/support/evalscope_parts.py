"""Small data and configs in EvalScope's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

DOCUMENTS = {
    "d0": "The old bridge of the city is red.",
    "d1": "A great king, a small queen!",
    "d2": "Salt and iron in the north mountain",
    "d3": "What is bread? Bread is old; wine is new.",
    "d4": "The ship in the harbour of the south",
    "d5": "Winter music: the tower of gold",
    "d6": "A letter of the queen",
}
QUERIES = {"q0": "where is the red bridge", "q1": "who is the king", "q2": "iron", "q3": "a ship in the harbour"}
RELEVANT = {"q0": "d0", "q1": "d1", "q2": "d2", "q3": "d4"}
ONE_STAGE: dict[str, Any] = {
    "eval_backend": "RAGEval",
    "eval_config": {
        "tool": "MTEB",
        "model": [
            {
                "model_name_or_path": "AI-ModelScope/m3e-base",
                "pooling_mode": None,
                "max_seq_length": 512,
                "prompt": "",
                "model_kwargs": {"torch_dtype": "auto"},
                "encode_kwargs": {"batch_size": 128},
            }
        ],
        "eval": {
            "tasks": ["TNews", "CLSClusteringS2S", "T2Reranking", "T2Retrieval", "ATEC"],
            "verbosity": 2,
            "output_folder": "outputs",
            "overwrite_results": True,
            "limits": 500,
        },
    },
}
"""EvalScope's own example of one stage, unchanged."""

TWO_STAGES: dict[str, Any] = {
    "eval_backend": "RAGEval",
    "eval_config": {
        "tool": "MTEB",
        "model": [
            {
                "model_name_or_path": "AI-ModelScope/m3e-base",
                "is_cross_encoder": False,
                "max_seq_length": 512,
                "model_kwargs": {"torch_dtype": "auto"},
                "encode_kwargs": {"batch_size": 64},
            },
            {
                "model_name_or_path": "OpenBMB/MiniCPM-Reranker",
                "is_cross_encoder": True,
                "max_seq_length": 512,
                "prompt": "Generate a retrieval representation for this question",
                "model_kwargs": {"torch_dtype": "auto"},
                "encode_kwargs": {"batch_size": 32},
            },
        ],
        "eval": {"tasks": ["T2Retrieval"], "verbosity": 2, "output_folder": "outputs", "limits": 100},
    },
}
"""EvalScope's own example of two stages, unchanged."""


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def retrieval_folder(folder: Path) -> Path:
    """EvalScope's layout of one's own retrieval data."""
    write_jsonl(folder / "corpus.jsonl", [{"_id": id_, "text": text} for id_, text in DOCUMENTS.items()])
    write_jsonl(folder / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in QUERIES.items()])
    lines = [f"{query}\t{document}\t1" for query, document in RELEVANT.items()]
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    return folder


def config(models: list[dict[str, Any]], folder: Path, **evaluation: Any) -> dict[str, Any]:
    """A config of the first version."""
    return {
        "eval_backend": "RAGEval",
        "eval_config": {
            "tool": "MTEB",
            "model": models,
            "eval": {"verbosity": 1, "output_folder": str(folder), **evaluation},
        },
    }


def first_generation(folder: Path) -> Path:
    """Five tasks of C-MTEB as copies of the repositories that mteb 1.14 reads, with a few rows each."""

    def put(repository: str, **splits: dict[str, list[Any]]) -> None:
        for split, columns in splits.items():
            path = folder / "C-MTEB" / repository / "data" / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            parquet.write_table(pyarrow.table(columns), path)

    texts = [f"{a} {b} of the {c}" for a in KINDS for b in KINDS for c in ("north", "south", "city")]
    labels = [number // 9 for number in range(27)]
    put("TNews-classification", train={"text": texts, "label": labels}, validation={"text": texts, "label": labels})
    put("CLSClusteringS2S", test={"sentences": [texts, texts[9:]], "labels": [labels, labels[9:]]})
    pairs = {"sentence1": texts[:12], "sentence2": texts[6:18], "score": [n % 5 / 4 for n in range(12)]}
    put("ATEC", validation=pairs, test={**pairs, "score": pairs["score"][::-1]})
    ids, bodies = list(DOCUMENTS), list(DOCUMENTS.values())
    put(
        "T2Retrieval",
        corpus={"id": ids, "text": bodies},
        queries={"id": list(QUERIES), "text": list(QUERIES.values())},
    )
    put("T2Retrieval-qrels", dev={"qid": list(RELEVANT), "pid": list(RELEVANT.values()), "score": [1] * 4})
    negatives = [[body for body in bodies if body != DOCUMENTS[right]][:4] for right in RELEVANT.values()]
    rows = {"query": list(QUERIES.values()), "positive": [[DOCUMENTS[right]] for right in RELEVANT.values()]}
    put("T2Reranking", dev={**rows, "negative": negatives})
    return folder


KINDS = ("river", "king", "bread")
