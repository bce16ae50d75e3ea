"""Shards: the units of work that an executor gives to its workers. They can be sent to another process or machine.

What is computed together is fixed by the plan, not by the executor: a shard of texts holds whole batches
(`planned_batches`), and every executor encodes exactly these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.config import Settings
from steelyard.datasets import builtin
from steelyard.engine.plan import Conditions, Model, SaveRuns
from steelyard.files import with_home
from steelyard.http.secrets import VARIABLE
from steelyard.results import Failure, Result
from steelyard.retrievers.model_names import SEARCH_SERVICES
from steelyard.retrievers.model_variants import without_variant
from steelyard.spec import ModelSpec
from steelyard.types import Role, TaskInfo
from steelyard.types.samples import AnyTask

HUB_VARIABLES = (
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN"),
    *("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"),
)
"""Tokens of hubs; an address of a proxy may contain credentials."""
STORE_VARIABLES = {
    **dict.fromkeys(("s3", "s3a"), ("AWS_*",)),
    **dict.fromkeys(("gs", "gcs"), ("GOOGLE_*", "GCS_*", "GCSFS_*")),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), ("AZURE_*",)),
}
"""Credentials of the store of vectors, by the scheme of its address."""
API = "api/"
"""The beginning of the ids of models that are services."""


@dataclass(frozen=True, eq=False)
class Group:
    """Models that share parts, such as a fusion and its members: a worker loads all of them, once."""

    number: int
    models: tuple[ModelSpec, ...]
    settings: Settings
    """Without secrets: services are called from the driver only."""
    conditions: Conditions
    variables: tuple[str, ...] = ()
    """Environment variables with secrets that its workers need; a name that ends with `*` is a prefix."""


@dataclass(frozen=True, eq=False)
class EncodeShard:
    """Batches of texts that a model encodes and stores."""

    id: str
    group: int
    model: str
    """The name of a model of the group, or of a part of one."""
    info: TaskInfo
    role: Role
    batches: tuple[tuple[str, ...], ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """No other shard."""
        return ()


@dataclass(frozen=True, eq=False)
class EvaluateShard:
    """A task on which models of a group are evaluated, after the shards that it `needs`."""

    id: str
    group: int
    task: str | AnyTask
    models: tuple[str, ...]
    """Hashes of the names and settings of models: two models may have the same name."""
    forms: Mapping[str, Sequence[SaveRuns]]
    """The formats in which the run of each model is saved, by the key of its result."""
    save_runs: SaveRuns | None = None
    needs: tuple[str, ...] = ()


Shard = EncodeShard | EvaluateShard


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a worker returns for a shard."""

    shard: str
    results: tuple[tuple[Result, Mapping[str, bytes]], ...] = ()
    """Results with the files that are stored next to them."""
    encoded: int = 0
    problem: str | None = None
    """Why encodings are not in the store, such as a full disk; another worker may succeed."""
    failure: Failure | None = None
    """Why the shard was given up."""


def groups_of(
    models: Sequence[Model], settings: Settings, conditions: Conditions, tasks: Sequence[str | AnyTask] = ()
) -> tuple[list[Group], list[Model]]:
    """Return the models in groups that share parts, and the models that only this process can evaluate.

    The latter are services, whose limits of traffic hold for one process, and objects of a program.
    """
    own = [model for model in models if model.spec is None or model.retriever is None or _is_service(model.spec)]
    members: list[tuple[set[str], list[ModelSpec]]] = []
    for model in models:
        if model.spec is None or model in own:
            continue
        parts, specs = _parts(model.spec), [model.spec]
        for other in [member for member in members if member[0] & parts]:
            members.remove(other)
            parts, specs = parts | other[0], [*other[1], *specs]
        members.append((parts, specs))
    public = settings.updated(secrets={})
    order = {id(model.spec): place for place, model in enumerate(models)}
    grouped = [tuple(sorted(specs, key=lambda spec: order[id(spec)])) for _, specs in members]
    variables = [needed_variables(specs, settings, tasks) for specs in grouped]
    return [
        Group(number, specs, public, conditions, needed)
        for number, (specs, needed) in enumerate(zip(grouped, variables, strict=True))
    ], own


def needed_variables(
    models: Sequence[ModelSpec], settings: Settings, tasks: Sequence[str | AnyTask] = ()
) -> tuple[str, ...]:
    """Return the environment variables with secrets that a process needs to load models and tasks.

    These are the variables that an option of a model names (`env=NAME`, `key_env=NAME`, `${NAME}`), the token of the
    hub if a model or a task comes from there, and the credentials of the store of vectors.
    """
    specs = [spec for model in models for spec in _leaves(model)]
    needed = {name for spec in specs for name in _named_variables(spec)}
    published = any(map(_may_be_published, specs)) or any(
        isinstance(task, str) and not with_home(task).exists() and task not in builtin.infos() for task in tasks
    )
    if published and not settings.offline:
        needed.update(HUB_VARIABLES)
    scheme, separator, _ = (settings.vectors or "").partition("://")
    if separator:
        needed.update(STORE_VARIABLES.get(scheme, ()), ("FSSPEC_*",))
    return tuple(sorted(needed))


def _leaves(spec: ModelSpec) -> Iterator[ModelSpec]:
    if not spec.parts:
        yield spec
    for part in spec.parts:
        yield from _leaves(part)


def _named_variables(spec: ModelSpec) -> Iterator[str]:
    for option, value in spec.options.items():
        yield from VARIABLE.findall(value)
        if option == "env" or option.endswith("_env"):
            yield from (name.strip() for name in value.split(","))


def _may_be_published(spec: ModelSpec) -> bool:
    """Return whether a model may be downloaded from a hub: `owner/name` that is not a path here."""
    return spec.id.count("/") == 1 and spec.id[0] not in "./~" and not Path(spec.id).exists()


def _is_service(spec: ModelSpec) -> bool:
    if spec.parts:
        return any(map(_is_service, spec.parts))
    return spec.family in SEARCH_SERVICES or spec.id.startswith(API)


def _parts(spec: ModelSpec) -> set[str]:
    """Return the names of the models that a model is made of, without the options of variants."""
    if spec.parts:
        return set().union(*map(_parts, spec.parts))
    whole = without_variant(spec) or spec
    options = {name: value for name, value in whole.options.items() if name not in ("depth", "safeguards")}
    return {str(ModelSpec(whole.family, whole.id, whole.revision, options))}
