"""Model names: `family:id@revision?option=value`; fusion in brackets, `[bm25, dense]?k=60`; stages joined by `>`.

A name of one's own comes first: `mini=dense:../minilm`. Tables show it; results are stored under the model's own name.

This module reads and writes the syntax. What a name means (default models, families, presets) is in
`steelyard.retrievers.model_names`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

from steelyard.errors import UsageError

FAMILY = re.compile(r"[a-z][a-z0-9_-]*")
OPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_@-]*")
LABEL = re.compile(r"\s*([^\s=:/?@\[\]>,~.&%#*][^=:/?@\[\]>,&%#*]*?)\s*=(?=.)(.*)", re.DOTALL)
"""A name of one's own before a model: no characters that have a meaning in names."""
MAX_DEPTH = 16
"""How many brackets a name may nest."""


@dataclass(frozen=True)
class ModelSpec:
    """A parsed model name; `str()` returns its canonical spelling.

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
    >>> parse("mini=dense:../minilm").label, str(parse("mini=dense:../minilm")), parse("bm25?k1=0.9").label
    ('mini', 'dense:../minilm', None)
    """

    family: str
    """Empty if the name is only a hub id or a path; `canonical` fills it in."""
    id: str = ""
    revision: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    parts: tuple[ModelSpec, ...] = ()
    """The fused models of the family `fusion`; the stages, first to last, of the family `pipeline`."""
    label: str | None = field(default=None, compare=False)
    """A name of one's own for tables; not part of the name."""

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
    """Parse a model name; an invalid one raises a UsageError.

    >>> parse("dense:X?query_prompt=query: ").options["query_prompt"]
    'query: '
    >>> parse("[" * 20 + "bm25, dense" + "]" * 20)
    Traceback (most recent call last):
    steelyard.errors.UsageError: the model name must be nested at most 16 levels deep, got 20 levels
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError.invalid("the model name", expected="valid Unicode text", found=ascii(text)) from error
    levels = _depth(text)
    if levels > MAX_DEPTH:
        expected = f"nested at most {MAX_DEPTH} levels deep"
        raise UsageError(
            f"the model name must be {expected}, got {levels} levels", expected=expected, found=levels, option="model"
        )
    named = LABEL.fullmatch(text)
    return replace(_parse(named[2]), label=named[1]) if named else _parse(text)


def _parse(raw: str) -> ModelSpec:
    text = raw.strip()
    stages = _split(text, ">")
    if len(stages) > 1:
        if not all(map(str.strip, stages)):
            raise _invalid(text, "a pipeline with a model on each side of every '>'", "write it as 'bm25 > rerank:ID'")
        return ModelSpec("pipeline", parts=tuple(_parse(stage.strip()) for stage in stages))
    if text.startswith("["):
        inner, bracket, tail = text[1:].rpartition("]")
        parts = tuple(_parse(part.strip()) for part in _split(inner, ",")) if bracket else ()
        if len(parts) < 2 or (tail and not tail.startswith("?")):
            raise _invalid(text, "a fusion of two or more models in brackets", "write it as '[bm25, dense]'")
        return ModelSpec("fusion", options=_options(text, tail[1:]), parts=parts)
    head, options = text.partition("?")[0], raw.partition("?")[2]
    family, colon, identity = head.partition(":")
    if "/" in family:
        family, identity = "", head
    elif "," in family:
        hint = "separate models with spaces, bm25 dense; write their fusion in brackets, '[bm25, dense]'"
        raise _invalid(text, "one model", hint)
    elif family != family.lower() and FAMILY.fullmatch(family.lower()):
        raise _invalid(text, "a family in lower case followed by an id", f"write {family.lower()}{colon}{identity}")
    elif not FAMILY.fullmatch(family) or (colon and not identity):
        raise _invalid(text, "family:id", "for example bm25 or dense:use-multilingual-v3")
    identity, _, revision = identity.rpartition("@") if "@" in identity else (identity, "", "")
    return ModelSpec(family, identity, revision or None, _options(text, options))


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        deepest = max(deepest, depth)
    return deepest


def _split(text: str, mark: str) -> list[str]:
    """Split at the marks outside brackets (inside an option, a comma is written %2C and `>` is written %3E)."""
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
        if not equals or not OPTION.fullmatch(name):
            raise _invalid(text, "a name with options of the form name=value", f"correct the option {pair!r}")
        if name in pairs:
            raise _invalid(text, "a name with each option once", f"remove one {name}=")
        pairs[name] = unquote(value if name.endswith(("prompt", "template")) else value.strip())  # may end in a space
    return dict(sorted(pairs.items()))


def _invalid(text: str, expected: str, hint: str) -> UsageError:
    return UsageError.invalid("the model name", expected=expected, found=text, hint=hint, option="model")
