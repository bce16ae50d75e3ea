"""Damaged vector files and model folders are errors of ours that name the file, whatever is wrong with them."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.encoders import load_encoder
from steelyard.encoders.load import load_multi_vector_encoder, load_sparse_encoder
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.model_metadata import model_metadata, tensor_shapes
from steelyard.errors import DataError, ModelError, SteelyardError

FAULTS = Path(__file__).parents[3] / "shared" / "faults" / "inputs"
RNG = np.random.default_rng(0)
IDS = ["a", "b", "c"]


def dense_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "documents.npy", RNG.random((3, 4), dtype=np.float32))
    (folder / "documents.ids.txt").write_text("\n".join(IDS))
    np.savez(folder / "queries.npz", ids=IDS, vectors=RNG.random((3, 4), dtype=np.float32))
    return folder


def sparse_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "documents.npz", ids=IDS, indptr=[0, 1, 2, 3], indices=[0, 1, 2], data=[1.0, 2, 3])
    rows = [{"id": name, "indices": [1, 2], "values": [0.5, 1.5]} for name in IDS]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def token_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "documents.npz", ids=IDS, counts=[1, 1, 1], vectors=RNG.random((3, 4), dtype=np.float32))
    vectors = [[[0.5, 1.0, 0, 0]]] * 3
    pq.write_table(pa.table({"id": IDS, "vectors": vectors}), folder / "queries.parquet")
    return folder


def read_dense(folder: Path) -> None:
    encoder = load_encoder(str(folder))
    for role in ("document", "query"):
        encoder.look_up(IDS, IDS, role)


def read_sparse(folder: Path) -> None:
    encoder = load_sparse_encoder(str(folder), None, {"backend": "files"})
    for role in ("document", "query"):
        encoder.look_up(IDS, IDS, role)


def read_tokens(folder: Path) -> None:
    encoder = load_multi_vector_encoder(str(folder), None, {"backend": "files"})
    for role in ("document", "query"):
        encoder.look_up(IDS, IDS, role)


READERS = {
    "dense": (dense_folder, read_dense),
    "sparse": (sparse_folder, read_sparse),
    "late": (token_folder, read_tokens),
}


def mutated(content: bytes, generator: np.random.Generator) -> bytes:
    """Return the content with bytes changed, removed, repeated or truncated."""
    data = bytearray(content)
    for _ in range(generator.integers(1, 5)):
        start = int(generator.integers(0, max(1, len(data))))
        size = int(generator.integers(1, 9))
        match generator.integers(0, 5):
            case 0:
                data[start : start + size] = generator.bytes(size)
            case 1:
                del data[start : start + size]
            case 2:
                data[start:start] = data[start : start + size]
            case 3:
                del data[start:]
            case _:
                data[start : start + 1] = bytes([generator.choice([0, 0x27, 0x28, 0x7B, 0x7D, 0x80, 0xFF])])
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", READERS)
def test_a_mutated_file_is_read_or_an_error_of_ours(kind, tmp_path):
    make, read = READERS[kind]
    folder = make(tmp_path / "sound")
    read(folder)
    generator = np.random.default_rng(11)
    originals = {path.name: path.read_bytes() for path in folder.iterdir()}
    failures = 0
    for case in range(300):
        name = sorted(originals)[case % len(originals)]
        (folder / name).write_bytes(mutated(originals[name], generator))
        try:
            read(folder)
        except SteelyardError as error:
            failures += 1
            assert isinstance(error, ModelError) or str(folder) in str(error.path)
        (folder / name).write_bytes(originals[name])
    assert failures > 50


@pytest.mark.parametrize(
    "columns",
    [
        {"id": IDS, "vector": [[1.0], [2.0], [3.0]], "role": [["query"], ["document"], ["text"]]},
        {"id": IDS, "vector": [[1.0], [2.0], [3.0]], "role": [1, 2, 3]},
        {"id": IDS, "vector": ["x", "y", "z"]},
        {"id": IDS, "vector": [[True], [None], [False]]},
        {"text": [b"\xff", b"b", b"c"], "vector": [1, 2, 3]},
    ],
)
def test_a_parquet_column_of_another_type_is_an_error_of_ours(columns, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "all.parquet")
    with pytest.raises(SteelyardError):
        load_encoder(str(tmp_path / "all.parquet")).look_up(IDS, IDS, "document")


@pytest.mark.parametrize(
    "header",
    [b"[" * 100_000, b"[]", b'{"a": {"shape": 3}}', b'{"a": {"shape": [true, "x"]}}', b'{"a": {"shape": [-1, 1e99]}}'],
)
def test_an_odd_safetensors_header_has_no_tensors(header, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert tensor_shapes(path) in ({}, {"a": [True, "x"]}) and "x" not in str(tensor_shapes(path))
    path.write_bytes((2**63).to_bytes(8, "little") + header)
    assert tensor_shapes(path) == {} or header.startswith(b"[]")


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "[1, 2]", '"text"', "\udcff"])
@pytest.mark.parametrize("name", ["config.json", "modules.json", "config_sentence_transformers.json"])
def test_an_invalid_json_file_of_a_model_names_its_path(name, content, tmp_path):
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    if name == "modules.json" and content == "[1, 2]":
        content = "[1]"
    with pytest.raises(DataError) as error:
        model_metadata(ModelFolder(str(tmp_path), tmp_path), "dense")
    assert error.value.path == str(tmp_path / name)


def test_an_encrypted_archive_is_an_error_of_ours(tmp_path):
    folder = dense_folder(tmp_path / "dense")
    data = bytearray((folder / "queries.npz").read_bytes())
    with zipfile.ZipFile(folder / "queries.npz") as archive:
        offsets = [info.header_offset for info in archive.infolist()]
    for offset in offsets:
        data[offset + 6] |= 1
    central = data.find(b"PK\x01\x02")
    data[central + 8] |= 1
    (folder / "queries.npz").write_bytes(bytes(data))
    with pytest.raises(DataError) as error:
        read_dense(folder)
    assert error.value.path == str(folder / "queries.npz")


@pytest.mark.skipif(not FAULTS.is_dir(), reason="the shared inputs are not here")
def test_shared_faults_are_errors_of_ours(tmp_path):
    tried = 0
    for source in sorted(FAULTS.iterdir()):
        reader = source.name.partition("__")[0]
        folder = tmp_path / source.name
        if reader in ("pre_npy", "pre_npz", "pre_parquet_types"):
            dense_folder(folder)
            name = {"pre_npy": "documents.npy", "pre_npz": "queries.npz", "pre_parquet_types": "queries.parquet"}[
                reader
            ]
            if reader == "pre_parquet_types":
                (folder / "queries.npz").unlink()
            read = read_dense
        elif reader in ("ragged_npz", "ragged_jsonl"):
            sparse_folder(folder)
            name = "documents.npz" if reader == "ragged_npz" else "queries.jsonl"
            read = read_sparse
        elif reader == "safetensors_head":
            folder.mkdir()
            name = "model.safetensors"
            read = lambda place: model_metadata(ModelFolder(str(place), place), "dense")  # noqa: E731
        else:
            continue
        shutil.copyfile(source, folder / name)
        tried += 1
        try:
            read(folder)
        except SteelyardError as error:
            assert str(folder) in str(error), source.name
    assert tried >= 25
