"""Tables in shards, as the `datasets` library names them: which of their files are missing."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHARD = re.compile(r"-(?P<shard>\d{5})-of-(?P<shards>\d{5})(?:-[0-9a-f]{16,})?(?=\.)")


def missing_shards(files: Sequence[str]) -> list[str]:
    """What the files of one table lack; files of two versions of it lack a single one.

    >>> missing_shards(["x-00000-of-00003.parquet", "x-00002-of-00003.parquet"]), missing_shards(["x.parquet"])
    (['x-00001-of-00003.parquet'], [])
    >>> missing_shards(["x-00000-of-00001.parquet", "x.parquet"])
    ['single version: x-00000-of-00001.parquet and x.parquet are of two']
    """
    found = [SHARD.search(file) for file in files]
    totals = {match and match["shards"] for match in found}
    if totals <= {None}:
        return []
    numbers = [int(match["shard"]) for match in found if match]
    first = next(match for match in found if match)
    if len(totals) > 1 or len(set(numbers)) < len(numbers):
        return [f"single version: {files[0]} and {files[-1]} are of two"]
    before, after = first.string[: first.start()], first.string[first.end() :]
    absent = sorted(set(range(int(first["shards"]))) - set(numbers))
    return [f"{before}-{number:05}-of-{first['shards']}{after}" for number in absent]
