"""Deterministic mutations of valid inputs: the same seed and number give the same bytes on every machine."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

TOKENS = [
    *(b"", b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\xbd", b"\r", b"\n", b"\r\n", b"\t"),
    *(
        b'"',
        b"'",
        b",",
        b";",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b"<",
        b">",
        b"&#",
        b"&#x110000;",
        b"%00",
        b"~",
        b"/",
        b"\\",
    ),
    *(b"\\ud83d", b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-1", b"0x10", b"1_0", b"9" * 400, b"0.0" * 200),
    *(b"[" * 3000, b'{"a":' * 2000, b"<top>", b"</top>", b"<DOC>", b"</DOC>", b"<text>", b"\x1f\x8b\x08", b"PAR1"),
    *(b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh91AY&SY", b"a" * 5000, "\u202e\x1b[31m".encode(), b"q0 Q0 d0 1 0.5 t"),
]
"""What parsers are known to mind."""

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 10**30, -(10**400), float("nan"), float("inf"), "", " ", "\ud83d", "\x00"),
    *([], {}, [[]], [None], [[["a"]], "b"], {"a": {"b": []}}, "x" * 3000, 2**63, "1e5", ["d1", 2], {"d1": "1"}),
]
"""What may be in place of any JSON value."""


def mutate(seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """Return mutation `number` of one of the seeds."""
    chance = random.Random(f"{seed}:{number}")
    data = chance.choice(seeds)
    if chance.random() < 0.4 and (changed := _json(data, chance)) is not None:
        data = changed
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 6)) or (number % 3 == 0)):
        data = chance.choice(MUTATIONS)(data, chance)
    return data[:200_000]


def _at(data: bytes, chance: random.Random) -> int:
    return chance.randrange(len(data) + 1)


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = _at(data, chance)
    return data[:at] + chance.choice(TOKENS) + data[at:]


def _replace(data: bytes, chance: random.Random) -> bytes:
    at = _at(data, chance)
    return data[:at] + chance.choice(TOKENS) + data[at + chance.randrange(8) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _remove(data: bytes, chance: random.Random) -> bytes:
    at = _at(data, chance)
    return data[:at] + data[at + chance.randrange(1, 40) :]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    at = _at(data, chance)
    end = at + chance.randrange(1, 60)
    return data[:end] + data[at:end] * chance.choice((1, 2, 50)) + data[end:]


def _truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: _at(data, chance)]


def _lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return chance.choice((b"\n", b"\r", b"\r\n", b"\n\n")).join(lines[: chance.randrange(len(lines) + 1)])


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    *(_insert, _insert, _replace, _replace, _flip, _flip, _remove, _repeat, _truncate, _lines)
]


def _json(data: bytes, chance: random.Random) -> bytes | None:
    """Return JSON, or JSON Lines, with one value replaced; None if the data is not JSON."""
    try:
        if not data.lstrip().startswith((b"{", b"[")):
            return None
        whole = b"\n" not in data.strip()
        records = [json.loads(line) for line in ([data] if whole else data.splitlines()) if line.strip()]
    except ValueError:
        return None
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(records))
        records[at] = _changed(records[at], chance)
    return b"\n".join(
        json.dumps(record, ensure_ascii=chance.random() < 0.8).encode("utf-8", "surrogatepass") for record in records
    )


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            return {
                **{k: v for k, v in value.items() if k != key},
                chance.choice(("", "_id", "text", "\ud83d")): value[key],
            }
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return chance.choice(VALUES)
