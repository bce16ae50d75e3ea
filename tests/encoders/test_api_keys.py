"""Keys: where one goes, where it may not go, and that it is found nowhere afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import api_server
import pytest
from api_server import status

from steelyard.encoders.backends.api import from_options
from steelyard.errors import MissingPart, SteelyardError, UsageError
from steelyard.http.endpoint import Endpoint

KEY = "sk-test-0a1b2c3d4e5f"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_TEST_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    return tmp_path / "home"


def options(url: str, **more: str) -> dict[str, str]:
    return {"url": url, "backoff": "0.01", "max_retries": "1", **more}


def test_a_key_goes_only_where_it_is_sent() -> None:
    with api_server.serve() as api:
        from_options("tiny", None, options(api.url))
        assert "Authorization" not in api.headers[-1], "the key of OpenAI is for OpenAI"
        from_options("tiny", "2", options(api.url, key_env="STEELYARD_TEST_KEY"))
        assert api.headers[-1]["Authorization"] == f"Bearer {KEY}"
        from_options("tiny", "3", options(api.url, key_env="STEELYARD_TEST_KEY", key_header="api-key"))
        assert api.headers[-1]["api-key"] == KEY and "Authorization" not in api.headers[-1]


def test_a_redirect_is_not_followed() -> None:
    with api_server.serve() as other, api_server.serve(always=status(307, Location=other.url)) as api:
        with pytest.raises(MissingPart, match=r"307.*redirects are not followed"):
            from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
        assert not other.requests


@pytest.mark.parametrize(
    ("url", "more", "message"),
    [
        ("https://example.org/v1", {"key_env": "OPENAI_API_KEY"}, "meant for api.openai.com, not for example.org"),
        ("https://api.openai.com.example.org", {"key_env": "OPENAI_API_KEY"}, "not for api.openai.com.example.org"),
        ("http://example.org/v1", {"key_env": "STEELYARD_TEST_KEY"}, "would go to example.org unencrypted"),
        (f"https://user:{KEY}@example.org", {}, "holds a user or password.*key_env=NAME"),
        (f"https://example.org/v1?api_key={KEY}", {}, "holds api_key"),
    ],
)
def test_addresses_that_would_give_a_key_away(url: str, more: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        from_options("tiny", None, options(url, **more))
    assert KEY not in str(caught.value)


def test_well_known_services_get_their_own_key() -> None:
    assert Endpoint.of("https://api.jina.ai/v1").key_env == "JINA_API_KEY"
    assert Endpoint.of("https://x.eu.endpoints.huggingface.cloud").key_env == "HF_TOKEN"
    assert (
        Endpoint.of("https://example.org/v1?api-version=2024-02-01")
        .at("embeddings")
        .endswith("/v1/embeddings?api-version=2024-02-01")
    )
    assert Endpoint.of("https://example.org/v1").key_env is None


def test_a_key_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingPart, match=r"OPENAI_API_KEY, which holds the key for api.openai.com, is not set"):
        from_options("text-embedding-3-small", None, {})


def test_a_key_that_no_header_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", f"{KEY}\nX-Other: 1")
    with api_server.serve() as api, pytest.raises(UsageError, match="no header can carry") as caught:
        from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
    assert KEY not in str(caught.value) and not api.requests


def test_a_wrong_key_is_an_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server.serve(key="another") as api:
        with pytest.raises(MissingPart, match=r"401 .*Bearer \*\*\*.*the key comes from STEELYARD_TEST_KEY") as caught:
            from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
        assert KEY not in repr(caught.value)
        with pytest.raises(MissingPart, match=r"401.*key_env=NAME"):
            from_options("tiny", None, options(api.url))


def test_the_network_is_off_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    with pytest.raises(MissingPart, match=r"api.openai.com cannot be asked while the network is off limits"):
        from_options("text-embedding-3-small", None, {})
    with api_server.serve() as api:
        assert from_options("tiny", None, options(api.url)).dimension == 8


def test_a_proxy_is_used_for_others_and_not_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server.serve() as proxy, api_server.serve() as api:
        monkeypatch.setenv("http_proxy", proxy.url.replace("http://", "http://someone:secret@").removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        from_options("tiny", None, options("http://embeddings.example/v1"))
        assert proxy.paths == ["http://embeddings.example/v1/embeddings"]
        assert proxy.headers[0]["Proxy-Authorization"] == "Basic c29tZW9uZTpzZWNyZXQ="
        assert proxy.headers[0]["Host"] == "embeddings.example"
        from_options("tiny", None, options(api.url))
        assert len(proxy.paths) == 1 and len(api.paths) == 1


def with_vectors(value: str) -> api_server.Mood:
    return api_server.changed(lambda answer: {"data": [{"embedding": value} for _ in answer["data"]]})


TELLTALES = {
    "all is well": {},
    "refused": {"always": status(401, f"who is {KEY}?")},
    "failing": {"always": status(500, f"what is Bearer {KEY}?")},
    "not JSON": {"always": lambda handler, body: handler.reply(200, f"key={KEY}".encode()) or True},
    "too large": {"always": status(413, f"{KEY} is too large")},
    "echoed": {"always": api_server.changed(lambda answer: {**answer, "model": f"tiny of {KEY}"})},
    "in the vectors": {"always": with_vectors(KEY)},
    "in the numbers": {"always": api_server.changed(lambda answer: {"data": [{"index": KEY}] * len(answer["data"])})},
    "at the end of what is shown": {"always": status(500, "x" * 290 + KEY)},
    "redirected": {"always": status(302, Location=f"https://example.org/?key={KEY}")},
}


@pytest.mark.parametrize("case", TELLTALES)
def test_a_key_is_found_nowhere(case: str, tmp_path: Path) -> None:
    """Through the whole command, with a service that repeats the key in whatever it says."""
    with api_server.serve(**TELLTALES[case]) as api:
        model = f"dense:api/tiny?url={api.url}&key_env=STEELYARD_TEST_KEY&max_retries=1&backoff=0.01"
        command = [sys.executable, "-m", "steelyard", "run", "-v", model, "-t", "NanoAlmanac/en", "-o", "results"]
        done = subprocess.run([*command], cwd=tmp_path, capture_output=True, text=True, env={**os.environ})
        # 3: the service is away or refuses; 1: what it says is wrong.
        assert done.returncode in ((0,) if case in ("all is well", "echoed") else (1, 3)), done.stderr
        assert {headers["Authorization"] for headers in api.headers} == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".json" and path.is_relative_to(tmp_path / "results") for path in files)
    assert KEY[:8] not in done.stdout + done.stderr
    assert [path for path in files if KEY[:8].encode() in path.read_bytes()] == []


def test_errors_without_chains_that_hold_the_key() -> None:
    with api_server.serve(always=status(500, f"what is {KEY}?")) as api, pytest.raises(SteelyardError) as caught:
        from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in str(error)
        error = error.__cause__ or error.__context__
