"""Models of other models: what their index searches, notes, times and weighs, and the stores that they read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_parts import small_task

from steelyard.retrievers import composite as module
from steelyard.retrievers.composite import CompositeIndex, for_task, stores_of
from steelyard.types import Run, TaskInfo


@dataclass
class Part:
    """A model, and its own index."""

    name: str
    size_bytes: int = 0
    asked: list[int] = field(default_factory=list)

    def index(self, corpus: Any, info: Any, tick: Any) -> Part:
        return self

    @property
    def notes(self) -> dict[str, Any]:
        return {"part": self.name}

    def search(self, queries: Any, top_k: int) -> Run:
        self.asked.append(top_k)
        return Run.of([[0]], [[1.0]])


@dataclass
class Both:
    parts: tuple[Part, ...]
    reads: int | None
    given: list[Any] = field(default_factory=list)

    def combine(self, task: Any, runs: Any, top_k: int) -> Any:
        self.given.append((task, runs, top_k))
        return SimpleNamespace(run="the run", notes={"weights": [1, 2]})


@pytest.mark.parametrize(("reads", "top_k", "depth"), [(50, 10, 50), (5, 10, 10), (None, 3, 8)])
def test_every_part_is_searched_as_deep_as_the_composite_reads(reads: int | None, top_k: int, depth: int) -> None:
    task, parts = small_task(), (Part("a", 3), Part("b", 4))
    index = CompositeIndex.of(Both(parts, reads), task.corpus, task.info)  # type: ignore[arg-type]
    assert index.search(task.queries, top_k) == "the run"  # type: ignore[comparison-overlap]
    assert parts[0].asked == parts[1].asked == [depth] and len(task.corpus) == 8
    ((unjudged, runs, asked),) = index.composite.given  # type: ignore[attr-defined]
    assert (unjudged.corpus, unjudged.queries, len(runs), asked) == (task.corpus, task.queries, 2, top_k)
    assert index.size_bytes == 7


def test_the_times_of_parts_and_of_combining_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 11.0, 13.0, 20.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    task = small_task()
    index = CompositeIndex.of(Both((Part("a"), Part("b")), 5), task.corpus, task.info)  # type: ignore[arg-type]
    assert index.notes == {"a": {"part": "a"}, "b": {"part": "b"}}
    index.search(task.queries, 5)
    expected = {"weights": [1, 2], "part_seconds": [1.0, 2.0], "combine_seconds": 7.0}
    assert index.notes == {"a": {"part": "a"}, "b": {"part": "b"}, **expected}


def test_stores_of_parts_scorers_and_chunked_models(tmp_path: Path) -> None:
    def stored(name: str, **more: Any) -> Any:
        return SimpleNamespace(name=name, store=SimpleNamespace(folder=tmp_path / name), **more)

    plain = stored("plain")
    assert list(stores_of(plain)) == [(tmp_path / "plain", "")] and list(stores_of(object())) == []
    reranker = SimpleNamespace(name="rerank?depth=5", scorer=stored("scores"))
    assert list(stores_of(reranker, "x")) == [(tmp_path / "scores", "x rerank?depth=5")]
    chunked = SimpleNamespace(inner=plain, chunking=SimpleNamespace(settings={"size": 5, "by": "words"}))
    assert list(stores_of(chunked)) == [(tmp_path / "plain", "[('by', 'words'), ('size', 5)]")]
    assert list(stores_of(SimpleNamespace(inner=plain, chunking=None))) == []
    assert list(stores_of(SimpleNamespace(chunking=chunked.chunking))) == []
    assert list(stores_of(SimpleNamespace(store=SimpleNamespace(folder="s3://x")))) == []


def test_a_model_may_depend_on_the_task() -> None:
    info = TaskInfo("A/b")
    own = SimpleNamespace(for_task=lambda given: ("for", given))
    assert for_task(own, info) == ("for", info)  # type: ignore[arg-type, comparison-overlap]
    plain = Part("a")
    assert for_task(plain, info) is plain  # type: ignore[arg-type, comparison-overlap]
