"""Secrets of every client: read from the environment, sent to the right host, hidden in messages, never stored.

- A secret is an environment variable: `key_env=NAME`, `auth_env=NAME`, or `${NAME}` in an address or a template.
- `Secrets` reads variables, strips line breaks and refuses control characters; errors name the variable, not its value.
- `Secrets.hide` and `Secrets.excerpt` remove the values, also encoded (Base64, URL, JSON), from a text before it is
  shortened or shown.
- `stored` replaces every literal value of a request that is not known to be harmless by a hash.
- `check_transport` keeps credentials off unencrypted connections, and `check_owner` keeps the key of a well-known
  service at that service.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from steelyard.config import Settings
from steelyard.errors import MissingPart, UsageError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
SHORTEST = 4
"""Values below this length are not hidden: they occur in every message."""
EXCERPT = 300
"""Characters of a service's answer that an error shows."""
SCANNED = 1 << 20
"""Bytes of an answer that are searched for a message."""

OWNERS = {
    "OPENAI_API_KEY": ("api.openai.com",),
    "COHERE_API_KEY": ("api.cohere.com", "api.cohere.ai"),
    "JINA_API_KEY": ("api.jina.ai",),
    "VOYAGE_API_KEY": ("api.voyageai.com",),
    "MISTRAL_API_KEY": ("api.mistral.ai",),
    "HF_TOKEN": ("huggingface.co", "huggingface.cloud"),
}
"""The hosts that may receive the key in a variable: these, and their subdomains."""

SENSITIVE = re.compile(
    r"auth|cookie|token|secret|passw|pwd|credential|signature|(^|[-_])sig$|api[-_]?key|access[-_]?key|"
    r"(functions|subscription|account|master|admin|private)[-_]?key",
    re.IGNORECASE,
)
"""Names of fields that hold secrets: a literal value there is refused. Not meant: `max_tokens`, `pad_token`."""
COUNTS = re.compile(
    r"(max|min|num|new|total)[-_]?\w*tokens?$|tokenizer|token[-_]?(type|count|limit)|"
    r"(^|[-_])(pad|eos|bos|unk|cls|sep|mask|image|special|start|end)[-_]tokens?([-_]ids?)?$",
    re.IGNORECASE,
)
SENSITIVE_VARIABLE = re.compile(r"(^|_)(KEY|PAT|DSN|PASS|PASSPHRASE|SAS|JWT)$|CONNECTION_STRING", re.IGNORECASE)
"""Further names of environment variables that hold secrets."""
CREDENTIALS_IN_URL = re.compile(r"://[^/@\s]*:[^/@\s]+@")

HARMLESS = frozenset(
    """
    accept accept-charset accept-encoding accept-language content-type user-agent x-request-source
    q query text input question search keyword keywords terms must should filter match multi_match bool knn vector
    k n size limit top top_k topk top_n rows count max_results num_results page per_page from offset start
    index collection database table field fields columns _source source select include exclude fl qf df sort order
    order_by lang language locale region country type kind mode operator default_operator format wt output encoding
    encoding_format version api-version api_version v deployment model task task_type input_type prompt_name
    instruction dimensions dimension truncate truncation analyzer analyser similarity metric space num_candidates ef
    nprobe boost alpha weight weights hybrid rerank explain track_total_hits with_payload with_vector return_documents
    """.split()  # noqa: SIM905  # one word per name reads better than quotes
)
"""Fields of requests whose literal values may be stored and shown; every other one is stored as a hash."""
SCHEMES = frozenset({"bearer", "basic", "apikey", "token", "key"})
PLACEHOLDER = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|\{(query|k)\}")
SMALL = 10_000
"""Numbers below this are not secrets."""


class Secrets:
    """Reads environment variables and hides their values.

    `allowed` names the only variables that `${NAME}` may read; None allows all, for text that the user typed.

    >>> secrets = Secrets(Settings.load(secrets={"SEARCH_TOKEN": "s3cret"}))
    >>> secrets.fill("Bearer ${SEARCH_TOKEN}")
    'Bearer s3cret'
    >>> secrets.hide("no access for s3cret or czNjcmV0")
    'no access for ${SEARCH_TOKEN} or ${SEARCH_TOKEN}'
    """

    def __init__(self, settings: Settings | None = None, allowed: Collection[str] | None = None) -> None:
        self.settings = settings or Settings.load()
        self._allowed = allowed
        self._labels: dict[str, str] = {}

    def fill(self, text: str) -> str:
        """Replace every `${NAME}` by the value of the variable; one that is not set raises a MissingPart."""
        return VARIABLE.sub(lambda match: self._allowed_value(match.group(1)), text)

    def value(self, name: str) -> str:
        """Return the value of a variable without blanks around it, and hide it in messages from now on."""
        value = (self.settings.secret(name) or "").strip()
        if not value:
            raise MissingPart(f"the environment variable {name} is not set", hint=f"export {name}=...")
        if any(unicodedata.category(character) == "Cc" for character in value):
            raise UsageError(
                f"the environment variable {name} must be one line without control characters",
                hint=f"export {name} again, without line breaks inside",
                option=name,
                expected="one line without control characters",
            )
        self.remember(value, f"${{{name}}}")
        return value

    def header(self, name: str) -> str:
        """Return the value of a variable for an HTTP header, which must be ASCII."""
        value = self.value(name)
        if not value.isascii():  # http.client would quote the whole value in its error
            raise UsageError(
                f"the environment variable {name} must contain only ASCII characters",
                hint="check that the key was copied completely",
                option=name,
                expected="only ASCII characters",
            )
        return value

    def authorization(self, name: str) -> str:
        """Return the Authorization header for a variable with `user:password` or a scheme and token, `ApiKey ...`."""
        value = self.header(name)
        _, space, token = value.partition(" ")
        if space:
            self.remember(token.strip(), f"${{{name}}}")
            return value
        user, colon, password = value.partition(":")
        if not colon:
            raise MissingPart(
                f"the environment variable {name} must hold user:password, or a scheme and a token",
                hint=f"export {name}='admin:...' or {name}='ApiKey ...'",
                option=name,
            )
        self.remember(password, f"${{{name}}}")
        return "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def remember(self, value: str, label: str) -> None:
        """Show `label` in place of a value, however the value is encoded."""
        if len(value) >= SHORTEST:
            self._labels.update(dict.fromkeys(_forms(value), label))

    def hide(self, text: str) -> str:
        """Return the text without any of the values."""
        for value in sorted(self._labels, key=len, reverse=True):
            text = text.replace(value, self._labels[value])
        return text

    def excerpt(self, answer: str | bytes, limit: int = EXCERPT) -> str:
        r"""Return the start of an answer as one line for an error: secrets hidden first, then shortened.

        >>> Secrets().excerpt(b"two\nlines\x1b[31m", 8)
        'two line…'
        """
        cut = len(answer) > SCANNED
        text = answer[:SCANNED].decode("utf-8", "replace") if isinstance(answer, bytes) else answer[:SCANNED]
        text = self.hide(text)
        if cut:  # a value that was cut in two at the end must not show its first half
            text = text[: -max(map(len, self._labels), default=1)]
        line = " ".join("".join(" " if _is_control(character) else character for character in text).split())
        return (line if len(line) <= limit else line[:limit] + "…") or "nothing"

    def _allowed_value(self, name: str) -> str:
        if self._allowed is not None and name not in self._allowed:
            names = ",".join([*self._allowed, name])
            raise UsageError(
                f"the template must not read the environment variable {name} without permission",
                hint=f"if you trust the template, allow it by the option env={names}",
                option="env",
                found=name,
                expected="a variable that is named by the option env",
            )
        return self.value(name)


def _forms(value: str) -> set[str]:
    """Return the value as it looks in text, URLs, JSON, HTML attributes and inside of Base64."""
    data = value.encode()
    forms = {value, json.dumps(value)[1:-1], value.replace("/", "\\/"), repr(value)[1:-1], data.hex()}
    for escaped in (quote(value, safe=""), quote(value), quote_plus(value)):
        forms |= {escaped, re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), escaped)}
    encoders: tuple[Callable[[bytes], bytes], ...] = (b64encode, urlsafe_b64encode)
    for encode in encoders:
        forms |= {(whole := encode(data).decode()), whole.rstrip("=")}
        for shift in range(3):  # inside of a longer text, such as user:password, only the middle is the same
            inner = encode(b"\0" * shift + data).decode()[-(-8 * shift // 6) : 8 * (shift + len(data)) // 6]
            if len(inner) >= 2 * SHORTEST:
                forms.add(inner)
    return forms


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def stored(name: str, value: Any) -> Any:
    """Return what may be stored of a field of a request: the value if it is harmless, else a hash of it.

    >>> stored("size", 10), stored("Authorization", "Bearer ${TOKEN}"), stored("fields", ["title", "text"])
    (10, 'Bearer ${TOKEN}', ['title', 'text'])
    >>> stored("x-functions-key", "abc") == stored("x-functions-key", "abc") != stored("x-functions-key", "abd")
    True
    >>> stored("body", {"code": "s3cret", "query": {"match": {"title": "{query}"}}})["query"]
    {'match': {'title': '{query}'}}
    """
    if isinstance(value, Mapping):
        return {str(key): stored(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [stored(name, item) for item in value]
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < SMALL):
        return value
    if name.lower() in HARMLESS or (isinstance(value, str) and _only_placeholders(value)):
        return value
    return hashed(str(value))


def _only_placeholders(value: str) -> bool:
    rest = PLACEHOLDER.sub(" ", value)
    return all(word.lower() in SCHEMES or not any(map(str.isalnum, word)) for word in rest.split())


@lru_cache(maxsize=1024)
def hashed(value: str) -> str:
    """Return a short hash that is slow to compute, so that it does not help to guess the value.

    >>> hashed("s3cret").startswith("hash:"), len(hashed("s3cret"))
    (True, 13)
    """
    digest = hashlib.pbkdf2_hmac("sha256", value.encode("utf-8", "surrogatepass"), b"steelyard", 100_000)
    return f"hash:{digest[:4].hex()}"


def is_sensitive(name: str) -> bool:
    """Return whether a field of that name holds a secret.

    >>> [name for name in ("Authorization", "api_key", "sig", "max_tokens", "size", "X-Auth-Key") if is_sensitive(name)]
    ['Authorization', 'api_key', 'sig', 'X-Auth-Key']
    """
    return bool(SENSITIVE.search(name)) and not COUNTS.search(name)


def secret_variables(variables: Mapping[str, str], needed: Collection[str] = ()) -> list[str]:
    """Return the names of environment variables that hold secrets, by their names or values, without those needed.

    A name in `needed` that ends with `*` is a prefix.

    >>> variables = {"OPENAI_API_KEY": "a", "HF_TOKEN": "b", "DB": "pg://me:pw@host", "TOKENIZERS_PARALLELISM": "no"}
    >>> secret_variables(variables, ["HF_*"])
    ['DB', 'OPENAI_API_KEY']
    """
    exact = {name for name in needed if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in needed if name.endswith("*"))
    return sorted(
        name
        for name, value in variables.items()
        if name not in exact
        and not name.startswith(prefixes)
        and (is_sensitive(name) or SENSITIVE_VARIABLE.search(name) or CREDENTIALS_IN_URL.search(value))
    )


def check_owner(variable: str, host: str) -> None:
    """Refuse to send the key of a well-known service to another host."""
    if variable in OWNERS and not is_owner(variable, host):
        raise UsageError(
            f"the key in {variable} must be sent to {OWNERS[variable][0]} only, got the host {host}",
            hint="copy the key for that host to a variable of another name: key_env=NAME",
            option="key_env",
            found=host,
            expected=OWNERS[variable][0],
        )


def is_owner(variable: str, host: str) -> bool:
    """Return whether the key in a variable belongs to that host."""
    return any(host == owner or host.endswith(f".{owner}") for owner in OWNERS[variable])


def check_transport(scheme: str, host: str, *, allow_http: bool) -> None:
    """Refuse to send credentials over plain HTTP to another machine, unless the user allows it."""
    if scheme == "http" and not allow_http and not is_loopback(host):
        raise UsageError(
            f"credentials for {host} must be sent by https, got http",
            hint="use https, or allow unencrypted credentials by the option allow_http=yes",
            option="allow_http",
            found="http",
            expected="https",
        )


def is_loopback(host: str) -> bool:
    """Return whether the host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
