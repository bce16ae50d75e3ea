"""Templates: a search service that returns JSON, described in a YAML, TOML or JSON file.

    url: https://search.example.org/v1/search
    headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}
    body: {text: "{query}", size: "{k}"}
    ids: hits[*].id
    scores: hits[*].score

`{query}` and `{k}` are filled in as their place requires: percent-encoded in the address, escaped in JSON, and a body
value that is only `"{k}"` becomes a number. `${NAME}` is an environment variable; the user names the variables that a
template may read: `http:search.yaml?env=SEARCH_TOKEN`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from steelyard.errors import DataError, UsageError
from steelyard.files import parse_yaml
from steelyard.http.secrets import VARIABLE, Secrets, is_sensitive, stored
from steelyard.options import Options
from steelyard.retrievers.search_services.json_path import JsonPath
from steelyard.retrievers.search_services.request_options import RequestOptions

PLACE = re.compile(r"\{(query|k)\}")
METHODS = ("GET", "POST", "PUT")
OPTIONS = ("ids", "scores", "method", "max_k", "env", "allow_http", *RequestOptions.NAMES)
USER_OPTIONS = ("env", "allow_http")
"""Permissions of the user, which a template cannot give itself."""
MAX_BYTES = 1 << 20
MAX_DEPTH = 64


@dataclass(frozen=True)
class Template:
    """The content of a template; variables are filled in when a request is made."""

    url: str
    ids: JsonPath
    scores: JsonPath | None = None
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    max_k: int = 10_000
    """The longest list that the service returns."""
    requests: RequestOptions = field(default_factory=RequestOptions)
    env: tuple[str, ...] = ()
    """The environment variables that the template may read."""
    allow_http: bool = False
    """Whether credentials may be sent unencrypted to another machine."""

    @classmethod
    def read(cls, path: Path, extra: Mapping[str, str]) -> Template:
        """Read a template; options of the model name replace those in the file."""
        content = _load(path)
        url, body, headers = str(content.pop("url", "")), content.pop("body", None), content.pop("headers", None) or {}
        if forbidden := [name for name in USER_OPTIONS if name in content]:
            raise DataError(
                f"the template must not set {forbidden[0]}",
                path=path,
                field=forbidden[0],
                hint=f"set it in the model name: http:{path}?{forbidden[0]}=...",
            )
        options = Options(f"the template {path}", {**content, **extra}, OPTIONS)
        ids, scores = options.text("ids"), options.text("scores")
        for name, value in (("url", url), ("ids", ids)):
            if not value:
                raise DataError(f"the template must have {name}", path=path, field=name, hint=f"add {name}: ...")
        if not isinstance(headers, dict):
            raise DataError.invalid("headers", expected="names with values", found=f"{headers!r:.60}", path=path)
        template = cls(
            url=url,
            ids=JsonPath.parse(ids or ""),
            scores=JsonPath.parse(scores) if scores else None,
            method=options.choice("method", ("GET", *METHODS) if body is None else ("POST", *METHODS)),
            headers={str(name): str(value) for name, value in headers.items()},
            body=body,
            max_k=options.whole("max_k", cls.max_k),
            requests=RequestOptions.of(options),
            env=tuple(filter(None, (options.text("env") or "").split(","))),
            allow_http=options.flag("allow_http", False),
        )
        _check(path, template)
        return template

    @property
    def settings(self) -> dict[str, Any]:
        """Return all of it that could change a score; values that may be secret are stored as a hash."""
        return {
            "url": _stored_url(self.url),
            "method": self.method,
            "headers": {name: stored(name, value) for name, value in self.headers.items()},
            "body": _stored_form(self.body) if isinstance(self.body, str) else stored("", self.body),
            "ids": self.ids.text,
            "scores": self.scores.text if self.scores else None,
            "max_k": self.max_k,
            **self.requests.settings,
        }

    @property
    def variables(self) -> list[str]:
        """Return the environment variables that the template reads."""
        return VARIABLE.findall("\n".join([self.url, *self.headers.values(), json.dumps(self.body)]))

    @property
    def has_credentials(self) -> bool:
        """Return whether requests may contain a secret: a variable, or a value that is not known to be harmless."""
        settings = self.settings
        literal = {"url": self.url, "headers": dict(self.headers), "body": self.body}
        return bool(self.variables) or any(settings[name] != value for name, value in literal.items())

    @property
    def kind(self) -> str:
        """Return the media type of the body."""
        return "application/x-www-form-urlencoded" if _is_form(self.body) else "application/json"

    def host(self, secrets: Secrets) -> str:
        """Return scheme and host, with variables filled in."""
        return secrets.fill(_split(self.url)[0])

    def request(self, query: str, k: int, secrets: Secrets) -> tuple[str, bytes | None]:
        """Return the part of the address after the host, and the body, for one query."""
        _, slash, rest = _split(self.url)
        target = _put(secrets.fill(slash + rest), _percent_encoded, query, k) or "/"
        if self.body is None:
            return target, None
        if isinstance(self.body, str):
            escape = _percent_encoded if _is_form(self.body) else _json_escaped
            return target, _put(secrets.fill(self.body), escape, query, k).encode("utf-8", "replace")
        value = _filled(self.body, query, k, secrets)
        return target, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _load(path: Path) -> dict[str, Any]:
    """Return the content of a template file; anything that is not a template is an error with the file's name."""
    if not path.is_file():
        raise UsageError(
            f"the template does not exist: {path}", hint="write http:FILE with a YAML, TOML or JSON file", path=path
        )
    readers: dict[str, Callable[[str], Any]] = {
        ".toml": tomllib.loads,
        ".json": json.loads,
        ".yaml": parse_yaml,
        ".yml": parse_yaml,
    }
    if path.suffix not in readers:
        raise UsageError.invalid(
            "the suffix of a template", expected=".yaml, .toml or .json", found=path.suffix, path=path
        )
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DataError.invalid("a template", expected="at most 1 MiB", found=f"{len(data):,} bytes", path=path)
        value = readers[path.suffix](data.decode("utf-8-sig"))
    except OSError as error:
        raise DataError(
            f"the template cannot be read: {error.strerror}", path=path, hint="check permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError.invalid(
            "a template",
            expected="UTF-8 text",
            found=f"byte {error.object[error.start]:#x} at {error.start}",
            path=path,
        ) from error
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"the template is not valid {path.suffix[1:].upper()}: {reason}", path=path, hint="correct the file"
        ) from error
    except RecursionError as error:
        raise DataError("the template is nested too deeply", path=path, hint="simplify the file") from error
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        names = value if isinstance(value, dict) else type(value).__name__
        raise DataError.invalid(
            "a template", expected="an object with url, body and ids", found=f"{names!r:.80}", path=path
        )
    if _depth(value) > MAX_DEPTH:
        raise DataError.invalid(
            "the depth of a template", expected=f"at most {MAX_DEPTH}", found=_depth(value), path=path
        )
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        ]
    return depth


def _check(path: Path, template: Template) -> None:
    """Refuse a template that sends the same request for every query, or that contains a literal secret."""
    url, body = template.url, template.body
    try:
        written = json.dumps(body)
    except (TypeError, ValueError) as error:
        raise DataError(f"the body must be JSON: {error}", path=path, field="body", hint="quote dates") from error
    if "{query}" not in url and "{query}" not in written:
        raise DataError('url or body must contain "{query}"', path=path, hint='add "{query}" to the body', field="body")
    host, _, rest = _split(url)
    if PLACE.search(host):
        raise DataError.invalid("the host", expected="the same for all queries", found=host, path=path, field="url")
    if "@" in host and VARIABLE.sub("", host.partition("://")[2].rpartition("@")[0]).strip(":"):
        raise DataError(
            "the address must not contain a password", path=path, field="url", hint="use a header with ${NAME}"
        )
    if isinstance(body, str) and not _is_form(body):
        try:
            body = json.loads(_put(VARIABLE.sub("${X}", body), _json_escaped, "{query}", 10))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"the body must be JSON: {error}", path=path, field="body", hint='for example {"q": "{query}"}'
            ) from error
    literals = [*template.headers.items(), *parse_qsl(urlsplit(rest).query, keep_blank_values=True), *_leaves(body)]
    for name, value in literals:
        if is_sensitive(name) and not VARIABLE.search(value) and not PLACE.fullmatch(value):
            raise DataError(
                f"the value of {name!r} must be a variable such as ${{NAME}}",
                path=path,
                field=name,
                hint=f'keep it in an environment variable: {name}: "${{NAME}}"',
                expected="a variable such as ${NAME}",
            )


def _leaves(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return the text and number fields of a body with their names."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves(item, str(key))]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item, name)]
    if isinstance(value, str) and not name:
        return parse_qsl(value, keep_blank_values=True) if _is_form(value) else []
    return [] if value is None or isinstance(value, bool) else [(name, str(value))]


def _stored_url(url: str) -> str:
    base, mark, parameters = url.partition("?")
    return base + mark + _stored_form(parameters) if mark else url


def _stored_form(text: str) -> str:
    """Return `name=value&name=value`, or a JSON text, with values that may be secret replaced by hashes."""
    if not _is_form(text):
        # The parameters of an address may begin like JSON and be something else: `?{query}`, `?[q]={query}`.
        with suppress(ValueError, RecursionError):
            value = json.loads(_put(text, _json_escaped, "{query}", 10))
            harmless = stored("", value)
            return text if harmless == value else json.dumps(harmless)
    pairs = (pair.partition("=") for pair in text.split("&"))
    return "&".join(f"{name}{mark}{stored(name, value) if value else ''}" for name, mark, value in pairs)


def _split(url: str) -> tuple[str, str, str]:
    """Return scheme and host, the slash after them, and the rest; any of it may be in a variable."""
    scheme, mark, rest = url.partition("://")
    if not mark:  # the host is in a variable: "${SEARCH_URL}/search"
        return url.partition("/")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash, path


def _is_form(body: Any) -> bool:
    return isinstance(body, str) and not body.lstrip().startswith(("{", "["))


def _put(text: str, escape: Callable[[str], str], query: str, k: int) -> str:
    """Fill in both places in one pass, so that `{k}` inside a query stays as it is."""
    return PLACE.sub(lambda match: escape(query) if match[1] == "query" else str(k), text)


def _percent_encoded(query: str) -> str:
    return quote(query.encode("utf-8", "replace"), safe="")


def _json_escaped(query: str) -> str:
    return json.dumps(query, ensure_ascii=False)[1:-1]


def _filled(value: Any, query: str, k: int, secrets: Secrets) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, query, k, secrets) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, query, k, secrets) for item in value]
    if value == "{k}":
        return k
    return _put(secrets.fill(value), str, query, k) if isinstance(value, str) else value
