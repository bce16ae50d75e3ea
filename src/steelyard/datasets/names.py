"""The names that people type for tasks: what they stand for, and what is known of it without loading."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.datasets.language_codes import same_languages
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import PREFIXES, SOURCES, TYPES, FolderSource, source_of
from steelyard.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from steelyard.types import TaskInfo


def with_type(reference: str | Path, type: str | None, options: LoadOptions | None = None) -> str:
    """The reference, with the type in front where it is a path.

    >>> with_type("./pairs.csv", "sts"), with_type("C-MTEB/ATEC", "sts"), with_type("./beir", "retrieval")
    ('sts:./pairs.csv', 'C-MTEB/ATEC', './beir')
    """
    text = str(reference)
    if type is None or type == "retrieval" or text.startswith(tuple(PREFIXES)):
        return f"{type}:{text}" if type and text.startswith(("hf://", "modelscope://")) else text
    if type not in TYPES:
        raise UnknownName("task type", type, TYPES, hint=f"one of {', '.join(TYPES)}")
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
    """The full names that the references stand for, in their order, each once.

    A reference is a task, a group, `builtin`, `builtin-full`, `catalogue`, a pattern (`NanoCLDR/*`) or a path.
    Languages and type leave out what is known not to match; a path of unknown language stays, and is read as of that
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
    wanted = same_languages(languages)
    if not wanted and type is None:
        return list(names)
    return [name for name in names if _matches(task_facts(name, options), wanted, type)]


def known_names() -> list[str]:
    """Every name that needs no path: built-in tasks, then published ones."""
    from steelyard.datasets import builtin, catalogue

    return [*builtin.infos(), *catalogue.entries()]


def task_facts(name: str, options: LoadOptions | None = None) -> TaskInfo | None:
    """What is known of a task without loading it; None where nothing is."""
    from steelyard.datasets import builtin
    from steelyard.datasets.hubs import published

    if name in builtin.infos():
        return builtin.infos()[name]
    if (found := published.entry_of(name)) is not None:
        return found[0].info
    if name.startswith(tuple(f"{type}:" for type in TYPES)) and "://" not in name:
        from steelyard.datasets.samples.location import find

        return find(name)[0].info
    if name.startswith("mteb:"):
        from steelyard.datasets.formats.mteb import tasks as mteb_source

        return mteb_source.info(name)
    if "://" in name or name.startswith(tuple(PREFIXES)):
        return None
    if not isinstance(
        source_of(name, options or LoadOptions()), FolderSource | None
    ):  # a plug-in's, which tells when it loads
        return None
    from steelyard.datasets.formats.folder import places

    return places(name)[0].info


def _expand(reference: str, options: LoadOptions) -> Sequence[str]:
    if not reference.strip():  # a path of nothing would be the folder that one stands in
        raise UsageError("the name of a task is empty", hint="such as NanoAlmanac/en, or . for this folder")
    if _is_pattern(reference):
        matched = [name for name in known_names() if fnmatchcase(name, reference)]
        if not matched:
            raise UsageError(f"no task matches {reference!r}", hint="steelyard list tasks lists them")
        return matched
    parts = reference.split(",")
    if len(parts) > 1 and all(_is_name(part, options) for part in parts):
        return [name for part in parts for name in _expand(part, options)]
    source = source_of(reference, options)
    if source is None:
        raise unknown_task(reference)
    return source.names(reference)


def names_several(reference: str) -> bool:
    """Whether the words are a pattern, or names of known tasks and groups joined by commas.

    >>> names_several("NanoAlmanac/*"), names_several("NanoAlmanac/en,NanoAlmanac/zh"), names_several("a.csv,b.csv")
    (True, True, False)
    """
    parts, options = reference.split(","), LoadOptions()
    return _is_pattern(reference) or (len(parts) > 1 and all(_is_name(part, options) for part in parts))


def _is_name(word: str, options: LoadOptions) -> bool:
    """Whether a word is the name of a known task or group, and no path."""
    known = (SOURCES.get(kind)(options) for kind in ("builtin", "catalogue"))
    return not Path(word).exists() and any(source.accepts(word) for source in known)


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
    return not languages.isdisjoint(same_languages([info.language, *info.languages]))


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


def unknown_task(reference: str) -> UnknownName:
    """The error of a name that nothing goes by, with near ones."""
    from steelyard.datasets import catalogue

    known = [*known_names(), *catalogue.aliases(), *{name.rpartition("/")[0] for name in known_names()}]
    if namesakes := same_task(reference):
        return UnknownName("task", reference, (), hint=namesakes)
    hint = "steelyard list tasks lists them; a path begins with ./ or exists; a hub dataset is hf://owner/dataset/task"
    return UnknownName("task", reference, sorted(set(known)), hint=hint)
