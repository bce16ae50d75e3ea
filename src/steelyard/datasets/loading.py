"""From the names that people type to tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.languages import language_code
from steelyard.datasets.options import Generation, LoadOptions
from steelyard.datasets.problems import Validate
from steelyard.datasets.sources import PREFIXES, TYPES, FolderSource, source_of
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
        raise _unknown(text)
    names = source.names(text)
    if len(names) != 1:
        shown = ", ".join(names[:3])
        raise UsageError(f"{text} stands for {len(names)} tasks ({shown} ...)", hint="name one, or use load_tasks")
    return source.load(names[0])


def with_type(reference: str | Path, type: str | None) -> str:
    """The reference, with the type in front where it is a path.

    >>> with_type("./pairs.csv", "sts"), with_type("C-MTEB/ATEC", "sts"), with_type("./beir", "retrieval")
    ('sts:./pairs.csv', 'C-MTEB/ATEC', './beir')
    """
    text = str(reference)
    if type is None or type == "retrieval" or text.startswith(tuple(PREFIXES)):
        return f"{type}:{text}" if type and text.startswith(("hf://", "modelscope://")) else text
    if type not in TYPES:
        raise UnknownName("task type", type, TYPES, hint=f"one of {', '.join(TYPES)}")
    is_path = isinstance(reference, Path) or isinstance(source_of(text, LoadOptions()), FolderSource)
    return f"{type}:{text}" if is_path else text


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
    Languages and type leave out what is known not to match; a path of unknown language stays, and is read as of that
    type.

    >>> task_names(["NanoMMTEB-v2/bel*", "NanoMMTEB-v2/belebele"])
    ['NanoMMTEB-v2/belebele']
    >>> len(task_names(["MNanoBEIR/NanoBEIR-ar"])), task_names(["C-MTEB"], type="reranking")[0]
    (13, 'C-MTEB/T2Reranking')
    """
    options = LoadOptions(offline=offline)
    names: dict[str, None] = {}
    for reference in references:
        names.update(dict.fromkeys(_expand(with_type(reference, type), options)))
    wanted = {language_code(tag) for tag in languages}
    if not wanted and type is None:
        return list(names)
    return [name for name in names if _matches(task_facts(name), wanted, type)]


def with_splits(names: Sequence[str], *, generation: Generation | None = None) -> list[str]:
    """The tasks on every split that they are weighed on, in that order.

    >>> with_splits(["C-MTEB/ATEC", "C-MTEB/LCQMC"])
    ['C-MTEB/ATEC:validation', 'C-MTEB/ATEC', 'C-MTEB/LCQMC']
    """
    from steelyard.datasets import published

    every: dict[str, None] = {}
    for name in names:
        found = published.entry_of(name)
        if found is None or found[0].name != name.partition("?")[0]:
            every[name] = None
            continue
        entry, said = found
        _, mark, query = name.partition("?")
        splits = entry.splits if ":" not in entry.name else (entry.split,)
        if (said or generation) == "v1" and ":" not in entry.name:
            splits = tuple(entry.extra.get("v1_splits", splits))
        every |= {f"{entry.of_split(split).name}{mark}{query}": None for split in splits}
    return list(every)


def benchmarks() -> dict[str, list[str]]:
    """Every benchmark, a group of published tasks or a built-in set, and its tasks.

    >>> len(benchmarks()["C-MTEB"])
    31
    """
    from steelyard.datasets import builtin, catalogue

    found: dict[str, list[str]] = {}
    for name in builtin.names():
        found.setdefault(name.split("/")[0], []).append(name)
    return found | {group: [entry.name for entry in members] for group, members in catalogue.groups().items()}


def benchmark_names(name: str, *, generation: Generation | None = None) -> list[str]:
    """The tasks of a benchmark on every split. A UsageError, with near names, where there is no such benchmark.

    >>> len(benchmark_names("C-MTEB")), benchmark_names("c-mteb")[18:20]
    (35, ['C-MTEB/ATEC:validation', 'C-MTEB/ATEC'])
    """
    known = benchmarks()
    found = next((tasks for group, tasks in known.items() if group.lower() == name.lower()), None)
    if found is None:
        raise UnknownName("benchmark", name, known, hint="steelyard list benchmarks names them")
    return with_splits(found, generation=generation)


def known_names() -> list[str]:
    """Every name that needs no path: built-in tasks, then published ones."""
    from steelyard.datasets import builtin, catalogue

    return [*builtin.infos(), *catalogue.entries()]


def task_facts(name: str) -> TaskInfo | None:
    """What is known of a task without loading it; None where nothing is."""
    from steelyard.datasets import builtin, published

    if name in builtin.infos():
        return builtin.infos()[name]
    if (found := published.entry_of(name)) is not None:
        return found[0].info
    if name.startswith(tuple(f"{type}:" for type in TYPES)) and "://" not in name:
        from steelyard.datasets.samples.place import find

        return find(name)[0].info
    if name.startswith("mteb:"):
        from steelyard.datasets import mteb_source

        return mteb_source.info(name)
    if "://" in name or name.startswith(tuple(PREFIXES)):
        return None
    from steelyard.datasets.folder import places

    return places(name)[0].info


def _expand(reference: str, options: LoadOptions) -> Sequence[str]:
    if _is_pattern(reference):
        matched = [name for name in known_names() if fnmatchcase(name, reference)]
        if not matched:
            raise UsageError(f"no task matches {reference!r}", hint="steelyard list tasks lists them")
        return matched
    source = source_of(reference, options)
    if source is None:
        raise _unknown(reference)
    return source.names(reference)


def _is_pattern(reference: str) -> bool:
    if not any(mark in reference for mark in "*?[") or "://" in reference or reference.startswith(tuple(PREFIXES)):
        return False
    from steelyard.datasets import catalogue

    return not Path(reference).exists() and catalogue.find(reference.partition("?")[0]) is None


def _matches(info: TaskInfo | None, languages: set[str], type: str | None) -> bool:
    if info is None:
        return True
    if type is not None and info.type != type:
        return False
    if not languages or info.language == "unknown":
        return True
    return info.language in languages or not languages.isdisjoint(info.languages)


def _not_searched(name: str, type: str) -> UsageError:
    return UsageError(
        f"{name} is a task of type {type}: there is nothing to search in it",
        hint="this is for retrieval and reranking tasks; in Python, load_any loads the others",
    )


def same_task(name: str, most: int = 3) -> str | None:
    """What to say to a task's name without its group, whatever its case; None where no group has such a task.

    >>> same_task("belebele"), same_task("nosuch")
    ("did you mean 'NanoMMTEB-v2/belebele'?", None)
    """
    word = name.lower()
    found = [known for known in known_names() if known.rpartition("/")[2].lower() in (word, f"nano{word}")]
    if not found:
        return None
    found.sort(key=lambda known: known.count("/"))
    more = f", or one of {len(found) - most} more" if len(found) > most else ""
    return f"did you mean {' or '.join(map(repr, found[:most]))}{more}?"


def _unknown(reference: str) -> UnknownName:
    from steelyard.datasets import catalogue

    known = [*known_names(), *catalogue.aliases(), *{name.rpartition("/")[0] for name in known_names()}]
    if namesakes := same_task(reference):
        return UnknownName("task", reference, (), hint=namesakes)
    hint = "steelyard list tasks lists them; a path begins with ./ or exists; a hub dataset is hf://owner/dataset/task"
    return UnknownName("task", reference, sorted(set(known)), hint=hint)
