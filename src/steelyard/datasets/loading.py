"""Tasks, loaded and checked, from whatever source has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.naming import task_names, unknown_task, with_type
from steelyard.datasets.options import Generation, LoadOptions
from steelyard.datasets.problems import Validate
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.samples import AnyTask
    from steelyard.types import Task


def load_task(
    reference: str | Path,
    *,
    revision: str | None = None,
    offline: bool | None = None,
    validate: Validate | None = None,
    candidates: Sequence[str] | None = None,
) -> Task:
    """One retrieval or reranking task, checked; `load_any` has every type.

    `reference` is a name (`NanoStdlib/docstring-to-code`, `NanoMMTEB-v2/belebele`), a path (`set::task`, a BEIR
    folder, `corpus.csv,queries.csv,qrels.csv`), `hf://owner/dataset/task`, `modelscope://owner/dataset/task` or
    `ir_datasets:id`. An unknown name is an UnknownName with near ones, bad data a DataError with file and row.
    """
    from steelyard.datasets import published
    from steelyard.types import Task

    known = None if isinstance(reference, Path) else published.entry_of(reference)
    if known is not None and known[0].type not in published.SEARCHED:
        raise _not_searched(known[0].name, known[0].type)
    task = load_any(reference, revision=revision, offline=offline, validate=validate, candidates=candidates)
    if not isinstance(task, Task):
        raise _not_searched(task.name, task.info.type)
    return task


def load_any(
    reference: str | Path,
    *,
    type: str | None = None,
    revision: str | None = None,
    offline: bool | None = None,
    validate: Validate | None = None,
    candidates: Sequence[str] | None = None,
    hub: str | None = None,
    data_dir: str | Path | None = None,
    generation: Generation | None = None,
) -> AnyTask:
    """One task of any type, checked. References are those of `load_task`, or a type and a path: `sts:./pairs.csv`.

    `type` says what a path holds (`load_any("pairs.csv", type="sts")`). Published datasets come from `hub`
    (`huggingface`, `modelscope`), or from copies in the folder `data_dir`; `generation` is that of their repositories.
    """
    options = LoadOptions(
        revision,
        offline,
        validate,
        tuple(candidates) if candidates is not None else None,
        hub,
        Path(data_dir).expanduser() if data_dir is not None else None,
        generation,
    )
    text = with_type(reference, type)
    source = FolderSource(options) if isinstance(reference, Path) else source_of(text, options)
    if source is None:
        raise unknown_task(text)
    names = source.names(text)
    if len(names) != 1:
        shown = ", ".join(names[:3])
        raise UsageError(f"{text} stands for {len(names)} tasks ({shown} ...)", hint="name one, or use load_tasks")
    return source.load(names[0])


def load_tasks(references: str | Path | Iterable[str | Path], *, offline: bool | None = None) -> list[Task]:
    """Every task that the references stand for: groups and patterns are expanded, nothing comes twice."""
    listed = [references] if isinstance(references, str | Path) else references
    # A Path means a path, even where a task goes by the same words.
    names = task_names([str(item.absolute()) if isinstance(item, Path) else item for item in listed])
    return [load_task(name, offline=offline) for name in names]


def _not_searched(name: str, type: str) -> UsageError:
    return UsageError(
        f"{name} is a task of type {type}: there is nothing to search in it",
        hint="this is for retrieval and reranking tasks; in Python, load_any loads the others",
    )
