"""A service that is asked with JSON and answers with JSON: repeated where that may help, paced, counted."""

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
from steelyard.http.retry import backoff, may_heal, retry_after
from steelyard.http.traffic import Pace
from steelyard.http.usage import Usage, billed
from steelyard.options import Traffic

REFUSALS = (400, 413, 422)
"""What services say to a request that is too large, among other things."""
BAD_GATEWAY = 502
SHOWN = 300
MOST = 100_000
"""Bytes of an answer that are looked at for what it says; a key cut in two there is beyond what is shown."""


class Abandoned(Exception):
    """The request was given up because the work it belonged to has ended."""


@dataclass(frozen=True)
class Refused:
    """The service will not take this request; a smaller one it may."""

    status: int
    message: str


@dataclass(frozen=True)
class Fault:
    """Why a try failed; `wait` is what the service asks for, if it does."""

    kind: str
    message: str
    may_heal: bool = True
    wait: float | None = None
    reply: Reply | None = None


class Service:
    """One service, for any number of threads. `usage` is its account."""

    def __init__(self, endpoint: Endpoint, traffic: Traffic) -> None:
        self.endpoint = endpoint
        self.traffic = traffic
        self.usage = Usage(traffic.price_per_million_tokens, traffic.price_per_thousand_searches)
        self._pace = Pace(traffic.requests_per_minute, traffic.tokens_per_minute)
        self._client = Client(endpoint.url, traffic.timeout)

    def post(self, path: str, body: Mapping[str, Any], tokens: int, stop: threading.Event) -> Any | Refused:
        """The answer to a request of about so many tokens, as JSON; `Refused` where a smaller one may do better.

        Once `stop` is set nothing is begun or repeated any more: `Abandoned`.
        """
        self.endpoint.check_reachable()
        payload = json.dumps(body, allow_nan=False).encode()
        retries, waited = 0, 0.0
        while True:
            self.usage.waited(self._pace.wait(tokens, stop))
            if stop.is_set():
                raise Abandoned
            outcome = self._try(path, payload)
            if not isinstance(outcome, Fault):
                self._account(outcome, tokens)
                return outcome
            pause = backoff(retries, self.traffic.backoff) if outcome.wait is None else outcome.wait
            again = outcome.may_heal and retries < self.traffic.max_retries and waited + pause <= self.traffic.max_wait
            self.usage.fault(outcome.kind, retried=again)
            if outcome.reply is not None and outcome.reply.status in REFUSALS:
                return Refused(outcome.reply.status, outcome.message)
            if not again:
                raise self._failure(outcome, path, retries, waited + pause)
            if outcome.wait is None:
                stop.wait(pause)
                self.usage.waited(pause)
            else:
                self._pace.hold(pause)  # what it asks of one request, it asks of all
            retries, waited = retries + 1, waited + pause

    def abort(self) -> None:
        """Cut the connections of everything that is under way."""
        self._client.abort()

    def close(self) -> None:
        """Close idle connections; they open again when they are needed."""
        self._client.close_idle()

    def _try(self, path: str, payload: bytes) -> Any | Fault:
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.endpoint.headers()}
        started = time.monotonic()
        try:
            reply = self._client.send("POST", self.endpoint.at(path), payload, headers)
        except Unanswered as error:
            late = isinstance(error.__cause__, TimeoutError)
            return Fault("timeout" if late else "no answer", str(error), may_heal=not error.hopeless)
        finally:
            self.usage.request(time.monotonic() - started)
        if not 200 <= reply.status < 300:
            return self._fault(reply)
        try:
            answer = json.loads(reply.body)
        except ValueError:
            return Fault("not JSON", f"an answer that is not JSON: {self._quoted(_text(reply.body))!r}")
        if isinstance(answer, dict) and answer.get("error"):  # some gateways put the failures of others into a 200
            return self._fault(replace(reply, status=_status(answer["error"]), reason="within a 200"))
        return answer

    def _fault(self, reply: Reply) -> Fault:
        message = self._quoted(_message(reply))
        heals = may_heal(reply.status) and "insufficient_quota" not in message
        return Fault(str(reply.status), message, heals, retry_after(reply.headers), reply)

    def _quoted(self, text: str) -> str:
        """What the service said, for an error: without the key, in one line, and short. In that order."""
        clean = " ".join(self.endpoint.scrub(text).split())
        return clean if len(clean) <= SHOWN else clean[:SHOWN] + "…"

    def _account(self, answer: Any, expected: int) -> None:
        tokens, searches = billed(answer)
        self.usage.tokens(tokens, searches)
        if tokens is not None:
            self._pace.settle(expected, tokens)

    def _failure(self, fault: Fault, path: str, retries: int, waiting: float) -> SteelyardError:
        """`waiting` is how long the next try would have made it wait in all."""
        where = self.endpoint.at(path).partition("?")[0]
        tried = f", after {retries} {'repetition' if retries == 1 else 'repetitions'}" if retries else ""
        reply = fault.reply
        if reply is None:
            hint = "is the service up, and the address right?"
            if not fault.may_heal:
                hint = "http or https? the certificates that are trusted come from the system, or from SSL_CERT_FILE"
            return MissingPart(f"{where}: {fault.message}{tried}", hint=hint)
        said = f"{where} answered {reply.status} {self._quoted(reply.reason)}{tried}: {fault.message}"
        if reply.status in (401, 403):
            name = self.endpoint.key_env
            hint = f"the key comes from {name}" if name else "name the variable that holds its key: key_env=NAME"
            return MissingPart(said, hint=hint)
        if fault.may_heal:
            hint = "try later: what was answered so far is not asked again"
            if waiting > self.traffic.max_wait:
                hint = f"the next try would be after {waiting:.0f} s of waiting, but max_wait={self.traffic.max_wait:g}"
            return MissingPart(said, hint=hint)
        if reply.status == 404:
            return MissingPart(said, hint="are the address and the model's name right?")
        if 300 <= reply.status < 400:
            return MissingPart(said, hint="redirects are not followed: give the address that it points to")
        return ModelError(said, hint="the service does not take what it was sent: does its model, and its form, fit?")


def _message(reply: Reply) -> str:
    """What the service says about a failure, as OpenAI, TEI, Cohere or FastAPI put it; else the text itself."""
    if 300 <= reply.status < 400:
        return f"see {reply.headers.get('Location', 'elsewhere')}"
    try:
        value = json.loads(reply.body)
    except ValueError:
        return _text(reply.body)
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
    """The status that an error within an answer stands for: its own code, else that of a gateway with no good answer.

    >>> _status({"code": 429}), _status({"code": "model_busy"}), _status("busy")
    (429, 502, 502)
    """
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else BAD_GATEWAY


def _code(value: Mapping[str, Any]) -> str:
    found = value.get("code") or value.get("type") or value.get("error_type") or ""
    return found if isinstance(found, str) else ""


def _text(body: bytes) -> str:
    return body[:MOST].decode("utf-8", "replace")
