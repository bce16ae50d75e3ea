"""A model service that answers JSON: requests are repeated where that may help, paced and counted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from steelyard.errors import MissingPart, ModelError, SteelyardError
from steelyard.http.client import Client, Reply, Unanswered
from steelyard.http.endpoint import Endpoint
from steelyard.http.retry import backoff, is_temporary, retry_after
from steelyard.http.traffic import RateLimiter, Traffic
from steelyard.http.usage import Usage, billed

REFUSALS = (400, 413, 422)
"""Statuses of a request that may be too large."""
BAD_GATEWAY = 502


class Abandoned(Exception):
    """The request was given up because the work it belonged to has ended."""


@dataclass(frozen=True)
class Refused:
    """The service refused the request; it may accept a smaller one."""

    status: int
    message: str


@dataclass(frozen=True)
class Fault:
    """Why an attempt failed; `wait` is the pause that the service asks for."""

    kind: str
    message: str
    temporary: bool = True
    wait: float | None = None
    reply: Reply | None = None


class Service:
    """One service for any number of threads. `usage` counts its requests and tokens."""

    def __init__(self, endpoint: Endpoint, traffic: Traffic) -> None:
        self.endpoint = endpoint
        self.traffic = traffic
        self.usage = Usage(traffic.price_per_million_tokens, traffic.price_per_thousand_searches)
        self._limiter = RateLimiter(traffic.requests_per_minute, traffic.tokens_per_minute)
        self._client = Client(endpoint.filled, traffic.timeout)

    def post(self, path: str, body: Mapping[str, Any], tokens: int, stop: threading.Event) -> Any | Refused:
        """Send a request of about so many tokens and return the JSON response, or `Refused` if it may be too large.

        Once `stop` is set, nothing is started or repeated any more: `Abandoned`.
        """
        self.endpoint.check_reachable()
        payload = json.dumps(body, allow_nan=False).encode()
        retries, waited = 0, 0.0
        while True:
            self.usage.waited(self._limiter.wait(tokens, stop))
            if stop.is_set():
                raise Abandoned
            outcome = self._attempt(path, payload)
            if not isinstance(outcome, Fault):
                self._count(outcome, tokens)
                return outcome
            pause = backoff(retries, self.traffic.backoff) if outcome.wait is None else outcome.wait
            again = outcome.temporary and retries < self.traffic.max_retries and waited + pause <= self.traffic.max_wait
            self.usage.fault(outcome.kind, retried=again)
            if outcome.reply is not None and outcome.reply.status in REFUSALS:
                return Refused(outcome.reply.status, outcome.message)
            if not again:
                raise self._error(outcome, path, retries, waited + pause)
            if outcome.wait is None:
                stop.wait(pause)
                self.usage.waited(pause)
            else:
                self._limiter.pause(pause)  # the service asks all requests to wait, not only this one
            retries, waited = retries + 1, waited + pause

    def abort(self) -> None:
        """Abort every request in flight."""
        self._client.abort()

    def close(self) -> None:
        """Close idle connections; they are opened again when needed."""
        self._client.close_idle()

    def _attempt(self, path: str, payload: bytes) -> Any | Fault:
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.endpoint.headers()}
        started = time.monotonic()
        try:
            reply = self._client.send("POST", self.endpoint.at(path), payload, headers)
        except Unanswered as error:
            late = isinstance(error.__cause__, TimeoutError)
            message = self.endpoint.secrets.excerpt(str(error))
            return Fault("timeout" if late else "no answer", message, temporary=not error.permanent)
        finally:
            self.usage.request(time.monotonic() - started)
        if not 200 <= reply.status < 300:
            return self._fault(reply)
        try:
            answer = reply.json()
        except ValueError:
            excerpt = self.endpoint.secrets.excerpt(reply.body)
            return Fault("not JSON", f"the response must be JSON, got {excerpt!r}")
        if isinstance(answer, dict) and answer.get("error"):  # some gateways report failures of others with status 200
            return self._fault(replace(reply, status=_status(answer["error"]), reason="within a 200"))
        return answer

    def _fault(self, reply: Reply) -> Fault:
        message = self.endpoint.secrets.excerpt(_message(reply))
        temporary = is_temporary(reply.status) and "insufficient_quota" not in message
        return Fault(str(reply.status), message, temporary, retry_after(reply.headers), reply)

    def _count(self, answer: Any, expected: int) -> None:
        tokens, searches = billed(answer)
        self.usage.tokens(tokens, searches)
        if tokens is not None:
            self._limiter.correct(expected, tokens)

    def _error(self, fault: Fault, path: str, retries: int, waiting: float) -> SteelyardError:
        """Return the error for the last attempt; `waiting` is the total wait that one more attempt would need."""
        where = self.endpoint.secrets.hide(self.endpoint.at(path).partition("?")[0])
        tried = f", after {retries} {'repetition' if retries == 1 else 'repetitions'}" if retries else ""
        reply = fault.reply
        if reply is None:
            hint = "check that the service is running and that the address is right"
            if not fault.temporary:
                hint = "check http or https; trusted certificates come from the system, or from SSL_CERT_FILE"
            return MissingPart(f"{where}: {fault.message}{tried}", hint=hint)
        reason = self.endpoint.secrets.excerpt(reply.reason)
        message = f"{where} returned {reply.status} {reason}{tried}: {fault.message}"
        if reply.status in (401, 403):
            name = self.endpoint.key_env
            hint = f"check the key in {name}" if name else "name the variable that holds the key: key_env=NAME"
            return MissingPart(message, hint=hint)
        if fault.temporary:
            hint = "try again later: responses received so far are stored"
            if waiting > self.traffic.max_wait:
                hint = f"one more attempt needs {waiting:.0f} s of waiting: raise max_wait={self.traffic.max_wait:g}"
            return MissingPart(message, hint=hint)
        if reply.status == 404:
            return MissingPart(message, hint="check the address and the name of the model")
        if 300 <= reply.status < 400:
            return MissingPart(message, hint="redirects are not followed: use the new address")
        return ModelError(message, hint="check that the options fit the model and the service")


def _message(reply: Reply) -> str:
    """Return the error message in a response of OpenAI, TEI, Cohere or FastAPI, or else the whole text."""
    if 300 <= reply.status < 400:
        return f"see {reply.headers.get('Location', 'an unknown address')}"
    try:
        value = reply.json()
    except ValueError:
        return reply.body.decode("utf-8", "replace")
    code = ""
    if isinstance(value, dict):
        code = _code(value)
        for name in ("error", "message", "detail"):
            inner = value.get(name)
            if inner:
                value = inner
                break
    if isinstance(value, dict):
        code = code or _code(value)
        value = value.get("message") or value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{code}: {text}" if code and code not in text else text


def _status(error: Any) -> int:
    """Return the status of an error inside a response: its own code, or else that of a bad gateway.

    >>> _status({"code": 429}), _status({"code": "model_busy"}), _status("busy")
    (429, 502, 502)
    """
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else BAD_GATEWAY


def _code(value: Mapping[str, Any]) -> str:
    code = value.get("code") or value.get("type") or value.get("error_type") or ""
    return code if isinstance(code, str) else ""
