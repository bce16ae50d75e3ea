"""Small datasets laid out as the repositories of C-MTEB are, in both generations: the same task in other files."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Columns = Mapping[str, Sequence[Any]]
Files = dict[str, bytes]

HASH = "0a1b2c3d4e5f6071"


def parquet(columns: Columns) -> bytes:
    return _bytes(pa.table(dict(columns)))


def _bytes(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def jsonl(columns: Columns) -> bytes:
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def delimited(columns: Columns) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue().encode()


def table(columns: Columns, split: str, layout: str = "pushed") -> Files:
    """One split as a repository may hold it."""
    if layout == "shards":
        whole = pa.table(dict(columns))
        shards = (whole.slice(0, len(whole) // 2), whole.slice(len(whole) // 2))
        return {f"data/{split}-0000{i}-of-00002.parquet": _bytes(shard) for i, shard in enumerate(shards)}
    return {
        "pushed": {f"data/{split}-00000-of-00001-{HASH}.parquet": parquet(columns)},
        "config": {f"default/{split}-00000-of-00001.parquet": parquet(columns)},
        "converted": {f"default/{split}/0000.parquet": parquet(columns)},
        "plain": {f"{split}.parquet": parquet(columns)},
        "jsonl": {f"{split}.jsonl": jsonl(columns)},
        "packed": {f"data/{split}.jsonl.gz": gzip.compress(jsonl(columns))},
        "csv": {f"{split}.csv": delimited(columns)},
    }[layout]


LAYOUTS = ("pushed", "shards", "config", "converted", "plain", "jsonl", "packed", "csv")


def sts(salt: str) -> Columns:
    firsts, seconds = [f"第{i}句，{salt}" for i in range(6)], [f"另一句{i}，{salt}" for i in range(6)]
    return {"sentence1": firsts, "sentence2": seconds, "score": [i % 3 for i in range(6)]}


def pairs(salt: str, *, listed: bool) -> Columns:
    columns = sts(salt)
    labels = [value % 2 for value in columns["score"]]
    if not listed:
        return {"sentence1": columns["sentence1"], "sentence2": columns["sentence2"], "labels": labels}
    return {"sent1": [columns["sentence1"]], "sent2": [columns["sentence2"]], "labels": [labels]}


def labelled(salt: str, count: int) -> Columns:
    return {"text": [f"{salt} 的第{i}条评论" for i in range(count)], "label": [i % 2 for i in range(count)]}


def clusters(salt: str) -> Columns:
    return {
        "sentences": [[f"{salt}{p}-{i}" for i in range(5)] for p in range(2)],
        "labels": [["科学", "艺术", "科学", "法律", "艺术"], ["法律", "法律", "科学", "艺术", "科学"]],
    }


def reranked(salt: str) -> Columns:
    """The third row has no negatives: mteb leaves it out, and numbers the others without it."""
    return {
        "query": [f"{salt}?{i}" for i in range(4)],
        "positive": [[f"{salt} 好 {i}.{j}" for j in range(2)] for i in range(4)],
        "negative": [[] if i == 2 else [f"{salt} 坏 {i}.{j}" for j in range(3)] for i in range(4)],
    }


def retrieval(salt: str) -> tuple[Columns, Columns, list[tuple[str, str, int]]]:
    documents = {"id": [f"d{i}" for i in range(8)], "text": [f"文档 {i} {salt}" for i in range(8)]}
    queries = {"id": [f"q{i}" for i in range(3)], "text": [f"问题 {i} {salt}" for i in range(3)]}
    return documents, queries, [("q0", "d0", 1), ("q1", "d4", 1), ("q1", "d5", 1), ("q2", "d7", 1)]


def first_generation(type: str, task: str, splits: Sequence[str]) -> list[Files]:
    """The files of the first repositories: one, or texts and judgements."""
    if type == "retrieval":
        documents, queries, judged = retrieval(task)
        qid, pid, score = zip(*judged, strict=True)
        texts = {**table(documents, "corpus"), **table(queries, "queries")}
        return [texts, table({"qid": qid, "pid": pid, "score": score}, splits[-1])]
    if type == "reranking":
        return [table(reranked(task), splits[-1])]
    return [samples(type, task, splits)]


def second_generation(type: str, task: str, splits: Sequence[str]) -> Files:
    """The files of the present repository."""
    split = splits[-1]
    if type == "retrieval":
        documents, queries, judged = retrieval(task)
        return searched(split, documents, queries, judged)
    if type != "reranking":
        return samples(type, task, splits)
    rows = reranked(task)
    documents, queries, judged, ranked = {"id": [], "text": []}, {"id": [], "text": []}, [], []
    kept = [row for row in zip(*rows.values(), strict=True) if row[1] and row[2]]
    for place, (query, positive, negative) in enumerate(kept):
        id_ = f"{split}_query{place}"
        ids = [f"apositive_{id_}_{i:05d}" for i in range(len(positive))]
        ids += [f"negative_{id_}_{i:05d}" for i in range(len(negative))]
        documents["id"] += ids
        documents["text"] += [*positive, *negative]
        queries["id"].append(id_)
        queries["text"].append(query)
        judged += [(id_, document, int(document.startswith("a"))) for document in ids]
        ranked.append((id_, ids))
    asked, lists = zip(*ranked, strict=True)
    files = searched(split, documents, queries, judged)
    return files | {f"top_ranked/{split}-00000-of-00001.parquet": parquet({"query-id": asked, "corpus-ids": lists})}


def searched(split: str, documents: Columns, queries: Columns, judged: Sequence[tuple[str, str, int]]) -> Files:
    asked, found, grades = zip(*judged, strict=True)
    titled = {**documents, "title": [""] * len(documents["id"])}
    return {
        f"corpus/{split}-00000-of-00001.parquet": parquet(titled),
        f"queries/{split}-00000-of-00001.parquet": parquet(queries),
        f"qrels/{split}-00000-of-00001.parquet": parquet({"query-id": asked, "corpus-id": found, "score": grades}),
    }


def samples(type: str, task: str, splits: Sequence[str], layout: str = "pushed") -> Files:
    """Pairs, labelled texts or texts to cluster."""
    files: Files = {"README.md": b"---\nlicense: mit\n---\n"}
    for split in splits:
        files |= table(MAKERS[type](f"{task} {split}"), split, layout)
    if type == "classification":
        files |= table(labelled(f"{task} train", 80), "train", layout)
    return files


MAKERS: dict[str, Callable[[str], Columns]] = {
    "sts": sts,
    "pair_classification": lambda salt: pairs(salt, listed=True),
    "classification": lambda salt: labelled(salt, 6),
    "clustering": clusters,
}
