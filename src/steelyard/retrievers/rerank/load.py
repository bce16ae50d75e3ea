"""Rerankers by name: `rerank:ID` (cross-encoders, language models), `rerank:api/ID` (services), `rerank:chat/ID` (chat
services), `rerank:package.module:function`.

A reranker scores candidates. It is a stage of a pipeline after a model that retrieves them, or ranks the candidates of
a reranking task alone (`RerankOnly`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast
from weakref import WeakValueDictionary

from steelyard.config import Settings
from steelyard.encoders.backends.function import load_function, source_hash
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.float_arrays import as_floats
from steelyard.errors import ModelError, UsageError
from steelyard.options import Options
from steelyard.registry import Registry, with_settings
from steelyard.retrievers.candidates import own_lists, run_of
from steelyard.retrievers.chunking.chunking import split_options
from steelyard.retrievers.chunking.passage_scorer import PassageScorer
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.rerank.pair_scores import PairScorer
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Ragged, Run, TaskInfo
from steelyard.types.protocols import (
    Combined,
    Index,
    ModelSettings,
    Reranker,
    Retriever,
    Tick,
    Unjudged,
    no_tick,
)

RERANKERS: Registry[Callable[..., Reranker]] = Registry("reranker", "steelyard.rerankers", {})
"""Rerankers of plug-ins by id: a factory takes a ModelSpec and returns a Reranker."""

Function = Callable[[str, list[str]], Any]
"""Takes a query and its documents and returns a score for each document, in their order."""

_LOADED: WeakValueDictionary[tuple[str, Settings], PairScorer] = WeakValueDictionary()
"""Rerankers in use by name and settings: pipelines with the same reranker share it and its scores."""


class FunctionReranker:
    """Scores with a function.

    Scores are stored only if it has a `version`, because no hash covers everything that a function uses.
    """

    def __init__(self, function: Function, name: str, version: str | None = None) -> None:
        self.name = name
        self.storable = version is not None
        self._function = function
        self._version = version

    @cached_property
    def settings(self) -> ModelSettings:
        """Return the name, the version, and a hash of the function's source if there is one."""
        return {"reranker": self.name, "version": self._version, "source": source_hash(self._function)}

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """Return the scores of the function for each query and its documents."""
        lists = []
        for query, texts in zip(queries, documents, strict=True):
            output = self._function(query, list(texts))
            scores = as_floats(output, f"the reranker {self.name}", "one number for each document")
            if scores.shape != (len(texts),):
                raise ModelError.invalid(
                    f"the output of the reranker {self.name}",
                    expected=f"one number for each of {len(texts)} documents",
                    found=f"an array of shape {scores.shape}",
                )
            lists.append(scores)
            tick(len(texts))
        return lists


def from_function(function: Function, name: str, *, version: str | None = None) -> FunctionReranker:
    """Return a reranker that scores with a function of a query and its documents.

    With a `version`, scores are stored and reused while name, version and the function's source are the same.

    >>> shared = from_function(lambda query, texts: [len({*query} & {*text}) for text in texts], "shared-letters")
    >>> [scores.tolist() for scores in shared.rerank(["nile"], [["line", "alps"]])]
    [[4.0, 1.0]]
    """
    return FunctionReranker(function, name, version)


def load_reranker(spec: ModelSpec, settings: Settings | None = None) -> Reranker:
    """Return the reranker of `rerank:ID@REVISION?OPTIONS`; an unknown model or option raises a UsageError."""
    if spec.family != "rerank" or not spec.id:
        raise UsageError.invalid(
            "every stage after the first",
            expected="a reranker",
            found=str(spec),
            hint="write bm25 > rerank:BAAI/bge-reranker-v2-m3",
        )
    settings = settings or Settings.load()
    if spec.id in RERANKERS:
        return with_settings(RERANKERS.get(spec.id), settings)(spec)
    if spec.id.startswith("api/"):
        from steelyard.retrievers.rerank import api as rerank_api

        return rerank_api.from_spec(spec, settings)
    if spec.id.startswith("chat/"):
        from steelyard.retrievers.rerank import chat

        return chat.from_spec(spec, settings)
    if ":" in spec.id:
        options = Options(str(spec), spec.options, ("version",), NOT_FOR["function"])
        function = cast(Function, load_function(spec.id, "query, texts"))
        return from_function(function, str(spec), version=options.text("version"))
    from steelyard.retrievers.rerank import cross_encoder

    return cross_encoder.from_spec(spec, settings)


def shared_scorer(spec: ModelSpec, settings: Settings) -> PairScorer | PassageScorer:
    """Return the scorer of a reranker; one object of each model while it is in use."""
    model, chunking = split_options(spec)
    key = (str(model), settings)
    scorer = _LOADED.get(key)
    if scorer is None:
        scorer = _LOADED[key] = PairScorer(load_reranker(model, settings), settings)
    return scorer if chunking is None else PassageScorer(scorer, chunking)


@dataclass(frozen=True, eq=False)
class RerankOnly:
    """A reranker without a first stage: it ranks all candidates of a reranking task; other tasks raise a UsageError."""

    name: str
    scorer: PairScorer | PassageScorer
    parts: tuple[Retriever, ...] = ()
    reads: int | None = None

    def for_task(self, info: TaskInfo) -> RerankOnly:
        """Return the reranker with its instruction for that task."""
        scorer = self.scorer.for_task(info)
        return self if scorer is self.scorer else replace(self, scorer=scorer)

    @property
    def settings(self) -> ModelSettings:
        """Return the reranker's settings; the candidates belong to the task."""
        return {"reranker": dict(self.scorer.settings)}

    def _lists(self, task: Unjudged) -> Ragged:
        lists = own_lists(task)
        if lists is None:
            raise _no_candidates(self.name)
        return lists

    def steps(self, task: Unjudged) -> int:
        """Return the largest number of pairs to score."""
        return max((len(lists.rows) for lists in task.candidates.values()), default=0)

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """Return the candidates of each query, best first; ties by row."""
        rows = run_of(self._lists(task)).rows
        scored = self.scorer.score(task, rows, tick)
        return Combined(Run.of(rows, scored.scores).top(top_k), {"rerank": dict(scored.notes)}, scored.reused)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Raise a UsageError: the candidates belong to the queries of a task."""
        raise _no_candidates(self.name)


def from_spec(spec: ModelSpec, settings: Settings) -> RerankOnly:
    """Return the model of `rerank:X`."""
    return RerankOnly(result_name(spec), shared_scorer(spec, settings))


def _no_candidates(name: str) -> UsageError:
    return UsageError(
        f"the reranker {name} must have candidates to rank",
        hint=f"put a model before it, 'bm25 > {name}', or rank lists of the tasks: --candidates NAME "
        "(steelyard show TASK lists the names)",
    )
