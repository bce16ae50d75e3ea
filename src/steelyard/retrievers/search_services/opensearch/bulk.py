"""Store a corpus in OpenSearch or Elasticsearch by bulk requests; safe to repeat, and known to be complete."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from steelyard.errors import ModelError
from steelyard.http.retry import backoff
from steelyard.retrievers.search_services.client import Refusal, SearchClient
from steelyard.retrievers.search_services.encoding import ServiceVectors
from steelyard.retrievers.search_services.responses import FIRST_WAIT
from steelyard.types import Corpus
from steelyard.types.protocols import Tick

PORTION_BYTES = 4 << 20
PORTION_DOCUMENTS = 1000
ATTEMPTS = 6
"""How often documents are sent that the server rejects because it is busy."""

Document = tuple[int, bytes]
"""A row, and the two lines of the bulk request that store it."""


def store_corpus(
    client: SearchClient, name: str, body: Any, corpus: Corpus, vectors: ServiceVectors | None, tick: Tick
) -> dict[str, Any]:
    """Make sure that the index contains the corpus; return notes.

    The number of documents is written to the metadata of the index last, and marks it as complete.
    """
    if _complete(client, name) == len(corpus):
        tick(len(corpus))
        return {"documents_stored": 0}
    try:
        client.send_json("PUT", f"/{name}", body)
    except Refusal as refusal:
        if "resource_already_exists_exception" not in refusal.message:
            raise
    notes: dict[str, Any] = {"documents_stored": len(corpus)}
    matrix = comparable = None
    if vectors is not None:
        matrix, notes["document_vectors"] = vectors.documents(corpus, tick)
        comparable = vectors.comparable(matrix)
        if not comparable.all():
            notes["documents_without_direction"] = int((~comparable).sum())
    for portion in _portions(corpus, matrix, comparable):
        _store(client, name, portion, corpus)
        if vectors is None:
            tick(len(portion))
    client.request("POST", f"/{name}/_refresh")
    client.send_json("PUT", f"/{name}/_mapping", {"_meta": {"steelyard": {"documents": len(corpus)}}})
    return notes


def _complete(client: SearchClient, name: str) -> int | None:
    """Return the number of documents of a complete index; None if there is none."""
    try:
        mapping = client.request("GET", f"/{name}/_mapping").value
    except Refusal as refusal:
        if refusal.status == 404:
            return None
        raise
    meta = mapping.get(name, {}).get("mappings", {}).get("_meta", {}).get("steelyard", {})
    count = client.request("GET", f"/{name}/_count").value["count"]
    return count if meta.get("documents") == count else None


def _portions(corpus: Corpus, matrix: Any, comparable: Any) -> Iterator[list[Document]]:
    """Yield documents in the order of their rows, by which Lucene then breaks ties."""
    portion: list[Document] = []
    size = 0
    for row, (id_, text) in enumerate(zip(corpus.ids, corpus.texts, strict=True)):
        document: dict[str, Any] = {"id": id_, "text": text}
        if matrix is not None and comparable[row]:
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


def _store(client: SearchClient, name: str, portion: list[Document], corpus: Corpus) -> None:
    """Send a portion, and again the documents that a busy server rejects (429); any other refusal is an error."""
    for attempt in range(ATTEMPTS):
        body = b"".join(data for _, data in portion)
        answer = client.request("POST", f"/{name}/_bulk", body, "application/x-ndjson").value
        if not answer["errors"]:
            return
        outcomes = [item["index"] for item in answer["items"]]
        for (row, _), outcome in zip(portion, outcomes, strict=True):
            if outcome["status"] >= 300 and outcome["status"] != 429:
                reason = json.dumps(outcome.get("error", outcome), ensure_ascii=False)[:300]
                raise ModelError(
                    f"the server refused document {corpus.ids[row]!r}: {reason}",
                    hint="check that the mapping and the limits of the server fit the documents",
                )
        portion = [document for document, out in zip(portion, outcomes, strict=True) if out["status"] == 429]
        time.sleep(backoff(attempt, FIRST_WAIT))
    raise ModelError(
        f"the server was too busy for {len(portion):,} documents in {ATTEMPTS} attempts",
        hint="try again when it is less busy",
    )
