"""What is accepted is what a plain reader reads: no row is dropped, doubled, truncated or moved.

Inputs are mutated as in `test_readers.py`; `fault_oracles.py` reads them with Python's own `json`, `csv` and `split`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fault_mutation import mutate
from fault_oracles import ORACLES, Oracle
from fault_readers import READERS

from steelyard.datasets import load_task
from steelyard.datasets.formats.trec.qrels_runs import read_qrels
from steelyard.errors import DataError

CASES = int(os.environ.get("STEELYARD_FAULT_CASES", "2000"))
SEED = int(os.environ.get("STEELYARD_FAULT_SEED", "16"))
SEEDS = {reader.name: reader.seeds for reader in READERS}
pytestmark = [
    pytest.mark.usefixtures("shared_home"),
    pytest.mark.filterwarnings("ignore::steelyard.errors.DataWarning"),  # judged documents outside a mutated corpus
]


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_what_is_accepted_is_what_a_plain_reader_reads(oracle: Oracle, tmp_path: Path) -> None:
    compared = 0
    for number in range(CASES):
        data = mutate(SEEDS[oracle.name], SEED, number)
        readings = oracle.readings(tmp_path, data)
        if readings is not None:
            compared += 1
            assert readings[0] == readings[1], f"{oracle.name}, seed {SEED}, number {number}: {data[:300]!r}"
    assert compared >= CASES // 400  # both accept some of the inputs


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_seeds_are_compared(oracle: Oracle, tmp_path: Path) -> None:
    readings = [oracle.readings(tmp_path, data) for data in SEEDS[oracle.name]]
    compared = [reading for reading in readings if reading is not None]
    assert compared and all(content == expected for content, expected in compared)


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    for header in (b"id,title,text", b"id,title,text\n"):
        (tmp_path / "corpus.csv").write_bytes(header)
        (tmp_path / "queries.jsonl").write_bytes(b'{"_id": "q0", "text": "zero?"}\n')
        (tmp_path / "qrels.tsv").write_bytes(b"query-id\tcorpus-id\tscore\nq0\td0\t1\n")
        with pytest.raises(DataError) as caught:
            load_task(tmp_path)
        assert caught.value.field == "nothing-there"


def test_a_carriage_return_is_a_blank_as_in_trec_eval(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"q0 0 d0\r 1\nq0 0 d1 0\r\n")
    lines = read_qrels(tmp_path / "qrels")
    assert (lines.documents, lines.grades.tolist()) == (("d0", "d1"), [1, 0])
