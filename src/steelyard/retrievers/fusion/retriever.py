"""Fusion: several rankings of the same corpus become one. The methods are in `methods`.

If query and document share no words, as across languages, a lexical list makes a semantic list worse. The default
method, `adaptive`, therefore sets the weights of the lists query by query; with the others, weights are fixed or depend
on the language.
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
from steelyard.retrievers.fusion.join import METHODS, join
from steelyard.retrievers.model_names import FUSION_METHOD, result_name
from steelyard.retrievers.model_names import FUSION_PRESETS as PRESETS
from steelyard.spec import ModelSpec
from steelyard.text.languages import canonical, is_language
from steelyard.types import Corpus, Float64, Run, TaskInfo
from steelyard.types.protocols import Combined, ModelSettings, Retriever, Tick, Unjudged, no_tick

OPTIONS = ("depth", "k", "method", "preset", "weights")
BY_LANGUAGE = "weights@"
MOST = 1e6
"""The largest weight and `k`; with greater values, scores do not differ in float32 or are infinite."""
MIXED = ("multilingual", "unknown")
"""Languages of a task that do not determine the language of a query."""

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
    """Weights for queries in some languages, instead of `weights`."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            hint = f"choose one of {', '.join(METHODS)}"
            raise UnknownName("fusion method", self.method, METHODS, hint=hint, option="method")
        if not 0 <= self.k <= MOST:
            raise UsageError.invalid(
                "the fusion constant k", expected="a number from 0 to 1,000,000", found=self.k, option="k"
            )
        if self.depth < 1:
            raise UsageError.invalid("the fusion depth", expected="at least 1", found=self.depth, option="depth")
        for weights in self._all_weights:
            if not all(0 <= weight <= MOST for weight in weights) or not any(weights):
                raise UsageError.invalid(
                    "the fusion weights",
                    expected="numbers from 0 to 1,000,000, at least one of them above 0",
                    found=weights,
                    option="weights",
                )

    @classmethod
    def of(cls, options: Mapping[str, str], *, lists: int) -> Fusion:
        """Read the options in a model's name: `[bm25, dense]?k=10&weights=2,1&weights@zh=0.2,1`.

        The method is `adaptive` unless one is given; `k`, which only `rrf` has, selects that.
        """
        for name in options:
            if name not in OPTIONS and not name.startswith(BY_LANGUAGE):
                known = f"{', '.join(OPTIONS)}, {BY_LANGUAGE}LANGUAGE"
                raise UnknownName("fusion option", name, OPTIONS, hint=f"known options: {known}", option=name)
        preset = options.get("preset")
        if preset is not None and preset not in PRESETS:
            hint = f"choose one of {', '.join(PRESETS)}"
            raise UnknownName("fusion preset", preset, PRESETS, hint=hint, option="preset")
        values = {**PRESETS.get(preset or "", {}), **options}
        method = values.get("method", "rrf" if "k" in values else FUSION_METHOD)
        if "k" in values and method != "rrf":
            source = "" if "k" in options else f" of the preset {preset}"
            raise UsageError(
                f"the fusion option k{source} must be used with method=rrf, got method={method}",
                hint="remove k=, or set method=rrf",
                option="k",
                found=values["k"],
            )
        fusion = cls(
            method=method,
            k=_read(values, "k", float) if "k" in values else cls.k,
            weights=_read(values, "weights", _weights) if "weights" in values else None,
            depth=_read(values, "depth", int) if "depth" in values else cls.depth,
            by_language=tuple(
                (_language(name), _read(values, name, _weights))
                for name in sorted(values)
                if name.startswith(BY_LANGUAGE)
            ),
        )
        fusion._check_lists(lists)
        languages = [language for language, _ in fusion.by_language]
        if duplicates := [language for language in languages if languages.count(language) > 1]:
            raise UsageError(
                f"the fusion weights for {duplicates[0]} must be set once, got {len(duplicates)} times",
                hint="remove one spelling of the language",
                option="weights",
                found=duplicates[0],
            )
        # Weights of 1 are the default, so that the model has one name and one key.
        return replace(fusion, weights=None) if set(fusion.weights or ()) == {1.0} else fusion

    @property
    def settings(self) -> ModelSettings:
        """Return everything that could change a score."""
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
            raise UsageError("a fusion must have at least one run, got 0", hint="add a run")
        self._check_lists(len(runs))
        if len({len(run) for run in runs}) > 1:
            lengths = ", ".join(str(len(run)) for run in runs)
            raise UsageError.invalid("the runs of a fusion", expected="runs of the same queries", found=lengths)
        if weights is None:
            weights = np.tile(self.weights or (1.0,) * len(runs), (len(runs[0]), 1))
        return join([run.top(self.depth) for run in runs], weights, self.method, self.k, top_k)

    def weights_for(self, task: Unjudged, lists: int) -> tuple[Float64, ModelSettings]:
        """Return the weights of every query of a task, a line each, and notes.

        A task in one language has one set of weights. If the languages of the queries differ or are unknown, the
        language of each query is detected.
        """
        default, by_language = self.weights or (1.0,) * lists, dict(self.by_language)
        language = canonical(task.info.language)
        default = by_language.get(language, default)
        if not by_language or language not in MIXED:
            return np.tile(default, (len(task.queries), 1)), {}
        languages = _languages(task)
        chosen = [by_language.get(language, default) for language in languages]
        counts = Counter(language if language in by_language else "others" for language in languages)
        return np.array(chosen, dtype=np.float64).reshape(-1, lists), {"queries_by_weights": dict(counts)}

    def check_scores(self, runs: Sequence[Run], lists: Sequence[str], queries: Sequence[Any]) -> None:
        """Raise a ModelError for an infinite score if scores are added: all other scores would count nothing."""
        if self.method == "rrf":
            return
        for run, name in zip(runs, lists, strict=True):
            head = run.top(self.depth)
            infinite = (head.rows >= 0) & np.isinf(head.scores)
            if infinite.any():
                query, place = (int(at[0]) for at in np.nonzero(infinite))
                raise ModelError(
                    f"every score of {name} must be finite for method={self.method}, "
                    f"got {head.scores[query, place]} for query {queries[query]!r}",
                    hint="use method=rrf, which uses ranks only",
                    found=float(head.scores[query, place]),
                    expected="a finite score",
                )

    @property
    def _all_weights(self) -> list[Weights]:
        return [*([self.weights] if self.weights is not None else []), *(weights for _, weights in self.by_language)]

    def _check_lists(self, lists: int) -> None:
        for weights in self._all_weights:
            if len(weights) != lists:
                raise UsageError.invalid(
                    "the number of fusion weights",
                    expected=f"{lists}, one for each model",
                    found=len(weights),
                    option="weights",
                )


def _language(option: str) -> str:
    """Return the language of `weights@zh`; an unknown one raises a UsageError."""
    code = canonical(option.removeprefix(BY_LANGUAGE))
    if code not in (*MIXED, "code", "und") and not is_language(code):
        raise UsageError.invalid(
            "the language of a fusion option", expected="a code such as zh (ja, not jp)", found=code, option=option
        )
    return code


def _read(options: Mapping[str, str], name: str, kind: Callable[[str], Value]) -> Value:
    """Return the value of an option; a UsageError if it is not of its kind."""
    try:
        return kind(options[name])
    except ValueError as error:
        expected = "a whole number" if kind is int else "a number" if kind is float else "numbers with commas"
        raise UsageError.invalid(
            f"the fusion option {name}",
            expected=expected,
            found=options[name],
            hint="for example ?k=60&depth=500&weights=2,1",
            option=name,
        ) from error


def _weights(text: str) -> Weights:
    return tuple(map(float, text.split(",")))


def _languages(task: Unjudged) -> list[str]:
    """Return the language of each query, among those of the task if it names them."""
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
    """Join rankings of the same queries over the same corpus into one of the best `top_k` documents.

    Only the first `depth` documents of each list count; a document gains nothing from a list without it. Scores are
    float32; ties are broken by row.

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
        """Return the settings of the fusion and of every part."""
        rule = {"adaptive": dict(adaptive.settings_of(self.parts))} if self.fusion.method == "adaptive" else {}
        return {"fusion": {**self.fusion.settings, **rule}, "parts": [dict(part.settings) for part in self.parts]}

    @property
    def reads(self) -> int:
        """Return the depth of the fusion."""
        return self.fusion.depth

    def steps(self, task: Unjudged) -> int:
        """Return 0: joining takes no time."""
        return 0

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """Join the lists with the weights of the task's language or of each query."""
        self.fusion.check_scores(runs, [part.name for part in self.parts], task.queries.ids)
        weights, decided = self.fusion.weights_for(task, len(self.parts))
        notes: dict[str, Any] = {"fusion": dict(decided)} if decided else {}
        if self.fusion.method == "adaptive":
            trusted = adaptive.trust(task, [run.top(self.fusion.depth) for run in runs], self.parts)
            weights = weights * trusted.weights
            notes |= {"fusion": {**decided, **trusted.notes}} if trusted.notes else {}
        return Combined(self.fusion.fuse(runs, top_k, weights), notes)

    def for_task(self, info: TaskInfo) -> FusedRetriever:
        """Return the fusion of the parts for that task."""
        return replace(self, parts=tuple(for_task(part, info) for part in self.parts))

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> CompositeIndex:
        """Index the corpus with every part."""
        return CompositeIndex.of(self, corpus, info, tick)


def from_spec(spec: ModelSpec, settings: Settings | None = None) -> FusedRetriever:
    """Return the retriever of `[bm25, dense]?k=60`."""
    fusion = Fusion.of(spec.options, lists=len(spec.parts))
    return FusedRetriever(result_name(spec), tuple(load_retriever(part, settings) for part in spec.parts), fusion)
