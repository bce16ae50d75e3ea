"""JSON requests to search services: temporary failures are repeated, secrets are hidden in every message.

The standard library is enough, so `http:`, `opensearch:` and `elasticsearch:` need no extra. Redirects are not
followed, so a header with a token stays at its host. Certificates are checked; a private authority is named by the
variable SSL_CERT_FILE.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.http.client import Client, Reply, Unanswered
from steelyard.http.endpoint import check_online, split_address
from steelyard.http.retry import backoff, is_temporary, retry_after
from steelyard.http.secrets import Secrets, check_transport
from steelyard.retrievers.search_services.responses import FIRST_WAIT

LONGEST_WAIT = 60.0


class Refusal(ModelError):
    """A service returned an error; `status` is the HTTP status."""

    def __init__(self, message: str, status: int, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, found=status)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """The JSON value of a response, how long it took, and how often the request was repeated."""

    value: Any
    seconds: float
    retries: int


@dataclass(frozen=True)
class Fault:
    """A temporary failure, and the pause that the service asks for."""

    error: MissingPart | Refusal
    wait: float | None = None


class SearchClient:
    """One service for any number of threads. `close` it after use."""

    def __init__(
        self,
        address: str,
        *,
        headers: Mapping[str, str],
        timeout: float,
        retries: int,
        secrets: Secrets,
        credentials: bool = False,
        allow_http: bool = False,
    ) -> None:
        parts = split_address(address)
        if parts is None or not parts.hostname:
            raise UsageError.invalid(
                "the address of a service",
                expected="a URL such as http://localhost:9200",
                found=secrets.hide(address),
                option="url",
            )
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                f"the address of {secrets.hide(parts.hostname)} must not contain a user or a password",
                hint="keep them in an environment variable: auth_env=NAME, or ${NAME} in a header of the template",
                option="url",
                expected="an address without credentials",
            )
        if credentials:
            check_transport(parts.scheme, parts.hostname, allow_http=allow_http)
        check_online(parts.hostname, secrets.hide(parts.hostname), secrets.settings)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "steelyard", **headers}
        self._retries, self._secrets = retries, secrets
        self._client = Client(self._origin, timeout)

    def request(self, method: str, target: str, body: bytes | None = None, kind: str = "application/json") -> Answer:
        """Return the JSON value of the response. A status other than 2xx is a Refusal; no response, a MissingPart."""
        headers = {**self._headers, **({"Content-Type": kind} if body is not None else {})}
        retries = 0
        while True:
            outcome = self._attempt(method, self._prefix + target, body, headers, retries)
            if isinstance(outcome, Answer):
                return outcome
            if retries == self._retries:
                raise outcome.error
            time.sleep(backoff(retries, FIRST_WAIT) if outcome.wait is None else min(outcome.wait, LONGEST_WAIT))
            retries += 1

    def send_json(self, method: str, target: str, value: Any) -> Answer:
        """Send a JSON body. Unpaired surrogates, which UTF-8 cannot encode, are sent as question marks."""
        return self.request(method, target, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

    def close(self) -> None:
        """Close all connections."""
        self._client.close_idle()

    def _attempt(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], retries: int
    ) -> Answer | Fault:
        url = self._origin + target
        where = self._secrets.hide(f"{method} {url.partition('?')[0]}")
        after = f" after {retries + 1} attempts" if retries else ""
        start = time.perf_counter()
        try:
            reply = self._client.send(method, url, body, headers)
        except Unanswered as error:
            late = isinstance(error.__cause__, TimeoutError)
            reason = "no answer in time" if late else self._secrets.excerpt(str(error))
            missing = MissingPart(
                f"{where} failed: {reason}{after}", hint="check that the service is running at that address"
            )
            if error.permanent:
                raise missing from error
            return Fault(missing)
        seconds = time.perf_counter() - start
        if not 200 <= reply.status < 300:
            refusal = self._refusal(f"{where} returned {reply.status}{after}", reply)
            if not is_temporary(reply.status):
                raise refusal
            return Fault(refusal, retry_after(reply.headers))
        try:
            value = reply.json() if reply.body.strip() else None
        except ValueError as error:
            raise ModelError(
                f"the response to {where} must be JSON, got {self._secrets.excerpt(reply.body)}",
                hint="check that the address is that of the search",
                expected="JSON",
            ) from error
        return Answer(value, seconds, retries)

    def _refusal(self, message: str, reply: Reply) -> Refusal:
        hint = None
        if reply.status in (401, 403):
            hint = "check the credentials: the headers of the template, or the variable in auth_env"
        elif 300 <= reply.status < 400:
            location = self._secrets.excerpt(reply.headers.get("Location", "an unknown address"))
            hint = f"redirects are not followed: use the new address {location}"
        return Refusal(f"{message}: {self._secrets.excerpt(reply.body)}", reply.status, hint=hint)
