"""Intervals, p-values, counts and counterfactuals of a JSON page, computed again with scipy, pytrec_eval and Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from page_oracles import as_lists, assert_bootstrapped, assert_randomised, evaluate, holm, words
from recomputed_page import Measured, language_of, measured_page
from scipy import stats

from steelyard.reports.pages.diagnose.evidence import names_of
from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.types import Corpus

pytestmark = pytest.mark.slow

SCRIPTS = {"ar": "arabic", "hi": "devanagari", "ja": "japanese", "ko": "hangul", "ru": "cyrillic", "zh": "han"}
APPROXIMATELY = {"rel": 1e-6, "abs": 1e-9}


@pytest.fixture(scope="module")
def measured() -> Measured:
    return measured_page()


def test_lengths(measured: Measured) -> None:
    for side, texts in (("query", measured.task.queries.texts), ("document", measured.task.corpus.texts)):
        shown = measured.page[f"{side}_lengths"]
        for unit, counts in (("characters", list(map(len, texts))), ("words", list(map(words, texts)))):
            one = shown[unit]
            assert (one["min"], one["max"]) == (min(counts), max(counts))
            assert one["median"] == np.median(counts) and one["mean"] == pytest.approx(np.mean(counts), **APPROXIMATELY)
            edges = one["histogram"]["edges"]
            assert one["histogram"]["counts"] == np.histogram(counts, [*edges[:-1], edges[-1] - 0.5])[0].tolist()


def test_positives(measured: Measured) -> None:
    counts = [sum(grade > 0 for grade in one.values()) for one in measured.judged]
    several = sum(count > 1 for count in counts)
    grades = Counter(str(grade) for one in measured.judged for grade in one.values() if grade > 0)
    assert measured.page["positives"] == {
        "count": sum(counts),
        "mean": pytest.approx(np.mean(counts), **APPROXIMATELY),
        "min": 0,
        "median": np.median(counts),
        "max": max(counts),
        "multi_positive_queries": several,
        "multi_positive_share": pytest.approx(several / len(counts), **APPROXIMATELY),
        "judgements": sum(map(len, measured.judged)),
        "outside_corpus": 1,
        "queries_without": 1,
        "grades": dict(grades),
    }


def test_shares_of_languages_scripts_and_pairs(measured: Measured) -> None:
    def shares(values: list[str]) -> Any:
        return pytest.approx({key: count / len(values) for key, count in Counter(values).items()}, **APPROXIMATELY)

    shown = measured.page["tongues"]
    written = [language_of(id_) for id_ in measured.task.corpus.ids]
    pairs = [(measured.asked[q], language_of(d)) for q, rows in enumerate(measured.positives) for d in rows]
    scripts = [tuple(SCRIPTS.get(code, "latin") for code in pair) for pair in pairs]
    joint = {"han", "japanese"}
    assert shown["query_languages"] == shares(measured.asked)
    assert shown["document_languages"] == shares(written)
    assert shown["query_scripts"] == shares([SCRIPTS.get(code, "latin") for code in measured.asked])
    assert shown["document_scripts"] == shares([SCRIPTS.get(code, "latin") for code in written])
    assert shown["pair_languages"] == shares([f"{a}-{b}" for a, b in pairs])
    assert shown["pairs"] == len(pairs) and shown["undecided"] == 0
    assert shown["same_language"] == pytest.approx(np.mean([a == b for a, b in pairs]), **APPROXIMATELY)
    assert shown["cross_language"] == pytest.approx(np.mean([a != b for a, b in pairs]), **APPROXIMATELY)
    crossed = [a != b and not {a, b} <= joint for a, b in scripts]
    assert shown["cross_script"] == pytest.approx(np.mean(crossed), **APPROXIMATELY)


def test_overlap_and_its_correlation_with_the_gain(measured: Measured) -> None:
    shown, known = measured.page["overlap"], ~np.isnan(measured.overlap)
    values = measured.overlap[known]
    assert shown["mean"] == pytest.approx(values.mean(), **APPROXIMATELY)
    assert shown["median"] == pytest.approx(np.median(values), **APPROXIMATELY)
    assert shown["none"] == pytest.approx(np.mean(values == 0), **APPROXIMATELY)
    assert shown["full"] == pytest.approx(np.mean(values == 1), **APPROXIMATELY)
    assert shown["histogram"] == np.histogram(values + 1e-9, np.arange(11) / 10 + np.eye(11)[10])[0].tolist()
    expected = stats.spearmanr(values, (measured.ndcg["bm25"] - measured.ndcg["dense"])[known])
    assert measured.page["overlap_gain_correlation"] == pytest.approx(expected.statistic, **APPROXIMATELY)
    assert measured.page["overlap_gain_p_value"] == pytest.approx(expected.pvalue, **APPROXIMATELY)


def test_intervals_of_profiles(measured: Measured) -> None:
    names = {"ndcg_at_10": "ndcg_cut_10", "hit_rate_at_10": "success_10", "recall_at_100": "recall_100"}
    for one in measured.page["profiles"]:
        for metric, theirs in names.items():
            values = evaluate(measured.task, measured.lists[one["kind"]], theirs)
            assert one[metric] == pytest.approx(values.mean(), **APPROXIMATELY)
            assert_bootstrapped(one["intervals"][metric], values)


def test_comparisons_of_profiles(measured: Measured) -> None:
    shown = measured.page["comparisons"]
    assert len(shown) == 3
    differences = [measured.ndcg[one["better"]] - measured.ndcg[one["worse"]] for one in shown]
    for one, values in zip(shown, differences, strict=True):
        assert one["difference"] == pytest.approx(values.mean(), **APPROXIMATELY) and one["difference"] >= 0
        signs = Counter(np.sign(np.where(np.abs(values) < 1e-9, 0, values)).tolist())
        assert (one["wins"], one["ties"], one["losses"]) == (signs[1.0], signs[0.0], signs[-1.0])
        assert_bootstrapped(one["interval"], values)
    assert_randomised([one["p_value"] for one in shown], differences)


def slice_members(measured: Measured) -> dict[tuple[str, str], list[int]]:
    """The queries of every slice."""
    lengths = [len(text) for text in measured.task.queries.texts]
    low, high = (int(edge) for edge in np.quantile(lengths, [1 / 3, 2 / 3]))
    names: dict[str, list[str | None]] = {
        "relation": [
            "und" if not to else "same language" if to == {of} else "both" if of in to else "another language"
            for of, to in zip(measured.asked, measured.sought, strict=True)
        ],
        "language": list(measured.asked),
        "languages of the pair": [
            f"{of}-{'none' if not to else 'several' if len(to) > 1 else min(to)}"
            for of, to in zip(measured.asked, measured.sought, strict=True)
        ],
        "script": [SCRIPTS.get(code, "latin") for code in measured.asked],
        "query length": [
            f"up to {low} characters"
            if n <= low
            else f"{low + 1} to {high} characters"
            if n <= high
            else f"over {high} characters"
            for n in lengths
        ],
        "overlap": [
            "low (up to 0.25)" if x <= 0.25 else "high (from 0.75)" if x >= 0.75 else "middle (0.25 to 0.75)"
            for x in np.nan_to_num(measured.overlap, nan=-1).tolist()
        ],
    }
    names["overlap"] = [None if np.isnan(x) else n for x, n in zip(measured.overlap, names["overlap"], strict=True)]
    members: dict[tuple[str, str], list[int]] = {}
    for dimension, values in names.items():
        for query, name in enumerate(values):
            if name is not None:
                members.setdefault((dimension, name), []).append(query)
    return members


def test_slices(measured: Measured) -> None:
    members = slice_members(measured)
    shown = {(one["dimension"], one["name"]): one for one in measured.page["slices"]}
    assert shown.keys() == members.keys()
    raw: list[float] = []
    adjusted: list[float] = []
    for key, one in shown.items():
        inside = np.isin(np.arange(len(measured.asked)), members[key])
        assert one["queries"] == inside.sum()
        for kind, values in measured.ndcg.items():
            assert one["ndcg_at_10"][kind] == pytest.approx(values[inside].mean(), **APPROXIMATELY)
            rest = values[inside].mean() - values[~inside].mean()
            assert one["against_rest"][kind] == pytest.approx(rest, **APPROXIMATELY)
            assert (kind in one["rest_p_values"]) == (min(inside.sum(), (~inside).sum()) >= 20)
            if kind in one["rest_p_values"]:
                assert_bootstrapped(one["intervals"][kind], values[inside])
                raw.append(stats.ttest_ind(values[inside], values[~inside], equal_var=False).pvalue)
                adjusted.append(one["rest_p_values"][kind])
    assert adjusted == pytest.approx(holm(raw), **APPROXIMATELY) and min(adjusted) < 0.05


def test_failure_classes(measured: Measured) -> None:
    shown = {(one["name"], one["profile"]): one for one in measured.page["diagnosis"]["classes"]}
    own = [of in to for of, to in zip(measured.asked, measured.sought, strict=True)]
    masks: dict[str, dict[str, np.ndarray]] = {}
    for kind in measured.lists:
        masks[kind] = {
            "translation": measured.answerable & ~np.array(own),
            "paraphrase": (measured.overlap <= 0.25) & np.array(own),
            "near_duplicate": np.array([bool(rows) for rows in measured.copies[kind]]),
        }
    for (name, kind), one in shown.items():
        failed, found = measured.answerable & ~measured.found(kind), measured.found(kind)
        assert (one["failures"], one["successes"]) == (failed.sum(), found.sum())
        if name in masks[kind]:
            mask = masks[kind][name]
            assert (one["failed"], one["found"]) == ((mask & failed).sum(), (mask & found).sum())
        expected = stats.binomtest(one["failed"], one["failures"]).proportion_ci(method="wilson")
        assert one["share"] == pytest.approx(one["failed"] / one["failures"], **APPROXIMATELY)
        assert (one["interval"]["low"], one["interval"]["high"]) == pytest.approx(tuple(expected), **APPROXIMATELY)
    tables = [
        [[one["failed"], one["failures"] - one["failed"]], [one["found"], one["successes"] - one["found"]]]
        for one in shown.values()
    ]
    expected_p = holm([stats.fisher_exact(table).pvalue for table in tables])
    assert [one["p_value"] for one in shown.values()] == pytest.approx(expected_p, **APPROXIMATELY)
    assert {"translation", "near_duplicate"} <= {name for name, _ in shown} and min(expected_p) < 0.05


def query_properties(measured: Measured) -> dict[str, np.ndarray]:
    texts, (queries, documents) = measured.task.queries.texts, measured.terms
    frequency = Counter(term for terms in documents.values() for term in terms)
    scripts = [SCRIPTS.get(code, "latin") for code in measured.asked]
    values: dict[str, list[Any]] = {
        "overlap": measured.overlap.tolist(),
        "rarest_term": [min((frequency[t] for t in own if frequency[t]), default=np.nan) for own in queries],
        "query_words": [words(text) for text in texts],
        "relevant_words": [
            min((words(measured.text_of[d]) for d in rows), default=np.nan) for rows in measured.positives
        ],
        "relevant_documents": [sum(grade > 0 for grade in one.values()) for one in measured.judged],
        "has_number": [any(map(str.isdigit, text)) for text in texts],
        "has_name": [bool(names_of(*one)) for one in zip(texts, measured.asked, scripts, strict=True)],
        "cross_language": [bool(to) and of not in to for of, to in zip(measured.asked, measured.sought, strict=True)],
    }
    return {name: np.array(column, dtype=float) for name, column in values.items()}


def test_what_separates_found_from_missed_queries(measured: Measured) -> None:
    shown, values = measured.page["diagnosis"]["separators"], query_properties(measured)
    assert {(one["property"], one["profile"]) for one in shown} == {
        (name, k) for name in values for k in measured.lists
    }
    raw = []
    for one in shown:
        column, found = values[one["property"]], measured.found(one["profile"])
        known = measured.answerable & ~np.isnan(column)
        first, second = column[known & found], column[known & ~found]
        middle = np.mean if one["is_share"] else np.median
        assert (one["found"], one["missed"]) == pytest.approx((middle(first), middle(second)), **APPROXIMATELY)
        test = stats.mannwhitneyu(first, second, method="asymptotic")
        assert one["auc"] == pytest.approx(test.statistic / len(first) / len(second), **APPROXIMATELY)
        raw.append(test.pvalue)
    assert [one["p_value"] for one in shown] == pytest.approx(holm(raw), **APPROXIMATELY)


def test_counterfactuals(measured: Measured) -> None:
    """Scores, intervals and p-values of all: other languages, near-duplicates, truncated documents, rerankers."""
    task, lists = measured.task, measured.lists
    shown = {(one["name"], one["profile"]): one for one in measured.page["diagnosis"]["counterfactuals"]}
    expected: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}
    for kind, own in lists.items():
        spoken = [[d for d in ids if language_of(d) in measured.sought[q]] for q, ids in enumerate(own)]
        unique = [[d for d in ids if d not in measured.copies[kind][q]] for q, ids in enumerate(own)]
        expected["other_languages", kind] = measured.ndcg[kind], evaluate(task, spoken)
        expected["near_duplicates", kind] = measured.ndcg[kind], evaluate(task, unique)
    assert np.mean([len(text) > 256 for text in task.corpus.texts]) >= 0.25
    short = Corpus.of(task.corpus.ids, [text[:256] for text in task.corpus.texts])
    searched = [
        as_lists(task, Bm25().index(corpus, task.info).search(task.queries, 100)) for corpus in (task.corpus, short)
    ]
    expected["head_256", "bm25"] = evaluate(task, searched[0]), evaluate(task, searched[1])
    usable = measured.answerable & (np.array([len(ids) for ids in lists["bm25"]]) >= 50)
    pool = [set(ids[:100]) for ids in lists["bm25"]]
    reranked = evaluate(task, [[d for d in ids if d in pool[q]] for q, ids in enumerate(lists["dense"])])
    ideal = [pool[q] | set(measured.positives[q]) for q in range(len(pool))]
    oracle = evaluate(task, [[d for d in ids if d in ideal[q]] for q, ids in enumerate(lists["dense"])])
    expected["rerank_pool", "dense"] = measured.ndcg["dense"][usable], reranked[usable]
    expected["rerank_oracle", "dense"] = reranked[usable], oracle[usable]
    expected = {key: (old, new) for key, (old, new) in expected.items() if np.abs(old - new).max() > 1e-9}
    assert shown.keys() == expected.keys() >= {("near_duplicates", "bm25"), ("near_duplicates", "dense")}
    for key, one in shown.items():
        old, new = expected[key]
        assert (one["before"], one["after"]) == pytest.approx((old.mean(), new.mean()), **APPROXIMATELY)
        assert one["difference"] == pytest.approx((new - old).mean(), **APPROXIMATELY)
        assert one["queries"] == len(old) and one["changed"] == (np.abs(new - old) > 1e-9).sum()
        if one["changed"] >= 20:  # the means of few values have a coarse distribution
            assert_bootstrapped(one["interval"], new - old)
    assert_randomised(
        [one["p_value"] for one in shown.values()], [expected[key][1] - expected[key][0] for key in shown]
    )


def test_relevant_documents_in_the_same_and_in_another_language(measured: Measured) -> None:
    shown = {one["name"]: one for one in measured.page["diagnosis"]["relations"]}
    differences = []
    for kind, lists in measured.lists.items():
        shares: dict[str, np.ndarray] = {}
        for name in ("same", "cross"):
            rows = [
                {d for d in own if (language_of(d) == measured.asked[q]) == (name == "same")}
                for q, own in enumerate(measured.positives)
            ]
            top = {depth: [set(ids[:depth]) for ids in lists] for depth in (10, 100)}
            found = {
                depth: np.array([len(a & b) / len(a) if a else np.nan for a, b in zip(rows, heads, strict=True)])
                for depth, heads in top.items()
            }
            shares[name] = found[10]
            known = ~np.isnan(found[10])
            assert (shown[name]["pairs"], shown[name]["queries"]) == (sum(map(len, rows)), known.sum())
            assert shown[name]["found_at_10"][kind] == pytest.approx(np.nanmean(found[10]), **APPROXIMATELY)
            assert shown[name]["found_at_100"][kind] == pytest.approx(np.nanmean(found[100]), **APPROXIMATELY)
            assert_bootstrapped(shown[name]["intervals"][kind], found[10][known])
        both = ~np.isnan(shares["same"] + shares["cross"])
        assert both.sum() >= 20  # paired
        differences.append((shares["same"] - shares["cross"])[both])
    p_values = measured.page["diagnosis"]["relation_p_values"]
    assert_randomised([p_values[kind] for kind in measured.lists], differences)


def test_failure_modes_first_ranks_and_ceiling(measured: Measured) -> None:
    hit = {kind: measured.found(kind) for kind in measured.lists}
    either = hit["bm25"] | hit["dense"]
    expected = {
        "bm25_misses_dense_finds": hit["dense"] & ~hit["bm25"],
        "dense_misses_bm25_finds": hit["bm25"] & ~hit["dense"],
        "both_miss": measured.answerable & ~either,
        "hybrid_loses": either & ~hit["hybrid"],
    }
    modes = {one["mode"]: one for one in measured.page["failures"]}
    assert {mode: one["queries"] for mode, one in modes.items()} == {k: mask.sum() for k, mask in expected.items()}
    for mode, mask in expected.items():
        share = mask.sum() / measured.answerable.sum()
        assert modes[mode]["share"] == pytest.approx(share, **APPROXIMATELY)
    relevant = sum(grade > 0 for one in measured.judged for grade in one.values())
    for one in measured.page["profiles"]:
        lists = measured.lists[one["kind"]]
        ranks = [
            next((n for n, d in enumerate(ids, 1) if d in set(measured.positives[q])), 0) for q, ids in enumerate(lists)
        ]
        last = {"1": (1, 1), "2-3": (2, 3), "4-10": (4, 10), "11-100": (11, 100), "over 100": (101, 10**9)}
        counts = {name: sum(low <= rank <= high for rank in ranks) for name, (low, high) in last.items()}
        assert one["first_positive"] == counts | {"not found": ranks.count(0)}
        pooled = sum(len(set(ids[:100]) & set(own)) for ids, own in zip(lists, measured.positives, strict=True))
        assert one["pooled_recall_at_100"] == pytest.approx(pooled / relevant, **APPROXIMATELY)
        assert one["candidates_mean"] == pytest.approx(np.mean(list(map(len, lists))), **APPROXIMATELY)
    best = [sorted(own, key=lambda d: -measured.judged[q][d]) for q, own in enumerate(measured.positives)]
    ceiling = measured.page["ceiling"]
    assert ceiling["ndcg_at_10"] == pytest.approx(evaluate(measured.task, best).mean(), **APPROXIMATELY)
    recall = evaluate(measured.task, best, "recall_100").mean()
    assert ceiling["recall_at_100"] == pytest.approx(recall, **APPROXIMATELY)
    assert ceiling["random_recall_at_100"] == pytest.approx(100 / len(measured.task.corpus), **APPROXIMATELY)
    single = max(("bm25", "dense"), key=lambda kind: measured.ndcg[kind].mean())
    gain = np.maximum(measured.ndcg["bm25"], measured.ndcg["dense"]) - measured.ndcg[single]
    assert measured.page["diagnosis"]["complement"]["choice_gain"] == pytest.approx(gain.mean(), **APPROXIMATELY)
    assert_bootstrapped(measured.page["diagnosis"]["complement"]["choice_interval"], gain)
