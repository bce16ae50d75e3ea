"""Storing a corpus in OpenSearch or Elasticsearch, in portions, so that it can be repeated and is known to be whole."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from steelyard.errors import ModelError
from steelyard.http.retry import backoff
from steelyard.retrievers.search_services.client import Client, Refusal
from steelyard.retrievers.search_services.encoding import Vectors
from steelyard.retrievers.search_services.responses import FIRST_WAIT
from steelyard.types import Corpus
from steelyard.types.protocols import Tick

PORTION_BYTES = 4 << 20
PORTION_DOCUMENTS = 1000
MAPPING = "the server says why: do its mapping and its limits fit the documents?"
PATIENCE = 6
"""How often documents that the server had no room for are sent again."""

Document = tuple[int, bytes]
"""A row, and the two lines that store it."""


def load(client: Client, name: str, body: Any, corpus: Corpus, vectors: Vectors | None, tick: Tick) -> dict[str, Any]:
    """Make sure that the index holds the corpus; returns what is worth noting.

    An index says in its own metadata that it is whole, which is written last.
    """
    if _whole(client, name) == len(corpus):
        tick(len(corpus))
        return {"documents_stored": 0}
    try:
        client.send("PUT", f"/{name}", body)
    except Refusal as refusal:
        if "resource_already_exists_exception" not in refusal.message:
            raise
    notes: dict[str, Any] = {"documents_stored": len(corpus)}
    matrix = sound = None
    if vectors is not None:
        matrix, notes["document_vectors"] = vectors.documents(corpus, tick)
        sound = vectors.sound(matrix)
        if not sound.all():
            notes["documents_without_direction"] = int((~sound).sum())
    for portion in _portions(corpus, matrix, sound):
        _store(client, name, portion, corpus)
        if vectors is None:
            tick(len(portion))
    client.ask("POST", f"/{name}/_refresh")
    client.send("PUT", f"/{name}/_mapping", {"_meta": {"steelyard": {"documents": len(corpus)}}})
    return notes


def _whole(client: Client, name: str) -> int | None:
    """How many documents the index says it was given; None where there is no whole index."""
    try:
        mapping = client.ask("GET", f"/{name}/_mapping").value
    except Refusal as refusal:
        if refusal.status == 404:
            return None
        raise
    meta = mapping.get(name, {}).get("mappings", {}).get("_meta", {}).get("steelyard", {})
    count = client.ask("GET", f"/{name}/_count").value["count"]
    return count if meta.get("documents") == count else None


def _portions(corpus: Corpus, matrix: Any, sound: Any) -> Iterator[list[Document]]:
    """Documents in the order of their rows, which is how Lucene then settles ties."""
    portion: list[Document] = []
    size = 0
    for row, (id_, text) in enumerate(zip(corpus.ids, corpus.texts, strict=True)):
        document: dict[str, Any] = {"id": id_, "text": text}
        if matrix is not None and sound[row]:
            document["vector"] = matrix[row].tolist()
        lines = json.dumps({"index": {"_id": str(row)}}) + "\n" + json.dumps(document, ensure_ascii=False) + "\n"
        data = lines.encode("utf-8", "replace")
        if portion and (size + len(data) > PORTION_BYTES or len(portion) == PORTION_DOCUMENTS):
            yield portion
            portion, size = [], 0
        portion.append((row, data))
        size += len(data)
    if portion:
        yield portion


def _store(client: Client, name: str, portion: list[Document], corpus: Corpus) -> None:
    """Send a portion; the documents that the server had no room for (429) again, any other refusal is an error."""
    for attempt in range(PATIENCE):
        body = b"".join(data for _, data in portion)
        answer = client.ask("POST", f"/{name}/_bulk", body, "application/x-ndjson").value
        if not answer["errors"]:
            return
        outcomes = [item["index"] for item in answer["items"]]
        for (row, _), outcome in zip(portion, outcomes, strict=True):
            if outcome["status"] >= 300 and outcome["status"] != 429:
                reason = json.dumps(outcome.get("error", outcome), ensure_ascii=False)[:300]
                raise ModelError(f"the server refused document {corpus.ids[row]!r}: {reason}", hint=MAPPING)
        portion = [document for document, out in zip(portion, outcomes, strict=True) if out["status"] == 429]
        time.sleep(backoff(attempt, FIRST_WAIT))
    raise ModelError(
        f"the server has had no room for {len(portion):,} documents {PATIENCE} times", hint="try when it has less to do"
    )
