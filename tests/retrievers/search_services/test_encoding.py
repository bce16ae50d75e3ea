"""Every service that searches vectors: cosine and inner product, and texts whose vector has no direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from search_servers import OpenSearchShaped, postgres

from steelyard.config import Settings
from steelyard.retrievers import load_retriever
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.search_services.encoding import ServiceVectors
from steelyard.types import Corpus, Float32, Queries, Role, Run, TaskInfo
from steelyard.types.protocols import Tick, no_tick

SERVICES = ("opensearch", "elasticsearch", "qdrant", "postgres exact", "postgres hnsw")
INFO = TaskInfo("x/y", language="en")


@dataclass(frozen=True)
class Compass:
    """Counts points of the compass; a text without any has the zero vector."""

    similarity: str
    name: str = "compass"
    dimension: int = 4

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"compass": 1}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        points = ("north", "east", "south", "west")
        tick(len(texts))
        return np.array([[text.split().count(point) for point in points] for text in texts], dtype=np.float32)


CORPUS = Corpus.of(
    ["a", "b", "c", "d", "e"],
    ["north", "north north north east", "nowhere", "east south", "west west"],
)
QUERIES = Queries(("one", "two", "lost"), ("north north east", "south", "here"))


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("PGUSER", "keeper")
        yield


@pytest.fixture(scope="module")
def addresses(home: None) -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        kinds = {kind: stack.enter_context(OpenSearchShaped(kind).running()) for kind in SERVICES[:2]}
        yield {
            **{kind: f"{kind}:{address}?dense=use-multilingual-v3" for kind, address in kinds.items()},
            "qdrant": "qdrant:memory",
            "postgres exact": f"postgres:{server}?dense=use-multilingual-v3",
            "postgres hnsw": f"postgres:{server}?dense=use-multilingual-v3&search=hnsw",
        }


def found(run: Run, query: int) -> list[str]:
    return [CORPUS.ids[row] for row in run.rows[query] if row >= 0]


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("service", SERVICES)
def test_near_is_what_the_encoder_says(addresses: dict[str, str], service: str, similarity: str) -> None:
    retriever: Any = load_retriever(addresses[service])
    retriever = replace(retriever, vectors=ServiceVectors(Compass(similarity), Settings()))
    index = retriever.index(CORPUS, INFO)
    run = index.search(QUERIES, 2)
    expected = DenseRetriever("here", Compass(similarity)).index(CORPUS, INFO).search(QUERIES, 2)
    assert found(run, 0) == found(expected, 0) == (["b", "a"])
    assert found(run, 1)[0] == found(expected, 1)[0] == "d"


@pytest.mark.parametrize("service", SERVICES)
def test_a_query_without_direction_finds_nothing_by_cosine(addresses: dict[str, str], service: str) -> None:
    retriever: Any = replace(load_retriever(addresses[service]), vectors=ServiceVectors(Compass("cosine"), Settings()))
    run = retriever.index(CORPUS, INFO).search(QUERIES, 5)
    assert found(run, 2) == []
    assert np.isfinite(run.scores[:2][run.rows[:2] >= 0]).all()
    if service != "qdrant":  # which holds a zero vector as the farthest of all
        assert "c" not in found(run, 0)
