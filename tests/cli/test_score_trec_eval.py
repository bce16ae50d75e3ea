"""`steelyard score` prints what trec_eval prints, letter by letter (answers of trec_eval 9.0.4 in tests/parity)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

from steelyard.cli import main
from steelyard.cli.score.measure_names import ALL, NICKNAMES, expand
from steelyard.errors import SteelyardError, UnknownName, UsageError
from steelyard.metrics import score
from steelyard.metrics.dicts import number_documents, qrels_from_dicts, run_from_dicts

FOLDER = Path(__file__).parents[1] / "parity" / "trec_eval"
FILES = (str(FOLDER / "qrels.txt"), str(FOLDER / "run.txt"))
CALLS = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("call", CALLS, ids=[call["options"] for call in CALLS])
def test_the_same_text(call: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", *call["options"].split(), *FILES]) == 0
    assert capsys.readouterr().out.splitlines() == call["output"]


def test_the_nicknames_are_those_of_trec_eval() -> None:
    assert set(ALL) == set(pytrec_eval.supported_measures)
    for name, measures in NICKNAMES.items():
        assert set(measures) == pytrec_eval.supported_nicknames[name]


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("level", [1, 2])
def test_every_value_as_json(level: int, flag: bool, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["-J"] if flag else []
    assert main(["score", "--json", "-q", "-m", "all_trec", "-l", str(level), *options, *FILES]) == 0
    found = json.loads(capsys.readouterr().out)
    judged = pytrec_eval.parse_qrel((FOLDER / "qrels.txt").read_text().splitlines())
    lists = pytrec_eval.parse_run((FOLDER / "run.txt").read_text().splitlines())
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"all_trec"}, relevance_level=level, judged_docs_only_flag=flag)
    theirs = evaluator.evaluate(lists)
    only_text = {"runid", "relstring"}
    only_whole = {"num_q", "gm_map", "gm_bpref"}
    assert {
        query: {m: v for m, v in values.items() if m != "relstring"} for query, values in found["per_query"].items()
    } == {
        query: {m: v for m, v in values.items() if m not in only_text | only_whole} for query, values in theirs.items()
    }
    for measure in next(iter(theirs.values())).keys() - only_text:
        values = [theirs[query][measure] for query in sorted(theirs)]
        whole = pytrec_eval.compute_aggregated_measure(measure, values)
        assert found["measures"][measure] == pytest.approx(whole, rel=1e-12, abs=1e-15)
    assert "relstring" not in found["measures"]
    low, high = found["intervals"]["utility"]  # a count, which may be negative: its interval has no bounds
    assert low < found["measures"]["utility"] < high


def test_measures_come_in_the_order_of_trec_eval_and_ours_behind_them() -> None:
    asked = ["judged@10", "P.10,5", "MRR@3", "recall.5", "num_q", "P.7", "iprec_at_recall.0.5", "pooled_recall@5"]
    assert [measure.title for measure in expand(asked)] == [
        *("num_q", "iprec_at_recall_0.50", "P_5", "P_7", "P_10", "recall_5"),
        *("judged_10", "recip_rank_cut_3", "pooled_recall_5"),
    ]


def test_several_measures_in_one_word_and_names_of_two_words() -> None:
    asked = ["relative P@5, num_q;set_P", "pooled recall@3", "P.5,10,map"]
    titles = ["num_q", "map", "P_5", "P_10", "relative_P_5", "set_P", "pooled_recall_3"]
    assert [measure.title for measure in expand(asked[1:] + asked[:1])] == titles
    with pytest.raises(UnknownName, match="'mop'"):
        expand(["num_q,mop"])


def test_grades_of_more_than_one_digit_have_a_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q").write_text("q 0 a 9\nq 0 b 10\nq 0 c -1\nq 0 d 0\n")
    (tmp_path / "r").write_text("".join(f"q Q0 {d} 1 {9 - i} t\n" for i, d in enumerate("abcde")))
    assert main(["score", "-q", "-m", "relstring", str(tmp_path / "q"), str(tmp_path / "r")]) == 0
    assert capsys.readouterr().out == f"{'relstring':<22}\tq\t'9>.0-'\n"


@pytest.mark.parametrize("name", ["prefs", "all_prefs", "prefs_simp_ret", "qrels_jg", "map_avgjg", "P_avgjg.5"])
def test_measures_of_other_files_are_refused(name: str, error_of: Callable[..., SteelyardError]) -> None:
    error = error_of("score", "-m", name, *FILES)
    assert type(error) is UsageError and name in error.message


@pytest.mark.parametrize(
    "measure",
    ["utility.1,2", "G.1=2,1=3", "G.2", "set_F.-1", "iprec_at_recall.-0.5", "iprec_at_recall.0.101,0.102", "P.2.5"],
)
def test_a_measure_that_cannot_be_computed_is_refused(measure: str, error_of: Callable[..., SteelyardError]) -> None:
    assert isinstance(error_of("score", "-m", measure, *FILES), UsageError)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (["-l", "-1"], "-l"),
        (["-N", "-5"], "-N"),
        (["-R", "prefs"], "-R"),
        (["-T", "other"], "-T"),
        (["-Z", "means.txt"], "-Z"),
        (["-D", "3"], "-D"),
        (["-n"], None),
    ],
)
def test_an_option_that_cannot_be_applied_is_refused(
    options: list[str], option: str | None, error_of: Callable[..., SteelyardError]
) -> None:
    error = error_of("score", *options, *FILES)
    assert isinstance(error, UsageError) and error.option == option


def test_exponential_gain(capsys: pytest.CaptureFixture[str]) -> None:
    values = {}
    for gain in ("linear", "exponential"):
        assert main(["score", "--json", "--gain", gain, "-m", "ndcg", "-m", "map", *FILES]) == 0
        values[gain] = json.loads(capsys.readouterr().out)["measures"]
    # The same as gains by hand, which trec_eval knows too.
    assert main(["score", "--json", "-m", "ndcg.1=1,2=3,3=7,12=4095", *FILES]) == 0
    by_hand = json.loads(capsys.readouterr().out)["measures"]["ndcg_1=1,2=3,3=7,12=4095"]
    assert values["exponential"]["ndcg"] == pytest.approx(by_hand, rel=1e-14) != values["linear"]["ndcg"]
    assert values["exponential"]["map"] == values["linear"]["map"]


def test_no_summary_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--json", "-q", "-n", "-m", "bpref", "-m", "relstring.2", *FILES]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["per_query"]
    assert (
        set(found["per_query"]["t1"]) == {"bpref", "relstring_2"} and len(found["per_query"]["t1"]["relstring_2"]) == 2
    )


def test_a_run_whose_name_has_blanks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").write_text("t1 Q0 doc-1 1 0.5 my own run\nt1 Q0 doc-2 2 0.4 my\n")
    assert main(["score", "-m", "runid", "-m", "num_ret", FILES[0], str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out == f"{'runid':<22}\tall\tmy\n{'num_ret':<22}\tall\t2\n"


def test_the_long_names_of_options(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [
        (["--query_eval_wanted", "--nosummary", "--level_for_rel", "2"], ["-q", "-n", "-l", "2"]),
        (["--Judged_docs_only", "--Max_retrieved_per_topic", "9"], ["-J", "-M", "9"]),
        (["--complete_rel_info_wanted", "--Number_docs_in_coll", "50"], ["-c", "-N", "50"]),
        (["--Rel_info_format", "qrels", "-T", "trec_results"], []),
    ]
    for long, short in pairs:
        said = []
        for options in (long, short):
            assert main(["score", *options, "-m", "set", "-m", "utility.1,1,1,1", *FILES]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1] != ""


def test_queries_of_one_file_only_are_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "-m", "num_q", *FILES]) == 0
    said = capsys.readouterr()
    assert said.out == f"{'num_q':<22}\tall\t5\n"
    assert "1 of 6 queries of the run have no judgements" in said.err and "1 of 6 judged queries" in said.err
    assert main(["score", "-c", "--quiet", "-m", "num_q", *FILES]) == 0
    said = capsys.readouterr()
    assert said.out == f"{'num_q':<22}\tall\t6\n" and said.err == ""


def test_nauc_of_a_run_is_that_of_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"nauc_{metric}_{by}" for metric in ("ndcg_at_10", "mrr_at_3") for by in ("max", "std", "diff1")]
    asked = [word for name in [*names, "nauc_P@5_max"] for word in ("-m", name)]
    assert main(["score", "--json", "-q", *asked, *FILES]) == 0
    found = json.loads(capsys.readouterr().out)
    judged = pytrec_eval.parse_qrel((FOLDER / "qrels.txt").read_text().splitlines())
    lists = pytrec_eval.parse_run((FOLDER / "run.txt").read_text().splitlines())
    queries, rows = sorted(judged.keys() & lists.keys()), number_documents(lists)
    whole = score(run_from_dicts(lists, queries, rows), qrels_from_dicts(judged, queries, rows)).whole
    assert found["measures"] == {name: whole[name] for name in [*names, "nauc_precision_at_5_max"]}
    assert found["per_query"]["t1"] == {} and found["intervals"] == {}
    for name in ("nauc_bpref_max", "nauc_ndcg_max"):
        assert main(["score", "-m", name, *FILES]) == 2


def test_exponential_gain_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--json", "-q", "-m", "nDCG-exp@5", "-m", "ndcg_exp", *FILES]) == 0
    by_name = json.loads(capsys.readouterr().out)["per_query"]
    assert main(["score", "--json", "-q", "--gain", "exponential", "-m", "nDCG@5", "-m", "ndcg", *FILES]) == 0
    by_option = json.loads(capsys.readouterr().out)["per_query"]
    assert [list(row.values())[::-1] for row in by_name.values()] == [list(row.values()) for row in by_option.values()]
