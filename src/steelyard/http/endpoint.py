"""The address of a model service and the environment variable that holds its key.

The key is read when a request is made. It is not part of settings, results or error messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlsplit

from steelyard.config import Settings
from steelyard.errors import MissingPart, UsageError
from steelyard.http.secrets import (
    HARMLESS,
    OWNERS,
    VARIABLE,
    Secrets,
    check_owner,
    check_transport,
    is_loopback,
    is_owner,
)


@dataclass(frozen=True)
class Endpoint:
    """The base URL of a service, and the variable that holds its key (None: the service needs no key).

    >>> Endpoint.of("http://localhost:8080/v1/").at("embeddings")
    'http://localhost:8080/v1/embeddings'
    >>> Endpoint.of("https://api.openai.com/v1").key_env
    'OPENAI_API_KEY'
    """

    url: str
    """The base URL as it was written; it may contain `${NAME}`."""
    key_env: str | None = None
    key_header: str = "Authorization"
    secrets: Secrets = field(default_factory=Secrets, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        url: str,
        key_env: str | None = None,
        key_header: str = "Authorization",
        settings: Settings | None = None,
        *,
        allow_http: bool = False,
    ) -> Endpoint:
        """Return a checked endpoint. Only a well-known service gets a key without `key_env`, and only its own key."""
        check_address(url)
        secrets = Secrets(settings)
        parts = split_address(secrets.fill(url))
        if parts is None or not parts.hostname:
            raise UsageError.invalid(
                "the address", expected="a URL such as http://localhost:8080/v1", found=secrets.hide(url), option="url"
            )
        key_env = key_env or next((name for name in OWNERS if is_owner(name, parts.hostname)), None)
        if key_env:
            check_owner(key_env, parts.hostname)
            check_transport(parts.scheme, parts.hostname, allow_http=allow_http)
        return cls(url.rstrip("/"), key_env, key_header, secrets)

    @property
    def settings(self) -> Settings:
        """Return the settings: whether the network may be used, and where keys are looked up."""
        return self.secrets.settings

    @property
    def filled(self) -> str:
        """Return the base URL with variables filled in."""
        return self.secrets.fill(self.url).rstrip("/")

    @property
    def host(self) -> str:
        """Return the host name, as errors show it."""
        return self.secrets.hide(urlsplit(self.filled).hostname or "")

    def at(self, path: str) -> str:
        """Return the full address of a path below the base, which may already end in it."""
        parts = urlsplit(self.filled)
        base = parts.path.rstrip("/")
        whole = base if base.endswith(f"/{path}") else f"{base}/{path}"
        return parts._replace(path=whole).geturl()

    def headers(self) -> dict[str, str]:
        """Return the header that carries the key; empty without a key."""
        if self.key_env is None:
            return {}
        key = self.secrets.header(self.key_env)
        return {self.key_header: f"Bearer {key}" if self.key_header.lower() == "authorization" else key}

    def check_reachable(self) -> None:
        """Raise a MissingPart if the network is switched off and the host is another machine."""
        check_online(urlsplit(self.filled).hostname or "", self.host, self.settings)


def check_online(host: str, shown: str, settings: Settings) -> None:
    """Raise a MissingPart if the network is switched off and the host is another machine."""
    if settings.offline and not is_loopback(host):
        raise MissingPart(
            f"{shown} cannot be reached in offline mode",
            hint="unset STEELYARD_OFFLINE and HF_HUB_OFFLINE, and remove --offline",
        )


def split_address(url: str) -> SplitResult | None:
    """Return the parts of an http or https address; None if it has another scheme, no host or an invalid port.

    >>> [bool(split_address(url)) for url in ("https://host:8080/v1", "host:8080", "http://host:http", "http://[::1")]
    [True, False, False, False]
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if valid else None


def check_address(url: str, owner: str = "the service") -> None:
    """Refuse an address with credentials: it is part of the model's name, and so of results.

    A parameter that is not known to be harmless may be a key, so only a variable may hold its value.

    >>> check_address("https://host/v1?api-version=2024-02-01"); check_address("https://host/v1?code=${CODE}")
    >>> check_address("https://host/v1?sig=c2VjcmV0")
    Traceback (most recent call last):
    steelyard.errors.UsageError: the parameter 'sig' in the address of the service must be a variable such as ${NAME} \
(keep the value in an environment variable: sig=${NAME})
    """
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0] or url.partition("/")[0]
    user, at, _ = authority.rpartition("@")
    if at and VARIABLE.sub("", user).strip(":"):
        raise UsageError(
            f"the address of {owner} must not contain a user or a password",
            hint="keep credentials in an environment variable: key_env=NAME, auth_env=NAME, or the address: ${NAME}",
            option="url",
            expected="an address without credentials",
        )
    for name, value in parse_qsl(url.partition("?")[2], keep_blank_values=True):
        if name.lower() not in HARMLESS and VARIABLE.sub("", value):
            raise UsageError(
                f"the parameter {name!r} in the address of {owner} must be a variable such as ${{NAME}}",
                hint=f"keep the value in an environment variable: {name}=${{NAME}}",
                option="url",
                field=name,
                expected="a variable such as ${NAME}",
            )
