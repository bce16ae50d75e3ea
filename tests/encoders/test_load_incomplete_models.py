"""Models whose folders lack a part are refused: the library would make it up, and figures would mean nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers")

from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer, SparseEncoder
from torch_models import save_bert

from steelyard.encoders import load_encoder
from steelyard.encoders.load import load_multi_vector_encoder, load_sparse_encoder
from steelyard.errors import ModelError
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse

WEIGHTS = "model.safetensors"
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert") / "sound")


def renamed(folder: Path) -> None:
    """As torch.compile saves a model."""
    tensors = {f"_orig_mod.{name}": tensor for name, tensor in load_file(folder / WEIGHTS).items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def without_pooler(folder: Path) -> None:
    kept = {name: tensor for name, tensor in load_file(folder / WEIGHTS).items() if not name.startswith("pooler.")}
    save_file(kept, folder / WEIGHTS, metadata={"format": "pt"})


def without_words(folder: Path) -> None:
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        (folder / file).unlink(missing_ok=True)


def cut_short(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:20_000])


def spoilt(sound: Path, folder: Path, spoil: Callable[[Path], None]) -> str:
    shutil.copytree(sound, folder)
    spoil(folder)
    return str(folder)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (renamed, "weights of .* are missing: .* more"),
        (without_words, "does not have a tokenizer"),
        (cut_short, "the weights of .* cannot be read"),
    ],
)
@pytest.mark.parametrize("load", [load_encoder, load_multi_vector_encoder], ids=["dense", "late"])
def test_a_folder_that_lacks_a_part_is_refused(sound, tmp_path, load, spoil, message) -> None:
    with pytest.raises(ModelError, match=message):
        load(spoilt(sound, tmp_path / "spoilt", spoil))


def test_what_nothing_reads_may_be_missing(sound: Path, tmp_path: Path) -> None:
    name = spoilt(sound, tmp_path / "no-pooler", without_pooler)
    whole, without = (load_encoder(each).encode(["the old bridge"], "query") for each in (str(sound), name))
    assert (whole == without).all()


def saved(model: type, folder: Path, place: Path) -> str:
    model(str(folder), device="cpu").save_pretrained(str(place))
    return str(place)


def test_a_dense_model_is_no_sparse_one(sound: Path, tmp_path: Path) -> None:
    """The library would put a layer with random weights on it: other figures in each run."""
    name = saved(SentenceTransformer, sound, tmp_path / "saved")
    with pytest.raises(ModelError) as error:
        load_sparse_encoder(name)
    assert f"dense:{name}" in str(error.value.hint)


def test_a_model_of_another_kind_is_told_of_by_us_and_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name = saved(SparseEncoder, save_bert(tmp_path / "masked", masked=True), tmp_path / "saved")
    caplog.clear()
    with pytest.warns(UserWarning, match="was saved as a SparseEncoder"):
        assert load_encoder(name).settings["pooling_mode"] == "mean"
    assert not caplog.messages


def test_a_model_of_another_kind_is_refused(sound: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"classifier\."):
        load_reranker(parse(f"rerank:{sound}"))
    masked = save_bert(tmp_path / "masked", masked=True)
    assert load_sparse_encoder(str(masked)).encode(["the old bridge"], "query").counts[0] > 0
