from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.errors import UnknownName, UsageError
from steelyard.metrics import DEFAULT_METRICS, METRICS, Metric, parse, parse_many


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("nDCG@10", "ndcg_at_10"),
        ("ndcg@10", "ndcg_at_10"),
        ("ndcg_at_10", "ndcg_at_10"),
        ("ndcg_cut_10", "ndcg_at_10"),
        ("ndcg_cut.10", "ndcg_at_10"),
        ("recall.100", "recall_at_100"),
        ("R@100", "recall_at_100"),
        ("P_10", "precision_at_10"),
        ("P@10", "precision_at_10"),
        ("precision_at_5", "precision_at_5"),
        ("success_10", "hit_rate_at_10"),
        ("hit@10", "hit_rate_at_10"),
        ("hit_rate_at_10", "hit_rate_at_10"),
        ("acc@10", "hit_rate_at_10"),
        ("map", "map"),
        ("MAP@100", "map_at_100"),
        ("map_cut_10", "map_at_10"),
        ("AP", "map"),
        ("Rprec", "r_precision"),
        ("R-precision", "r_precision"),
        ("recip_rank", "mrr"),
        ("RR@10", "mrr_at_10"),
        ("mrr@10", "mrr_at_10"),
        ("judged@10", "judged_at_10"),
        (" ndcg ", "ndcg"),
        ("iprec_at_recall.0.1", "iprec_at_0.1"),
        ("iprec_at_recall_0.10", "iprec_at_0.1"),
        ("iprec@.5", "iprec_at_0.5"),
        ("Rprec_mult.1", "rprec_mult_at_1.0"),
        ("relative_P.5", "relative_p_at_5"),
        ("set_relative_P", "relative_p"),
        ("set_F.0.5", "set_f_0.5"),
        ("F1", "set_f"),
        ("11pt_avg.0.2,0.5,0.8", "11pt_avg_0.2,0.5,0.8"),
        ("utility.1,-1,0,.5", "utility_1,-1,0,.5"),
        ("ndcg.1=3.5,2=9.0", "ndcg_1=3.5,2=9.0"),
        ("G.1=3", "g_1=3"),
        ("GMAP", "gm_map"),
        ("infAP", "infap"),
        ("binG", "bing"),
        ("pooled recall@100", "pooled_recall_at_100"),
    ],
)
def test_every_spelling_of_the_field(text: str, stored: str) -> None:
    assert str(parse(text)) == stored
    assert parse(stored) == parse(text)


def test_a_list_of_cutoffs_is_several_metrics() -> None:
    assert parse_many("ndcg_cut.5,10") == (Metric("ndcg", 5), Metric("ndcg", 10))
    with pytest.raises(UsageError):
        parse("ndcg_cut.5,10")


def test_the_bare_name_of_a_metric_cut_at_shares_is_all_the_usual_ones() -> None:
    assert [metric.cutoff for metric in parse_many("iprec_at_recall")] == [n / 10 for n in range(11)]
    assert parse_many("Rprec_mult")[0].trec == "Rprec_mult_0.20" and len(parse_many("Rprec_mult")) == 10


EXTRA = [Metric("ndcg"), Metric("recall"), Metric("judged", 3), Metric("set_f", None, "0.5"), Metric("g", None, "1=3")]
EVERY = [metric for name in METRICS for metric in parse_many(name)]


@pytest.mark.parametrize("metric", [*DEFAULT_METRICS, *EXTRA, *EVERY])
def test_every_spelling_that_we_print_is_read_back(metric: Metric) -> None:
    assert parse(str(metric)) == parse(metric.display) == parse(metric.trec) == metric


@pytest.mark.parametrize(("text", "near"), [("ndgc@10", "ndcg"), ("recal@5", "recall"), ("sucess_1", "success")])
def test_an_unknown_name_tells_the_nearest(text: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"'{near}'"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("ndcg@0", "Rprec@10", "", "@10", "ndcg@-1", "ndcg@1.5", "ndcg@ten", "bpref@10", "iprec@-1", "set_F.1,2"),
        *("utility.1,2,3", "utility.a,b,c,d", "G.5", "G.1=2,1=3", "ndcg.1=", "map.1=2", "P.1=2"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_every_metric_says_what_it_is() -> None:
    for name in METRICS:
        definition = METRICS.get(name)
        assert definition.description and definition.formula and definition.display


PLUGIN = """
import numpy as np
from steelyard.metrics import Definition

def first_grade(ranking, cutoff):
    return ranking.grades(cutoff or 1)[:, 0] / 3

def wrong(ranking, cutoff):
    return np.zeros(1)

def undefined(ranking, cutoff):
    return np.array([1.0, np.nan])

def endless(ranking, cutoff):
    return np.array([1.0, np.inf])

FIRST = Definition("first", "the grade of the best hit over 3", "rel_1 / 3", first_grade, ("first", "first"))
WRONG = Definition("wrong", "too short", "0", wrong, ("wrong", "wrong"))
UNDEFINED = Definition("undefined", "NaN", "0 / 0", undefined, ("undefined", "undefined"))
ENDLESS = Definition("endless", "infinite", "1 / 0", endless, ("endless", "endless"))
"""
USE_OF_PLUGIN = """
from steelyard.errors import SteelyardError
from steelyard.metrics import METRICS, parse, score
from steelyard.types import Qrels, Run

run = Run.of([[0, 1], [1, 0]], [[2, 1], [2, 1]])
qrels = Qrels.of([0, 0, 1], [0, 1, 1], [3, 1, 0], queries=2)
scores = score(run, qrels, ["first@5", "mrr"])
print(str(parse("FIRST@5")), scores.per_query["first_at_5"].tolist(), METRICS.origin("first"))
for name in ("wrong", "undefined", "endless"):
    try:
        score(run, qrels, [name])
    except SteelyardError as error:
        print(name, error.expected, error.found, METRICS.origin(name) in error.message, sep="; ")
"""


def test_a_plug_in_metric_must_return_one_finite_number_per_query(tmp_path: Path) -> None:
    (tmp_path / "weights_plugin.py").write_text(PLUGIN)
    info = tmp_path / "weights-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weights\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[steelyard.metrics]\nfirst = weights_plugin:FIRST\nwrong = weights_plugin:WRONG\n"
        "undefined = weights_plugin:UNDEFINED\nendless = weights_plugin:ENDLESS\n"
    )
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{USE_OF_PLUGIN}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, *others = done.stdout.splitlines()
    assert first == "first_at_5 [1.0, 0.0] weights"
    assert others == [
        "wrong; 2 finite numbers; shape (1,); True",
        "undefined; 2 finite numbers; shape (2,) with NaN or infinity; True",
        "endless; 2 finite numbers; shape (2,) with NaN or infinity; True",
    ]


def test_examples_are_as_people_write_them() -> None:
    wanted = {"ndcg": "nDCG@10", "iprec": "iprec@0.1", "rprec_mult": "Rprec-mult@0.4", "bpref": "bpref"}
    assert {name: METRICS.get(name).example for name in wanted} == wanted


@pytest.mark.parametrize("text", ["G.-1=3", "ndcg.1=2,1=3", "ndcg.1=2,2"])
def test_gains_name_every_grade_once_from_0_on(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.option == text.partition(".")[0] and caught.value.found == text.partition(".")[2]
