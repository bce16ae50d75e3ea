"""Keys: where one goes, where it may not go, and that it is found nowhere afterwards."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote, quote_plus

import api_server
import pytest
from api_server import status
from engine_parts import small_task

from steelyard.config import Settings
from steelyard.encoders.backends.api import from_options
from steelyard.encoders.backends.api_texts import ApiTexts
from steelyard.engine import evaluate
from steelyard.errors import MissingPart, SteelyardError, UsageError
from steelyard.http.endpoint import Endpoint
from steelyard.http.secrets import Secrets
from steelyard.retrievers import load_retriever
from steelyard.retrievers.model_names import canonical, result_name
from steelyard.spec import ModelSpec

KEY = "sk-test-0a1b2c3d4e5f"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_TEST_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    for variable in ("STEELYARD_OFFLINE", "HF_HUB_OFFLINE"):  # of whoever runs the tests
        monkeypatch.delenv(variable, raising=False)
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
        with pytest.raises(MissingPart, match="307"):
            from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
        assert not other.requests


@pytest.mark.parametrize(
    ("url", "more", "option"),
    [
        ("https://example.org/v1", {"key_env": "OPENAI_API_KEY"}, "key_env"),
        ("https://api.openai.com.example.org", {"key_env": "OPENAI_API_KEY"}, "key_env"),
        ("http://example.org/v1", {"key_env": "STEELYARD_TEST_KEY"}, "allow_http"),
        (f"https://user:{KEY}@example.org", {}, "url"),
        (f"https://example.org/v1?api_key={KEY}", {}, "url"),
        (f"https://example.org/v1?code={KEY}", {}, "url"),
        (f"https://example.org/v1?sig={KEY}", {}, "url"),
        (f"https://example.org/v1?subscription-key={KEY}", {}, "url"),
    ],
)
def test_addresses_that_would_give_a_key_away(url: str, more: dict[str, str], option: str) -> None:
    for use in (lambda: from_options("tiny", None, options(url, **more)), lambda: result_name(named(url))):
        if option != "url" and use.__code__.co_names[0] == "result_name":
            continue
        with pytest.raises(UsageError) as caught:
            use()
        assert caught.value.option == option and KEY not in repr(vars(caught.value))


def named(url: str) -> ModelSpec:
    return ModelSpec("dense", "api/tiny", options={"url": url})


@pytest.mark.parametrize("option", ["model_kwargs", "config_kwargs", "encode_kwargs"])
@pytest.mark.parametrize("table", [{"token": KEY}, {"use_auth_token": KEY}, {"hub": {"api_key": KEY}}])
def test_a_token_in_the_arguments_of_a_model_is_refused(option: str, table: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        canonical(ModelSpec("dense", "owner/name", options={option: json.dumps(table)}))
    assert caught.value.option == option and caught.value.hint and KEY not in repr(vars(caught.value))


def test_arguments_that_are_no_tokens_are_allowed() -> None:
    table = {"attn_implementation": "sdpa", "token": True, "pad_token": "[PAD]", "eos_token_id": 2, "max_new_tokens": 5}
    spec = ModelSpec("dense", "owner/name", options={"model_kwargs": json.dumps(table)})
    assert canonical(spec).options == spec.options


def test_a_key_in_a_request_body_is_refused_and_other_values_are_hashed() -> None:
    for body in ({"api_key": KEY}, {"extra": [{"Signature": KEY}]}):
        with pytest.raises(UsageError) as caught:
            canonical(ModelSpec("dense", "api/tiny", options={"body": json.dumps(body)}))
        assert caught.value.option == "body" and KEY not in repr(vars(caught.value))
    body = json.dumps({"input_type": "query", "tenant": KEY})
    name = result_name(ModelSpec("dense", "api/tiny", options={"query_body": body}))
    assert KEY not in name and "input_type" in name
    assert KEY not in json.dumps(ApiTexts(fields={"query": json.loads(body)}).settings)


@pytest.mark.parametrize("family", ["postgres", "opensearch", "elasticsearch", "qdrant"])
@pytest.mark.parametrize("address", ["postgresql://u:PW-1234@h/db", "https://u:PW-1234@h", "u:PW-1234@h:1/x"])
def test_credentials_in_the_address_of_a_service_are_refused_first(
    family: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pg8000.native", None)  # as if the extra were not installed
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    for model in (f"{family}:{address}", f"{family}:{address}?keep=no", f"[bm25, {family}:{address}]"):
        with pytest.raises(UsageError) as caught:
            evaluate([model], small_task(), results=tmp_path)
        assert "PW-1234" not in repr(vars(caught.value))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("allow", ["", "&allow_http=yes"])
def test_credentials_over_http_need_permission(monkeypatch: pytest.MonkeyPatch, allow: str) -> None:
    monkeypatch.setenv("AUTH", "user:password-1234")
    model = f"opensearch:http://search.example:9200?auth_env=AUTH{allow}"
    if allow:
        assert load_retriever(model).name == "opensearch:http://search.example:9200?auth_env=AUTH"
        return
    with pytest.raises(UsageError) as caught:
        load_retriever(model)
    assert caught.value.option == "allow_http"


def test_an_address_may_be_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server.serve() as api:
        monkeypatch.setenv("EMBED_URL", f"{api.url}?code={KEY}\n")
        encoder = from_options("tiny", None, options("${EMBED_URL}"))
        assert encoder.dimension == 8 and api.paths[-1].endswith(f"?code={KEY}")
        assert KEY not in json.dumps(dict(encoder.settings)) and KEY not in repr(encoder._service.endpoint)


@pytest.mark.parametrize("variable", ["key", "KEY with blanks", "k/e+y=="])
def test_encoded_keys_are_hidden(variable: str) -> None:
    key = f"{variable}-0a1b2c3d"
    secrets = Secrets(Settings(secrets={"TOKEN": key}))
    secrets.value("TOKEN")
    data = key.encode()
    forms = [quote(key, safe=""), quote_plus(key), json.dumps(key), b64encode(data).decode()]
    forms += [
        urlsafe_b64encode(data).decode().rstrip("="),
        re.sub("%..", lambda escape: escape[0].lower(), quote(key, safe="")),
    ]
    forms += [b64encode(prefix + data + b"@host").decode() for prefix in (b"u:", b"us:", b"user:")]
    for form in forms:
        hidden = secrets.hide(f"before {form} after")
        assert form not in hidden and "TOKEN" in hidden, form


def test_excerpts_hide_before_they_shorten() -> None:
    secrets = Secrets(Settings(secrets={"TOKEN": KEY}))
    secrets.value("TOKEN")
    for length in range(280, 301):
        assert KEY[:5] not in secrets.excerpt("x" * length + KEY)
    assert KEY[:5] not in secrets.excerpt(b" " * ((1 << 20) - 6) + KEY.encode())
    assert secrets.excerpt("\x1b[31mred\u202e\x00") == "[31mred"


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
    with pytest.raises(MissingPart, match="OPENAI_API_KEY"):
        from_options("text-embedding-3-small", None, {})


def test_a_key_that_no_header_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", f"{KEY}\nX-Other: 1")
    with api_server.serve() as api, pytest.raises(UsageError) as caught:
        from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
    assert KEY not in str(caught.value) and not api.requests


def test_a_wrong_key_is_an_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server.serve(key="another") as api:
        with pytest.raises(MissingPart, match=r"401 .*Bearer \$\{STEELYARD_TEST_KEY\}.*STEELYARD_TEST_KEY") as caught:
            from_options("tiny", None, options(api.url, key_env="STEELYARD_TEST_KEY"))
        assert KEY not in repr(caught.value)
        with pytest.raises(MissingPart, match=r"401.*key_env=NAME"):
            from_options("tiny", None, options(api.url))


def test_the_network_is_off_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    with pytest.raises(MissingPart, match=r"api\.openai\.com"):
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
