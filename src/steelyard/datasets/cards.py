"""Dataset cards: the README of a folder, a hub dataset or a source, as facts and quotable paragraphs.

`task_cards(name)` returns the cards of a task: that of its set, then those of the sources of the set. Nothing is
downloaded for a source: its card is read if `build` stored it with the set, or if a copy is on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from steelyard.config import Settings
from steelyard.datasets.formats.sidecar import read_json_object
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import CatalogueSource, FolderSource, source_of, typed_reference
from steelyard.datasets.tables.files import format_of
from steelyard.errors import SteelyardError
from steelyard.files import parse_yaml

if TYPE_CHECKING:
    from steelyard.datasets.hubs.remote import HubDataset
    from steelyard.types import TaskInfo

CARD = "README.md"
PARAGRAPHS = 3
LONGEST = 1200
"""Paragraphs of a card that are quoted, and their characters together."""
SHORTEST = 40
"""Shorter paragraphs are labels and badges."""
FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)
NOT_PROSE = re.compile(r"^(?:#|\||<|!\[|\[!|```|~~~|---|===|[-*+] |\d+[.)] |@\w+\{|    )")
FENCED = re.compile(r"^(```|~~~).*?(?:^\1[`~]*\s*$|\Z)", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--\s*steelyard: begin (\S.*?) -->.*?<!--\s*steelyard: end \1 -->|<!--.*?-->", re.DOTALL)
PLACEHOLDER = re.compile(r"more information needed", re.IGNORECASE)
HUB_PAGE = re.compile(r"https?://huggingface\.co/datasets/([\w.-]+/[\w.-]+)")
HUB_NAME = re.compile(r"(?!github\.com/)[\w.-]+/[\w.-]+")


def is_hub_name(source: str) -> bool:
    """Return whether the source of a task is a hub dataset, `owner/name`, and not a file in a folder.

    >>> is_hub_name("BeIR/scifact"), is_hub_name("src/questions.json"), is_hub_name("github.com/me")
    (True, False, False)
    """
    return HUB_NAME.fullmatch(source) is not None and format_of(source) is None


def public_source(source: str) -> str:
    """Return where data came from, without the folders of this machine.

    >>> public_source("/mine/corpus.jsonl,src/queries.jsonl"), public_source("BeIR/scifact")
    ('corpus.jsonl, queries.jsonl', 'BeIR/scifact')
    """
    parts = [Path(part.strip()) for part in source.split(",")]
    return ", ".join(
        part.name if part.is_absolute() or format_of(part.name) or part.exists() else str(part) for part in parts
    )


@dataclass(frozen=True)
class DatasetCard:
    """What a card records: facts of its front matter, and its first paragraphs, to be quoted with `name`."""

    name: str
    """The hub dataset, or the folder: who is quoted."""
    url: str = ""
    """The address of the card; empty for a folder."""
    role: Literal["set", "source"] = "set"
    """The card of the task's own dataset, or of a dataset that it was made from."""
    title: str = ""
    paragraphs: tuple[str, ...] = ()
    """The first paragraphs of prose, without markup; text that Steelyard generated is left out."""
    licence: str = ""
    languages: tuple[str, ...] = ()
    front: Mapping[str, Any] = field(default_factory=dict)
    """The whole front matter."""
    revision: str | None = None

    @property
    def quote(self) -> str:
        """The paragraphs as one text."""
        return "\n\n".join(self.paragraphs)

    def to_dict(self) -> dict[str, Any]:
        """Return the card without its front matter, JSON-ready; `from_dict` reads it."""
        values = {
            "name": self.name,
            "url": self.url,
            "title": self.title,
            "paragraphs": list(self.paragraphs),
            "licence": self.licence,
            "languages": list(self.languages),
            "revision": self.revision,
        }
        return {key: value for key, value in values.items() if value}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any], role: Literal["set", "source"]) -> DatasetCard:
        """Return a stored card."""
        lists = {key: tuple(map(str, facts.get(key) or ())) for key in ("paragraphs", "languages")}
        texts = {key: str(facts.get(key) or "") for key in ("name", "url", "title", "licence")}
        return cls(role=role, revision=facts.get("revision") or None, **texts, **lists)  # type: ignore[arg-type]


@dataclass(frozen=True)
class TaskCards:
    """The cards of a task, its own set's first, and those that could not be read, with the reason."""

    cards: tuple[DatasetCard, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)


def parse_card(text: str, name: str, *, url: str = "", role: Literal["set", "source"] = "set") -> DatasetCard:
    r"""Return the facts and first paragraphs of a card.

    >>> front = "---\nlicense: mit\nlanguage: [el]\n---\n"
    >>> card = parse_card(front + "# Notes\n\nQuestions of *Greek* students about their exams.\n", "a/b")
    >>> card.title, card.licence, card.languages, card.paragraphs[0][:27]
    ('Notes', 'mit', ('el',), 'Questions of Greek students')
    """
    match = FRONT.match(text)
    front = _front_matter(match[1]) if match else {}
    body = COMMENT.sub("", FENCED.sub("", text[match.end() :] if match else text.removeprefix("\ufeff")))
    title = TITLE.search(body)
    licence = front.get("license_name") if front.get("license") == "other" else front.get("license")
    return DatasetCard(
        name,
        url,
        role,
        _inline(title[1]) if title else str(front.get("pretty_name") or ""),
        tuple(_paragraphs(body)),
        ", ".join(_words(licence or front.get("licence"))),
        tuple(_words(front.get("language") or front.get("languages"))),
        front,
    )


def _front_matter(text: str) -> dict[str, Any]:
    """Return the fields of the front matter; nothing if it is not valid YAML."""
    try:
        value = parse_yaml(text)
    except ValueError:
        return {}
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


def _words(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    # YAML reads the code of Norwegian as a boolean.
    return ["no" if one is False else str(one) for one in values if one is not None and not isinstance(one, dict)]


def _paragraphs(body: str) -> Iterator[str]:
    """Yield the first paragraphs of prose."""
    count = length = 0
    for block in re.split(r"\n[ \t]*\n", body):
        lines = block.strip("\n").splitlines()
        if not lines or any(NOT_PROSE.match(line) for line in lines):
            continue
        text = _inline(" ".join(line.strip() for line in lines))
        if len(text) < SHORTEST or PLACEHOLDER.search(text):
            continue
        if length + len(text) > LONGEST:
            if not count:
                yield text[:LONGEST].rpartition(" ")[0] + " ..."
            return
        yield text
        count, length = count + 1, length + len(text)
        if count == PARAGRAPHS:
            return


def _inline(text: str) -> str:
    """Return a text without Markdown and HTML markup.

    >>> _inline("See **[the paper](https://x.y)** and `code`.<br>")
    'See the paper and code.'
    """
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<[^>]+>", "", text)
    text = re.sub(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)[*_](\S(?:.*?\S)?)[*_](?!\w)", r"\1", text)
    return " ".join(text.split())


def read_card(path: Path, name: str, *, url: str = "", role: Literal["set", "source"] = "set") -> DatasetCard | None:
    """Return the card in a file; None if there is no such file."""
    if not path.is_file():
        return None
    return parse_card(path.read_text(encoding="utf-8", errors="replace"), name, url=url, role=role)


def task_cards(name: str, info: TaskInfo | None = None, *, settings: Settings | None = None) -> TaskCards:
    """Return the cards of a task: of its folder or hub dataset, then of its sources; nothing for built-in tasks.

    `name` is a reference as for `load_task`, `info` the facts of the loaded task if there is one. A card that exists
    but cannot be read is in `unread`.
    """
    options = LoadOptions(settings=settings or Settings.load())
    unread: dict[str, str] = {}
    cards: list[DatasetCard] = []
    try:
        cards += _own_cards(name, options)
    except (SteelyardError, OSError) as error:
        unread[name] = str(error)
    seen = {card.name for card in cards}
    for repository in _source_names(name, info):
        if repository not in seen and (card := local_copy(repository, options.settings)) is not None:
            cards.append(card)
            seen.add(repository)
    return TaskCards(tuple(cards), unread)


def _own_cards(name: str, options: LoadOptions) -> Iterator[DatasetCard]:
    source: object = source_of(name, options)
    if isinstance(source, FolderSource):
        yield from _folder_cards(name)
        return
    dataset: HubDataset | None = None
    if isinstance(source, CatalogueSource):
        from steelyard.datasets.hubs import published

        dataset = published.dataset_of(name, options)
    else:
        from steelyard.datasets.hubs.remote import RemoteSource
        from steelyard.datasets.references import parse_hub_reference

        if isinstance(source, RemoteSource):
            repository, _, revision = parse_hub_reference(name, source.prefix)
            dataset = source.open(repository, revision)
    if dataset is not None and (card := hub_card(dataset)) is not None:
        yield card


def _folder_cards(name: str) -> Iterator[DatasetCard]:
    """Yield the card of a folder, and those of its sources that `build` stored."""
    from steelyard.datasets.formats.documents import DocumentFolder
    from steelyard.datasets.formats.folder import locate
    from steelyard.datasets.references import TypedReference, local_path

    typed = typed_reference(name)
    if typed is not None:
        path = local_path(TypedReference.parse(typed).path.split(",")[0])
        folder, task = path if path.is_dir() else path.absolute().parent, ""
    else:
        location = locate(name)[0]
        if isinstance(location, DocumentFolder):  # its Markdown files are documents
            return
        folder, task = location.folder, location.task
    own = read_card(folder / CARD, folder.resolve().name)
    if own is not None:
        yield own
    facts = read_json_object(folder / "metadata" / f"{task}.json").get("source") if task else None
    stored = facts.get("card") if isinstance(facts, dict) else None
    if isinstance(stored, dict):
        yield DatasetCard.from_dict(stored, "source")


def hub_card(dataset: HubDataset, role: Literal["set", "source"] = "set") -> DatasetCard | None:
    """Return the card of a hub dataset; None if it has none."""
    if CARD not in dataset.names:
        return None
    repository = dataset.snapshot.repository
    text = dataset.fetch(CARD, False).read_text(encoding="utf-8", errors="replace")
    card = parse_card(text, repository, url=f"https://huggingface.co/datasets/{repository}", role=role)
    return DatasetCard(**{**vars(card), "revision": dataset.snapshot.commit or None})


def _source_names(name: str, info: TaskInfo | None) -> Iterator[str]:
    """Yield the hub datasets that a task was made from, as far as they are recorded."""
    if info is None:
        from steelyard.datasets.names import task_facts

        info = task_facts(name)
    if info is None:
        return
    if is_hub_name(info.source):
        yield info.source
    for reference in info.metadata.references:
        if match := HUB_PAGE.match(reference.url):
            yield match[1]


def local_copy(repository: str, settings: Settings) -> DatasetCard | None:
    """Return the card of a hub dataset if a copy is on this machine; the network is not used."""
    from steelyard.datasets.hubs import huggingface, published

    dataset = published.copy_of(settings.data, [repository]) if settings.data is not None else None
    if dataset is None and huggingface.in_cache(repository, "main") is not None:
        offline = LoadOptions(settings=settings.updated(offline=True))
        try:
            dataset = huggingface.open_dataset(repository, None, offline)
        except SteelyardError:
            return None
    try:
        return None if dataset is None else hub_card(dataset, "source")
    except (SteelyardError, OSError):
        return None
