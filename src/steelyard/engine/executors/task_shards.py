"""The shards of one task: which batches of texts are still to be encoded, for models of a group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.encoders.cache.batch_plan import planned_batches
from steelyard.engine.executors.shards import EncodeShard
from steelyard.engine.executors.worker import parts_of
from steelyard.engine.plan import Model, Profile
from steelyard.retrievers.composite import for_task
from steelyard.tasks import texts_of
from steelyard.types import Role, Task
from steelyard.types.protocols import Retriever, StoresEncodings
from steelyard.types.samples import AnyTask, distinct

SHARD_CHARACTERS = 1 << 18
"""Batches of short texts are put together until a shard has about so many characters."""


@dataclass(frozen=True, eq=False)
class Texts:
    """The distinct texts of a task that one model encodes in one role."""

    model: str
    retriever: Retriever
    store: str
    role: Role
    texts: Sequence[str]
    missing: Sequence[Sequence[str]]
    """The batches with a text whose encoding is not stored."""
    to_encode: Sequence[str]
    """The texts whose encodings are not stored."""
    batches: int


def texts_by_role(task: AnyTask, profile: Profile) -> dict[Role, list[str]]:
    """Return the distinct texts of a task by their role."""
    if isinstance(task, Task):
        return {"document": distinct(task.corpus.texts), "query": distinct(task.queries.texts)}
    return {"text": texts_of(task, profile)}


def task_texts(task: AnyTask, models: Sequence[Model], profile: Profile) -> Iterator[Texts]:
    """Yield what each encoder of the models has to encode of a task; variants of a model share an encoder."""
    roles = texts_by_role(task, profile)
    seen: set[tuple[str, Role]] = set()
    for part in parts_of(models):
        retriever = for_task(part, task.info)
        if not isinstance(retriever, StoresEncodings) or (store := retriever.store_name) is None:
            continue
        for role, texts in roles.items():
            if (store, role) in seen or not texts:
                continue
            seen.add((store, role))
            stored = retriever.stored(texts, role)
            batches = planned_batches(texts)
            missing = [[texts[row] for row in rows] for rows in batches if not stored[rows].all()]
            to_encode = [text for text, known in zip(texts, stored.tolist(), strict=True) if not known]
            yield Texts(part.name, retriever, store, role, texts, missing, to_encode, len(batches))


def encode_shards(texts: Texts, task: AnyTask, group: int) -> Iterator[EncodeShard]:
    """Yield the missing batches in shards of about equal size; their boundaries depend on the texts alone."""
    batches: list[tuple[str, ...]] = []
    for batch in texts.missing:
        batches.append(tuple(batch))
        if sum(len(text) for part in batches for text in part) >= SHARD_CHARACTERS:
            yield _shard(texts, task, group, batches)
            batches = []
    if batches:
        yield _shard(texts, task, group, batches)


def _shard(texts: Texts, task: AnyTask, group: int, batches: Sequence[tuple[str, ...]]) -> EncodeShard:
    content = hashlib.blake2b(f"{task.name}\0{texts.store}\0{texts.role}".encode(), digest_size=12)
    for batch in batches:
        for text in batch:
            content.update(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    return EncodeShard(content.hexdigest(), group, texts.model, task.info, texts.role, tuple(batches))
