"""Fusion: several rankings of the same corpus become one. The methods are in `methods`.

Where words of query and document are never the same, as across languages, a list of words weakens a list of meanings.
The default method, `adaptive`, therefore sets the weights of the lists query by query; with the others, weights are
fixed or depend on the language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from steelyard.config import Settings
from steelyard.errors import ModelError, UnknownName, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.composite import CompositeIndex, for_task
from steelyard.retrievers.fusion import adaptive
from steelyard.retrievers.fusion.join import join
from steelyard.retrievers.fusion.methods import METHODS
from steelyard.retrievers.model_names import FUSION_METHOD, result_name
from steelyard.retrievers.model_names import FUSION_PRESETS as PRESETS
from steelyard.spec import ModelSpec
from steelyard.text.languages import canonical, is_language
from steelyard.types import Corpus, Float64, Run, TaskInfo
from steelyard.types.protocols import Combined, ModelSettings, Retriever, Tick, Unjudged, no_tick

OPTIONS = ("depth", "k", "method", "preset", "weights")
BY_LANGUAGE = "weights@"
MOST = 1e6
"""Of weights and of `k`: what is greater leaves no difference between scores in float32, or none that is finite."""
MIXED = ("multilingual", "unknown")
"""Languages of a task that say nothing of the single query."""

Weights = tuple[float, ...]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Fusion:
    """How rankings are joined: the method, its constant `k`, a weight for each list, and how deep lists are read.

    >>> Fusion.of({"k": "10", "weights": "2,1", "weights@zh": "0,1"}, lists=2)
    Fusion(method='rrf', k=10.0, weights=(2.0, 1.0), depth=500, by_language=(('zh', (0.0, 1.0)),))
    >>> Fusion.of({}, lists=2).method, Fusion.of({"preset": "hakari"}, lists=2).method
    ('adaptive', 'rrf')
    """

    method: str = "rrf"
    k: float = 60.0
    weights: Weights | None = None
    depth: int = 500
    by_language: tuple[tuple[str, Weights], ...] = ()
    """Weights for queries in some languages, in place of `weights`."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("fusion method", self.method, METHODS, hint=f"known: {', '.join(METHODS)}")
        if not 0 <= self.k <= MOST:
            raise UsageError(f"the fusion constant k is {self.k:g}", hint="a number from 0 to 1,000,000; 60 is usual")
        if self.depth < 1:
            raise UsageError(
                f"the fusion depth is {self.depth}", hint="how many documents of each list count: 1 or more"
            )
        for weights in self._all_weights:
            if not all(0 <= weight <= MOST for weight in weights) or not any(weights):
                raise UsageError(
                    f"the fusion weights are {weights}",
                    hint="every weight is a number from 0 to 1,000,000, one of them above 0",
                )

    @classmethod
    def of(cls, options: Mapping[str, str], *, lists: int) -> Fusion:
        """The settings in a model's name: `[bm25, dense]?k=10&weights=2,1&weights@zh=0.2,1`.

        The method is `adaptive` unless one is given; `k`, which only `rrf` has, selects that.
        """
        for name in options:
            if name not in OPTIONS and not name.startswith(BY_LANGUAGE):
                known = f"{', '.join(OPTIONS)}, {BY_LANGUAGE}LANGUAGE"
                raise UnknownName("fusion option", name, OPTIONS, hint=f"known: {known}")
        preset = options.get("preset")
        if preset is not None and preset not in PRESETS:
            raise UnknownName("fusion preset", preset, PRESETS, hint=f"known: {', '.join(PRESETS)}")
        given = {**PRESETS.get(preset or "", {}), **options}
        method = given.get("method", "rrf" if "k" in given else FUSION_METHOD)
        if "k" in given and method != "rrf":
            source = "" if "k" in options else f" of the preset {preset}"
            raise UsageError(
                f"the fusion option k{source} is {given['k']!r}, and the method {method} has no k",
                hint="leave k out, or take method=rrf",
            )
        fusion = cls(
            method=method,
            k=_read(given, "k", float) if "k" in given else cls.k,
            weights=_read(given, "weights", _weights) if "weights" in given else None,
            depth=_read(given, "depth", int) if "depth" in given else cls.depth,
            by_language=tuple(
                (_language(name), _read(given, name, _weights))
                for name in sorted(given)
                if name.startswith(BY_LANGUAGE)
            ),
        )
        fusion._check_lists(lists)
        languages = [language for language, _ in fusion.by_language]
        if twice := [language for language in languages if languages.count(language) > 1]:
            raise UsageError(f"fusion weights for {twice[0]} twice", hint="one spelling of a language is enough")
        # Equal weights of 1 are none: the model has one name, and one key.
        return replace(fusion, weights=None) if set(fusion.weights or ()) == {1.0} else fusion

    @property
    def settings(self) -> ModelSettings:
        """Everything here that could change a figure."""
        by_language = {language: list(weights) for language, weights in self.by_language}
        return {
            "method": self.method,
            "k": self.k if self.method == "rrf" else None,
            "weights": list(self.weights) if self.weights else None,
            "depth": self.depth,
            **({"weights_by_language": by_language} if by_language else {}),
        }

    def fuse(self, runs: Sequence[Run], top_k: int | None = None, weights: Float64 | None = None) -> Run:
        """Join rankings of the same queries over the same corpus; see `fuse`. `weights` has a line for each query."""
        if not runs:
            raise UsageError("nothing to fuse", hint="give one run or more")
        self._check_lists(len(runs))
        if len({len(run) for run in runs}) > 1:
            found = ", ".join(str(len(run)) for run in runs)
            raise UsageError(f"runs of {found} queries cannot be fused", hint="every run needs the same queries")
        if weights is None:
            weights = np.tile(self.weights or (1.0,) * len(runs), (len(runs[0]), 1))
        return join([run.top(self.depth) for run in runs], weights, self.method, self.k, top_k)

    def weights_for(self, task: Unjudged, lists: int) -> tuple[Float64, ModelSettings]:
        """The weights of every query of a task, a line each, and what was decided.

        A task in one language has one set of weights. Where the languages of the queries differ or nobody says, each
        query is looked at.
        """
        usual, by_language = self.weights or (1.0,) * lists, dict(self.by_language)
        language = canonical(task.info.language)
        usual = by_language.get(language, usual)
        if not by_language or language not in MIXED:
            return np.tile(usual, (len(task.queries), 1)), {}
        languages = _languages(task)
        chosen = [by_language.get(language, usual) for language in languages]
        counts = Counter(language if language in by_language else "others" for language in languages)
        return np.array(chosen, dtype=np.float64).reshape(-1, lists), {"queries_by_weights": dict(counts)}

    def check_scores(self, runs: Sequence[Run], lists: Sequence[str], queries: Sequence[Any]) -> None:
        """A ModelError for an infinite score where scores are added up: beside it, all others are worth nothing."""
        if self.method == "rrf":
            return
        for run, name in zip(runs, lists, strict=True):
            head = run.top(self.depth)
            endless = (head.rows >= 0) & np.isinf(head.scores)
            if endless.any():
                query, place = (int(at[0]) for at in np.nonzero(endless))
                raise ModelError(
                    f"{name} has a score of {head.scores[query, place]} for query {queries[query]!r}, "
                    f"which {self.method} cannot put on a scale",
                    hint="method=rrf goes by ranks alone",
                )

    @property
    def _all_weights(self) -> list[Weights]:
        return [*([self.weights] if self.weights is not None else []), *(weights for _, weights in self.by_language)]

    def _check_lists(self, lists: int) -> None:
        for weights in self._all_weights:
            if len(weights) != lists:
                raise UsageError(f"{len(weights)} fusion weights for {lists} models", hint="one weight for each")


def _language(option: str) -> str:
    """The language of `weights@zh`; what is none is a UsageError."""
    code = canonical(option.removeprefix(BY_LANGUAGE))
    if code not in (*MIXED, "code", "und") and not is_language(code):
        raise UsageError(f"the fusion option {option} names no language", hint="such as weights@zh (ja, not jp)")
    return code


def _read(options: Mapping[str, str], name: str, kind: Callable[[str], Value]) -> Value:
    """The value of an option that is there; a UsageError where it is not of its kind."""
    try:
        return kind(options[name])
    except ValueError as error:
        what = "a whole number" if kind is int else "a number" if kind is float else "numbers with commas"
        raise UsageError(
            f"the fusion option {name} is {options[name]!r}, which is not {what}",
            hint="such as ?k=60&depth=500&weights=2,1",
        ) from error


def _weights(text: str) -> Weights:
    return tuple(map(float, text.split(",")))


def _languages(task: Unjudged) -> list[str]:
    """The language of each query, among those of the task where it names them."""
    from steelyard.text.language_id.detect import detect

    among = [code for code in map(canonical, task.info.languages) if code not in MIXED]
    return detect(task.queries.texts, among)


def fuse(
    runs: Sequence[Run],
    *,
    method: str = "rrf",
    k: float = 60.0,
    weights: Sequence[float] | None = None,
    depth: int = 500,
    top_k: int | None = None,
) -> Run:
    """Join rankings of the same queries over the same corpus into one, cut at `top_k`.

    Only the first `depth` documents of each list count; a document that one list lacks gets nothing from it. Scores
    are float32; ties by row.

    >>> a, b = Run.of([[0, 1, 2]], [[9, 8, 7]]), Run.of([[2, 3, -1]], [[0.5, 0.4, 0.0]])
    >>> joined = fuse([a, b], k=60)
    >>> joined.rows.tolist(), [f"{score:.4f}" for score in joined.scores[0]]
    ([[2, 0, 1, 3]], ['0.0323', '0.0164', '0.0161', '0.0161'])
    """
    settings = Fusion(method, k, tuple(weights) if weights is not None else None, depth)
    settings.check_scores(
        runs, [f"list {number}" for number in range(1, len(runs) + 1)], range(max(map(len, runs), default=0))
    )
    return settings.fuse(runs, top_k)


@dataclass(frozen=True)
class FusedRetriever:
    """Several retrievers whose rankings are joined."""

    name: str
    parts: tuple[Retriever, ...]
    fusion: Fusion

    @property
    def settings(self) -> ModelSettings:
        """The settings of the fusion and of every part."""
        rule = {"adaptive": dict(adaptive.settings_of(self.parts))} if self.fusion.method == "adaptive" else {}
        return {"fusion": {**self.fusion.settings, **rule}, "parts": [dict(part.settings) for part in self.parts]}

    @property
    def reads(self) -> int:
        """The depth of the fusion."""
        return self.fusion.depth

    def steps(self, task: Unjudged) -> int:
        """Joining is quick and ticks nothing."""
        return 0

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """The lists joined, with the weights that the task's language, or each query, asks for."""
        self.fusion.check_scores(runs, [part.name for part in self.parts], task.queries.ids)
        weights, decided = self.fusion.weights_for(task, len(self.parts))
        notes: dict[str, Any] = {"fusion": dict(decided)} if decided else {}
        if self.fusion.method == "adaptive":
            trusted = adaptive.trust(task, [run.top(self.fusion.depth) for run in runs], self.parts)
            weights = weights * trusted.weights
            notes |= {"fusion": {**decided, **trusted.notes}} if trusted.notes else {}
        return Combined(self.fusion.fuse(runs, top_k, weights), notes)

    def for_task(self, info: TaskInfo) -> FusedRetriever:
        """The fusion of the parts as they are for that task."""
        return replace(self, parts=tuple(for_task(part, info) for part in self.parts))

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> CompositeIndex:
        """Index the corpus with every part."""
        return CompositeIndex.of(self, corpus, info, tick)


def from_spec(spec: ModelSpec, settings: Settings | None = None) -> FusedRetriever:
    """The retriever of `[bm25, dense]?k=60`."""
    fusion = Fusion.of(spec.options, lists=len(spec.parts))
    return FusedRetriever(result_name(spec), tuple(load_retriever(part, settings) for part in spec.parts), fusion)
