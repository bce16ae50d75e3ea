"""`qdrant:` through Qdrant's own client in local mode, which searches for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

import steelyard
from steelyard.encoders import load_encoder
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.retrievers import load_retriever
from steelyard.types import Run, Task

pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.fixture(scope="module")
def task(almanac: Task) -> Task:
    return almanac


def search(model: str, task: Task, top_k: int = 20) -> tuple[Run, dict[str, Any]]:
    index = load_retriever(model).index(task.corpus, task.info)
    return index.search(task.queries, top_k), dict(index.notes)


def alike(left: Run, right: Run) -> None:
    """The same scores, and the same places except for neighbours that float32 cannot tell apart in both ways."""
    np.testing.assert_allclose(left.scores, right.scores, atol=2e-6)
    assert (left.rows == right.rows).mean() > 0.99


@pytest.mark.slow
def test_figures_are_those_of_exact_search(task: Task) -> None:
    theirs, ours = steelyard.evaluate(["qdrant:memory", "dense"], task)
    assert theirs.done, theirs.error
    assert theirs["ndcg_at_10"] == pytest.approx(ours["ndcg_at_10"], abs=1e-6)
    assert theirs.notes["latency_ms"]["p50"] > 0 and theirs.notes["documents_stored"] == len(task.corpus)


def test_a_folder_is_filled_once(task: Task, tmp_path: Path) -> None:
    model = f"qdrant:{tmp_path / 'store'}?dense=use-multilingual-v3"
    first, notes = search(model, task)
    assert notes["documents_stored"] == len(task.corpus)
    again, notes = search(model, task)
    assert notes["documents_stored"] == 0
    alike(first, again)
    alike(first, search("dense", task)[0])
    search(f"{model}&keep=no", task)
    assert search(model, task)[1]["documents_stored"] == len(task.corpus)


def test_an_interrupted_load_is_completed(task: Task, tmp_path: Path) -> None:
    model = f"qdrant:{tmp_path / 'store'}"
    _, notes = search(model, task)
    client = QdrantClient(path=str(tmp_path / "store"))
    client.delete(notes["collection"], models.PointIdsList(points=[0, 5, 7]))
    client.close()
    run, notes = search(model, task)
    assert notes["documents_stored"] == len(task.corpus)
    alike(run, search("dense", task)[0])


@pytest.mark.slow
def test_a_collection_that_is_there(task: Task, tmp_path: Path) -> None:
    vectors = load_encoder("use-multilingual-v3").encode(task.corpus.texts, "document")
    client = QdrantClient(path=str(tmp_path))
    parameters = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
    client.create_collection("articles", vectors_config={"body": parameters})
    places = range(len(task.corpus))
    points = [
        models.PointStruct(id=900 - place, vector={"body": vectors[place].tolist()}, payload={"ref": id_})
        for place, id_ in zip(places, task.corpus.ids, strict=True)
    ]
    client.upsert("articles", points)
    client.close()
    model = f"qdrant:{tmp_path}?collection=articles&vector=body"
    run, notes = search(f"{model}&id_field=ref&keep=no", task)
    alike(run, search("dense", task)[0])
    assert notes["documents_in_collection"] == len(task.corpus)
    with pytest.raises(ModelError) as caught:
        search(model, task)
    assert caught.value.option == "unknown"
    with pytest.raises(ModelError, match="None"):
        search(f"{model}&id_field=missing", task)
    with pytest.raises(UsageError) as missing:
        search(f"qdrant:{tmp_path}?collection=other", task)
    assert (missing.value.option, missing.value.found) == ("collection", "other")
    with pytest.raises(ModelError):
        search(f"qdrant:{tmp_path}?collection=articles&vector=title&id_field=ref", task)


def test_nobody_there(task: Task) -> None:
    with pytest.raises(MissingPart):
        search("qdrant:http://127.0.0.1:1?retries=0&timeout=2", task)


def test_the_network_off_limits(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    with pytest.raises(MissingPart):
        search("qdrant:https://qdrant.example.org", task)


@pytest.mark.parametrize(
    "model",
    ["qdrant:http://key@host:6333", "qdrant:memory?id_field=x", "qdrant:memory?colection=x", "qdrant:memory?m=1"],
)
def test_names_that_cannot_be(model: str) -> None:
    with pytest.raises(UsageError):
        load_retriever(model)


def test_settings_hold_what_could_change_a_figure() -> None:
    options = ["", "exact=yes", "ef=64", "m=8", "collection=x", "collection=x&revision=2", "collection=x&id_field=y"]
    settings = {json.dumps(dict(load_retriever(f"qdrant:memory?{option}").settings)) for option in options}
    assert len(settings) == len(options)
