"""JSON for search services, over the services' own connections: failures that may heal tried again, no secrets shown.

The standard library is enough here, so `http:`, `opensearch:` and `elasticsearch:` need no extra. Redirects are not
followed: a header with a token must not travel to another host. Certificates are checked; a private authority is
named by the variable SSL_CERT_FILE.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.http.client import Client as Connections
from steelyard.http.client import Reply, Unanswered
from steelyard.http.endpoint import is_loopback, read_address
from steelyard.http.retry import backoff, may_heal, retry_after
from steelyard.http.secrets import Secrets
from steelyard.retrievers.search_services.responses import FIRST_WAIT

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
        parts = read_address(address)
        if parts is None or not parts.hostname:
            raise UsageError(
                f"{secrets.hide(address)!r} is not the address of a service", hint="such as http://localhost:9200"
            )
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                f"the address of {secrets.hide(parts.hostname)} holds a user or a password",
                hint="put them into an environment variable: auth_env=NAME, or ${NAME} in a header of the template",
            )
        if secrets.settings.offline and not is_loopback(parts.hostname):
            raise MissingPart(
                f"{secrets.hide(parts.hostname)} cannot be asked while the network is off limits",
                hint="unset STEELYARD_OFFLINE and HF_HUB_OFFLINE, and leave out --offline",
            )
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "steelyard", **headers}
        self._retries, self._secrets = retries, secrets
        self._connections = Connections(self._origin, timeout)

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
        self._connections.close_idle()

    def _try(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], tries: int
    ) -> Answer | Fault:
        url = self._origin + target
        where = f"{method} {url.partition('?')[0]}"
        start = time.perf_counter()
        try:
            reply = self._connections.send(method, url, body, headers)
        except Unanswered as error:
            reason = "no answer in time" if isinstance(error.__cause__, TimeoutError) else str(error)
            message = self._secrets.hide(f"{where} failed: {reason}{_after(tries)}")
            missing = MissingPart(message, hint="is the service running at that address?")
            if error.hopeless:
                raise missing from error
            return Fault(missing)
        seconds = time.perf_counter() - start
        if not 200 <= reply.status < 300:
            refusal = self._refusal(f"{where} answered {reply.status}{_after(tries)}: {_excerpt(reply.body)}", reply)
            if not may_heal(reply.status):
                raise refusal
            return Fault(refusal, retry_after(reply.headers))
        try:
            value = json.loads(reply.body) if reply.body.strip() else None
        except ValueError as error:
            message = f"{where} answered with something that is not JSON: {_excerpt(reply.body)}"
            raise ModelError(self._secrets.hide(message), hint="is that the address of the search?") from error
        return Answer(value, seconds, tries)

    def _refusal(self, message: str, reply: Reply) -> Refusal:
        hint = None
        if reply.status in (401, 403):
            hint = "the service wants other credentials: look at the headers of the template, or at auth_env"
        elif 300 <= reply.status < 400:
            place = self._secrets.hide(reply.headers.get("Location", "elsewhere"))
            hint = f"it points to {place}; redirects are not followed, give the address that it points to"
        return Refusal(self._secrets.hide(message), reply.status, hint=hint)


def _after(tries: int) -> str:
    return f" after {tries + 1} tries" if tries else ""


def _excerpt(data: bytes) -> str:
    text = " ".join(data.decode("utf-8", "replace").split())
    return (text if len(text) <= SHOWN else text[:SHOWN] + "…") or "nothing"
