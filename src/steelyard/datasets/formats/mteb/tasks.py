"""Tasks and benchmarks of the `mteb` package by name (`pip install 'steelyard[mteb]'`): its data, our engine.

mteb:STSBenchmark            a task; evaluated on every split that mteb evaluates, loaded on its main split
mteb:ATEC:validation         the same on another split
mteb:STS22.v2[zh]            one subset of a task that has several; without it, all of them
mteb:CQADupstackRetrieval    a task that is made of tasks: each of them is a subset
mteb:MTEB(eng, v2)           a benchmark: every task with the subsets and splits that it names
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.datasets.language_codes import language_code, overall_language
from steelyard.errors import MissingPart, UnknownName, UsageError
from steelyard.types import TaskInfo
from steelyard.types.task_info import MTEB_TYPES

PREFIX = "mteb:"
GROUP = "mteb"
DEFAULT = "default"
"""The only subset of a task that has no subsets."""

TYPES = {theirs: ours for ours, theirs in MTEB_TYPES.items()}
"""The supported types of mteb, with our names."""

_REFERENCE = re.compile(r"(?P<task>[^\[\]:]+)(?:\[(?P<subset>[^\[\]]+)\])?(?::(?P<split>[^\[\]:]+))?")


@dataclass(frozen=True)
class Part:
    """One subset and split of a task of mteb: the unit of an evaluation."""

    task: Any
    """The mteb task; for an aggregate task, the one of the subset."""
    name: str
    """The name of the whole task."""
    subset: str = DEFAULT
    split: str = "test"
    main: bool = True
    """Whether this is the default split."""

    @property
    def label(self) -> str:
        """Return the name with subset and split, such as `STS22.v2[zh]:validation`."""
        subset = "" if self.subset == DEFAULT else f"[{self.subset}]"
        return f"{self.name}{subset}" + ("" if self.main else f":{self.split}")

    @property
    def hub_subset(self) -> str:
        """Return the name of the subset in the data."""
        return self.subset if self.task.metadata.name == self.name else DEFAULT


def parts(reference: str, *, every_split: bool = False) -> list[Part]:
    """Return the parts that a reference means; an unknown name is an UnknownName with similar names.

    A task without a split means its main split, or with `every_split` all that mteb evaluates.
    """
    name = reference.removeprefix(PREFIX)
    if (benchmark := _benchmark(name)) is not None:
        return [part for task in benchmark.tasks for part in _parts(task, list(task.eval_splits))]
    match = _REFERENCE.fullmatch(name)
    if match is None:
        raise UsageError.invalid(
            "a task of mteb", expected="mteb:TASK, mteb:TASK[SUBSET] or mteb:TASK:SPLIT", found=reference
        )
    task = _task(match["task"])
    known = list(task.metadata.eval_splits)
    split = match["split"] or main_split(known)
    if split not in known:
        raise _not_there("split", split, task, known)
    every = list(_parts(task, known if every_split and match["split"] is None else [split]))
    if match["subset"] is None:
        return every
    chosen = [part for part in every if part.subset == match["subset"]]
    if not chosen:
        raise _not_there("subset", match["subset"], task, [part.subset for part in every])
    return chosen


def one(name: str) -> Part:
    """Return the part of a full name."""
    matches = parts(name)
    if len(matches) != 1:
        hint = f"choose one, such as {PREFIX}{matches[0].label}" if matches else None
        raise UsageError.invalid(name, expected="one task", found=len(matches), hint=hint)
    return matches[0]


def info(name: str) -> TaskInfo:
    """Return the metadata of a task of mteb, without its data."""
    return info_of(one(name))


def main_split(splits: Sequence[str]) -> str:
    """Return the default split of a task.

    >>> main_split(["test", "validation"]), main_split(["train", "dev"])
    ('test', 'dev')
    """
    return "test" if "test" in splits else splits[-1]


def refusal(task: Any) -> str | None:
    """Return why our score would differ from mteb's; None if it does not."""
    metadata = task.metadata
    if metadata.type not in TYPES or list(metadata.modalities) != ["text"]:
        kinds = ", ".join(TYPES)
        return f"it is of type {metadata.type} ({' and '.join(metadata.modalities)}); supported are {kinds} of texts"
    if metadata.main_score in ("alpha_auc", "max_over_subqueries_map_at_1000", "paired_accuracy"):
        return f"its main score, {metadata.main_score}, is specific to this task"
    if getattr(task, "is_cross_validation", False):
        return "it is cross-validated"
    if any(getattr(task, f"input{side}_prompt_type", None) is not None for side in (1, 2)):
        return "its texts are encoded as queries and documents, and compared as pairs"
    return _other_classifier(task) if metadata.type in CLASSIFIERS else None


CLASSIFIERS = {
    "Classification": ("LogisticRegression", {"max_iter": 100}),
    "MultilabelClassification": ("KNeighborsClassifier", {"n_neighbors": 5}),
}
"""The classifier of each type, and its settings that tasks change."""


def _other_classifier(task: Any) -> str | None:
    model, (name, settings) = task.evaluator_model, CLASSIFIERS[task.metadata.type]
    plain = type(model).__name__ == name and settings.items() <= model.get_params().items()
    return None if plain else f"it is classified by {model!r}"


def language_facts(metadata: Any, subset: str) -> dict[str, Any]:
    """Return languages, in our codes and in those of mteb, and category of one subset, as fields of a TaskInfo."""
    languages_of = metadata.eval_langs
    tags = languages_of.get(subset, []) if isinstance(languages_of, dict) else languages_of
    code = [tag for tag in tags if tag.endswith("-Code")]
    languages = tuple(dict.fromkeys(language_code(tag) for tag in tags if tag not in code))
    category = "code" if code else "natural_language"
    return {
        "language": overall_language(languages),
        "languages": languages,
        "language_tags": tuple(tags),
        "category": category,
    }


def info_of(part: Part) -> TaskInfo:
    """Return the metadata of a part, without its data."""
    from importlib.metadata import version

    metadata = part.task.metadata
    return TaskInfo(
        name=f"{GROUP}/{part.label}",
        **language_facts(metadata, part.hub_subset),
        type=TYPES.get(metadata.type, metadata.type),
        main_metric=metadata.main_score,
        source=f"mteb {version('mteb')} {metadata.dataset['path']}",
        revision=metadata.dataset["revision"],
        split=part.split,
        description=metadata.description,
        licence=metadata.license,
        ignore_identical_ids=bool(getattr(part.task, "ignore_identical_ids", False)),
    )


def _parts(task: Any, splits: Sequence[str]) -> Iterator[Part]:
    """Yield the parts by subset, then by split. An aggregate task has its tasks as subsets."""
    name, main = task.metadata.name, main_split(task.metadata.eval_splits)
    if made_of := getattr(task.metadata, "tasks", None):
        for part in made_of:
            for split in splits:
                yield Part(part, name, part.metadata.name, split, split == main)
        return
    for subset in task.hf_subsets:
        for split in splits:
            yield Part(task, name, subset, split, split == main)


def _not_there(kind: str, name: str, task: Any, known: Sequence[str]) -> UnknownName:
    return UnknownName(f"{kind} of {task.metadata.name}", name, known, hint=f"it has {', '.join(known)}")


def _benchmark(name: str) -> Any:
    """Return the benchmark of that name or alias; None if there is none."""
    package = _mteb()
    try:
        return package.get_benchmark(name)
    except KeyError:
        return None


def _task(name: str) -> Any:
    package = _mteb()
    try:
        return package.get_task(name)
    except KeyError as error:
        registry = importlib.import_module("mteb.get_tasks")  # the package also has a function of that name
        known = [*getattr(registry, "_TASKS_REGISTRY", ()), *(benchmark.name for benchmark in package.get_benchmarks())]
        raise UnknownName(
            "task or benchmark of mteb", name, known, hint="mteb available-tasks lists its tasks"
        ) from error


def _mteb() -> Any:
    try:
        import mteb
    except ImportError as error:
        raise MissingPart.extra("mteb", "mteb") from error
    return mteb
