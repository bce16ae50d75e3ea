"""Recognise what people have in Python: a name, a model object of another library, a function, a run, vectors.

Objects of other libraries are recognised by their methods, so that none of those libraries is imported here.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.backends.function import from_function
from steelyard.encoders.backends.precomputed import SUFFIXES
from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.http.secrets import is_sensitive
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.objects.in_memory import RunRetriever, VectorDictionary, is_run, is_vectors
from steelyard.spec import ModelSpec
from steelyard.types.protocols import Encoder, Reranker, Retriever

FIRST_STAGE = "bm25"
"""The first stage of a reranker object that is given without one."""
SCALARS = str | int | float | bool | None
HINT = (
    "pass a name such as 'bm25', a SentenceTransformer or CrossEncoder, an embeddings object of LangChain or "
    "LlamaIndex, a function of texts, a run {query: {document: score}}, or a file of vectors"
)


def as_model(
    model: Any, name: str | None = None, settings: Settings | None = None, *, first: str = FIRST_STAGE
) -> str | ModelSpec | Retriever:
    """Return a model that the engine can load; `name` is what the user calls it, `first` is put before a reranker.

    The name of a function, a run or vectors is that one; other objects have the name of what they were loaded from.

    >>> as_model(lambda texts: [[len(text), 1.0] for text in texts], "length").name
    'dense:length'
    >>> as_model({"q1": {"d1": 0.5}}, "mine").name
    'run:mine'
    """
    settings = settings or Settings.load()
    if isinstance(model, str | ModelSpec):
        return model
    if isinstance(model, Path):
        return f"dense:{model}" if model.suffix in SUFFIXES else str(model)
    if isinstance(model, tuple) and len(model) > 1:
        return _stages(model, name, settings)
    if isinstance(model, Mapping):
        return _from_mapping(model, name)
    if (recognised := _from_object(model, name, settings, first)) is not None:
        return recognised
    raise UsageError.invalid(
        "a model", expected="a name or an object that ranks", found=type(model).__name__, hint=HINT
    )


def _from_object(model: Any, name: str | None, settings: Settings, first: str) -> Retriever | None:
    kinds = {kind.__name__ for kind in type(model).__mro__}
    if kinds & {"SentenceTransformer", "CrossEncoder", "SparseEncoder", "MultiVectorEncoder"}:
        return _from_sentence_transformers(model, settings, first)
    if hasattr(model, "name") and hasattr(model, "index"):
        return model  # type: ignore[no-any-return]
    # Looked up on the class: some encoders have to encode a text to know their dimension.
    if hasattr(model, "name") and hasattr(type(model), "dimension"):
        encoder: Encoder = model
        return DenseRetriever(f"dense:{encoder.name}", encoder)
    if hasattr(model, "embed_documents") and hasattr(model, "embed_query"):
        return _dense(model, queries=model.embed_query, documents=model.embed_documents)
    if hasattr(model, "get_text_embedding_batch") and hasattr(model, "get_query_embedding"):
        return _dense(model, queries=model.get_query_embedding, documents=model.get_text_embedding_batch)
    if hasattr(model, "rerank") and hasattr(model, "settings"):
        return _reranked(first, model, settings)
    if callable(model):
        return _from_callable(model, name, settings, first)
    return None


def _from_mapping(model: Mapping[Any, Any], name: str | None) -> Retriever:
    if is_vectors(model):
        vectors = VectorDictionary(name or "vectors", model["documents"], model["queries"])
        return DenseRetriever(f"dense:{vectors.name}", vectors)
    if is_run(model):
        return RunRetriever(f"run:{name or 'dictionary'}", model)
    raise UsageError.invalid(
        "a dictionary that is a model",
        expected="a run {query: {document: score}} or vectors {'documents': {id: vector}, 'queries': {id: vector}}",
        found=f"the keys {', '.join(map(repr, list(model)[:3])) or 'none'}",
        hint="names of one's own are {'mini': MODEL, 'base': MODEL}",
    )


def _stages(stages: tuple[Any, ...], name: str | None, settings: Settings) -> Retriever:
    """Return the pipeline of a tuple: a model that retrieves, and rerankers after it."""
    from steelyard.retrievers.pipeline import pipeline

    first, *others = stages
    head = as_model(first, name, settings)
    rerankers = [other if isinstance(other, str) else as_reranker(other, None) for other in others]
    return pipeline(str(head) if isinstance(head, ModelSpec) else head, *rerankers, settings=settings)


def as_reranker(model: Any, name: str | None) -> Reranker:
    """Return a cross-encoder, a function of a query and its texts, or a Reranker as a reranker."""
    from steelyard.retrievers.objects.sentence_transformer_models import live_scorer
    from steelyard.retrievers.rerank.load import from_function as reranker_from_function

    if "CrossEncoder" in {kind.__name__ for kind in type(model).__mro__}:
        return live_scorer(model, name or model_name(model), version=fingerprint(model))
    if hasattr(model, "rerank") and hasattr(model, "settings"):
        return model  # type: ignore[no-any-return]
    if callable(model):
        return reranker_from_function(model, name or _function_name(model))
    raise UsageError.invalid(
        "a stage after the first", expected="a reranker", found=type(model).__name__, hint="such as a CrossEncoder"
    )


def _reranked(first: str, model: Any, settings: Settings, name: str | None = None) -> Retriever:
    from steelyard.retrievers.pipeline import pipeline

    return pipeline(first, as_reranker(model, name), settings=settings)


def _from_sentence_transformers(model: Any, settings: Settings, first: str) -> Retriever:
    from steelyard.retrievers.objects.sentence_transformer_models import family_of, live_retriever

    if family_of(model) == "rerank":
        return _reranked(first, model, settings)
    return live_retriever(model, model_name(model), version=fingerprint(model), settings=settings)


def _from_callable(model: Callable[..., Any], name: str | None, settings: Settings, first: str) -> Retriever:
    """Return a function of texts as an encoder; one whose first parameter is `query` as a reranker."""
    try:
        parameters = list(inspect.signature(model).parameters)
    except (TypeError, ValueError):  # a function in C without a signature
        parameters = []
    if parameters[:1] == ["query"] and len(parameters) > 1:
        return _reranked(first, model, settings, name)
    named = name or _function_name(model)
    return DenseRetriever(f"dense:{named}", from_function(model, named))


def _dense(model: Any, *, queries: Callable[..., Any], documents: Callable[..., Any]) -> DenseRetriever:
    """Return an embeddings object as a model: queries are encoded one at a time, as the object does it."""

    def encode(texts: list[str], role: str) -> list[Any]:
        return [queries(text) for text in texts] if role == "query" else list(documents(texts))

    name = model_name(model)
    encoder = from_function(encode, name, version=_attributes_hash(model))
    encoder.storable = False  # the weights behind the object are not known here
    return DenseRetriever(f"dense:{name}", encoder)


def model_name(model: Any) -> str:
    """Return what a model object is called: the id it was loaded from, else its class; without characters of options.

    >>> class Embeddings:
    ...     model_name = "intfloat/e5-small"
    >>> model_name(Embeddings())
    'intfloat/e5-small'
    """
    card = getattr(model, "model_card_data", None)
    transformer = next((part for part in _modules(model) if hasattr(part, "auto_model")), None)
    network = model if transformer is None else transformer.auto_model
    config = getattr(network, "config", None)
    candidates = (
        getattr(card, "model_id", None),
        getattr(config, "_name_or_path", None),
        getattr(card, "base_model", None),
        *(getattr(model, attribute, None) for attribute in ("model_name", "model", "model_id", "deployment")),
    )
    declared = next((name for name in candidates if isinstance(name, str) and name and name != "unknown"), "")
    if declared and (declared.startswith(("/", ".", "~")) or Path(declared).is_dir()):
        path = with_home(declared).resolve()
        declared = path.parent.name if path.name in ("model", "final", "best") else path.name
    name = declared if declared else type(model).__name__
    return name.replace(" ", "-").replace("?", "-").replace("@", "-")


def _modules(model: Any) -> list[Any]:
    children = getattr(model, "children", None)
    return list(children()) if callable(children) else []


def _function_name(function: Any) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name


def fingerprint(model: Any) -> str:
    """Return a hash of everything that a torch model computes with: weights, modules, prompts, length and tokenizer."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(model.state_dict().items()):
        array = tensor.detach().cpu()
        array = array.float() if array.is_floating_point() else array
        digest.update(f"\0{name}\0{tuple(array.shape)}\0{tensor.dtype}\0".encode() + array.numpy().tobytes())
    facts = [
        repr(model),
        *(
            repr(getattr(model, name, None))
            for name in ("prompts", "default_prompt_name", "max_seq_length", "truncate_dim", "similarity_fn_name")
        ),
    ]
    tokenizer: Any = getattr(model, "tokenizer", None)
    vocabulary = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    digest.update(json.dumps([facts, sorted(vocabulary.items())]).encode())
    return digest.hexdigest()


def _attributes_hash(model: Any) -> str:
    """Return a hash of the class and the plain attributes of an object, without keys and passwords."""
    attributes = {
        name: value
        for name, value in vars(model).items()
        if isinstance(value, SCALARS) and not is_sensitive(name) and not name.startswith("_")
    }
    text = json.dumps([f"{type(model).__module__}.{type(model).__qualname__}", attributes], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
