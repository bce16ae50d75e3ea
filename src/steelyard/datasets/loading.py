"""Load and check tasks from any source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from steelyard.config import Settings
from steelyard.datasets.hubs import published
from steelyard.datasets.names import task_names, unknown_task, with_type
from steelyard.datasets.options import Generation, LoadOptions
from steelyard.datasets.problems import MissingJudgements, Validate
from steelyard.datasets.references import Columns, with_columns
from steelyard.datasets.sources import BuiltinSource, FolderSource, source_of
from steelyard.errors import UnknownName, UsageError
from steelyard.types.task_info import SEARCHED

if TYPE_CHECKING:
    from steelyard.types import Task
    from steelyard.types.samples import AnyTask


def load_task(
    reference: str | Path | Sequence[str | Path] | Any,
    *,
    name: str | None = None,
    columns: Columns | None = None,
    revision: str | None = None,
    offline: bool | None = None,
    validate: Validate | None = None,
    candidates: str | Sequence[str] | None = None,
    missing_judgements: MissingJudgements | None = None,
    settings: Settings | None = None,
) -> Task:
    """Return one retrieval or reranking task, checked; `load_any` loads every type.

    `reference` is a name (`NanoStdlib/docstring-to-code`, `NanoMMTEB-v2/belebele`), a path (`set::task`, a BEIR
    folder, `corpus.csv,queries.csv,qrels.csv`, `faq.csv`), `hf://owner/dataset/task`, `modelscope://owner/dataset/task`
    or `ir_datasets:id`; or data: a table of pandas, polars or Arrow, a dictionary, a list of rows (`in_memory`).
    `columns` names the columns of a table, by field, and `name` the task. An unknown name is an UnknownName with
    similar names, bad data a DataError with file and row.
    `missing_judgements` are those of documents outside the corpus: `count` (the default) counts them as relevant
    documents that are not retrieved, as trec_eval and mteb do, with a DataWarning; or `ignore`, or `error`.

    >>> load_task([("Which river?", "The Nile is long."), ("What is high?", "The Alps.")], name="Mine/geography")
    Task('Mine/geography': 2 queries x 2 documents, 2 positives, unknown)
    """
    from steelyard.types import Task

    if isinstance(reference, list | tuple) and all(isinstance(part, str | Path) for part in reference):
        reference = ",".join(map(str, reference))
    if not isinstance(reference, str | Path):
        from steelyard.datasets.in_memory import load_data

        missing = missing_judgements or (settings or Settings.load()).missing_judgements
        return load_data(reference, name=name, columns=columns, validate=validate, missing_judgements=missing)
    if columns:
        reference = with_columns(str(reference), columns)
    _check_arguments(reference, validate, None)
    known = None if isinstance(reference, Path) else published.entry_of(reference)
    if known is not None and known[0].type not in SEARCHED:
        raise _not_searched(known[0].name, known[0].type)
    task = load_any(
        reference,
        revision=revision,
        offline=offline,
        validate=validate,
        candidates=candidates,
        missing_judgements=missing_judgements,
        settings=settings,
    )
    if not isinstance(task, Task):
        raise _not_searched(task.name, task.info.type)
    return task if name is None else replace(task, info=replace(task.info, name=name))


def load_any(
    reference: str | Path,
    *,
    type: str | None = None,
    revision: str | None = None,
    offline: bool | None = None,
    validate: Validate | None = None,
    candidates: str | Sequence[str] | None = None,
    hub: str | None = None,
    data_dir: str | Path | None = None,
    generation: Generation | None = None,
    missing_judgements: MissingJudgements | None = None,
    settings: Settings | None = None,
) -> AnyTask:
    """Return one task of any type, checked. References are as in `load_task`, or a type and a path: `sts:./pairs.csv`.

    `type` is the type of a path (`load_any("pairs.csv", type="sts")`). Published datasets come from `hub`
    (`huggingface`, `modelscope`), or from copies in the folder `data_dir`; `generation` is that of their repositories.
    """
    _check_arguments(reference, validate, generation)
    options = LoadOptions(
        revision,
        validate,
        None if candidates is None else (candidates,) if isinstance(candidates, str) else tuple(candidates),
        generation,
        (settings or Settings.load()).updated(
            offline=offline, hub=hub, data=data_dir, missing_judgements=missing_judgements
        ),
    )
    text = with_type(reference, type, options)
    source = FolderSource(options) if isinstance(reference, Path) else source_of(text, options)
    if source is None:
        matches = task_names([text], settings=options.settings)
        raise _several(text, matches) if len(matches) > 1 else unknown_task(text)
    if revision is not None and isinstance(source, BuiltinSource | FolderSource):
        raise UsageError(
            f"{text} does not have revisions", hint="omit the revision: only hub datasets have one", option="revision"
        )
    names = source.names(text)
    if len(names) != 1:
        raise _several(text, names)
    return _with_lists(source.load(names[0]), options)


def load_tasks(
    references: str | Path | Iterable[str | Path], *, offline: bool | None = None, settings: Settings | None = None
) -> list[Task]:
    """Return every task that the references mean: groups and patterns are expanded, without repetition."""
    listed = [references] if isinstance(references, str | Path) else references
    # A Path is always a path, even if a task has the same name.
    settings = (settings or Settings.load()).updated(offline=offline)
    names = task_names([str(item.absolute()) if isinstance(item, Path) else item for item in listed], settings=settings)
    return [load_task(name, settings=settings) for name in names]


def _check_arguments(reference: object, validate: str | None, generation: str | None) -> None:
    """Raise an error for arguments that no source accepts."""
    if not isinstance(reference, str | Path) or not str(reference).strip():
        raise UsageError.invalid(
            "a task", expected="a name or a path", found=reference, hint="use 'NanoAlmanac/en' or './folder'"
        )
    for name, word, known in (
        ("validate", validate, get_args(Validate)),
        ("generation", generation, published.GENERATIONS),
    ):
        if word is not None and word not in known:
            raise UnknownName(name, word, known, hint=f"use one of {', '.join(known)}")


def _with_lists(task: AnyTask, options: LoadOptions) -> AnyTask:
    """Return the task, or raise an error if it lacks a requested candidate list."""
    known: Iterable[str] = getattr(task, "candidates", {})
    for name in options.candidates or ():
        if name not in known:
            raise UnknownName(
                f"candidate list of {task.name}", name, known, hint=f"it has: {', '.join(known) or 'none'}"
            )
    return task


def _several(text: str, names: Sequence[str]) -> UsageError:
    shown = ", ".join(names[:3])
    return UsageError(f"{text} must be one task, got {len(names)} ({shown} ...)", hint="name one, or use load_tasks")


def _not_searched(name: str, type: str) -> UsageError:
    return UsageError(
        f"{name} must be a retrieval or reranking task, got {type}",
        hint="use load_any, which loads every type",
        expected="retrieval or reranking",
        found=type,
    )
