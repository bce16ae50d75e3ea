"""Requests over connections that are kept open: the answer in full within the time limit, or `Unanswered`."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from urllib.parse import SplitResult, unquote, urlsplit

from steelyard.http.endpoint import is_loopback


class Unanswered(Exception):
    """No whole answer came; the text says why."""

    @property
    def hopeless(self) -> bool:
        """Whether the two sides cannot agree on encryption: a wrong certificate, or none at all."""
        cause = self.__cause__
        return isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)


@dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    status: int
    reason: str
    headers: Message
    body: bytes


class Client:
    """Connections to one host, for any number of threads. Redirects are not followed: a key stays where it was sent.

    HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured, except that loopback is always reached directly.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.timeout = timeout
        self._target = urlsplit(url)
        self._proxy = _proxy_for(self._target)
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._cut: set[http.client.HTTPConnection] = set()

    def send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        """Send and wait for the whole answer, `timeout` seconds at most.

        A connection that the service closed while it was idle is replaced without a word.
        """
        connection, fresh = self._take()
        kept = False
        try:
            reply, kept = self._exchange(connection, method, url, body, headers)
            return reply
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            if fresh or connection in self._cut:
                raise Unanswered(f"the connection was closed: {error}") from error
        except (http.client.HTTPException, OSError) as error:
            raise Unanswered(_why(error)) from error
        finally:
            self._release(connection, kept)
        self.close_idle()
        return self.send(method, url, body, headers)

    def close_idle(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def abort(self) -> None:
        """End the requests that are under way; each ends in `Unanswered`."""
        with self._lock:
            busy = list(self._busy)
            self._cut.update(busy)
        for connection in busy:
            _shut(connection)
        self.close_idle()

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            fresh = not self._idle
            connection = self._connection() if fresh else self._idle.pop()
            self._busy.add(connection)
        return connection, fresh

    def _release(self, connection: http.client.HTTPConnection, kept: bool) -> None:
        if not kept:
            connection.close()
        with self._lock:
            self._busy.discard(connection)
            self._cut.discard(connection)
            if kept:
                self._idle.append(connection)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[Reply, bool]:
        """The answer, and whether the connection may be used again."""
        if self._proxy is not None and self._target.scheme == "http":
            target, headers = url, {**headers, **_proxy_headers(self._proxy)}
        else:
            target = urlsplit(url)._replace(scheme="", netloc="").geturl()
        with _deadline(connection, self.timeout):
            connection.request(method, target, body, dict(headers))
            if connection in self._cut:  # before there was a socket to shut
                raise http.client.RemoteDisconnected("cut off")
            response = connection.getresponse()
            answer = Reply(response.status, response.reason, response.headers, response.read())
            return answer, not response.will_close

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


@contextmanager
def _deadline(connection: http.client.HTTPConnection, seconds: float) -> Iterator[None]:
    """Cut the connection when the time is up. A socket's own timeout starts anew with every byte that drips in."""
    late = threading.Event()

    def cut() -> None:
        late.set()
        _shut(connection)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (http.client.HTTPException, OSError) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise TimeoutError(f"no whole answer within {seconds:g} s") from error
        raise
    finally:
        timer.cancel()


def _shut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is None:
        return
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not SSLSocket's: it would pull the layer from under a reader
    except OSError:
        return  # closed in the meantime: all that was wanted


def _why(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the answer broke off after {len(error.partial):,} bytes"
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
