"""Model names: `family:id@revision?option=value`; fusion in brackets, `[bm25, dense]?k=60`; stages joined by `>`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from steelyard.errors import UsageError

FAMILY = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class ModelSpec:
    """A model as it was named; `str()` gives the canonical name.

    >>> spec = parse("dense:intfloat/e5@v1?truncate_dim=256&precision=int8")
    >>> spec.family, spec.id, spec.revision, spec.options
    ('dense', 'intfloat/e5', 'v1', {'precision': 'int8', 'truncate_dim': '256'})
    >>> str(spec)
    'dense:intfloat/e5@v1?precision=int8&truncate_dim=256'
    >>> str(parse("[bm25 ,dense]"))
    '[bm25, dense]'
    >>> [str(stage) for stage in parse("[bm25, dense]?k=10>rerank:X?depth=50").parts]
    ['[bm25, dense]?k=10', 'rerank:X?depth=50']
    >>> parse("BAAI/bge-m3").family
    ''
    """

    family: str
    """Empty where only the id of a hub or a path was given: `retrievers.canonical` finds it."""
    id: str = ""
    revision: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    parts: tuple[ModelSpec, ...] = ()
    """The models that are fused, for the family `fusion`; the stages, first to last, for the family `pipeline`."""

    def __str__(self) -> str:
        options = "&".join(f"{name}={quote(value, safe='/:@')}" for name, value in sorted(self.options.items()))
        tail = f"?{options}" if options else ""
        if self.family == "pipeline":
            return " > ".join(map(str, self.parts))
        if self.parts:
            return f"[{', '.join(map(str, self.parts))}]{tail}"
        head = ":".join(filter(None, (self.family, self.id)))
        return head + (f"@{self.revision}" if self.revision else "") + tail


def parse(text: str) -> ModelSpec:
    """Read a model name; a bad one is a UsageError that says what was expected.

    >>> parse("dense:X?query_prompt=query: ").options["query_prompt"]
    'query: '
    """
    given, text = text, text.strip()
    stages = _split(text, ">")
    if len(stages) > 1:
        if not all(map(str.strip, stages)):
            raise _bad(text, "a pipeline is written bm25 > rerank:ID, with a model on each side of every >")
        return ModelSpec("pipeline", parts=tuple(parse(stage.strip()) for stage in stages))
    if text.startswith("["):
        inner, bracket, tail = text[1:].rpartition("]")
        parts = tuple(parse(part.strip()) for part in _split(inner, ",")) if bracket else ()
        if len(parts) < 2 or (tail and not tail.startswith("?")):
            raise _bad(text, "a fusion is written [bm25, dense] with two models or more")
        return ModelSpec("fusion", options=_options(text, tail[1:]), parts=parts)
    head, options = text.partition("?")[0], given.partition("?")[2]
    family, colon, identity = head.partition(":")
    if "/" in family:
        family, identity = "", head
    elif "," in family:
        raise _bad(text, "several models stand apart, bm25 dense; their fusion stands in brackets, '[bm25, dense]'")
    elif family != family.lower() and FAMILY.fullmatch(family.lower()):
        raise _bad(text, f"a family is written in small letters: {family.lower()}")
    elif not FAMILY.fullmatch(family) or (colon and not identity):
        raise _bad(text, "a model is written family:id, such as bm25 or dense:use-multilingual-v3")
    identity, _, revision = identity.rpartition("@") if "@" in identity else (identity, "", "")
    return ModelSpec(family, identity, revision or None, _options(text, options))


def _split(text: str, mark: str) -> list[str]:
    """The text between the marks that stand outside brackets (in an option, write %2C for a comma, %3E for >)."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == mark and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _options(text: str, options: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in filter(None, options.split("&")):
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise _bad(text, f"an option is written name=value, found {pair!r}")
        if name in pairs:
            raise _bad(text, f"an option has one value, found {name} twice")
        pairs[name] = unquote(value if name.endswith("prompt") else value.strip())  # its last blank is part of a prompt
    return dict(sorted(pairs.items()))


def _bad(text: str, expected: str) -> UsageError:
    return UsageError(f"cannot read the model name {text!r}", hint=expected)
