"""Connections that wait to be used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """Anything that holds a socket."""

    def close(self) -> None:
        """Let go of it."""
        ...


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """At most as many connections as were ever in use at once; one that failed is closed and not used again."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: list[C] = []

    @contextmanager
    def connection(self) -> Iterator[C]:
        """A connection for the time of the block."""
        try:  # appending to and popping from a list is safe between threads
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        sound = False
        try:
            yield connection
            sound = True
        finally:
            if sound:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close the connections that nobody is using."""
        while self._idle:
            self._idle.pop().close()
