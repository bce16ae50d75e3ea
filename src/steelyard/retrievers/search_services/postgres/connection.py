"""Where a PostgreSQL server is and who asks it: an address, or the variables that its own tools read.

PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD fill in what the address leaves out. An address with a password
belongs in a variable: `postgres:${DATABASE_URL}`.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.http.endpoint import is_loopback
from steelyard.http.secrets import Secrets
from steelyard.retrievers.search_services.optional import need

SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True)
class Address:
    """A server, as it was written; variables are filled in when a connection is made."""

    text: str
    secrets: Secrets
    timeout: float

    def connect(self) -> Any:
        """A new connection of pg8000."""
        pg8000 = need("pg8000.native", "pg8000")
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
                message = f"postgres at {self} lets nobody in: {_said(error)}"
                hint = "PGUSER and PGPASSWORD, or an address in a variable: postgres:${DATABASE_URL}"
            else:
                message = f"postgres at {self} does not answer: {error}"
                hint = "is the server running at that address?"
            raise MissingPart(self.secrets.hide(message), hint=hint) from error

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Errors of the driver as ours, without secrets."""
        pg8000 = need("pg8000.native", "pg8000")
        try:
            yield
        except pg8000.DatabaseError as error:
            message = self.secrets.hide(f"postgres at {self} refused: {_said(error)}")
            raise ModelError(message, hint="the database says why; its log says more") from error
        except (pg8000.InterfaceError, ConnectionError, TimeoutError) as error:
            late = isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)
            reason = f"no answer within {self.timeout:g} s" if late else str(error)
            message = self.secrets.hide(f"postgres at {self} broke off: {reason}")
            raise MissingPart(message, hint="timeout=SECONDS allows more time" if late else None) from error

    def __str__(self) -> str:
        return self.text or "the address in PGHOST"

    def _arguments(self) -> dict[str, Any]:
        filled = self.secrets.fill(self.text)
        parts = urlsplit(filled if "://" in filled else f"postgresql://{filled}")
        if parts.scheme not in ("postgres", "postgresql"):
            raise UsageError(
                f"postgres cannot read an address of {parts.scheme}://", hint="postgresql://host:5432/name"
            )
        asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}  # as libpq reads an address
        host = asked.get("host") or _host(parts) or os.environ.get("PGHOST") or "localhost"
        try:
            port = int(asked.get("port") or parts.port or os.environ.get("PGPORT") or 5432)
        except ValueError as error:
            raise UsageError(
                f"the port of postgres at {self} is not a number", hint="such as localhost:5432"
            ) from error
        user = asked.get("user") or unquote(parts.username or "") or os.environ.get("PGUSER")
        user = user or os.environ.get("USER") or "postgres"
        own = asked.get("password") or unquote(parts.password or "")
        password = own or os.environ.get("PGPASSWORD")
        database = asked.get("dbname") or unquote(parts.path.strip("/")) or os.environ.get("PGDATABASE") or user
        if password:
            self.secrets.remember(password, self.text if own else "${PGPASSWORD}")
        who = {"user": user, "password": password, "database": database}
        if host.startswith("/"):
            return {**who, "unix_sock": f"{host}/.s.PGSQL.{port}"}
        if self.secrets.settings.offline and not is_loopback(host):
            raise MissingPart(
                f"postgres at {self} cannot be asked while the network is off limits", hint="leave out --offline"
            )
        mode = asked.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer"
        return {**who, "host": host, "port": port, "ssl_context": _ssl(mode)}


def hang_up(connection: Any) -> None:
    """Close a connection of pg8000 for good; if the line is dead already, all the better."""
    pg8000 = need("pg8000.native", "pg8000")
    # The driver leaves the last part of closing to the collector of garbage, and after an error that is much later.
    line = getattr(connection, "_sock", None)
    for close in (connection.close, *([line.close] if line else [])):
        with suppress(pg8000.InterfaceError, OSError):
            close()


def _host(parts: SplitResult) -> str | None:
    """The host of an address; the folder of a socket may stand there, too, with %2F for its slashes.

    >>> _host(urlsplit("postgresql://me@%2Frun%2FPG/db")), _host(urlsplit("postgresql://me@[::1]:5432/db"))
    ('/run/PG', '::1')
    """
    written = parts.netloc.rpartition("@")[2]
    return unquote(written.partition(":")[0]) if written.upper().startswith("%2F") else parts.hostname


def _socket(host: str, port: int, timeout: float) -> socket.socket:
    """Without the delay that TCP puts between small packets: it would be taken for the server's."""
    sock = socket.create_connection((host, port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _ssl(mode: str) -> Any:
    """What pg8000 makes of libpq's words: False for none, None for encryption if the server has it."""
    if mode not in SSL_MODES:
        raise UsageError(f"unknown sslmode {mode!r}", hint=f"known: {', '.join(SSL_MODES)}")
    if mode == "disable":
        return False
    if mode in ("allow", "prefer"):
        return None
    if mode == "require":
        return True
    context = ssl.create_default_context()
    context.check_hostname = mode == "verify-full"
    return context


def _said(error: Any) -> str:
    """The server's message; pg8000 gives its fields by letter."""
    fields = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    return f"{fields['M']} ({fields['C']})" if {"M", "C"} <= fields.keys() else str(error)
