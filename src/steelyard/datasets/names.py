"""Names of tasks, groups and benchmarks: which tasks they mean, and what is known of a task without loading it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.datasets import catalogue
from steelyard.datasets.hubs import published
from steelyard.datasets.language_codes import same_languages
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.references import HUB_PREFIXES, PREFIXES, TYPES, has_type, names_file, path_exists
from steelyard.datasets.sources import SOURCES, FolderSource, source_of
from steelyard.errors import UnknownName, UsageError
from steelyard.types.task_metadata import TaskMetadata

if TYPE_CHECKING:
    from steelyard.types import TaskInfo


def with_type(reference: str | Path, type: str | None, options: LoadOptions | None = None) -> str:
    """Return the reference, with the type in front if it is a path.

    >>> with_type("./pairs.csv", "sts"), with_type("C-MTEB/ATEC", "sts"), with_type("./beir", "retrieval")
    ('sts:./pairs.csv', 'C-MTEB/ATEC', './beir')
    """
    text = str(reference)
    if type is None or type == "retrieval" or text.startswith(tuple(PREFIXES)):
        return f"{type}:{text}" if type and text.startswith(HUB_PREFIXES) else text
    if type not in TYPES:
        raise UnknownName("task type", type, TYPES, hint=f"use one of {', '.join(TYPES)}")
    is_path = isinstance(reference, Path) or isinstance(source_of(text, options or LoadOptions()), FolderSource)
    return f"{type}:{text}" if is_path else text


def task_names(
    references: Sequence[str],
    *,
    languages: Sequence[str] = (),
    type: str | None = None,
    offline: bool | None = None,
    settings: Settings | None = None,
) -> list[str]:
    """Return the full names that the references mean, in their order, without repetition.

    A reference is a task, a group, `builtin`, `builtin-full`, `catalogue`, a pattern (`NanoCLDR/*`) or a path.
    Languages and type exclude what is known not to match; a path of unknown language is kept, and is read as of that
    type.

    >>> task_names(["NanoMMTEB-v2/bel*", "NanoMMTEB-v2/belebele"])
    ['NanoMMTEB-v2/belebele']
    >>> task_names(["NanoAlmanac/en,NanoAlmanac/zh"])
    ['NanoAlmanac/en', 'NanoAlmanac/zh']
    >>> len(task_names(["MNanoBEIR/NanoBEIR-ar"])), task_names(["C-MTEB"], type="reranking")[0]
    (13, 'C-MTEB/T2Reranking')
    """
    options = LoadOptions(settings=(settings or Settings.load()).updated(offline=offline))
    names: dict[str, None] = {}
    for reference in references:
        names.update(dict.fromkeys(_expand(with_type(reference, type, options), options)))
    return matching_names(list(names), languages, type, options)


def matching_names(
    names: Sequence[str], languages: Sequence[str], type: str | None, options: LoadOptions | None = None
) -> list[str]:
    """Return the names of tasks that are not known to be in other languages or of another type."""
    codes = same_languages(languages)
    if not codes and type is None:
        return list(names)
    return [name for name in names if _matches(task_facts(name, options, metadata=False), codes, type)]


def known_names() -> list[str]:
    """Return every name that needs no path: built-in tasks, then published ones."""
    from steelyard.datasets import builtin

    return [*builtin.infos(), *catalogue.entries()]


def task_facts(name: str, options: LoadOptions | None = None, *, metadata: bool = True) -> TaskInfo | None:
    """Return what is known of a task without loading it; None if nothing is.

    Without `metadata`, the references and splits of published tasks are not read.
    """
    from steelyard.datasets import builtin

    if name in builtin.infos():
        return builtin.infos()[name]
    if (match := published.entry_of(name)) is not None:
        return match[0].info if metadata else match[0].described(TaskMetadata())
    if has_type(name) and "://" not in name:
        from steelyard.datasets.samples.location import locate_samples

        return locate_samples(name)[0].info
    if name.startswith("mteb:"):
        from steelyard.datasets.formats.mteb import tasks as mteb_tasks

        return mteb_tasks.info(name)
    if "://" in name or name.startswith(tuple(PREFIXES)):
        return None
    source = source_of(name, options or LoadOptions())
    if not isinstance(source, FolderSource | None):  # a plug-in describes a task only when it loads it
        return None
    from steelyard.datasets.formats.folder import locate

    return locate(name)[0].info


def task_counts(name: str, settings: Settings | None = None) -> tuple[int, int] | None:
    """Return the documents (or samples) and the queries of a task without loading it; None if they are not known.

    Of a task in files, they are estimated.
    """
    from steelyard.datasets import builtin
    from steelyard.datasets.formats.file_sizes import estimate_size

    if name in builtin.infos():
        counts: Mapping[str, float] = builtin.counts(settings).get(name, {})
    else:
        match = published.entry_of(name)
        counts = match[0].counts if match is not None else {}
    if "documents" in counts:
        return int(counts["documents"]), int(counts.get("queries", 0))
    if "samples" in counts:
        return int(counts["samples"]), 0
    sizes = estimate_size(name)
    return None if sizes is None else (sizes.documents, sizes.queries)


def document_length(name: str, settings: Settings | None = None) -> float | None:
    """Return about how long a document of a task is, relative to those of other tasks; None if it is not known."""
    from steelyard.datasets import builtin
    from steelyard.datasets.builtin import set_store
    from steelyard.datasets.formats.file_sizes import estimate_size

    if name in builtin.infos():
        home, counts = (settings or Settings.load()).home, builtin.counts(settings).get(name, {})
        sizes = [set_store.corpus_bytes(one, home).get(name) for one in builtin.SETS]
        size = next((size for size in sizes if size), None)
        return size / counts["documents"] if size and counts.get("documents") else None
    match = published.entry_of(name)
    if match is None:
        estimate = estimate_size(name)
        return None if estimate is None else estimate.length
    length = match[0].counts.get("document_chars")
    return float(length) if length else None


def _expand(reference: str, options: LoadOptions) -> Sequence[str]:
    if not reference.strip():  # an empty path would be the current folder
        raise UsageError.invalid(
            "the name of a task", expected="a name or a path", found=reference, hint="use NanoAlmanac/en, or . for here"
        )
    if _is_pattern(reference):
        # Without a closing bracket, an opening one is literal; `translate` would search for its end again and again.
        pattern = reference if "]" in reference else reference.replace("[", "[[]")
        matches = list(filter(re.compile(translate(pattern)).match, known_names()))
        if not matches:
            raise UsageError(f"no task matches {reference!r}", hint="list all: steelyard list tasks", found=reference)
        return matches
    parts = reference.split(",")
    if len(parts) > 1 and all(_is_name(part, options) for part in parts):
        return [name for part in parts for name in _expand(part, options)]
    source = source_of(reference, options)
    if source is None:
        raise unknown_task(reference)
    return source.names(reference)


def names_several(reference: str) -> bool:
    """Return whether the text is a pattern, or names of known tasks and groups joined by commas.

    >>> names_several("NanoAlmanac/*"), names_several("NanoAlmanac/en,NanoAlmanac/zh"), names_several("a.csv,b.csv")
    (True, True, False)
    """
    parts, options = reference.split(","), LoadOptions()
    return _is_pattern(reference) or (len(parts) > 1 and all(_is_name(part, options) for part in parts))


def _is_name(word: str, options: LoadOptions) -> bool:
    """Return whether a word is the name of a known task or group, and not a path."""
    known = (SOURCES.get(kind)(options) for kind in ("builtin", "catalogue"))
    return not path_exists(word) and any(source.accepts(word) for source in known)


def _is_pattern(reference: str) -> bool:
    if not any(mark in reference for mark in "*?[") or "://" in reference or reference.startswith(tuple(PREFIXES)):
        return False
    return not names_file(reference) and catalogue.find(reference.partition("?")[0]) is None


def _matches(info: TaskInfo | None, languages: set[str], type: str | None) -> bool:
    if info is None:
        return True
    if type is not None and info.type != type:
        return False
    if not languages or info.language == "unknown":
        return True
    return not languages.isdisjoint(same_languages([info.language, *info.languages]))


def same_task(name: str, most: int = 3) -> str | None:
    """Return a hint for the name of a task without its group, in any case; None if no group has such a task.

    >>> same_task("belebele"), same_task("nosuch")
    ("did you mean 'NanoMMTEB-v2/belebele'?", None)
    """
    word = name.lower()
    matches = [known for known in known_names() if known.rpartition("/")[2].lower() in (word, f"nano{word}")]
    if not matches:
        return None
    matches.sort(key=lambda known: known.count("/"))
    more = f", or one of {len(matches) - most} more" if len(matches) > most else ""
    return f"did you mean {' or '.join(map(repr, matches[:most]))}{more}?"


def unknown_task(reference: str) -> UnknownName:
    """Return the error for a name that is not known, with similar names."""
    known = [*known_names(), *catalogue.aliases(), *{name.rpartition("/")[0] for name in known_names()}]
    if namesakes := same_task(reference):
        return UnknownName("task", reference, (), hint=namesakes)
    hint = (
        "list all: steelyard list tasks; a path must exist or begin with ./; a hub dataset is hf://owner/dataset/task"
    )
    return UnknownName("task", reference, sorted(set(known)), hint=hint)
