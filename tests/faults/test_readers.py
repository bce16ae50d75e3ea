"""No input ends in a raw Python error: mutated seeds for every reader, inputs by hypothesis, and stored findings.

`STEELYARD_FAULT_CASES=100000 pytest tests/faults` runs that many mutations per reader (default 2,000), and
`STEELYARD_FAULT_SEED` chooses other ones. A failure prints reader, seed and number, which give the input again:
`mutate(READER.seeds, SEED, NUMBER)`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fault_mutation import mutate
from fault_output_readers import OUTPUT_READERS
from fault_readers import READERS as INPUT_READERS
from fault_readers import Reader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("STEELYARD_FAULT_CASES", "2000"))
SEED = int(os.environ.get("STEELYARD_FAULT_SEED", "16"))
FINDINGS = Path(__file__).parent / "corpus"
SHARED = Path(__file__).parents[3] / "shared" / "faults" / "inputs"
READERS = [*INPUT_READERS, *OUTPUT_READERS]
BY_NAME = {reader.name: reader for reader in READERS}
pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_mutated_inputs_end_in_an_error_of_ours(reader: Reader, tmp_path: Path) -> None:
    for number in range(CASES):
        data = mutate(reader.seeds, SEED, number)
        try:
            reader.survives(tmp_path, data)
        except BaseException as error:
            error.add_note(f"reader {reader.name}, seed {SEED}, number {number}: {data[:300]!r}")
            raise


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_seeds_are_read(reader: Reader, tmp_path: Path) -> None:
    for data in reader.seeds:
        reader.survives(tmp_path, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jsonl", "csv", "tsv_qrels", "score_qrels", "trec_topics", "references", "task_json"])
def test_random_bytes_end_in_an_error_of_ours(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(name)

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))))
    def survives(data: bytes) -> None:
        BY_NAME[name].survives(folder, data)

    survives()


def findings() -> Iterator[object]:
    for path in sorted(FINDINGS.glob("*/*")):
        yield pytest.param(BY_NAME[path.parent.name], path, id=f"{path.parent.name}-{path.name}")


@pytest.mark.parametrize(("reader", "path"), list(findings()))
def test_findings_stay_fixed(reader: Reader, path: Path, tmp_path: Path) -> None:
    reader.survives(tmp_path, path.read_bytes())


@pytest.mark.parametrize("name", ["import_queries", "run_file", "import_parquet", "result_queries", "audit_parquet"])
@pytest.mark.parametrize("place", ["name", "text"])
def test_texts_of_parquet_that_are_not_utf8_end_in_an_error_of_ours(name: str, place: str, tmp_path: Path) -> None:
    """Arrow decodes names and texts when they are used, after it has read the file."""
    table = pq.read_table(io.BytesIO(BY_NAME[name].seeds[0]))
    stream = io.BytesIO()
    if place == "text":
        bad = [pa.array([b"\xff"] * len(table), pa.binary()).view(pa.string())]
        texts = [column for column in table.column_names if pa.types.is_string(table[column].type)]
        for column in texts:
            table = table.set_column(table.column_names.index(column), column, bad)
        pq.write_table(table, stream, use_dictionary=False)
        data = stream.getvalue()
    else:
        pq.write_table(table, stream, store_schema=False)
        data = stream.getvalue().replace(table.column_names[-1].encode(), b"\xff" * len(table.column_names[-1]))
    BY_NAME[name].survives(tmp_path, data)


OLD_NAMES = {
    **{
        "jsonarray": ["json_array", "jsonl_qrels"],
        "jsonl": ["jsonl", "jsonl_qrels", "jsonl_lists"],
        "parquet": ["parquet"],
    },
    **{"documents_html": ["documents"], "samples": ["sts", "classification", "clustering", "reranking"]},
    **{"pair_classification": ["pair_classification"], "beir_folder": ["jsonl", "jsonl_queries"]},
}
"""Readers of the shared inputs that have other names, or several, here."""


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared inputs are not on this machine")
def test_shared_inputs_end_in_an_error_of_ours(tmp_path: Path) -> None:
    failures = []
    for path in sorted(SHARED.iterdir()):
        name = path.name.split("__")[0]
        data = path.read_bytes()
        _, _, rest = data.partition(b"\n")
        if name in ("samples", "beir_folder"):
            data = rest
        for reader in OLD_NAMES.get(name, [name]):
            try:
                BY_NAME[reader].survives(tmp_path / reader, data)
            except Exception as error:  # noqa: BLE001  (every failure is listed)
                failures.append(f"{path.name} with {reader}: {type(error).__name__}: {str(error)[:100]}")
    assert not failures, "\n".join(failures)
