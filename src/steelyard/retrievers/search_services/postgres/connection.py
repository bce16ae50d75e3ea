"""Connections to PostgreSQL: from an address, or from the variables that its own tools read.

PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD fill in what the address leaves out. An address with a password
belongs in a variable: `postgres:${DATABASE_URL}`. A password is sent to other machines over TLS only, unless the
address has `sslmode=disable`.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from steelyard.errors import MissingPart, ModelError, UnknownName, UsageError
from steelyard.http.endpoint import check_online
from steelyard.http.secrets import Secrets, is_loopback
from steelyard.retrievers.search_services.request_options import require

SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True)
class Address:
    """The address of a server as it was written; variables are filled in when a connection is made."""

    text: str
    secrets: Secrets
    timeout: float

    def connect(self) -> Any:
        """Return a new connection of pg8000."""
        pg8000 = require("pg8000.native", "pg8000")
        arguments = self._arguments()
        sock = None
        try:
            if "host" in arguments:
                sock = _socket(arguments["host"], arguments["port"], self.timeout)
            return pg8000.Connection(timeout=self.timeout, application_name="steelyard", sock=sock, **arguments)
        except (pg8000.DatabaseError, pg8000.InterfaceError, OSError) as error:
            if sock is not None and (descriptor := sock.detach()) >= 0:  # the driver may still hold the socket
                socket.close(descriptor)
            if isinstance(error, pg8000.DatabaseError):
                message = f"postgres at {self} refused the connection: {_message(error)}"
                hint = "set PGUSER and PGPASSWORD, or keep the address in a variable: postgres:${DATABASE_URL}"
            else:
                message = f"postgres at {self} does not answer: {error}"
                hint = "check that the server is running at that address"
                if "SSL" in str(error):
                    hint = "let the server use TLS, or allow an unencrypted password by sslmode=disable in the address"
            raise MissingPart(self.secrets.excerpt(message), hint=hint) from error

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Translate errors of the driver into ours, without secrets."""
        pg8000 = require("pg8000.native", "pg8000")
        try:
            yield
        except pg8000.DatabaseError as error:
            message = self.secrets.excerpt(f"postgres at {self} refused: {_message(error)}")
            raise ModelError(message, hint="look into the log of the database") from error
        except (pg8000.InterfaceError, ConnectionError, TimeoutError) as error:
            late = isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)
            reason = f"no answer within {self.timeout:g} s" if late else str(error)
            message = self.secrets.excerpt(f"postgres at {self} closed the connection: {reason}")
            raise MissingPart(message, hint="allow more time: timeout=SECONDS" if late else None) from error

    def __str__(self) -> str:
        return self.text or "the address in PGHOST"

    def _arguments(self) -> dict[str, Any]:
        filled = self.secrets.fill(self.text)
        parts = urlsplit(filled if "://" in filled else f"postgresql://{filled}")
        if parts.scheme not in ("postgres", "postgresql"):
            raise UsageError(
                f"the address of postgres must start with postgresql://, got {parts.scheme}://",
                hint="write postgresql://host:5432/name",
                expected="postgresql://",
                found=parts.scheme,
            )
        parameters = {name: values[-1] for name, values in parse_qs(parts.query).items()}  # as libpq reads them
        host = parameters.get("host") or _host(parts) or os.environ.get("PGHOST") or "localhost"
        try:
            port = int(parameters.get("port") or parts.port or os.environ.get("PGPORT") or 5432)
        except ValueError as error:
            raise UsageError(
                f"the port of postgres at {self} must be a number", hint="for example localhost:5432"
            ) from error
        user = parameters.get("user") or unquote(parts.username or "") or os.environ.get("PGUSER")
        user = user or os.environ.get("USER") or "postgres"
        own = parameters.get("password") or unquote(parts.password or "")
        password = own or os.environ.get("PGPASSWORD")
        database = parameters.get("dbname") or unquote(parts.path.strip("/")) or os.environ.get("PGDATABASE") or user
        if password:
            self.secrets.remember(password, self.text if own else "${PGPASSWORD}")
        who = {"user": user, "password": password, "database": database}
        if host.startswith("/"):
            return {**who, "unix_sock": f"{host}/.s.PGSQL.{port}"}
        check_online(host, f"postgres at {self}", self.secrets.settings)
        mode = parameters.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer"
        if mode in ("allow", "prefer") and password and not is_loopback(host):
            mode = "require"  # else a server that refuses TLS would get the password unencrypted
        return {**who, "host": host, "port": port, "ssl_context": _ssl(mode)}


def hang_up(connection: Any) -> None:
    """Close a connection of pg8000 completely, also after the server has closed it."""
    pg8000 = require("pg8000.native", "pg8000")
    # After an error, the driver leaves its socket to the garbage collector.
    sock = getattr(connection, "_sock", None)
    for close in (connection.close, *([sock.close] if sock else [])):
        with suppress(pg8000.InterfaceError, OSError):
            close()


def _host(parts: SplitResult) -> str | None:
    """Return the host of an address, or the folder of a socket, which is written with %2F for its slashes.

    >>> _host(urlsplit("postgresql://me@%2Frun%2FPG/db")), _host(urlsplit("postgresql://me@[::1]:5432/db"))
    ('/run/PG', '::1')
    """
    host = parts.netloc.rpartition("@")[2]
    return unquote(host.partition(":")[0]) if host.upper().startswith("%2F") else parts.hostname


def _socket(host: str, port: int, timeout: float) -> socket.socket:
    """Return a socket without the delay of TCP between small packets, which would count as the server's latency."""
    sock = socket.create_connection((host, port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _ssl(mode: str) -> Any:
    """Return the `ssl_context` of pg8000 for an sslmode of libpq: False is off, None is on if the server has TLS."""
    if mode not in SSL_MODES:
        raise UnknownName("sslmode", mode, SSL_MODES, hint=f"choose one of {', '.join(SSL_MODES)}", option="sslmode")
    if mode == "disable":
        return False
    if mode in ("allow", "prefer"):
        return None
    if mode == "require":
        return True
    context = ssl.create_default_context()
    context.check_hostname = mode == "verify-full"
    return context


def _message(error: Any) -> str:
    """Return the server's message; pg8000 has its fields by letter."""
    fields = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    return f"{fields['M']} ({fields['C']})" if {"M", "C"} <= fields.keys() else str(error)


class Closable(Protocol):
    """Anything with a socket."""

    def close(self) -> None:
        """Close the socket."""
        ...


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """Idle connections for reuse; a connection that failed is closed and not used again."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: list[C] = []

    @contextmanager
    def connection(self) -> Iterator[C]:
        """Take a connection for a block."""
        try:  # append and pop of a list are safe between threads
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        reusable = False
        try:
            yield connection
            reusable = True
        finally:
            if reusable:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()
