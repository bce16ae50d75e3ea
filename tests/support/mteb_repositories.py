"""Repositories of the layout that mteb reads: Parquet files, and a card that lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Columns = Mapping[str, Sequence[Any]]


def write(folder: Path, configs: Mapping[str, Mapping[str, Columns]]) -> None:
    """A repository as the hub has it: Parquet files, and a card that lists them."""
    card: list[str] = ["---", "configs:"]
    described: list[str] = ["dataset_info:"]
    for config, splits in configs.items():
        card += [f"- config_name: {config}", "  data_files:"]
        described += [f"- config_name: {config}", "  splits:"]
        for split, columns in splits.items():
            path = folder / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)
            card += [f"  - split: {split}", f"    path: {config}/{split}.parquet"]
            described += [
                f"  - name: {split}",
                "    num_bytes: 1",
                f"    num_examples: {len(next(iter(columns.values())))}",
            ]
    (folder / "README.md").write_text("\n".join([*card, *described, "---", ""]))


def searched(task: Any, split: str, lists: bool, language: str = "") -> dict[str, dict[str, Columns]]:
    """The configurations of a retrieval task, or of one language of it."""
    judged = [
        (query, task.corpus.ids[row] if row >= 0 else "elsewhere", int(grade))
        for number, query in enumerate(task.queries.ids)
        for row, grade in zip(task.qrels.rows_of(number), task.qrels.grades_of(number), strict=True)
    ]
    query, document, grade = zip(*judged, strict=True)
    configs: dict[str, dict[str, Columns]] = {
        "corpus": {split: {"id": task.corpus.ids, "title": task.corpus.titles, "text": task.corpus.bodies}},
        "queries": {split: {"id": task.queries.ids, "text": task.queries.texts}},
        "qrels": {split: {"query-id": query, "corpus-id": document, "score": grade}},
    }
    if lists:
        ranked = next(iter(task.candidates.values()))
        names = [[task.corpus.ids[row] for row in ranked.rows_of(q)] for q in range(len(task.queries))]
        configs["top_ranked"] = {split: {"query-id": task.queries.ids, "corpus-ids": names}}
    return {f"{language}-{config}" if language else config: columns for config, columns in configs.items()}
