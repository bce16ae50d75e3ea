"""Result files in every format that the warehouse reads, as small as they can be."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any


def write_json(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def mteb_result(task: str = "STSB", score: float = 0.5, **scores: Any) -> dict[str, Any]:
    """Return a result file of mteb 1.11 and later."""
    row = {"main_score": score, "cosine_spearman": score, "hf_subset": "default", "languages": ["cmn-Hans"], **scores}
    return {
        "dataset_revision": "0cde68302b3541bb8b3c340dc0644b0b745b3dc0",
        "evaluation_time": 2.5,
        "kg_co2_emissions": None,
        "mteb_version": "2.26.24",
        "scores": {"test": [row], "validation": [row]},
        "task_name": task,
    }


def old_mteb_result() -> dict[str, Any]:
    """Return a result file of mteb 1.0: splits at the top level, nested metrics, subsets by language."""
    return {
        "dataset_revision": None,
        "mteb_dataset_name": "STS17",
        "mteb_version": "1.0.2",
        "test": {
            "evaluation_time": 3.25,
            "en-en": {"cos_sim": {"pearson": 0.81, "spearman": 0.82}},
            "ko-ko": {"cos_sim": {"pearson": 0.61, "spearman": 0.62}},
        },
    }


def model_meta(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "revision": "r1", "n_parameters": 1000, "embed_dim": 8, "license": "mit", **fields}


def hakari_result() -> dict[str, Any]:
    """Return a result of HAKARI-Bench with rankings and judgements of two queries."""
    return {
        "model": {
            "id": "org/encoder",
            "method": "dense",
            "total_parameters": 33_000_000,
            "source": {"revision": "abc"},
        },
        "target": {"dataset_name": "NanoX", "task_name": "tiny", "split_name": "test"},
        "evaluation": {"aggregate_metric_value": 0.75, "wall_seconds": 1.5},
        "metrics": {"cosine_ndcg@10": 0.75, "cosine_recall@100": 1.0},
        "artifacts": {
            "top_rankings": {
                "qrels": [
                    {"query_id": "q1", "corpus_id": "a", "score": 1},
                    {"query_id": "q2", "corpus_id": "b", "score": 1},
                ],
                "rankings": [
                    {"query_id": "q1", "corpus_ids": ["a", "b"]},
                    {"query_id": "q2", "corpus_ids": ["a", "b"]},
                ],
            }
        },
    }


def write_repository(root: Path) -> Path:
    """Write a small copy of mteb's results repository with the faults that the real one has, and return its folder."""
    results = root / "results"
    bge = results / "BAAI__bge-small" / "r1"
    write_json(bge / "model_meta.json", model_meta("BAAI/bge-small", training_datasets={"STSB": ["train"]}))
    write_json(bge / "STSB.json", mteb_result("STSB", 0.5))
    write_json(bge / "STS17.json", old_mteb_result())
    write_json(bge / "experiments" / "dim_4" / "STSB.json", mteb_result("STSB", 0.4))
    write_json(results / "BAAI__bge-small" / "r0" / "LCQMC.json", mteb_result("LCQMC", 0.7))
    (bge / "AFQMC.json").write_text(json.dumps(mteb_result("AFQMC", float("nan"))), encoding="utf-8")
    other = results / "org__encoder" / "abc"
    other.mkdir(parents=True)
    (other / "tiny.json.xz").write_bytes(lzma.compress(json.dumps(hakari_result()).encode()))
    (other / "broken.json").write_text('{"scores": ', encoding="utf-8")
    return results
