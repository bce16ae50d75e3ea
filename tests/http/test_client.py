"""The HTTP client: limits of size and time, incomplete and nested responses; waits before a retry."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime

import pytest

from steelyard.http import retry
from steelyard.http.client import Client, TooLarge, Unanswered
from steelyard.http.retry import backoff, retry_after


@contextmanager
def server(*parts: bytes) -> Iterator[str]:
    """Answer one connection with these bytes, then close it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    for part in parts:
                        connection.sendall(part)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(timeout=10)


def get(address: str, max_bytes: int) -> bytes:
    client = Client(address, timeout=10, max_bytes=max_bytes)
    try:
        return client.send("GET", f"{address}/", None, {}).body
    finally:
        client.close_idle()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "head",
    [OK + b"Content-Length: 5000\r\n\r\n", OK + b"Connection: close\r\n\r\n"],
    ids=["declared length", "until close"],
)
def test_a_response_is_read_up_to_a_limit(head: bytes) -> None:
    with server(head, b"x" * 5000) as address:
        assert len(get(address, 5000)) == 5000
    with server(head, b"x" * 5000) as address, pytest.raises(TooLarge) as caught:
        get(address, 4999)
    assert caught.value.permanent


def test_a_chunked_response_is_read_up_to_a_limit() -> None:
    chunks = [b"%x\r\n" % 1000 + b"x" * 1000 + b"\r\n"] * 5
    head = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    with server(head, *chunks, b"0\r\n\r\n") as address:
        assert len(get(address, 5000)) == 5000
    with server(head, *chunks, b"0\r\n\r\n") as address, pytest.raises(TooLarge):
        get(address, 4999)


def test_a_response_that_ends_early_is_not_an_answer() -> None:
    with server(OK + b"Content-Length: 5000\r\n\r\n", b"x" * 100) as address, pytest.raises(Unanswered) as caught:
        get(address, 1 << 20)
    assert not caught.value.permanent


def test_the_wait_doubles_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry.random, "uniform", lambda low, high: high)
    assert [backoff(retries, 0.5) for retries in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert backoff(10_000, 0.5) == 30
    monkeypatch.setattr(retry.random, "uniform", lambda low, high: low)
    assert backoff(1, 0.5) == 0.5


def headers(**values: str) -> Message:
    message = Message()
    for name, value in values.items():
        message[name.replace("_", "-")] = value
    return message


def test_retry_after_as_seconds_and_dates() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    future, past = (format_datetime(now + timedelta(seconds=seconds), usegmt=True) for seconds in (90, -90))
    assert retry_after(headers(Retry_After=future), now) == 90
    assert retry_after(headers(Retry_After=past), now) == 0, "a date in the past means now"
    assert retry_after(headers(Retry_After="-5"), now) == 0
    assert retry_after(headers(Retry_After="2.5"), now) == 2.5
    assert retry_after(headers(retry_after_ms="1500", Retry_After="9"), now) == 1.5
    for unreadable in ("", "soon", "nan", "inf", "9" * 400, "Fri, 99 Foo 1999"):
        assert retry_after(headers(Retry_After=unreadable), now) is None
    assert retry_after(headers(), now) is None
