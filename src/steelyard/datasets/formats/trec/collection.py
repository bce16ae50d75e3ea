"""Read TREC collections: topics and documents in tags, judgements and runs in columns.

    <top> <num> Number: 301 <title> ... <desc> Description: ... <narr> ... </top>
    <topics> <topic number="1"> <query> ... </query> <question> ... </question> </topic> </topics>
    <DOC> <DOCNO> FT911-3 </DOCNO> <TITLE> ... </TITLE> <TEXT> ... </TEXT> </DOC>
    301 0 FT911-3 1
    301 Q0 FT911-3 1 12.5 mine

The text of a topic is its title (`query` in XML), or its description if the title is empty, or everything in it. Such
files are detected by their content, not by their names; `qrels_runs` has the readers for scoring.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from steelyard.datasets.formats.trec.qrels_runs import read_qrels, read_run, write_run
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import Role
from steelyard.datasets.tables.files import UTF8_MARK, format_of, open_bytes, plain_name, read_bytes

__all__ = ["TrecKind", "read_qrels", "read_run", "read_trec", "trec_kind", "write_run"]

TrecKind = Literal["topics", "documents", "judgements", "run"]
ROLES = {"topics": "queries", "documents": "documents", "judgements": "judgements", "run": "candidates"}

TOPICS = re.compile(rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<[a-z]\w*\b[^>]*>\s*)?<top(ic)?\b", re.S | re.I)
TOPIC = (re.compile(rb"<top(?:ic)?\b", re.I), re.compile(rb"</top(?:ic)?>", re.I))
NUMBER = re.compile(r"\b(?:number|id|num)\s*=\s*[\"']([^\"']*)[\"']", re.I)
DOCUMENT = (re.compile(rb"<doc>", re.I), re.compile(rb"</doc>", re.I))
# Blanks or tabs, not both: a query with blanks after a tab is one column.
JUDGEMENT = re.compile(rb"\S+(?P<gap> +|\t)\S+(?P=gap)\S+(?P=gap)[+-]?\d+ *\r?(\n|$)")
RUN = re.compile(rb"\S+(?P<gap> +|\t)\S+(?P=gap)\S+(?P=gap)-?\d+(?P=gap)[-+.\deE]+(?P=gap)\S")
TAG = re.compile(r"<[^<>]+>")
HUGE_REFERENCE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")
"""References to characters beyond Unicode, some with more digits than Python converts."""
LABEL = re.compile(r"^\s*(Number|Topic|Description|Narrative)\s*:\s*", re.I)


def trec_kind(name: str, path: Path) -> TrecKind | None:
    """Return the kind of TREC file, by its first bytes; None if it is not one, or its suffix means a table.

    Judgements in a `.tsv` file are a table if they are separated by tabs, and TREC's if by blanks.
    """
    if format_of(name) in ("parquet", "jsonl", "json", "csv"):
        return None
    try:
        with open_bytes(path) as stream:
            head = bytes(stream.read(4096)).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError:
        return None  # the reader of tables reports what is wrong with it
    if TOPICS.match(head):
        return "topics"
    if re.match(rb"<doc>", head, re.I):
        return "documents"
    if RUN.match(head):
        return "run"
    judgement = JUDGEMENT.match(head)
    if judgement is None or (plain_name(name).lower().endswith(".tsv") and judgement["gap"] == b"\t"):
        return None
    return "judgements"


def read_trec(path: Path, name: str, role: Role, kind: TrecKind, report: Report) -> dict[str, Any] | None:
    """Return the columns of a role, by field; None, with problems in the report, if they cannot be read."""
    if role.name != ROLES[kind]:
        message = f"the file must have {role.name}, got {'a TREC run' if kind == 'run' else f'TREC {kind}'}"
        report.add("columns", name, message, remedy="check the order of the files")
        return None
    data = read_bytes(path)
    if data.startswith(UTF8_MARK):
        report.add("byte-order-mark", name, "the file begins with a byte order mark")
        data = data.removeprefix(UTF8_MARK)
    if kind == "judgements":
        return _lines(data, {"query": 0, "document": 2, "grade": 3}, "query 0 document grade", name, report)
    if kind == "run":
        return _lines(data, {"query": 0, "documents": 2, "score": 4}, "query Q0 document rank score tag", name, report)
    return _topics(data, name, report) if kind == "topics" else _documents(data, name, report)


def _lines(data: bytes, places: dict[str, int], expected: str, name: str, report: Report) -> dict[str, Any] | None:
    """Return some columns of lines; the tag of a run may have several words."""
    import pyarrow as pa

    width = len(expected.split())
    spare = -1 if "grade" in places else width - 1
    rows = [line.split(maxsplit=spare) for line in data.splitlines() if line.strip()]
    if bad := [number for number, row in enumerate(rows, 1) if len(row) != width]:
        report.add("row", name, f"a line must have the columns {expected}, got {len(rows[bad[0] - 1])}", bad)
        return None
    columns = list(zip(*rows, strict=True))
    return {field: pa.array(columns[place], pa.large_binary()) for field, place in places.items()}


def _topics(data: bytes, name: str, report: Report) -> dict[str, Any]:
    import pyarrow as pa

    ids, texts = [], []
    for block in _blocks(*TOPIC, data, name, report):
        attributes, _, body = block.partition(">")
        fields, number = _fields(body), NUMBER.search(attributes)
        ids.append(number[1].strip() if number else LABEL.sub("", fields.get("num", "")).strip())
        texts.append(fields.get("title") or fields.get("desc", "") if fields else _plain(body))
    return {"id": pa.array(ids, pa.large_string()), "text": pa.array(texts, pa.large_string())}


def _documents(data: bytes, name: str, report: Report) -> dict[str, Any]:
    import pyarrow as pa

    ids, titles, texts = [], [], []
    for body in _blocks(*DOCUMENT, data, name, report):
        number, title = next(_elements(body, "docno"), None), next(_elements(body, "title|headline|hl"), None)
        parts = list(_elements(body, "text|body|contents"))
        ids.append(body[number[1] : number[2]].strip() if number else "")
        titles.append(_plain(body[title[1] : title[2]]) if title else "")
        text = " ".join(_plain(body[start:end]) for _, start, end, _ in parts)
        texts.append(text if parts else _plain(_without(body, number, title)))
    columns = {"id": ids, "title": titles, "text": texts}
    return {field: pa.array(values, pa.large_string()) for field, values in columns.items()}


def _blocks(opens: re.Pattern[bytes], closes: re.Pattern[bytes], data: bytes, name: str, report: Report) -> list[str]:
    """Return what is between the tags of each record, in one pass over the data."""
    blocks, bad, at = [], [], 0
    while (begin := opens.search(data, at)) is not None and (end := closes.search(data, begin.end())) is not None:
        content, at = data[begin.end() : end.start()], end.end()
        try:
            blocks.append(content.decode())
        except UnicodeDecodeError:
            blocks.append(content.decode(errors="replace"))
            bad.append(len(blocks))
    if bad:
        report.add("encoding", name, "the text must be UTF-8", bad)
    opened = len(opens.findall(data))
    if opened != len(blocks):
        report.add("unreadable", name, f"{opened} records begin, but {len(blocks)} end")
    return blocks


def _elements(body: str, tags: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield begin, content begin, content end and end of the elements of these tags, in one pass over the text."""
    at = 0
    closing: dict[str, int] = {}
    for match in re.finditer(f"<({tags})>", body, re.I):
        tag = match[1].lower()
        if match.start() < at or closing.get(tag) == -1:
            continue
        end = re.compile(f"</{tag}>" if "title" in tags else f"</(?:{tags})>", re.I).search(body, match.end())
        if end is None:
            closing[tag] = -1  # no later element of this tag is closed either
            continue
        yield match.start(), match.end(), end.start(), end.end()
        at = end.end()


def _fields(body: str) -> dict[str, str]:
    """Return the parts of a topic; a part ends at its closing tag, or at the next part, as in old topics."""
    parts = re.split(r"<(num|title|desc|narr|query|question|description|narrative)\b[^>]*>", body, flags=re.I)
    fields: dict[str, str] = {}
    for tag, text in zip(parts[1::2], parts[2::2], strict=True):
        name = {"query": "title", "description": "desc", "question": "desc", "narrative": "narr"}.get(
            tag.lower(), tag.lower()
        )
        inside = re.split(f"</{tag}>", text, maxsplit=1, flags=re.I)[0]
        fields.setdefault(name, LABEL.sub("", _plain(inside)))
    return fields


def _without(body: str, *elements: tuple[int, int, int, int] | None) -> str:
    for begin, _, _, end in sorted((element for element in elements if element), reverse=True):
        body = f"{body[:begin]} {body[end:]}"
    return body


def _plain(text: str) -> str:
    """Return text without tags and entities, white space as single blanks."""
    return " ".join(html.unescape(HUGE_REFERENCE.sub("\ufffd", TAG.sub(" ", text))).split())
