"""Open files: compression by the first bytes, byte order marks, and the border that translates errors."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from steelyard.datasets.problems import Report

COMPRESSED = (".gz", ".zst", ".bz2")
FORMATS = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "tsv",
}
HEAD = 1 << 16
"""Bytes of a file that are read to look at it."""
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<zstd>[\x50-\x5f]\x2a\x4d\x18|\x28\xb5\x2f\xfd)|(?P<bz2>BZh[1-9]1AY&SY)", re.S
)
"""How compressed files begin; zstd files may begin with a skippable frame."""


def plain_name(name: str) -> str:
    """Return the file's name without a compression suffix.

    >>> plain_name("corpus.jsonl.gz"), plain_name("qrels.tsv")
    ('corpus.jsonl', 'qrels.tsv')
    """
    return name.rsplit(".", 1)[0] if name.lower().endswith(COMPRESSED) else name


def format_of(name: str) -> str | None:
    """Return the format of a file by its suffix; None if it is unknown.

    >>> format_of("corpus.jsonl.zst"), format_of("README.md")
    ('jsonl', None)
    """
    return FORMATS.get(os.path.splitext(plain_name(name))[1].lower())  # noqa: PTH122  (a Path takes five times as long)


def packing_of(head: bytes) -> str | None:
    r"""Return how a file is compressed, by its first bytes; None if it is not.

    The suffix is not used: browsers unpack downloads and keep the name, and others compress without a new name.

    >>> packing_of(b"\x1f\x8b\x08\x00"), packing_of(b'{"_id": "d1"}')
    ('gzip', None)
    """
    match = PACKED.match(head)
    return match.lastgroup if match else None


def open_bytes(path: Path) -> Any:
    """Return a stream of the file's bytes, decompressed within the limits of `Limited`."""
    import pyarrow as pa

    with path.open("rb") as file:
        packing = packing_of(file.read(16))
    stream = pa.input_stream(str(path), compression=packing)
    return stream if packing is None else io.BufferedReader(Limited(stream, path.stat().st_size), 1 << 20)


def read_bytes(path: Path) -> bytes:
    """Return the whole file, decompressed."""
    with open_bytes(path) as stream:
        return bytes(stream.read())


def unpack(data: bytes) -> bytes:
    """Return the content of a file that was read as a whole, decompressed within the limits of `Limited`."""
    import pyarrow as pa

    if (packing := packing_of(data[:16])) is None:
        return data
    with io.BufferedReader(Limited(pa.input_stream(pa.BufferReader(data), compression=packing), len(data))) as stream:
        return stream.read()


def text_lines(path: Path) -> IO[bytes]:
    """Return the file as a buffered binary stream, to read line by line."""
    stream = open_bytes(path)
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, 1 << 20)


class ExpansionError(OSError):
    """A compressed file expands beyond the limits."""


class Limited(io.RawIOBase):
    """A stream of decompressed bytes that stops a file which expands beyond all measure.

    The limit is `LARGEST` bytes, and, from `FREE` bytes on, `RATIO` times the size of the compressed file. Texts
    compress to a fifth of their size, regular tables to a fiftieth.
    """

    LARGEST = 64 << 30
    FREE = 64 << 20
    RATIO = 200

    def __init__(self, stream: Any, packed: int) -> None:
        super().__init__()
        self.stream, self.packed, self.count = stream, packed, 0
        self.limit = min(self.LARGEST, max(self.FREE, self.RATIO * packed))

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()
        super().close()

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer; an ExpansionError beyond the limit."""
        data = self.stream.read(len(buffer))
        self.count += len(data)
        if self.count > self.limit:
            raise ExpansionError(f"{self.packed:,} bytes expand to more than the limit of {self.limit:,}")
        buffer[: len(data)] = data
        return len(data)


def os_error(error: OSError) -> tuple[str, str]:
    """Return what an error of the system means for a file, and what to do.

    >>> os_error(PermissionError(errno.EACCES, "Permission denied"))
    ('the file cannot be read: permission denied', 'give yourself read permission: chmod u+r FILE')
    """
    if isinstance(error, ExpansionError):
        return f"the compressed file is too large: {error}", "check what is in it, and give the unpacked file"
    if error.errno in MEANINGS:
        return MEANINGS[error.errno]
    return f"the file is damaged or truncated ({first_line(error)})", "download or write the file again"


MEANINGS = {
    errno.ENOENT: ("the file does not exist", "check the path"),
    errno.EACCES: ("the file cannot be read: permission denied", "give yourself read permission: chmod u+r FILE"),
    errno.EPERM: ("the file cannot be read: permission denied", "give yourself read permission: chmod u+r FILE"),
    errno.EISDIR: ("a file was expected, got a folder", "give a file"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "check the path"),
    errno.ENAMETOOLONG: ("the name of the file is too long", "use a shorter name"),
    errno.ELOOP: ("the path is a loop of symbolic links", "remove the link"),
    errno.EIO: ("the disk cannot read the file", "check the disk, or download the file again"),
    errno.EMFILE: ("too many files are open", "raise the limit: ulimit -n 4096"),
}
"""By the number of the error: what it means, and what to do."""


@contextmanager
def file_errors(path: str | Path) -> Iterator[None]:
    """Translate errors of files, formats and Arrow into DataErrors that name the file.

    >>> with file_errors("corpus.jsonl"):
    ...     _ = read_bytes(Path("no such file"))
    Traceback (most recent call last):
    steelyard.errors.DataError: corpus.jsonl: the file does not exist (check the path)
    """
    report = Report()
    with translated(report, str(path)):
        yield
    report.raise_errors("strict")


@contextmanager
def translated(report: Report, name: str) -> Iterator[None]:
    """Turn the exceptions of an unreadable file into a problem of the report: the border of every reader of tables.

    >>> report = Report()
    >>> with translated(report, "corpus.jsonl"):
    ...     _ = read_bytes(Path("no such file"))
    >>> report.problems[0].kind
    'unreadable'
    """
    import pyarrow as pa

    try:
        yield
    except OSError as error:
        message, remedy = os_error(error)
        report.add("unreadable", name, message, remedy=remedy)
    except RecursionError:
        report.add("unreadable", name, "values are nested too deeply", remedy="flatten the values")
    except UnicodeDecodeError as error:
        message = f"the text must be UTF-8, got byte {error.object[error.start]:#04x} at offset {error.start:,}"
        report.add("unreadable", name, message, remedy="save the file as UTF-8")
    except (EOFError, zipfile.BadZipFile, struct.error, zlib.error, csv.Error, pa.ArrowException) as error:
        report.add("unreadable", name, f"the file is damaged or truncated ({first_line(error)})")


def look_at_head(path: Path, name: str, report: Report) -> bytes | None:
    """Return the first bytes without a byte order mark; None, and a problem, if the file is empty or UTF-16."""
    with open_bytes(path) as stream:
        head = bytes(stream.read(HEAD))
    if head.startswith(UTF16_MARKS):
        report.add("unreadable", name, "the file must be UTF-8, got UTF-16", remedy="save it as UTF-8")
        return None
    if head.startswith(UTF8_MARK):
        report.add("byte-order-mark", name, "the file begins with a byte order mark")
        head = head[len(UTF8_MARK) :]
    if not head.strip():
        report.add("unreadable", name, "the file is empty")
        return None
    return head


def in_memory(head: bytes) -> Any | None:
    """Return a stream of a file whose head is the whole file; None if there may be more of it.

    Arrow reads a file in another thread. For a small one, the threads take longer than the parser.
    """
    import pyarrow as pa

    return pa.BufferReader(head) if len(head) + len(UTF8_MARK) < HEAD else None


def header_line(head: bytes) -> str:
    r"""Return the first line of a table; a carriage return alone ends it, too, as in Arrow and old spreadsheets.

    >>> header_line(b"id,text\rd1,one\r"), header_line(b"id\ttext\r\n")
    ('id,text', 'id\ttext')
    """
    return re.split(r"\r|\n", head.decode(errors="replace"), maxsplit=1)[0]


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


SHARD = re.compile(r"-(?P<shard>\d{5})-of-(?P<shards>\d{5})(?:-[0-9a-f]{16,})?(?=\.)")


def missing_shards(files: Sequence[str]) -> list[str]:
    """Return the missing files of a table in shards; files of two versions are reported as such.

    >>> missing_shards(["x-00000-of-00003.parquet", "x-00002-of-00003.parquet"]), missing_shards(["x.parquet"])
    (['x-00001-of-00003.parquet'], [])
    >>> missing_shards(["x-00000-of-00001.parquet", "x.parquet"])
    ['single version: x-00000-of-00001.parquet and x.parquet are of two']
    """
    matches = [SHARD.search(file) for file in files]
    totals = {match and match["shards"] for match in matches}
    if totals <= {None}:
        return []
    numbers = [int(match["shard"]) for match in matches if match]
    first = next(match for match in matches if match)
    if len(totals) > 1 or len(set(numbers)) < len(numbers):
        return [f"single version: {files[0]} and {files[-1]} are of two"]
    before, after = first.string[: first.start()], first.string[first.end() :]
    absent = sorted(set(range(int(first["shards"]))) - set(numbers))
    return [f"{before}-{number:05}-of-{first['shards']}{after}" for number in absent]
