"""Opening files: compression by the first bytes, byte order marks, and what an unreadable file is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from steelyard.datasets.problems import Report

COMPRESSED = (".gz", ".zst", ".bz2")
FORMATS = {
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "tsv",
}
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<zstd>[\x50-\x5f]\x2a\x4d\x18|\x28\xb5\x2f\xfd)|(?P<bz2>BZh[1-9]1AY&SY)", re.S
)
"""How packed files begin; zstd's may begin with a frame that is skipped."""


def plain_name(name: str) -> str:
    """The file's name without a compression suffix.

    >>> plain_name("corpus.jsonl.gz"), plain_name("qrels.tsv")
    ('corpus.jsonl', 'qrels.tsv')
    """
    return name.rsplit(".", 1)[0] if name.lower().endswith(COMPRESSED) else name


def format_of(name: str) -> str | None:
    """How the file is written, by its suffix; None where the suffix says nothing.

    >>> format_of("corpus.jsonl.zst"), format_of("README.md")
    ('jsonl', None)
    """
    return FORMATS.get(Path(plain_name(name)).suffix.lower())


def packing_of(head: bytes) -> str | None:
    r"""How a file is packed, by its first bytes; None where it is not.

    The suffix is not asked: browsers unpack what they fetch and keep the name, and others pack without a new name.

    >>> packing_of(b"\x1f\x8b\x08\x00"), packing_of(b'{"_id": "d1"}')
    ('gzip', None)
    """
    found = PACKED.match(head)
    return found.lastgroup if found else None


def open_bytes(path: Path) -> Any:
    """A stream of the file's bytes, decompressed."""
    import pyarrow as pa

    with path.open("rb") as file:
        packing = packing_of(file.read(16))
    return pa.input_stream(str(path), compression=packing)


def read_bytes(path: Path) -> bytes:
    """The whole file, decompressed."""
    with open_bytes(path) as stream:
        return bytes(stream.read())


def text_lines(path: Path) -> IO[bytes]:
    """The file as a buffered binary stream, to read line by line."""
    import io

    return io.BufferedReader(open_bytes(path), 1 << 20)


@contextmanager
def told(report: Report, name: str) -> Iterator[None]:
    """Turn the exceptions of an unreadable file into a problem of the report.

    >>> report = Report()
    >>> with told(report, "corpus.jsonl"):
    ...     _ = read_bytes(Path("no such file"))
    >>> report.problems[0].kind
    'unreadable'
    """
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        report.add("unreadable", name, "no such file", remedy="check the path")
    except (OSError, EOFError, pa.ArrowException) as error:
        report.add("unreadable", name, f"the file is damaged or cut short ({_first_line(error)})")


def look_at_head(path: Path, name: str, report: Report) -> bytes | None:
    """The first bytes without a byte order mark; None, and a problem, where the file is empty or not UTF-8."""
    with open_bytes(path) as stream:
        head = bytes(stream.read(1 << 16))
    if head.startswith(UTF16_MARKS):
        report.add("unreadable", name, "the file is written in UTF-16", remedy="save it as UTF-8")
        return None
    if head.startswith(UTF8_MARK):
        report.add("byte-order-mark", name, "the file begins with a byte order mark")
        head = head[len(UTF8_MARK) :]
    if not head.strip():
        report.add("unreadable", name, "the file is empty")
        return None
    return head


def header_line(head: bytes) -> str:
    r"""The first line of a table; a carriage return alone ends it, too: so Arrow has it, and old spreadsheets wrote it.

    >>> header_line(b"id,text\rd1,one\r"), header_line(b"id\ttext\r\n")
    ('id,text', 'id\ttext')
    """
    return re.split(r"\r|\n", head.decode(errors="replace"), maxsplit=1)[0]


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
