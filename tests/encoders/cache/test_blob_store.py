"""A store of vectors that machines share: a folder, and a real S3 server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from encoder_parts import Letters

from steelyard.config import Settings
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.errors import UsageError

TEXTS = [f"text {number}" for number in range(40)]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a bucket of a server that runs in its own process."""
    from s3_server import s3_server

    with s3_server(tmp_path_factory.mktemp("s3")) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", url)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        import s3fs

        s3fs.S3FileSystem(skip_instance_cache=True).mkdir("vectors")
        yield "s3://vectors"


@pytest.fixture(params=["folder", pytest.param("s3", marks=[pytest.mark.slow, pytest.mark.server])])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "shared")
    return f"{request.getfixturevalue('s3')}/{tmp_path.name}"


def machine(tmp_path: Path, name: str, url: str) -> Settings:
    return Settings.load(home=tmp_path / name, vectors=url)


def test_another_machine_reads_what_one_has_encoded(tmp_path: Path, url: str) -> None:
    first, second = Letters(), Letters()
    vectors, tally = encode_once(first, TEXTS, "document", store=VectorStore(first, machine(tmp_path, "a", url)))
    assert tally.problems == () and len(first.asked) == len(TEXTS)
    store = VectorStore(second, machine(tmp_path, "b", url))
    assert store.has(store.keys(TEXTS, "document")).all()
    again, tally = encode_once(second, TEXTS, "document", store=store)
    assert (len(second.asked), tally.stored) == (0, len(TEXTS))
    assert again.tobytes() == vectors.tobytes()
    assert list(store.folder.glob("*.vectors"))  # kept, so that the next run downloads nothing


def test_local_vectors_are_published(tmp_path: Path, url: str) -> None:
    encoder = Letters()
    local = VectorStore(encoder, Settings.load(home=tmp_path / "a"))
    encode_once(encoder, TEXTS, "document", store=local)
    shared = VectorStore(encoder, machine(tmp_path, "a", url))
    keys = shared.keys(TEXTS, "document")
    assert not shared.has(keys).any()  # only what other machines can read counts
    shared.publish(keys)
    assert shared.has(keys).all() and shared.problems == []


def test_blobs_are_shared(tmp_path: Path, url: str) -> None:
    one = BlobStore("late", {"encoder": "x"}, machine(tmp_path, "a", url))
    other = BlobStore("late", {"encoder": "x"}, machine(tmp_path, "b", url))
    keys = one.keys(TEXTS, "document")
    blobs = [bytes([row]) * (row + 1) for row in range(len(keys))]
    one.put(keys, blobs)
    assert other.has(keys).all() and other.get(keys) == blobs


def test_a_damaged_file_is_not_used(tmp_path: Path) -> None:
    encoder, shared = Letters(), tmp_path / "shared"
    first = VectorStore(encoder, machine(tmp_path, "a", str(shared)))
    encode_once(encoder, TEXTS, "document", store=first)
    (file,) = shared.rglob("*.vectors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    store = VectorStore(encoder, machine(tmp_path, "b", str(shared)))
    stored, _ = store.get(store.keys(TEXTS, "document"))
    assert not stored.any() and len(store.problems) == 1


def test_a_store_that_cannot_be_written_is_noted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")  # a file where a folder is expected: works for root, too
    encoder = Letters()
    store = VectorStore(encoder, machine(tmp_path, "a", str(tmp_path / "file")))
    vectors, tally = encode_once(encoder, TEXTS, "document", store=store)
    assert len(tally.problems) >= 1 and np.isfinite(vectors).all()
    assert not store.has(store.keys(TEXTS, "document")).any()


def test_a_wrong_url_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        VectorStore(Letters(), machine(tmp_path, "a", "nonsense://x"))
    assert (caught.value.option, caught.value.found) == ("vectors", "nonsense://x")
