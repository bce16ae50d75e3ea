"""A folder of documents and a table of questions.

    handbook/                      any folder, with folders inside
        leave.md, it/vpn.html ...  .txt, .md and .html files are the documents; a file's path is its id
        questions.csv              question, file[, id][, grade]

A row has a question and the file that answers it. Several files may be in one cell, separated by `;`, or in several
rows with the same question. A file is named by its path in the folder, or by its name if that is unique.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.formats.question_files import QUESTIONS, question_tables
from steelyard.datasets.formats.sidecar import MANIFEST, SIDECAR, read_sidecar, task_info
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import DOCUMENTS
from steelyard.datasets.tables.files import format_of, translated
from steelyard.datasets.tables.tabular import Table, read_table
from steelyard.errors import DataError
from steelyard.types import Task

HUGE_REFERENCE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")
"""References to characters beyond Unicode, some with more digits than Python converts."""
SUFFIXES = (".txt", ".md", ".markdown", ".html", ".htm")
EXPECTED = (
    "add a questions.csv to the folder, with the columns question,file: a question in each row and the name of the "
    "file that answers it (several: separated by ;)"
)


@dataclass(frozen=True)
class DocumentFolder(TaskLocation):
    """A task of documents in a folder and questions about them."""

    @property
    def reference(self) -> str:
        """Return the folder, and the questions if they are elsewhere."""
        table = self.files.queries[0]
        return f"{self.folder},{table}" if Path(table).is_absolute() else str(self.folder)

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Read every document and question; every problem goes into the report."""
        names = self.files.corpus
        rows = read_table([(self.files.queries[0], self.folder / self.files.queries[0])], QUESTIONS, report)
        if rows is None:
            return None
        queries, qrels = question_tables(rows, _Names(names), report)
        return assemble(Tables(self.info, _corpus(self.folder, names, report), queries, qrels), report)


def find_documents(folder: Path) -> DocumentFolder | None:
    """Return the task of a folder of documents; None if it has none. Documents without questions are a DataError."""
    tables = [path for path in sorted(folder.iterdir()) if path.is_file() and _has_questions(path)]
    if not tables and not any(path.suffix.lower() in SUFFIXES for path in folder.iterdir() if path.is_file()):
        return None  # not searched: it could be a whole home folder
    if len(tables) == 1:
        return with_questions(folder, tables[0])
    count = len(_documents(folder))
    if not count:
        return None
    if tables:
        shown = ", ".join(path.name for path in tables)
        raise DataError(
            f"the folder must have one table of questions, got {len(tables)}: {shown}",
            path=folder,
            hint=f"name one: {folder},{tables[0]}",
        )
    raise DataError(f"the folder has {count:,} documents, but no table of questions", path=folder, hint=EXPECTED)


def with_questions(folder: Path, questions: Path) -> DocumentFolder:
    """Return the task of a folder of documents and a table of questions."""
    if not questions.is_file():
        raise DataError("the file does not exist", path=questions, hint=EXPECTED)
    names = _documents(folder)
    if not names:
        suffixes = ", ".join(SUFFIXES)
        raise DataError(f"the folder has no documents ({suffixes})", path=folder, hint="give the folder with documents")
    inside = questions.resolve().is_relative_to(folder.resolve())
    table = questions.resolve().relative_to(folder.resolve()).as_posix() if inside else str(questions.absolute())
    root = folder.resolve().name
    facts = read_sidecar(folder)
    info = task_info(facts, name=f"local/{facts.get('name') or root}", source=root)
    return DocumentFolder(folder, "", TaskFiles(tuple(names), (table,), (table,)), info)


def _documents(folder: Path) -> list[str]:
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    names = (path.relative_to(folder) for path in paths)
    return sorted(name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts))


def _has_questions(path: Path) -> bool:
    """Return whether a file is a table with a question and a file in each row, by its columns."""
    if format_of(path.name) is None or path.suffix.lower() == ".txt" or path.name in (MANIFEST, SIDECAR):
        return False
    report = Report()
    return read_table([(path.name, path)], QUESTIONS, report) is not None


class _Names:
    """Files by path, by name, and by name without suffix."""

    def __init__(self, names: Sequence[str]) -> None:
        self.paths = set(names)
        self.known: dict[str, list[str]] = defaultdict(list)
        for name in names:
            path = Path(name)
            for key in {name, path.name, path.stem, path.with_suffix("").as_posix()}:
                self.known[key].append(name)

    def find(self, file: str) -> str | None:
        key = file.replace("\\", "/").removeprefix("./")
        if key in self.paths:
            return key
        matches = self.known.get(key, [])
        return matches[0] if len(matches) == 1 else None

    def hint(self, file: str) -> str:
        several = self.known.get(file, [])
        if len(several) > 1:
            return f": it may be {' or '.join(several[:3])}"
        near = difflib.get_close_matches(file, self.known, n=1)
        return f": did you mean {near[0]!r}?" if near else ""


def _corpus(folder: Path, names: Sequence[str], report: Report) -> Table:
    import pyarrow as pa

    titles, bodies = [], []
    for name in names:
        content = b""
        with translated(report, name):
            content = (folder / name).read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            report.add("encoding", name, "the text must be UTF-8")
            text = content.decode("utf-8", errors="replace")
        title, body = _read_html(text) if name.lower().endswith((".html", ".htm")) else ("", text)
        titles.append(title)
        bodies.append(_without_front_matter(body) if name.lower().endswith((".md", ".markdown")) else body.strip())
    string = pa.large_string()
    columns = {"id": pa.array(names, string), "title": pa.array(titles, string), "text": pa.array(bodies, string)}
    return Table(DOCUMENTS, columns, tuple(names), tuple(range(len(names))))


def _without_front_matter(text: str) -> str:
    r"""Return Markdown without its YAML front matter.

    >>> _without_front_matter("---\nlayout: page\n---\n# Leave\n")
    '# Leave'
    """
    if text.startswith("---\n"):
        head, mark, rest = text[4:].partition("\n---\n")
        text = rest if mark else head
    return text.strip()


def _read_html(text: str) -> tuple[str, str]:
    r"""Return title and text of an HTML page.

    >>> _read_html("<title>VPN</title><style>p{}</style><p>Ask <b>IT</b>.</p><p>Twice.</p>")
    ('VPN', 'Ask IT.\nTwice.')
    """
    page = _Page()
    page.feed(HUGE_REFERENCE.sub("\ufffd", text))
    page.close()
    lines = (" ".join(line.split()) for line in "".join(page.words).split("\n"))
    return " ".join("".join(page.title).split()), "\n".join(filter(None, lines))


class _Page(HTMLParser):
    SILENT = ("script", "style", "template", "noscript", "svg")
    BREAKS = (
        *("p", "div", "br", "hr", "li", "ul", "ol", "dt", "dd", "tr", "table", "pre", "blockquote", "nav"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header", "footer", "title"),
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.title: list[str] = []
        self._silent = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._silent += tag in self.SILENT
        self._in_title |= tag == "title"
        if tag in self.BREAKS:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in self.SILENT))
        if tag == "title":
            self._in_title = False
        if tag in self.BREAKS:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            (self.title if self._in_title else self.words).append(data)
