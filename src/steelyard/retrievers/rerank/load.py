"""Rerankers by name: `rerank:ID` (cross-encoders), `rerank:api/ID` (services), `rerank:package.module:function`.

A reranker finds nothing by itself: it stands in a pipeline, behind a model that finds candidates, or ranks those of a
reranking task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

from steelyard.config import Settings
from steelyard.encoders.backends.ragged_function import load_function, source_hash
from steelyard.encoders.float_arrays import as_floats
from steelyard.errors import ModelError, UsageError
from steelyard.options import Options
from steelyard.registry import Registry, with_settings
from steelyard.spec import ModelSpec
from steelyard.types import Float32
from steelyard.types.protocols import ModelSettings, Reranker, Tick, no_tick

RERANKERS: Registry[Callable[..., Reranker]] = Registry("reranker", "steelyard.rerankers", {})
"""Rerankers of plug-ins by id: a factory takes a ModelSpec and returns a Reranker."""

Function = Callable[[str, list[str]], Any]
"""Takes a query and documents, gives a score for each document, in their order."""


class FunctionReranker:
    """Scores with a function.

    Scores are stored only if it has a `version`: no hash could say that all that a function uses is the same.
    """

    def __init__(self, function: Function, name: str, version: str | None = None) -> None:
        self.name = name
        self.storable = version is not None
        self._function = function
        self._version = version

    @cached_property
    def settings(self) -> ModelSettings:
        """The name, the version, and a hash of the function's source where there is one."""
        return {"reranker": self.name, "version": self._version, "source": source_hash(self._function)}

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """What the function gives for each query and its documents."""
        scores = []
        for query, texts in zip(queries, documents, strict=True):
            said = self._function(query, list(texts))
            found = as_floats(said, f"the reranker {self.name}", "one number for each document")
            if found.shape != (len(texts),):
                raise ModelError(
                    f"the reranker {self.name} gave an array of shape {found.shape} for {len(texts)} documents",
                    hint="expected one number for each document",
                )
            scores.append(found)
            tick(len(texts))
        return scores


def from_function(function: Function, name: str, *, version: str | None = None) -> FunctionReranker:
    """A reranker from a function of a query and its documents.

    With a `version`, scores are stored and used again while name, version and the function's source are the same.

    >>> shared = from_function(lambda query, texts: [len({*query} & {*text}) for text in texts], "shared-letters")
    >>> [scores.tolist() for scores in shared.rerank(["nile"], [["line", "alps"]])]
    [[4.0, 1.0]]
    """
    return FunctionReranker(function, name, version)


def load_reranker(spec: ModelSpec, settings: Settings | None = None) -> Reranker:
    """The reranker of `rerank:ID@REVISION?OPTIONS`; an unknown model or option is a UsageError."""
    if spec.family != "rerank" or not spec.id:
        raise UsageError(
            f"{spec} is no reranker", hint="stages after the first are rerankers: bm25 > rerank:BAAI/bge-reranker-v2-m3"
        )
    settings = settings or Settings.load()
    if spec.id in RERANKERS:
        return with_settings(RERANKERS.get(spec.id), settings)(spec)
    if spec.id.startswith("api/"):
        from steelyard.retrievers.rerank import api as rerank_api

        return rerank_api.from_spec(spec, settings)
    if ":" in spec.id:
        options = Options(str(spec), spec.options, ("version",))
        function = cast(Function, load_function(spec.id, "query, texts"))
        return from_function(function, str(spec), version=options.text("version"))
    from steelyard.retrievers.rerank import cross_encoder

    return cross_encoder.from_spec(spec, settings)


def lacks_candidates(name: str) -> UsageError:
    """What a reranker without a first stage says where a task brings it nothing to rank."""
    return UsageError(
        f"{name} needs candidates to rank",
        hint=f"put a model before it, 'bm25 > {name}'; or rank lists that the tasks bring: --candidates NAME, "
        "where steelyard show TASK tells the names",
    )
