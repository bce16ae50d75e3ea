"""Lay real Chinese data out as the repositories of C-MTEB are, to try and to compare with `--data-dir`.

    python benchmarks/studies/cmteb_data.py SOURCE OUT [--generation v1|v2]

SOURCE holds plain sets (`tnews_zh/train.jsonl`, `stsb_zh/pairs.jsonl` ...). OUT gets a folder for each repository
(`C-MTEB/ATEC`, `mteb/T2Retrieval` ...): file names, columns and types of the hub's, with a card that tells the
`datasets` library the configurations. The names are C-MTEB's, the texts are not: figures compare tools, not models.

v1 is the layout that mteb 1.14 reads: corpus and queries as splits, judgements in a repository of their own, reranking
as rows of query, positives and negatives. v2 is that of mteb 2.26, the same task under the same ids.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Columns = Mapping[str, Sequence[Any]]
Rows = list[dict[str, Any]]
Layout = dict[str, dict[str, dict[str, Columns]]]
"""By repository, configuration ('' for the only one) and split: columns."""

PROBLEMS = 4
"""Into how many clustering problems the texts are dealt."""


def main() -> None:
    """Read the arguments, write the folders, say what was written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--generation", choices=["v1", "v2"], default="v2")
    arguments = parser.parse_args()
    source, second = arguments.source, arguments.generation == "v2"
    layout: Layout = {
        **classification(source / "tnews_zh", "C-MTEB/TNews-classification"),
        **clustering(source / "csl_clustering_zh", "C-MTEB/CLSClusteringS2S"),
        **clustering(source / "thucnews10_clustering_zh", "C-MTEB/ThuNewsClusteringS2S"),
        **sts(source / "lcqmc_zh", "C-MTEB/ATEC", ("validation", "test")),
        **sts(source / "lcqmc_zh", "C-MTEB/LCQMC", ("test",)),
        **sts(source / "stsb_zh", "mteb/STSB" if second else "C-MTEB/STSB", ("validation", "test")),
        **pairs(source / "ocnli_zh", "C-MTEB/OCNLI"),
        **reranking(source / "kuake_qqr_rerank_zh", "T2Reranking", second=second),
        **retrieval(source / "cmrc2018_zh", "T2Retrieval", second=second),
        **retrieval(source / "cmdd_medical_zh", "MedicalRetrieval", second=second),
    }
    for repository, configs in layout.items():
        write(arguments.out / repository, configs)
        sizes = [
            f"{c + ' ' if c else ''}{s} {rows(columns):,}"
            for c, splits in configs.items()
            for s, columns in splits.items()
        ]
        print(f"{arguments.out / repository}: {', '.join(sizes)}")


def classification(folder: Path, repository: str) -> Layout:
    """Labels become numbers, in the order of their names."""
    train, test = lines(folder / "train.jsonl"), lines(folder / "test.jsonl")
    number = {label: place for place, label in enumerate(sorted({row["label"] for row in train}))}
    splits = {
        split: {"text": [row["text"] for row in rows], "label": [number[row["label"]] for row in rows]}
        for split, rows in (("train", train), ("validation", test))
    }
    return {repository: {"": splits}}


def clustering(folder: Path, repository: str) -> Layout:
    """Texts in a seeded order, dealt out to a few problems."""
    items = lines(folder / "items.jsonl")
    random.Random(42).shuffle(items)
    dealt = [items[start::PROBLEMS] for start in range(PROBLEMS)]
    columns = {
        "sentences": [[row["text"] for row in part] for part in dealt],
        "labels": [[row["label"] for row in part] for part in dealt],
    }
    return {repository: {"": {"test": columns}}}


def sts(folder: Path, repository: str, splits: Sequence[str]) -> Layout:
    """Of two splits, the first gets every fourth pair."""
    read = lines(folder / "pairs.jsonl")
    parts = {splits[-1]: read} if len(splits) == 1 else {splits[0]: read[::4], splits[1]: without_fourth(read)}
    return {
        repository: {
            "": {
                split: {
                    "sentence1": [row["text1"] for row in part],
                    "sentence2": [row["text2"] for row in part],
                    "score": [float(row["score"]) if "score" in row else int(row["label"]) for row in part],
                }
                for split, part in parts.items()
            }
        }
    }


def pairs(folder: Path, repository: str) -> Layout:
    """One row that holds three lists."""
    read = lines(folder / "pairs.jsonl")
    columns = {
        "sent1": [[row["text1"] for row in read]],
        "sent2": [[row["text2"] for row in read]],
        "labels": [[int(row["label"]) for row in read]],
    }
    return {repository: {"": {"validation": columns}}}


def retrieval(folder: Path, task: str, *, second: bool) -> Layout:
    """Documents, queries and judgements under their own ids."""
    documents, queries = lines(folder / "corpus.jsonl"), lines(folder / "queries.jsonl")
    judged = tab_separated(folder / "qrels.tsv")
    query_ids, document_ids = [row["query-id"] for row in judged], [row["corpus-id"] for row in judged]
    grades = [int(row["score"]) for row in judged]
    if second:
        return {
            f"mteb/{task}": {
                "corpus": {"dev": texts(documents) | {"title": [""] * len(documents)}},
                "queries": {"dev": texts(queries)},
                "qrels": {"dev": {"query-id": query_ids, "corpus-id": document_ids, "score": grades}},
            }
        }
    return {
        f"C-MTEB/{task}": {"": {"corpus": texts(documents), "queries": texts(queries)}},
        f"C-MTEB/{task}-qrels": {"": {"dev": {"qid": query_ids, "pid": document_ids, "score": grades}}},
    }


def reranking(folder: Path, task: str, *, second: bool) -> Layout:
    """The highest grade counts as positive; queries without positives or negatives are left out, as mteb does."""
    text = {row["_id"]: row["text"] for row in lines(folder / "corpus.jsonl")}
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for row in tab_separated(folder / "qrels.tsv"):
        sides[row["query-id"]][int(row["score"]) < 2].append(text[row["corpus-id"]])
    asked = [(row["text"], *sides[row["_id"]]) for row in lines(folder / "queries.jsonl")]
    asked = [row for row in asked if row[1] and row[2]]
    if not second:
        names = ("query", "positive", "negative")
        return {f"C-MTEB/{task}": {"": {"dev": {name: [row[at] for row in asked] for at, name in enumerate(names)}}}}
    documents, queries, judged, ranked = [], [], [], []
    for place, (query, positive, negative) in enumerate(asked):
        id_ = f"dev_query{place}"
        mine = [(f"apositive_{id_}_{at:05d}", body, 1) for at, body in enumerate(positive)]
        mine += [(f"negative_{id_}_{at:05d}", body, 0) for at, body in enumerate(negative)]
        queries.append({"_id": id_, "text": query})
        documents += [{"_id": document, "text": body} for document, body, _ in mine]
        judged += [{"query-id": id_, "corpus-id": document, "score": grade} for document, _, grade in mine]
        ranked.append({"query-id": id_, "corpus-ids": [document for document, _, _ in mine]})
    return {
        f"mteb/{task}": {
            "corpus": {"dev": texts(documents) | {"title": [""] * len(documents)}},
            "queries": {"dev": texts(queries)},
            "qrels": {"dev": {key: [row[key] for row in judged] for key in judged[0]}},
            "top_ranked": {"dev": {key: [row[key] for row in ranked] for key in ranked[0]}},
        }
    }


def write(folder: Path, configs: Mapping[str, Mapping[str, Columns]]) -> None:
    """The files of a repository, named as `datasets` names what it pushes, and the card that lists them."""
    card = ["---", "configs:"]
    for config, splits in configs.items():
        card += [f"- config_name: {config or 'default'}", "  data_files:"]
        for split, columns in splits.items():
            path = folder / (config or "data") / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(dict(columns)), path)
            card += [f"  - split: {split}", f"    path: {path.relative_to(folder).as_posix()}"]
    (folder / "README.md").write_text("\n".join([*card, "---", ""]), encoding="utf-8")


def texts(read: Rows) -> dict[str, list[str]]:
    """The columns of documents or queries."""
    return {"id": [row["_id"] for row in read], "text": [row["text"] for row in read]}


def without_fourth(read: Rows) -> Rows:
    """What `read[::4]` leaves."""
    return [row for place, row in enumerate(read) if place % 4]


def lines(path: Path) -> Rows:
    """The records of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tab_separated(path: Path) -> Rows:
    """The records of a TSV file with a header."""
    header, *body = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [dict(zip(header, row, strict=True)) for row in body]


def rows(columns: Columns) -> int:
    """How many rows the columns have."""
    return len(next(iter(columns.values())))


if __name__ == "__main__":
    main()
