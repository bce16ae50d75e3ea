"""Read one result file of any program into the rows of the warehouse.

A reader is a function from the parsed content of a file to `Score` values, and a test of whether the content is its
own. `read_file` picks the reader. A file that no reader accepts raises `BadFile` with the reason.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.warehouse.readers import hakari, mteb, own, score_tables
from steelyard.warehouse.readers.rows import BadFile, Model, Score

__all__ = ["BadFile", "Model", "Score", "is_result_file", "read_file"]

MAX_BYTES = 1 << 30
"""The largest file that is read, after decompression."""
JSON_SUFFIXES = (".json", ".json.gz", ".json.xz")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
SIDECARS = (".queries.parquet", ".run.parquet", ".run.trec")
"""Files next to a result of ours, which are read with it."""
IGNORED = ("run_settings.jsonl", "manifest.json", "paths.json")


def is_result_file(name: str) -> bool:
    """Return whether a file of that name may hold results.

    >>> [is_result_file(name) for name in ("STSB.json", "x.json.xz", "x.queries.parquet", "README.md")]
    [True, True, False, False]
    """
    if name.startswith(".") or name.endswith(SIDECARS) or name in IGNORED:
        return False
    return name.endswith((*JSON_SUFFIXES, *TABLE_SUFFIXES))


def read_file(path: Path, content: bytes) -> Iterator[tuple[str, Score | Model]]:
    """Yield format and row of everything in the file; `content` is its bytes."""
    name = path.name
    if name.endswith(TABLE_SUFFIXES):
        yield from (("table", row) for row in score_tables.read(path, content))
        return
    data = _parse(name, content)
    if name == "model_meta.json":
        yield "model_meta", mteb.read_model(path, data)
    elif own.accepts(data):
        yield from (("steelyard", row) for row in own.read(path, data))
    elif mteb.accepts(data):
        yield from (("mteb", row) for row in mteb.read(path, data))
    elif hakari.accepts(data):
        yield from (("hakari", row) for row in hakari.read(path, data))
    else:
        keys = ", ".join(sorted(map(str, data))[:5]) or "no keys"
        raise BadFile(f"the format of the file is unknown (its keys are {keys})")


def _parse(name: str, content: bytes) -> dict[str, Any]:
    try:
        if name.endswith(".xz"):
            content = _decompressed(lzma.LZMADecompressor(memlimit=1 << 29), content)
        elif name.endswith(".gz"):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise BadFile(f"the file must have at most {MAX_BYTES:,} bytes, got more")
        data = json.loads(content)  # accepts NaN, which a fifth of mteb's files contain
    except ValueError as error:  # also of bytes that are not UTF-8 and of numbers with thousands of digits
        raise BadFile(f"the file is not valid JSON: {error}") from error
    except RecursionError as error:
        raise BadFile("the values of the file are nested too deeply") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise BadFile(f"the compressed file is damaged: {error}") from error
    if not isinstance(data, dict):
        raise BadFile(f"the top level must be an object, got {type(data).__name__}")
    return data


def _decompressed(decompressor: lzma.LZMADecompressor, content: bytes) -> bytes:
    data = decompressor.decompress(content, max_length=MAX_BYTES + 1)
    if not decompressor.eof and len(data) <= MAX_BYTES:
        raise BadFile("the compressed file is damaged: its end is missing")
    return data
