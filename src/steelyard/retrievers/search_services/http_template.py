"""A search service described in a file: where to ask, with what, and where in the answer the documents are.

    url: https://search.example.org/v1/search
    headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}
    body: {text: "{query}", size: "{k}"}
    ids: hits[*].id
    scores: hits[*].score

`{query}` and `{k}` are filled in as the place demands: percent-encoded in the address, escaped in JSON, and a body
value that is nothing but `"{k}"` becomes a number. `${NAME}` is a variable of the environment.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from steelyard.errors import DataError, UsageError
from steelyard.http.secrets import VARIABLE, Secrets
from steelyard.retrievers.search_services.json_path import Path
from steelyard.retrievers.search_services.optional import need
from steelyard.retrievers.search_services.request_options import Manners, Options

PLACE = re.compile(r"\{(query|k)\}")
SENSITIVE = re.compile(r"authorization|cookie|token|secret|password|(^|[-_])api[-_]?key|access[-_]?key", re.IGNORECASE)
METHODS = ("GET", "POST", "PUT")


@dataclass(frozen=True)
class Template:
    """What the file says; variables stay as they are written until a request is made."""

    url: str
    ids: Path
    scores: Path | None = None
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    max_k: int = 10_000
    """The longest list that the service gives."""
    manners: Manners = field(default_factory=Manners)

    @classmethod
    def read(cls, file: File, extra: Mapping[str, str]) -> Template:
        """The template of a YAML, TOML or JSON file; options of the model name come before those in the file."""
        given = _load(file)
        url, body, headers = str(given.pop("url", "")), given.pop("body", None), given.pop("headers", None) or {}
        options = Options(f"the template {file}", {**given, **extra})
        ids, scores = options.text("ids"), options.text("scores")
        if not url or not ids:
            raise DataError(
                f"there is no {'url' if not url else 'ids'!r}", where=str(file), hint="it needs url and ids"
            )
        method = options.choice("method", "GET" if body is None else "POST", METHODS)
        max_k = options.whole("max_k", cls.max_k)
        manners = Manners.of(options)
        options.finish()
        if not isinstance(headers, dict):
            raise DataError(f"headers are {headers!r:.60}", where=str(file), hint="expected names with their values")
        _check(file, url, {str(name): str(value) for name, value in headers.items()}, body)
        return cls(
            url=url,
            ids=Path.parse(ids),
            scores=Path.parse(scores) if scores else None,
            method=method,
            headers={str(name): str(value) for name, value in headers.items()},
            body=body,
            max_k=max_k,
            manners=manners,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """All of it that could change a figure, without the values of variables."""
        return {
            "url": self.url,
            "method": self.method,
            "headers": dict(self.headers),
            "body": self.body,
            "ids": self.ids.text,
            "scores": self.scores.text if self.scores else None,
            "max_k": self.max_k,
            **self.manners.settings,
        }

    @property
    def kind(self) -> str:
        """The media type of the body."""
        return "application/x-www-form-urlencoded" if _is_form(self.body) else "application/json"

    def host(self, secrets: Secrets) -> str:
        """Scheme with host, variables filled in."""
        return secrets.fill(_split(self.url)[0])

    def request(self, query: str, k: int, secrets: Secrets) -> tuple[str, bytes | None]:
        """What follows the host, and the body, for one query."""
        _, slash, rest = _split(self.url)
        target = _put(secrets.fill(slash + rest), _encoded, query, k) or "/"
        if self.body is None:
            return target, None
        if isinstance(self.body, str):
            escape = _encoded if _is_form(self.body) else _escaped
            return target, _put(secrets.fill(self.body), escape, query, k).encode("utf-8", "replace")
        value = _filled(self.body, query, k, secrets)
        return target, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _load(file: File) -> dict[str, Any]:
    if not file.is_file():
        raise UsageError(f"there is no template {str(file)!r}", hint="http:FILE, a template in YAML, TOML or JSON")
    text = file.read_text(encoding="utf-8")
    try:
        if file.suffix == ".toml":
            value: Any = tomllib.loads(text)
        elif file.suffix == ".json":
            value = json.loads(text)
        elif file.suffix in (".yaml", ".yml"):
            yaml = need("yaml", "PyYAML")
            try:
                value = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(" ".join(str(error).split())) from error
        else:
            raise UsageError(f"cannot tell the format of {str(file)!r}", hint="name it .yaml, .toml or .json")
    except ValueError as error:
        raise DataError(str(error), where=str(file), hint="the file is not what its name says") from error
    if not isinstance(value, dict):
        raise DataError(f"found {type(value).__name__}", where=str(file), hint="expected url, body, ids ...")
    return value


def _check(file: File, url: str, headers: Mapping[str, str], body: Any) -> None:
    """Refuse a template that would ask every query the same, or that has a secret written in it."""
    where = str(file)
    if "{query}" not in url and "{query}" not in json.dumps(body):
        raise DataError("neither url nor body has a place for {query}", where=where, hint='such as "{query}"')
    host, _, rest = _split(url)
    if PLACE.search(host):
        raise DataError(f"the host {host!r} depends on the query", where=where, hint="put it behind the host")
    if "@" in host and "${" not in host.rpartition("@")[0]:
        raise DataError("there is a password in the address", where=where, hint="use a header with ${NAME}")
    written = [*headers.items(), *parse_qsl(urlsplit(rest).query, keep_blank_values=True)]
    for name, value in written:
        if SENSITIVE.search(name) and not VARIABLE.search(value):
            raise DataError(
                f"the value of {name!r} is written out", where=where, hint=f'keep it in a variable: {name}: "${{NAME}}"'
            )
    if isinstance(body, str) and not _is_form(body):
        try:
            json.loads(_put(VARIABLE.sub("x", body), _escaped, 'a "quoted" query', 10))
        except ValueError as error:
            raise DataError(f"the body is not JSON: {error}", where=where, hint='such as {"q": "{query}"}') from error


def _split(url: str) -> tuple[str, str, str]:
    """Scheme with host, the slash after it, and the rest; a variable may stand for any of it."""
    scheme, mark, rest = url.partition("://")
    if not mark:  # the host is in a variable: "${SEARCH_URL}/search"
        return url.partition("/")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash, path


def _is_form(body: Any) -> bool:
    return isinstance(body, str) and not body.lstrip().startswith(("{", "["))


def _put(text: str, escape: Callable[[str], str], query: str, k: int) -> str:
    """Both places filled in one pass, so that a query that says {k} stays as it is."""
    return PLACE.sub(lambda match: escape(query) if match[1] == "query" else str(k), text)


def _encoded(query: str) -> str:
    return quote(query.encode("utf-8", "replace"), safe="")


def _escaped(query: str) -> str:
    return json.dumps(query, ensure_ascii=False)[1:-1]


def _filled(value: Any, query: str, k: int, secrets: Secrets) -> Any:
    if isinstance(value, dict):
        return {name: _filled(held, query, k, secrets) for name, held in value.items()}
    if isinstance(value, list):
        return [_filled(held, query, k, secrets) for held in value]
    if value == "{k}":
        return k
    return _put(secrets.fill(value), str, query, k) if isinstance(value, str) else value
