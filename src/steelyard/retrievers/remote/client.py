"""JSON over HTTP for search services: connections kept alive, failures that may heal tried again, no secrets shown.

The standard library is enough here, so `http:`, `opensearch:` and `elasticsearch:` need no extra. Redirects are not
followed: a header with a token must not travel to another host. Certificates are checked; a private authority is
named by the variable SSL_CERT_FILE.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from steelyard import config
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.retrievers.remote.answers import FIRST_WAIT
from steelyard.retrievers.remote.pool import Pool
from steelyard.retrievers.remote.secrets import Secrets
from steelyard.services.endpoint import is_loopback
from steelyard.services.retry import backoff, may_heal, retry_after

LONGEST_WAIT = 60.0
SHOWN = 300


class Refusal(ModelError):
    """A service answered, but with an error; `status` is the code of HTTP."""

    def __init__(self, message: str, status: int, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """What a service said, how long that took, and how often it had to be asked again."""

    value: Any
    seconds: float
    retries: int


@dataclass(frozen=True)
class Fault:
    """A failure that may heal, and how long the service asks to be left alone."""

    error: MissingPart | Refusal
    wait: float | None = None


class Client:
    """One service, for any number of threads. `close` it when the asking is over."""

    def __init__(
        self, address: str, *, headers: Mapping[str, str], timeout: float, retries: int, secrets: Secrets
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{secrets.hide(address)!r} is not the address of a service", hint="such as http://localhost:9200"
            )
        if config.offline() and not is_loopback(parts.hostname):
            raise MissingPart(
                f"{secrets.hide(parts.hostname)} cannot be asked while the network is off limits",
                hint="unset STEELYARD_OFFLINE and HF_HUB_OFFLINE, and leave out --offline",
            )
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "steelyard", **headers}
        self._retries, self._secrets = retries, secrets
        self._pool: Pool[HTTPConnection] = Pool(lambda: _connect(parts.scheme, parts.netloc, timeout))

    def ask(self, method: str, target: str, body: bytes | None = None, kind: str = "application/json") -> Answer:
        """The JSON value of the answer. An answer other than 2xx is a Refusal; no answer is a MissingPart."""
        headers = {**self._headers, **({"Content-Type": kind} if body is not None else {})}
        tries = 0
        while True:
            found = self._try(method, self._prefix + target, body, headers, tries)
            if isinstance(found, Answer):
                return found
            if tries == self._retries:
                raise found.error
            time.sleep(backoff(tries, FIRST_WAIT) if found.wait is None else min(found.wait, LONGEST_WAIT))
            tries += 1

    def send(self, method: str, target: str, value: Any) -> Answer:
        """Ask with a JSON body. Half of a surrogate pair, which UTF-8 cannot carry, is sent as a question mark."""
        return self.ask(method, target, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _try(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], tries: int
    ) -> Answer | Fault:
        where = f"{method} {self._origin}{target.partition('?')[0]}"
        try:
            start = time.perf_counter()
            status, answered, data = self._exchange(method, target, body, headers)
            seconds = time.perf_counter() - start
        except (OSError, HTTPException) as error:
            reason = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
            message = self._secrets.hide(f"{where} failed: {reason}{_after(tries)}")
            return Fault(MissingPart(message, hint="is the service running at that address?"))
        if not 200 <= status < 300:
            refusal = self._refusal(f"{where} answered {status}{_after(tries)}: {_excerpt(data)}", status, answered)
            if not may_heal(status):
                raise refusal
            return Fault(refusal, retry_after(answered))
        try:
            return Answer(json.loads(data) if data.strip() else None, seconds, tries)
        except ValueError as error:
            message = f"{where} answered with something that is not JSON: {_excerpt(data)}"
            raise ModelError(self._secrets.hide(message), hint="is that the address of the search?") from error

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Message, bytes]:
        """One request; a connection that the service closed while it was idle is opened again, which is no retry."""
        with self._pool.connection() as (connection, used):
            try:
                return _send(connection, method, target, body, headers)
            except (ConnectionError, HTTPException):
                if not used:
                    raise
                connection.close()
                return _send(connection, method, target, body, headers)

    def _refusal(self, message: str, status: int, headers: Message) -> Refusal:
        hint = None
        if status in (401, 403):
            hint = "the service wants other credentials: look at the headers of the template, or at auth_env"
        elif 300 <= status < 400:
            place = self._secrets.hide(headers.get("Location", "elsewhere"))
            hint = f"it points to {place}; redirects are not followed, give the address that it points to"
        return Refusal(self._secrets.hide(message), status, hint=hint)


def _connect(scheme: str, netloc: str, timeout: float) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(netloc, timeout=timeout, context=ssl.create_default_context())
    return HTTPConnection(netloc, timeout=timeout)


def _send(
    connection: HTTPConnection, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
) -> tuple[int, Message, bytes]:
    connection.request(method, target, body, dict(headers))
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def _after(tries: int) -> str:
    return f" after {tries + 1} tries" if tries else ""


def _excerpt(data: bytes) -> str:
    text = " ".join(data.decode("utf-8", "replace").split())
    return (text if len(text) <= SHOWN else text[:SHOWN] + "…") or "nothing"
