"""From the names that people type to tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.languages import language_code
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Validate
from steelyard.datasets.sources import PREFIXES, FolderSource, source_of
from steelyard.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from steelyard.samples import AnyTask
    from steelyard.types import Task, TaskInfo


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
    from steelyard.types import Task

    task = load_any(reference, revision=revision, offline=offline, validate=validate, candidates=candidates)
    if not isinstance(task, Task):
        raise UsageError(f"{task.name} is a task of type {task.info.type}: there is nothing to search in it")
    return task


def load_any(
    reference: str | Path,
    *,
    revision: str | None = None,
    offline: bool | None = None,
    validate: Validate | None = None,
    candidates: Sequence[str] | None = None,
) -> AnyTask:
    """One task of any type, checked. References are those of `load_task`."""
    options = LoadOptions(revision, offline, validate, tuple(candidates) if candidates is not None else None)
    text = str(reference)
    source = FolderSource(options) if isinstance(reference, Path) else source_of(text, options)
    if source is None:
        raise _unknown(text)
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


def task_names(
    references: Sequence[str], *, languages: Sequence[str] = (), type: str | None = None, offline: bool | None = None
) -> list[str]:
    """The full names that the references stand for, in their order, each once.

    A reference is a task, a group, `builtin`, `builtin-full`, `catalogue`, a pattern (`NanoCLDR/*`) or a path.
    Languages and type leave out what is known not to match; a path of unknown language stays.

    >>> task_names(["NanoMMTEB-v2/bel*", "NanoMMTEB-v2/belebele"])
    ['NanoMMTEB-v2/belebele']
    >>> len(task_names(["MNanoBEIR/NanoBEIR-ar"])), task_names(["C-MTEB"], type="reranking")[0]
    (13, 'C-MTEB/T2Reranking')
    """
    options = LoadOptions(offline=offline)
    names: dict[str, None] = {}
    for reference in references:
        names.update(dict.fromkeys(_expand(reference, options)))
    wanted = {language_code(tag) for tag in languages}
    if not wanted and type is None:
        return list(names)
    return [name for name in names if _matches(task_facts(name), wanted, type)]


def known_names() -> list[str]:
    """Every name that needs no path: built-in tasks, then published ones."""
    from steelyard.datasets import builtin, catalogue

    return [*builtin.infos(), *catalogue.entries()]


def task_facts(name: str) -> TaskInfo | None:
    """What is known of a task without loading it; None where nothing is."""
    from steelyard.datasets import builtin, catalogue

    if name in builtin.infos():
        return builtin.infos()[name]
    if name in catalogue.entries():
        return catalogue.entries()[name].info
    if "://" in name or name.startswith(("ir_datasets:", "irds:")):
        return None
    if name.startswith("mteb:"):
        from steelyard.datasets import mteb_source

        return mteb_source.info(name)
    from steelyard.datasets.folder import places

    return places(name)[0].info


def _expand(reference: str, options: LoadOptions) -> Sequence[str]:
    pattern = any(mark in reference for mark in "*?[") and not reference.startswith(tuple(PREFIXES))
    if pattern and not Path(reference).exists():
        matched = [name for name in known_names() if fnmatchcase(name, reference)]
        if not matched:
            raise UsageError(f"no task matches {reference!r}", hint="steelyard list tasks lists them")
        return matched
    source = source_of(reference, options)
    if source is None:
        raise _unknown(reference)
    return source.names(reference)


def _matches(info: TaskInfo | None, languages: set[str], type: str | None) -> bool:
    if info is None:
        return True
    if type is not None and info.type != type:
        return False
    if not languages or info.language == "unknown":
        return True
    return info.language in languages or not languages.isdisjoint(info.languages)


def _unknown(reference: str) -> UnknownName:
    from steelyard.datasets import catalogue

    known = [*known_names(), *catalogue.aliases(), *{name.rpartition("/")[0] for name in known_names()}]
    hint = "steelyard list tasks lists them; a path begins with ./ or exists; a hub dataset is hf://owner/dataset/task"
    return UnknownName("task", reference, sorted(set(known)), hint=hint)
