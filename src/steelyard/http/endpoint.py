"""Where a service is, and which key it may see.

A key comes from an environment variable, is read when a request is made, and is kept nowhere: not in settings, not in
a result, not in the text of an error. The keys of well-known services go to those services alone.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlsplit

from steelyard.config import Settings
from steelyard.errors import MissingPart, UsageError

OWNERS = {
    "OPENAI_API_KEY": ("api.openai.com",),
    "COHERE_API_KEY": ("api.cohere.com", "api.cohere.ai"),
    "JINA_API_KEY": ("api.jina.ai",),
    "VOYAGE_API_KEY": ("api.voyageai.com",),
    "MISTRAL_API_KEY": ("api.mistral.ai",),
    "HF_TOKEN": ("huggingface.co", "huggingface.cloud"),
}
"""Whose key a variable holds: that host, and hosts under it."""
SECRET_WORDS = ("key", "token", "secret", "password", "sig", "auth")


@dataclass(frozen=True)
class Endpoint:
    """A service's base URL, and the variable that holds the key for it (None: it needs no key).

    >>> Endpoint.of("http://localhost:8080/v1/").at("embeddings")
    'http://localhost:8080/v1/embeddings'
    >>> Endpoint.of("https://api.openai.com/v1").key_env
    'OPENAI_API_KEY'
    """

    url: str
    key_env: str | None = None
    key_header: str = "Authorization"
    settings: Settings = field(default_factory=Settings.load, repr=False, compare=False)
    """Whether the network may be used, and where keys are looked up."""

    @classmethod
    def of(
        cls,
        url: str,
        key_env: str | None = None,
        key_header: str = "Authorization",
        settings: Settings | None = None,
    ) -> Endpoint:
        """A checked endpoint. Only a well-known service gets a key without `key_env`, and only its own."""
        parts = read_address(url)
        if parts is None or not parts.hostname:
            raise UsageError(f"cannot read the address {url!r}", hint="such as url=http://localhost:8080/v1")
        suspicious = [name for name, _ in parse_qsl(parts.query) if any(word in name.lower() for word in SECRET_WORDS)]
        if parts.username or parts.password or suspicious:  # the address is part of the model's name, and so of results
            found = suspicious[0] if suspicious else "a user or password"
            raise UsageError(
                f"the address of {parts.hostname} holds {found}",
                hint="put the key into an environment variable and give its name: key_env=NAME",
            )
        key_env = key_env or next((name for name in OWNERS if _owns(name, parts.hostname)), None)
        if key_env in OWNERS and not _owns(key_env, parts.hostname):
            raise UsageError(
                f"the key in {key_env} is meant for {OWNERS[key_env][0]}, not for {parts.hostname}",
                hint="put the key for that host into a variable of another name, and give that name: key_env=NAME",
            )
        if key_env and parts.scheme == "http" and not is_loopback(parts.hostname):
            raise UsageError(
                f"a key would go to {parts.hostname} unencrypted", hint="use https, or no key_env if it needs no key"
            )
        return cls(url.rstrip("/"), key_env, key_header, settings or Settings.load())

    @property
    def host(self) -> str:
        """The host's name, as shown in errors."""
        return urlsplit(self.url).hostname or ""

    def at(self, path: str) -> str:
        """The full address of a path under the base; an address that already ends in it is left alone."""
        parts = urlsplit(self.url)
        base = parts.path.rstrip("/")
        whole = base if base.endswith(f"/{path}") else f"{base}/{path}"
        return parts._replace(path=whole).geturl()

    def headers(self) -> dict[str, str]:
        """The header that carries the key; empty without one. A variable that is not set is a MissingPart."""
        key = self._key()
        if key is None:
            return {}
        return {self.key_header: f"Bearer {key}" if self.key_header.lower() == "authorization" else key}

    def scrub(self, text: str) -> str:
        """The text without the key: services repeat it in what they say about it."""
        key = (self.settings.secret(self.key_env or "") or "").strip()
        return text.replace(key, "***").replace(key.replace("/", "\\/"), "***") if key else text

    def check_reachable(self) -> None:
        """A MissingPart if the network is off limits; loopback is no network."""
        if self.settings.offline and not is_loopback(self.host):
            raise MissingPart(
                f"{self.host} cannot be asked while the network is off limits",
                hint="unset STEELYARD_OFFLINE and HF_HUB_OFFLINE, and leave out --offline",
            )

    def _key(self) -> str | None:
        if self.key_env is None:
            return None
        key = (self.settings.secret(self.key_env) or "").strip()
        if not key:
            raise MissingPart(
                f"the environment variable {self.key_env}, which holds the key for {self.host}, is not set",
                hint=f"export {self.key_env}=...",
            )
        if not (key.isascii() and key.isprintable()):  # http.client would quote the whole key in its complaint
            raise UsageError(
                f"the key in {self.key_env} has characters that no header can carry", hint="was it copied whole?"
            )
        return key


def read_address(url: str) -> SplitResult | None:
    """The parts of the address of a web service; None where it has no host, a port that is none, another scheme.

    >>> [bool(read_address(url)) for url in ("https://host:8080/v1", "host:8080", "http://host:http", "http://[::1")]
    [True, False, False, False]
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if sound else None


def is_loopback(host: str) -> bool:
    """Whether the host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _owns(key_env: str, host: str) -> bool:
    return any(host == owner or host.endswith(f".{owner}") for owner in OWNERS[key_env])
