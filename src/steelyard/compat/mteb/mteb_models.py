"""Our models as models of mteb 2: encoders with search, search models, and cross-encoders."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, cast

import numpy as np

from steelyard.config import Settings
from steelyard.datasets.formats.mteb.data import TOP_RANKED, query_texts
from steelyard.datasets.formats.mteb.tasks import TYPES, language_facts
from steelyard.errors import MissingPart, UsageError
from steelyard.results.keys import digest, model_slug
from steelyard.retrievers import canonical, load_retriever
from steelyard.retrievers.composite import CompositeIndex, for_task
from steelyard.retrievers.ranking import rank
from steelyard.spec import ModelSpec, parse
from steelyard.types import Corpus, Float32, Queries, Ragged, Role, Run, TaskInfo
from steelyard.types.protocols import Embeds, Index, Reranker, Retriever, Unjudged

OWNER = "steelyard"
"""mteb stores results by `owner/model`: ours must not be mixed up with those of a model that mteb ran."""

KINDS = {"rerank": "cross-encoder", "late": "late-interaction", "sparse": "sparse", "bm25": "sparse", "dense": "dense"}
"""mteb's names of our families; combinations are hybrids."""

MtebModel = Any
"""A model of mteb, by its protocols."""


def as_mteb_model(model: str | ModelSpec | Retriever | Reranker, settings: Settings | None = None) -> MtebModel:
    """Return the model as a model of mteb: `mteb.evaluate(as_mteb_model("dense:ID"), tasks)`.

    A model with vectors (`dense:...`) supports every type of task, and searches with its own index, with its
    dimensions, precision and rescoring. Others (`bm25`, `late:...`, fusions, pipelines) support retrieval and
    reranking. A reranker without a first stage (`rerank:ID`) ranks the candidates of a reranking task.
    """
    _need_mteb()
    spec = canonical(model) if isinstance(model, str | ModelSpec) else model
    if isinstance(spec, ModelSpec) and spec.family == "rerank":
        from steelyard.retrievers.rerank.load import load_reranker

        return PairModel(load_reranker(spec, settings))
    loaded = load_retriever(spec, settings) if isinstance(spec, ModelSpec) else spec
    if isinstance(loaded, Reranker):
        return PairModel(loaded)
    return EmbeddingModel(loaded) if isinstance(loaded, Embeds) else SearchModel(loaded)


class SearchModel:
    """A retriever with mteb's SearchProtocol."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self._corpus: Corpus | None = None
        self._index: Index | None = None
        self._info = TaskInfo("mteb")

    @property
    def mteb_model_meta(self) -> Any:
        """Name, settings and kind; the revision is a hash of all settings."""
        return _meta(self.retriever.name, self.retriever.settings)

    def index(self, corpus: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, **_: Any) -> None:
        """Index a corpus of mteb."""
        columns = corpus.with_format(None)[:]
        titles = [title or "" for title in columns["title"]] if "title" in columns else None
        self._corpus = Corpus.of(list(map(str, columns["id"])), columns["text"], titles)
        self._info = _info(task_metadata, split=hf_split, **language_facts(task_metadata, hf_subset))
        self._index = for_task(self.retriever, self._info).index(self._corpus, self._info)

    def search(
        self, queries: Any, *, top_k: int, top_ranked: Mapping[str, Sequence[str]] | None = None, **_: Any
    ) -> dict[str, dict[str, float]]:
        """Return the top documents of each query, or its candidates in the model's order, with their scores."""
        if self._index is None or self._corpus is None:
            raise RuntimeError("index must be called before search")
        columns = queries.with_format(None)[:]
        texts = Queries(tuple(map(str, columns["id"])), tuple(query_texts(columns)))
        if top_ranked is None:
            return self._named(texts, self._index.search(texts, top_k))
        rows = [[self._corpus.row_of[id_] for id_ in top_ranked.get(query, ())] for query in texts.ids]
        lists = Ragged(np.cumsum([0, *map(len, rows)]), np.array([*chain(*rows)], dtype=np.int32))
        task = Unjudged(self._info, self._corpus, texts, {TOP_RANKED: lists})
        return self._named(texts, _ranked(self._index, task, lists))

    def _named(self, queries: Queries, run: Run) -> dict[str, dict[str, float]]:
        ids = cast(Corpus, self._corpus).ids
        return {
            query: {ids[row]: score for row, score in zip(rows, scores, strict=True) if row >= 0}
            for query, rows, scores in zip(queries.ids, run.rows.tolist(), run.scores.tolist(), strict=True)
        }


def _info(metadata: Any, **facts: Any) -> TaskInfo:
    """Return mteb's metadata of a task as ours."""
    return TaskInfo(f"mteb/{metadata.name}", type=TYPES.get(metadata.type, "retrieval"), **facts)


class EmbeddingModel(SearchModel):
    """A retriever with vectors: mteb's EncoderProtocol and SearchProtocol."""

    @property
    def mteb_model_meta(self) -> Any:
        """Name, settings, similarity and dimension."""
        settings = self.retriever.settings
        return _meta(self.retriever.name, settings, self._embeds.similarity, settings.get("dimension"), "dense")

    @property
    def _embeds(self) -> Embeds:
        return cast(Embeds, self.retriever)

    def encode(self, inputs: Any, *, prompt_type: Any = None, task_metadata: Any = None, **_: Any) -> Float32:
        """Return the vectors of all batches; each distinct text is encoded once, with the prompt of the task."""
        role = cast(Role, "text" if prompt_type is None else str(getattr(prompt_type, "value", prompt_type)))
        model = self.retriever if task_metadata is None else for_task(self.retriever, _info(task_metadata))
        vectors, _notes = cast(Embeds, model).embed(_texts(inputs), role)
        return vectors

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of every pair, as the model declares it; distances are negated."""
        from mteb.similarity_functions import cos_sim, dot_score

        name = self._embeds.similarity
        if name in ("cosine", "dot"):
            return (cos_sim if name == "cosine" else dot_score)(embeddings1, embeddings2)
        torch = importlib.import_module("torch")
        first, second = (torch.atleast_2d(torch.as_tensor(side)) for side in (embeddings1, embeddings2))
        return -torch.cdist(first, second, p=1.0 if name == "manhattan" else 2.0)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of each row with its partner."""
        from mteb.similarity_functions import pairwise_cos_sim, pairwise_dot_score

        name = self._embeds.similarity
        if name in ("cosine", "dot"):
            return (pairwise_cos_sim if name == "cosine" else pairwise_dot_score)(embeddings1, embeddings2)
        torch = importlib.import_module("torch")
        difference = torch.as_tensor(embeddings1) - torch.as_tensor(embeddings2)
        return -torch.linalg.vector_norm(difference, ord=1 if name == "manhattan" else 2, dim=-1)


class PairModel:
    """A reranker with mteb's CrossEncoderProtocol."""

    def __init__(self, reranker: Reranker) -> None:
        self.reranker = reranker

    @property
    def mteb_model_meta(self) -> Any:
        """Name and settings."""
        return _meta(self.reranker.name, self.reranker.settings, kind="cross-encoder")

    def predict(self, inputs1: Any, inputs2: Any, **_: Any) -> Float32:
        """Return the score of each pair of a query and a document."""
        queries, documents = _texts(inputs1), iter(_texts(inputs2))
        runs = [(query, len(list(same))) for query, same in groupby(queries)]
        lists = [[next(documents) for _ in range(count)] for _, count in runs]
        scores = self.reranker.rerank([query for query, _ in runs], lists)
        return np.concatenate(scores) if scores else np.empty(0, dtype=np.float32)


def _ranked(index: Index, task: Unjudged, lists: Ragged) -> Run:
    """Return each query's candidates in the model's order; a composite combines the lists of its parts."""
    if not isinstance(index, CompositeIndex):
        return rank(index, task.queries, lists, len(task.corpus))
    runs = [_ranked(part, task, lists) for part in index.parts]
    return index.composite.combine(task, runs, len(task.corpus)).run


def _texts(batches: Iterable[Mapping[str, Sequence[str]]]) -> list[str]:
    return [text for batch in batches for text in batch["text"]]


def _meta(
    name: str,
    settings: Mapping[str, Any],
    similarity: str | None = None,
    dimension: int | None = None,
    kind: str | None = None,
) -> Any:
    from mteb.models.model_meta import ModelMeta, ScoringFunction

    return ModelMeta(
        loader=None,
        name=f"{OWNER}/{model_slug(name)}",
        revision=digest(dict(settings))[:12],
        similarity_fn_name=None if similarity is None else ScoringFunction(similarity),
        embed_dim=dimension,
        model_type=[kind or _kind(name)],
        release_date=None,
        languages=None,
        n_parameters=None,
        memory_usage_mb=None,
        max_tokens=None,
        license=None,
        open_weights=None,
        public_training_code=None,
        public_training_data=None,
        framework=[],
        use_instructions=None,
        training_datasets=None,
    )


def _kind(name: str) -> str:
    """Return mteb's kind of the family; a model object may have any name."""
    try:
        return KINDS.get(parse(name).family, "hybrid")
    except UsageError:
        return "hybrid"


def _need_mteb() -> None:
    try:
        import mteb  # noqa: F401
    except ImportError as error:
        raise MissingPart.extra("mteb", "mteb") from error
