"""The references, split origins and train splits of the catalogue: all 569 tasks."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from catalogue_sources import task_name

from steelyard.datasets import catalogue
from steelyard.types.task_metadata import CONFIDENCES, Reference, bibtex

RECORDS = Path(
    os.environ.get("STEELYARD_SHARED", Path(__file__).parents[3] / "shared"), "reference/catalogue_sources.jsonl"
)
DIGEST = "43c5a1c4ce615bc73e7aaf1f473463bd37057742c141b8897f52c70086911583"
"""SHA-256 of all facts, computed from the records of HAKARI-Bench."""


def facts_of(name: str) -> list[object]:
    metadata = catalogue.entries()[name].metadata
    references = [[r.title, r.year, r.type == "paper", r.url, r.doi, r.confidence] for r in metadata.references]
    splits = [metadata.original_train_split, metadata.evaluation_split_origin, metadata.train_eval_overlap_audit]
    return [name, references, *splits]


def digest(rows: list[list[object]]) -> str:
    text = json.dumps(sorted(rows, key=lambda row: str(row[0])), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def test_all_569_tasks_have_the_recorded_facts() -> None:
    names = [name for name, entry in catalogue.entries().items() if entry.metadata]
    assert len(names) == 569
    metadata = [catalogue.entries()[name].metadata for name in names]
    assert sum(len(one.references) for one in metadata) == 1971
    assert Counter(one.original_train_split for one in metadata) == {"": 333, "available": 213, "not_found": 23}
    origins = Counter(one.evaluation_split_origin for one in metadata)
    assert origins == {"": 510, "test": 46, "dev": 7, "train": 3, "synthetic": 2, "validation": 1}
    assert Counter(one.train_eval_overlap_audit for one in metadata) == {"not_audited": 294, "": 275}
    references = [reference for one in metadata for reference in one.references]
    assert sum(reference.year is not None for reference in references) == 1654
    assert sum(bool(reference.doi) for reference in references) == 404
    assert all(reference.confidence in CONFIDENCES and reference.url.startswith("http") for reference in references)
    assert digest([facts_of(name) for name in names]) == DIGEST


@pytest.mark.skipif(not RECORDS.is_file(), reason="the records are not on this machine; the digest proves the same")
def test_every_task_equals_its_record() -> None:
    records = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    for record in records:
        references = [
            [r["title"], r.get("year"), r["is_paper"], r["url"], r.get("doi") or "", r["source_confidence"]]
            for r in record["references"]
        ]
        splits = [
            record[key] or "" for key in ("original_train_split", "evaluation_split_origin", "train_eval_overlap_audit")
        ]
        assert facts_of(task_name(record)) == [task_name(record), references, *splits]


def test_a_task_of_the_catalogue_carries_its_metadata() -> None:
    entry = catalogue.find("NanoMMTEB-v2/belebele")
    assert entry is not None
    metadata = entry.info.metadata
    assert metadata.references[0].title.startswith("The Belebele Benchmark")
    assert [reference.year for reference in metadata.references] == [2024, 2025, 2024]
    assert [reference.type for reference in metadata.references] == ["paper", "paper", "dataset card"]
    assert (metadata.original_train_split, metadata.evaluation_split_origin) == ("available", "test")
    sts = catalogue.find("C-MTEB/ATEC")
    assert sts is not None and not sts.metadata


def test_bibtex_has_unique_keys_and_only_recorded_fields() -> None:
    references = catalogue.entries()["NanoMMTEB-v2/belebele"].metadata.references
    text = bibtex([*references, references[0], Reference("Belebele & more_words", 2024, doi="10.1/x")])
    keys = [line.partition("{")[2].rstrip(",") for line in text.splitlines() if line.startswith("@")]
    assert len(keys) == len(set(keys)) == 4
    assert "eprint = {2308.16884}" in text and "doi = {10.1/x}" in text
    assert r"Belebele \& more\_words" in text and "author" not in text


def test_the_retrieval_focus_of_a_task_is_found_by_group_name_or_pattern() -> None:
    def focus(name: str) -> str:
        return catalogue.entries()[name].metadata.retrieval_focus

    assert focus("NanoMMTEB-v2/ailastatutes") == focus("NanoLaw/NanoAILAStatutes") == "legal scenario to statute"
    assert focus("NanoMIRACL/ja") == "question to Wikipedia passage"
    assert focus("MNanoBEIR/NanoBEIR-ar/NanoArguAna") == focus("NanoBEIR-en/NanoArguAna")
    assert focus("NanoVNMTEB/cqadupstack_tex_vn") == "forum question to duplicate question"
    assert focus("NanoMuPLeR/el") == "legal question to passage of EU law" != focus("NanoMTEB-Misc/fi")
    known = [entry.metadata for entry in catalogue.entries().values() if entry.metadata.references]
    assert len(known) == 569 and all(one.retrieval_focus for one in known)
