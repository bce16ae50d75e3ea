"""Names of our models and tasks in mteb."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.datasets.catalogue import find
from steelyard.errors import UsageError
from steelyard.results import Result
from steelyard.results.keys import model_slug
from steelyard.results.result_file import MTEB_VERSION, mteb_version
from steelyard.spec import parse

CMTEB = "C-MTEB"
NO_REVISION = "no_revision_available"
"""mteb's revision of a model that has none."""
EXPERIMENTS = "experiments"
"""mteb's folder of variants of a model; its reader leaves them out unless it is asked for them."""
MAX_EXPERIMENT = 200
_INVALID = frozenset('<>:"|?*\\/\0')
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_TASK = re.compile(r"(?P<task>[^\[\]:]+)(?:\[(?P<subset>[^\[\]]+)\])?(?::(?P<split>[^\[\]:]+))?")


@dataclass(frozen=True)
class MtebModel:
    """A model in mteb's files."""

    name: str
    """`organisation/name`; mteb 1 also has names without an organisation."""
    revision: str = NO_REVISION
    cross_encoder: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the retriever or reranker: dimension, length and similarity are read from them."""
    encode_kwargs: Mapping[str, Any] = field(default_factory=dict)
    experiment: Mapping[str, Any] = field(default_factory=dict)
    """What distinguishes a variant of the model: mteb's `experiment_kwargs`."""
    label: str | None = None
    """The name in files of mteb 1.14; None: the same."""

    @property
    def path(self) -> str:
        """The folders of the model, of its revision and of its experiment.

        >>> MtebModel("intfloat/multilingual-e5-small", "main").path
        'intfloat__multilingual-e5-small/main'
        >>> MtebModel("X/e5", "main", experiment={"max_seq_length": 128}).path
        'X__e5/main/experiments/max_seq_length_128'
        """
        parts = (file_name(self.name), _UNSAFE.sub("_", self.revision))
        path = "/".join(part.lstrip(".") or "model" for part in parts)
        return f"{path}/{EXPERIMENTS}/{experiment_name(self.experiment)}" if self.experiment else path

    @property
    def meta(self) -> dict[str, str]:
        """The reference in predictions and second stages."""
        return {"model_name": self.name, "revision": self.revision}


def file_name(name: str) -> str:
    """Return the name of a model or task as a file name.

    >>> file_name("intfloat/e5 large")
    'intfloat__e5_large'
    """
    return _UNSAFE.sub("_", name.replace("/", "__"))


def experiment_name(experiment: Mapping[str, Any]) -> str:
    """Return mteb's name of an experiment; a hash if it is too long, or no file name.

    >>> experiment_name({"prompt": "query: ", "limits": 500}), experiment_name({"model_kwargs": {"dtype": "float16"}})
    ('limits_500__prompt_query_ ', 'exp_d0c452544e50025c')
    """
    name = "__".join(f"{key}_{_experiment_value(value)}" for key, value in sorted(experiment.items()))
    if len(name) > MAX_EXPERIMENT or not _INVALID.isdisjoint(name):
        return f"exp_{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return name


def _experiment_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_experiment_value(part)}" for key, part in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_experiment_value, value))}]"
    return "".join("_" if character in _INVALID else character for character in str(value))


def model_of(result: Result) -> MtebModel:
    """Return the model of a result: a hub id under its own name, everything else under `steelyard/`.

    >>> model_of(Result("T/a", "dense:intfloat/e5", {"model_settings": {"revision": "abc"}}, "")).path
    'intfloat__e5/abc'
    >>> model_of(Result("T/a", "[bm25, dense:X/y]?k=10", {}, "")).name
    'steelyard/bm25_dense_X__y_k_10'
    """
    settings = result.settings.get("model_settings") or {}
    try:
        spec = parse(result.model)
    except UsageError:  # a model object may have any name
        spec = None
    revision = settings.get("revision")
    if spec is not None and not spec.parts and not spec.options and spec.id.count("/") == 1 and revision:
        return MtebModel(spec.id, str(revision), settings=settings)
    return MtebModel(f"steelyard/{model_slug(result.model)}", str(revision or NO_REVISION), settings=settings)


def task_name(result: Result) -> tuple[str, str]:
    """Return the task and the subset in mteb.

    >>> task_name(Result("C-MTEB/ATEC:validation", "m", {}, "")), task_name(Result("mteb/STS22.v2[zh]", "m", {}, ""))
    (('ATEC', 'default'), ('STS22.v2', 'zh'))
    >>> task_name(Result("C-MTEB/CMedQAv1-reranking", "m", {"profile": "mteb-1.14"}, ""))[0]
    'CMedQAv1'
    """
    group, _, task = result.task.rpartition("/")
    match = _TASK.fullmatch(task)
    name, subset = (match["task"], match["subset"]) if match else (task, None)
    if group == CMTEB and not is_mteb_2(result):
        name = name.removesuffix("-reranking")  # mteb 2 added the ending
    if group not in (CMTEB, "mteb", ""):
        name = f"{group}/{name}"
    return name, subset or "default"


def task_parts(reference: str) -> tuple[str, str]:
    """Return the name of a task in mteb, and its subset and split in a reference or result name.

    >>> task_parts("C-MTEB/ATEC:validation"), task_parts("mteb:STS22.v2[zh]"), task_parts("C-MTEB/ATEC")
    (('ATEC', 'validation'), ('STS22.v2', '[zh]'), ('ATEC', 'test'))
    """
    name = reference.removeprefix("mteb:").rpartition("/")[2]
    match = _TASK.fullmatch(name)
    if match is None:
        return name, "test"
    entry = find(reference)
    subset = f"[{match['subset']}]" if match["subset"] else ""
    split = match["split"] or (entry.split if entry else "" if subset else "test")
    return match["task"], f"{subset}{':' if subset and split else ''}{split}"


def is_mteb_2(result: Result) -> bool:
    """Return whether the scores follow mteb 2."""
    return mteb_version(result) == MTEB_VERSION
