"""Requests over kept connections: the whole response within limits of time and size, or `Unanswered`."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from steelyard.http.secrets import is_loopback

MAX_BYTES = 256 << 20
"""The largest response that is read, unless the caller sets another limit."""
CHUNK = 1 << 20


class Unanswered(Exception):
    """No whole response arrived; the text is the reason."""

    @property
    def permanent(self) -> bool:
        """Return whether repeating is useless: the two sides cannot agree on TLS, such as a wrong certificate."""
        cause = self.__cause__
        return isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)


class TooLarge(Unanswered):
    """The response is larger than the limit."""

    permanent = True


@dataclass(frozen=True)
class Reply:
    """A response as it was received."""

    status: int
    reason: str
    headers: Message
    body: bytes

    def json(self) -> Any:
        """Return the body parsed as JSON; anything else raises a ValueError.

        >>> Reply(200, "OK", Message(), b"[" * 100_000).json()
        Traceback (most recent call last):
        ValueError: the JSON value is nested too deeply
        """
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("the JSON value is nested too deeply") from error


class Client:
    """Connections to one host for any number of threads. Redirects are not followed, so a key stays at its host.

    HTTP_PROXY, HTTPS_PROXY and NO_PROXY apply, except that loopback is always reached directly.
    """

    def __init__(self, url: str, timeout: float, max_bytes: int = MAX_BYTES) -> None:
        self.timeout = timeout
        self.max_bytes = max_bytes
        self._target = urlsplit(url)
        self._proxy = _proxy_for(self._target)
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._aborted: set[http.client.HTTPConnection] = set()

    def send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        """Send a request and wait for the whole response, at most `timeout` seconds.

        A connection that the service closed while it was idle is replaced silently.
        """
        connection, fresh = self._take()
        reusable = False
        try:
            reply, reusable = self._exchange(connection, method, url, body, headers)
            return reply
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            if fresh or connection in self._aborted:
                raise Unanswered(f"the connection was closed: {error}") from error
        except (http.client.HTTPException, OSError) as error:
            raise Unanswered(_reason(error)) from error
        finally:
            self._release(connection, reusable)
        self.close_idle()
        return self.send(method, url, body, headers)

    def close_idle(self) -> None:
        """Close the connections that no thread uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def abort(self) -> None:
        """Abort the requests in flight; each raises `Unanswered`."""
        with self._lock:
            busy = list(self._busy)
            self._aborted.update(busy)
        for connection in busy:
            _shut_down(connection)
        self.close_idle()

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            fresh = not self._idle
            connection = self._connection() if fresh else self._idle.pop()
            self._busy.add(connection)
        return connection, fresh

    def _release(self, connection: http.client.HTTPConnection, reusable: bool) -> None:
        if not reusable:
            connection.close()
        with self._lock:
            self._busy.discard(connection)
            self._aborted.discard(connection)
            if reusable:
                self._idle.append(connection)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[Reply, bool]:
        """Return the response, and whether the connection can be used again."""
        if self._proxy is not None and self._target.scheme == "http":
            target, headers = url, {**headers, **_proxy_headers(self._proxy)}
        else:
            target = urlsplit(url)._replace(scheme="", netloc="").geturl()
        with _deadline(connection, self.timeout):
            connection.request(method, target, body, dict(headers))
            if connection in self._aborted:  # before there was a socket to shut down
                raise http.client.RemoteDisconnected("aborted")
            response = connection.getresponse()
            try:
                data = _read(response, self.max_bytes)
            finally:
                response.close()  # a response that is not read to its end keeps the socket
            return Reply(response.status, response.reason, response.headers, data), not response.will_close

    def _connection(self) -> http.client.HTTPConnection:
        target, proxy = self._target, self._proxy
        at = proxy or target
        host, port = at.hostname or "", at.port
        if target.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self.timeout)
        connection = http.client.HTTPSConnection(host, port, timeout=self.timeout, context=self._tls)
        if proxy is not None:
            connection.set_tunnel(target.hostname or "", target.port, _proxy_headers(proxy))
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    """Read the whole body; one that is larger than the limit raises `TooLarge`, a shorter one `IncompleteRead`."""
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"the response is larger than the limit of {limit / 2**20:,.0f} MiB")
        chunks.append(chunk)
    data = b"".join(chunks)
    if response.length:
        raise http.client.IncompleteRead(data, response.length)
    return data


@contextmanager
def _deadline(connection: http.client.HTTPConnection, seconds: float) -> Iterator[None]:
    """Shut the connection down when the time is over. A socket's own timeout restarts with every byte."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        _shut_down(connection)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (http.client.HTTPException, OSError) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise TimeoutError(f"no complete response within {seconds:g} s") from error
        raise
    finally:
        timer.cancel()


def _shut_down(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is None:
        return
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not SSLSocket's, which removes the TLS layer under a reader
    except OSError:
        return  # already closed


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the response ended after {len(error.partial):,} bytes"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _proxy_for(target: SplitResult) -> SplitResult | None:
    host = target.hostname or ""
    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    address = proxies.get(target.scheme) or proxies.get("all")
    if not address:
        return None
    return urlsplit(address if "://" in address else f"http://{address}")


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
