"""`steelyard score` and the TREC files under it, against trec_eval (pytrec_eval)."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import pytrec_eval
from pyarrow import parquet

from steelyard import evaluate as evaluate_models
from steelyard import load_task
from steelyard.cli import main
from steelyard.datasets.formats.trec import qrels_runs as trec_files
from steelyard.errors import DataError, MissingPart
from steelyard.types import Run

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]


@pytest.fixture
def data() -> tuple[QrelsDict, RunDict]:
    """Graded judgements and scores that tie as float32; q0 is only judged, q9 is only in the run."""
    rng = np.random.default_rng(11)
    documents = [f"doc-{i}é" for i in range(80)]
    run = {
        f"q{q}": {documents[d]: float(rng.integers(1, 9)) / 3 + rng.random() * 1e-9 for d in rng.permutation(80)[:50]}
        for q in range(1, 10)
    }
    qrels = {f"q{q}": {documents[d]: int(rng.integers(0, 4)) for d in rng.permutation(80)[:20]} for q in range(9)}
    qrels["q2"]["gone"] = 2
    return qrels, run


@pytest.fixture
def files(tmp_path: Path, data: tuple[QrelsDict, RunDict]) -> tuple[str, str]:
    qrels, run = data
    judged = [f"{q} 0 {d} {grade}" for q, found in qrels.items() for d, grade in found.items()]
    ranked = [f"{q}\tQ0  {d} 1 {score!r} mine" for q, found in run.items() for d, score in found.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(judged) + "\n")
    (tmp_path / "run.txt").write_text("\r\n".join(ranked))
    return str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt")


def lines(capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], str]:
    out: dict[tuple[str, str], str] = {}
    for line in capsys.readouterr().out.splitlines():
        measure, query, value = line.split("\t")
        assert len(measure) >= 22 and (measure.strip(), query) not in out
        out[measure.strip(), query] = value
    return out


def evaluate(data: tuple[QrelsDict, RunDict], measures: set[str], **options: Any) -> dict[str, dict[str, float]]:
    qrels, run = data
    return dict(pytrec_eval.RelevanceEvaluator(qrels, measures, **options).evaluate(run))


MEASURES = {"map", "Rprec", "bpref", "recip_rank", "P", "iprec_at_recall", "num_ret", "num_rel", "num_rel_ret"}


def printed(measure: str, value: float) -> str:
    return str(int(value)) if measure.startswith("num_") else f"{value:.4f}"


@pytest.mark.parametrize("level", [1, 2])
def test_the_default_measures_of_every_query(
    level: int, data: tuple[QrelsDict, RunDict], files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "-q", "-l", str(level), *files]) == 0
    found = lines(capsys)
    theirs = evaluate(data, MEASURES, relevance_level=level)
    assert sorted(theirs) == [f"q{q}" for q in range(1, 9)]
    expected = {(m, q): printed(m, v) for q, values in theirs.items() for m, v in values.items()}
    for measure in next(iter(theirs.values())):
        total = 0.0
        for query in sorted(theirs):  # not sum(): since Python 3.12 it is more exact than trec_eval
            total += theirs[query][measure]
        expected[measure, "all"] = printed(measure, total if measure.startswith("num_") else total / len(theirs))
    whole = found.pop(("gm_map", "all"))
    logs = [values["gm_map"] for values in evaluate(data, {"gm_map"}, relevance_level=level).values()]
    assert whole == f"{np.exp(np.mean(logs)):.4f}"
    assert found == expected | {("runid", "all"): "mine", ("num_q", "all"): "8"}


def test_queries_come_in_the_order_of_their_ids(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["score", "-q", "-m", "map", *files])
    assert [query for _, query in lines(capsys)] == [*(f"q{q}" for q in range(1, 9)), "all"]


@pytest.mark.parametrize("spelling", ["ndcg_cut.10", "ndcg_cut_10", "nDCG@10", "ndcg_at_10"])
def test_every_spelling_prints_as_trec_eval_prints(
    spelling: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["score", "-m", spelling, *files])
    out = capsys.readouterr().out
    assert out.startswith("ndcg_cut_10           \tall\t0.")


def test_several_measures_come_as_trec_eval_orders_them(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["score", "-m", "P.5,10", "-m", "num_q", "-m", "success", "-m", "judged@10", *files])
    assert [measure for measure, _ in lines(capsys)] == [
        *("num_q", "P_5", "P_10", "success_1", "success_5", "success_10", "judged_10"),
    ]


def test_complete_averages_over_all_judged_queries(
    data: tuple[QrelsDict, RunDict], files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["score", "-c", "-q", "-m", "map", "-m", "num_q", "-m", "num_rel", *files])
    found = lines(capsys)
    theirs = evaluate(data, {"map", "num_rel"})
    assert found["map", "all"] == f"{sum(v['map'] for v in theirs.values()) / 9:.4f}"
    assert found["num_q", "all"] == "9"
    assert found["num_rel", "all"] == str(sum(g > 0 for judged in data[0].values() for g in judged.values()))
    assert ("map", "q0") not in found


def test_max_documents_cuts_the_lists(
    data: tuple[QrelsDict, RunDict], files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["score", "-q", "-M", "7", "-m", "map", "-m", "num_ret", *files])
    found = lines(capsys)
    theirs = evaluate(data, {"map_cut.7"})
    assert {q: found["map", q] for q in theirs} == {q: f"{v['map_cut_7']:.4f}" for q, v in theirs.items()}
    assert found["num_ret", "all"] == "56"


def test_json(data: tuple[QrelsDict, RunDict], files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--json", "-q", "-m", "map", "-m", "num_ret", *files]) == 0
    found = json.loads(capsys.readouterr().out)
    theirs = evaluate(data, {"map", "num_ret"})
    assert found["per_query"] == theirs
    assert found["measures"]["num_ret"] == 400
    low, high = found["intervals"]["map"]
    assert 0 <= low < found["measures"]["map"] < high <= 1 and "num_ret" not in found["intervals"]


def test_scores_that_float32_cannot_tell_apart_go_by_id_and_are_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = "q1 Q0 a 1 20000000.2 t\nq1 Q0 b 2 20000000.1 t\nq2 Q0 a 1 0.2 t\nq2 Q0 b 2 0.1 t\n"
    (tmp_path / "run").write_text(run)
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    assert main(["score", "-m", "recip_rank", str(tmp_path / "qrels"), str(tmp_path / "run")]) == 0
    said = capsys.readouterr()
    theirs = pytrec_eval.RelevanceEvaluator({"q1": {"a": 1}, "q2": {"a": 1}}, {"recip_rank"}).evaluate(
        pytrec_eval.parse_run(run.splitlines())
    )
    assert [theirs[query]["recip_rank"] for query in ("q1", "q2")] == [0.5, 1.0]
    assert said.out.endswith("0.7500\n") and "1 of 2 lists have scores that are equal as float32" in said.err


def test_packed_files_read_the_same(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["score", *files])
    plain = capsys.readouterr().out
    packed_qrels, packed_run = f"{files[0]}.gz", f"{files[1]}.zst"
    Path(packed_qrels).write_bytes(gzip.compress(Path(files[0]).read_bytes()))
    with pa.output_stream(packed_run, compression="zstd") as stream:
        stream.write(Path(files[1]).read_bytes())
    main(["score", packed_qrels, packed_run])
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"q1 0 d1 1\nq1 0 d2\n", "line 2"),
        (b"q1 0 d 1 extra\n", "line 1"),
        (b"\n\nq1 0 d1 high\n", "line 3"),
        (b"q1 0 d1 1.5\n", "line 1"),
        (b"q1 0 d1 99999999999\n", "line 1"),
        (b"q1 0 d1 1\n\nq2 0 d1 1\nq1 0 d1 2\n", "line 4"),
        (b"q1 0 \xff 1\n", "line 1"),
        (b" \n\n", "bad.qrels"),
    ],
)
def test_malformed_judgements_are_named_with_file_and_line(text: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.qrels"
    path.write_bytes(text)
    with pytest.raises(DataError) as error:
        trec_files.read_qrels(path)
    assert str(path) in str(error.value) and says in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q1 Q0 d1 1 0.5\n", "line 1"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 many t\n", "line 2"),
        ("q1 Q0 d1 1 nan t\n", "line 1"),
        ("q1 Q0 d1 1 inf t\n", "line 1"),
        ("q1 Q0 d1 1 -1e39 t\n", "line 1"),
        ("q1 Q0 d1 1 1 t\nq1 Q0 d1 2 0.5 t\n", "line 2"),
    ],
)
def test_malformed_runs_are_named_with_file_and_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.run"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        trec_files.read_run(path)
    assert str(path) in str(error.value) and says in str(error.value)


def test_errors_end_in_a_message_and_a_code(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", files[0], str(tmp_path / "none")]) == 3
    assert main(["score", "-m", "ndgc@10", *files]) == 2
    assert main(["score", "-M", "0", *files]) == 2
    (tmp_path / "other.run").write_text("x1 Q0 d 1 1 t\n")
    assert main(["score", files[0], str(tmp_path / "other.run")]) == 2
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"q1 0 d 1\n" * 999)[:-12])
    assert main(["score", str(tmp_path / "broken.gz"), files[1]]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    for part in ("none", "'ndcg'", "-M must be", "'x1'", "broken.gz"):
        assert part in said.err


def test_a_written_run_reads_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    documents = [f"d{i:03}" for i in range(99, -1, -1)]
    rows = np.stack([rng.permutation(100)[:20] for _ in range(5)])
    rows[3, 12:] = -1
    run = Run.of(rows, rng.integers(0, 5, rows.shape).astype(np.float32) / 7)
    for name in ("a.run", "a.run.gz", "a.run.zst"):
        trec_files.write_run(tmp_path / name, run, [f"q{q}" for q in range(5)], documents, "mine")
        back = trec_files.read_run(tmp_path / name)
        assert (back.tag, back.queries) == ("mine", ("q0", "q1", "q2", "q3", "q4"))
        row_of = {id_: row for row, id_ in enumerate(documents)}
        row = np.array([row_of[id_] for id_ in back.documents])[back.document]
        again = trec_files.build_run(back.query, row, back.scores, queries=5)
        assert again.rows.tolist() == run.rows.tolist()
        assert again.scores.astype(np.float32).tolist() == run.scores.tolist()
    first = (tmp_path / "a.run").read_text().splitlines()[0].split(" ")
    assert first[:2] == ["q0", "Q0"] and first[3] == "1" and first[5] == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.run", "a.run.gz", "a.run.zst"]


def test_ids_that_a_trec_file_cannot_hold_are_refused(tmp_path: Path) -> None:
    run = Run.of([[0]], [[1.0]])
    for queries, documents, tag in ((["a b"], ["d"], "t"), (["q"], [""], "t"), (["q"], ["d"], "a tag")):
        with pytest.raises(DataError, match="blank"):
            trec_files.write_run(tmp_path / "x.run", run, queries, documents, tag)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MissingPart):
        trec_files.read_run(tmp_path / "x.run")


def test_all_measures_at_once(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "-m", "all_trec", *files]) == 0
    measures = {measure for measure, _ in lines(capsys)}
    assert {"runid", "map", "ndcg", "ndcg_cut_10", "map_cut_5", "success_1", "P_1000", "gm_bpref", "infAP"} <= measures


def test_files_in_the_wrong_order_and_long_lines_are_told(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", files[1], files[0]]) == 2
    assert "order" in capsys.readouterr().err
    long = tmp_path / "long.txt"
    long.write_text("x" * 5000)
    assert main(["score", str(long), files[1]]) == 2
    assert len(capsys.readouterr().err) < 500


@pytest.mark.slow
def test_a_run_may_be_piped_in(files: tuple[str, str]) -> None:
    qrels, run = files
    command = [sys.executable, "-m", "steelyard", "score", "-m", "map"]
    named = subprocess.run([*command, qrels, run], capture_output=True, check=True)
    piped = subprocess.run([*command, qrels, "-"], input=Path(run).read_bytes(), capture_output=True, check=True)
    assert piped.stdout == named.stdout
    both = subprocess.run([*command, "-", "-"], input=b"", capture_output=True, check=False)
    assert both.returncode == 2 and b"standard input" in both.stderr


def test_a_folder_and_what_is_no_table_are_told(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "three.tsv").write_text("q1\td1\t1\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1\x15\x04\x15\xff")
    parquet.write_table(pa.table({"query-id": ["q1"], "text": ["what"]}), tmp_path / "other.parquet")
    (tmp_path / "bare.tsv").write_text("query-id\tcorpus-id\tscore\n")
    parquet.write_table(pa.table({"qid": [], "docid": [], "score": []}), tmp_path / "bare.parquet")
    for qrels, says in (
        (tmp_path / "bare.tsv", "bare.tsv"),
        (tmp_path / "bare.parquet", "bare.parquet"),
        (tmp_path, str(tmp_path)),
        (tmp_path / "three.tsv", "three.tsv"),
        (tmp_path / "cut.parquet", "cut.parquet"),
        (tmp_path / "other.parquet", "corpus-id"),
    ):
        assert main(["score", str(qrels), files[1]]) == 2
        assert says in capsys.readouterr().err


def test_tables_score_as_the_lines_that_they_hold(
    data: tuple[QrelsDict, RunDict], files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, run = data
    judged = [(q, d, grade) for q, found in qrels.items() for d, grade in found.items()]
    ranked = [(q, d, score) for q, found in run.items() for d, score in found.items()]
    queries, documents, grades = map(list, zip(*judged, strict=True))
    parquet.write_table(
        pa.table({"query-id": queries, "corpus-id": documents, "score": grades}), tmp_path / "qrels.parquet"
    )
    named = [f"{q}\t{d}\t{grade}.0" for q, d, grade in judged]
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(named))
    (tmp_path / "test.csv").write_text("qid,relevance,docid\r\n" + "".join(f'{q},{g},"{d}"\r\n' for q, d, g in judged))
    (tmp_path / "qrels.json").write_text(json.dumps(qrels))
    (tmp_path / "mine.json").write_text(json.dumps(run, indent=1))
    queries, documents, scores = map(list, zip(*ranked, strict=True))
    parquet.write_table(
        pa.table({"query-id": pa.array(queries).dictionary_encode(), "corpus-id": documents, "score": scores}),
        tmp_path / "mine.run.parquet",
    )
    assert main(["score", "-q", "-m", "all_trec", *files]) == 0
    expected = capsys.readouterr().out
    for judgements in ("qrels.parquet", "test.tsv", "test.csv", "qrels.json"):
        for ranking in ("mine.run.parquet", "mine.json"):
            asked = [str(tmp_path / judgements), str(tmp_path / ranking)]
            assert main(["score", "-q", "-m", "all_trec", *asked]) == 0
            assert capsys.readouterr().out == expected


def test_a_saved_run_is_scored_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = evaluate_models("bm25", "NanoAlmanac/en", results=tmp_path, save_runs="parquet")
    task = load_task("NanoAlmanac/en")
    rows = np.repeat(np.arange(len(task.qrels)), task.qrels.counts)
    table = {
        "query-id": [task.queries.ids[row] for row in rows],
        "corpus-id": [task.corpus.ids[row] for row in task.qrels.rows],
        "score": task.qrels.grades,
    }
    parquet.write_table(pa.table(table), tmp_path / "qrels.parquet")
    (run,) = tmp_path.rglob("*.run.parquet")
    assert main(["score", "--json", "-c", "-m", "nDCG@10", str(tmp_path / "qrels.parquet"), str(run)]) == 0
    found = json.loads(capsys.readouterr().out)["measures"]["ndcg_cut_10"]
    assert found == pytest.approx(results[0].metrics["ndcg_at_10"], rel=1e-14)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"query-id": ["q1", None], "corpus-id": ["a", "b"]}, "row 2"),
        ({"query-id": ["q1", "q1"], "corpus-id": ["a", "a"]}, "row 2"),
        ({"query-id": ["q1", "q1"], "corpus-id": ["a", "b"], "score": [1.0, 0.5]}, "row 2"),
        ({"query-id": ["q1", "q1"], "corpus-id": ["a", "b"], "score": [1, None]}, "row 2"),
        ({"query-id": [1.5, 2.5], "corpus-id": ["a", "b"]}, "double"),
    ],
)
def test_rows_of_tables_that_are_no_judgements_are_named(columns: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    parquet.write_table(pa.table(columns), path)
    with pytest.raises(DataError) as error:
        trec_files.read_qrels(path)
    assert str(path) in str(error.value) and says in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"q1": {"a": 1, "a": 2}}', "'a'"),
        ('{"test": {"q1": {"a": 1}}}', "'test'"),
        ('{"q1": ["a", "b"]}', "'q1'"),
        ('{"q1": {"a": NaN}}', "row 1"),
        ('{"q1": {}}', "q.json"),
        ('{"q1": {"a": 1}', "q.json"),
    ],
)
def test_json_that_is_no_judgements_is_told(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(DataError) as error:
        trec_files.read_qrels(tmp_path / "q.json")
    assert str(tmp_path) in str(error.value) and says in str(error.value)


def test_predictions_of_mteb_are_a_run(tmp_path: Path) -> None:
    path = tmp_path / "Task_predictions.json"
    meta = {"mteb_model_meta": {"model_name": "m", "revision": "1"}}
    path.write_text(json.dumps(meta | {"default": {"test": {"q1": {"a": 0.5, "b": 0.25}}}}))
    found = trec_files.read_run(path)
    assert (found.queries, found.documents, found.scores.tolist()) == (("q1",), ("a", "b"), [0.5, 0.25])
    path.write_text(json.dumps(meta | {"default": {"test": [0, 1, 1]}}))
    with pytest.raises(DataError, match="default/test"):
        trec_files.read_run(path)
    path.write_text(json.dumps(meta | {"en": {"test": {"q1": {"a": 1}}, "dev": {}}}))
    with pytest.raises(DataError, match=r"en/test, en/dev"):
        trec_files.read_run(path)


def test_judgements_without_grades_are_relevant(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"query-id": [7, 7], "corpus-id": ["a", "b"]}), tmp_path / "q.parquet")
    found = trec_files.read_qrels(tmp_path / "q.parquet")
    assert (found.queries, found.grades.tolist()) == (("7",), [1, 1])


def test_comments_and_grades_as_others_write_them(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text("# judged in 1999 by\n#\nq1 0 d1 1.0\n#q2 0 d2 +2\nq1 0 d3 -1\n")
    found = trec_files.read_qrels(path)
    assert (found.queries, found.grades.tolist()) == (("q1", "#q2"), [1, 2, -1])
    path.write_text("# made by hand\nq1 Q0 d1 1 0.5 t\n# q1 Q0 d2 2 0.4 t\nq1 Q0 d3 3 x t\n")
    with pytest.raises(DataError, match=r"line 4: the score is 'x'"):
        trec_files.read_run(path)
    path.write_text("# nothing follows\n")
    with pytest.raises(DataError, match="the file is empty"):
        trec_files.read_run(path)


def test_long_files_are_told_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from steelyard.cli._ui import progress
    from steelyard.datasets.formats.trec import qrels_runs as trec_files

    (tmp_path / "qrels").write_text("q 0 d 1\n")
    (tmp_path / "run").write_text("q Q0 d 1 1.0 t\n")
    words = ["score", str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "map"]
    assert main(words) == 0 and "reading" not in capsys.readouterr().err
    read = trec_files.read_run
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(trec_files, "read_run", lambda path: time.sleep(0.2) or read(path))
    assert main(words) == 0
    assert capsys.readouterr().err == f"reading {words[1]} and {words[2]} ...\n"
