"""The numbers that each sentence of a task's page must print, in order, by the kind of its finding."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from page_numbers import Place
from page_oracle import KINDS, Oracle
from page_statistics import bca, student

LABELS = {"bm25": "BM25", "dense": "Dense", "hybrid": "Reranking hybrid"}
KIND_OF = {label: kind for kind, label in LABELS.items()}
HEADINGS = {"BM25 Evaluation Profile": "bm25", "Dense Evaluation Profile": "dense"}
HEADINGS["Reranking Hybrid Evaluation Profile"] = "hybrid"
CLASSES = {
    "translation": "translation",
    "script": "script",
    "paraphrase": "paraphrase",
    "missing_term": "missing term",
    "same_topic": "same topic",
    "name": "name",
    "number": "number or date",
    "long_document": "long document",
    "near_duplicate": "unjudged near-duplicate",
    "undeclared_language": "undeclared language",
}
LENGTHS = {"1-2 words": (1, 2), "3-7 words": (3, 7), "8-15 words": (8, 15), "16-40 words": (16, 40)}
MODES = ("bm25_misses_dense_finds", "dense_misses_bm25_finds", "both_miss", "hybrid_loses")


def wilson(count: int, total: int) -> tuple[float, float]:
    from scipy.stats import binomtest

    found = binomtest(int(count), int(total)).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


class Expectations:
    """The expected numbers of one task's page."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.ndcg = oracle.ndcg
        self.means = {kind: float(values.mean()) for kind, values in oracle.ndcg.items()}
        self.best = max(self.means, key=lambda kind: self.means[kind])
        self.size = len(oracle.task.queries)
        self.counts = [sum(grade > 0 for grade in one.values()) for one in oracle.judged]

    def of(self, place: Place) -> list[Any]:
        """The numbers of a sentence."""
        if place.kind in MODES:
            return self.mode(place.kind)
        method = getattr(self, f"on_{place.kind}", None)
        if method is None:
            raise AssertionError(f"no expectation of {place.kind}: {place.text}")
        return list(method(place))

    def shown_text(self, place: Place) -> str:
        """The sentence without the names of slices, which contain numbers of their own."""
        names = {name for dimension, name in self.oracle.slices if dimension in ("query length", "overlap")}
        forms = (
            {str(place.figures.get("licence", "Licence"))}
            | names
            | {name.replace(" ", " overlap ", 1) for name in names}
        )
        return re.sub("|".join(map(re.escape, sorted(forms, key=len, reverse=True))), "", place.text)

    # data
    def on_task_size(self, place: Place) -> list[Any]:
        return [self.size, len(self.oracle.task.corpus), sum(self.counts)]

    def positives(self) -> tuple[float, int, float, int]:
        return float(np.mean(self.counts)), min(self.counts), float(np.median(self.counts)), max(self.counts)

    def on_multi_positive(self, place: Place) -> list[Any]:
        several, (mean, _, median, most) = sum(n > 1 for n in self.counts), self.positives()
        return [several, self.size, several / self.size, mean, median, most]

    def on_even_positive(self, place: Place) -> list[Any]:
        (count,) = set(self.counts)
        return [count]

    def on_positives(self, place: Place) -> list[Any]:
        mean, least, median, most = self.positives()
        return [mean, least, median, most]

    def on_grades(self, place: Place) -> list[Any]:
        grades = Counter(grade for one in self.oracle.judged for grade in one.values() if grade > 0)
        return [number for grade in sorted(grades) for number in (grade, grades[grade])]

    def on_no_positive(self, place: Place) -> list[Any]:
        return [self.counts.count(0), 0]

    def on_outside(self, place: Place) -> list[Any]:
        return [sum(one.get("absent", 0) > 0 for one in self.oracle.judged)]

    def on_lengths(self, place: Place) -> list[Any]:
        side = place.text.split()[0]
        characters = self.oracle.characters(side)
        spread = [np.mean(characters), min(characters), max(characters), np.median(characters)]
        return [*spread, np.mean(self.oracle.words(side)), np.mean(self.oracle.tokens(side))]

    def on_lengths_characters(self, place: Place) -> list[Any]:
        numbers = self.on_lengths(place)
        return [*numbers[:-2], numbers[-1]]

    def shares(self, values: list[str]) -> list[Any]:
        counts = Counter(values)
        ranked = sorted(counts, key=lambda name: (-counts[name], name))
        more = [len(ranked) - 8] if len(ranked) > 8 else []
        return [len(ranked), *(counts[name] / len(values) for name in ranked[:8]), *more]

    def on_languages(self, place: Place) -> list[Any]:
        documents = [self.oracle.language(id_) for id_ in self.oracle.task.corpus.ids]
        return self.shares(self.oracle.asked if "The queries" in place.text else documents)

    def on_scripts(self, place: Place) -> list[Any]:
        from page_oracle import script_of

        documents = [script_of(self.oracle.language(id_)) for id_ in self.oracle.task.corpus.ids]
        return self.shares(self.oracle.scripts if "The queries" in place.text else documents)

    def pair_shares(self) -> tuple[float, float, float]:
        from page_oracle import crossing, script_of

        pairs = [(self.oracle.asked[q], self.oracle.language(d)) for q, d in self.oracle.pairs]
        same = float(np.mean([a == b for a, b in pairs]))
        return same, 1 - same, float(np.mean([crossing(script_of(a), script_of(b)) for a, b in pairs]))

    def on_pairs(self, place: Place) -> list[Any]:
        return [len(self.oracle.pairs), *(share for share in self.pair_shares() if share not in (0, 1))]

    def on_even_pairs(self, place: Place) -> list[Any]:
        _, cross, scripts = self.pair_shares()
        assert (cross, scripts) == {"one language": (0, 0), "two languages": (1, 0)}.get(
            str(place.figures["relation"]), (1, 1)
        )
        return [len(self.oracle.pairs)]

    def on_even_pairs_scripts(self, place: Place) -> list[Any]:
        return [*self.on_even_pairs_relation(place), self.pair_shares()[2]]

    def on_even_pairs_relation(self, place: Place) -> list[Any]:
        assert self.pair_shares()[1] == (1 if place.figures["relation"] == "two languages" else 0)
        return [len(self.oracle.pairs)]

    def on_overlap(self, place: Place) -> list[Any]:
        values = self.oracle.overlap[~np.isnan(self.oracle.overlap)]
        return [values.mean(), *(share for share in ((values == 0).mean(), (values == 1).mean()) if share)]

    # profiles
    def on_strongest(self, place: Place) -> list[Any]:
        tests = [p for (better, _), (_, p) in self.oracle.comparisons.items() if better == self.best]
        return [self.means[self.best], (max(p[0] for p in tests), max(p[1] for p in tests))]

    on_strongest_shared = on_strongest

    def estimate(self, values: np.ndarray, bounds: tuple[float, float] = (0.0, 1.0)) -> list[Any]:
        return [values.mean(), *bca(values, bounds)]

    def on_profile(self, place: Place) -> list[Any]:
        kind = HEADINGS[place.section]
        metrics = ("ndcg_cut_10", "success_10", "recall_100")
        return [number for metric in metrics for number in self.estimate(self.oracle.per_query(kind, metric))]

    def on_pooled(self, place: Place) -> list[Any]:
        return [self.oracle.pooled(HEADINGS[place.section])]

    def on_candidates(self, place: Place) -> list[Any]:
        sizes = list(map(len, self.oracle.lists[HEADINGS[place.section]]))
        return [np.mean(sizes), min(sizes), max(sizes)]

    def on_even_candidates(self, place: Place) -> list[Any]:
        (size,) = set(map(len, self.oracle.lists[HEADINGS[place.section]]))
        return [size]

    def on_first_positive(self, place: Place) -> list[Any]:
        ranks = self.oracle.ranks[HEADINGS[place.section]]
        return [sum(0 < rank <= depth for rank in ranks) for depth in (1, 10, 100)]

    def on_never_found(self, place: Place) -> list[Any]:
        return [self.oracle.ranks[HEADINGS[place.section]].count(0)]

    def comparison(self, place: Place) -> tuple[np.ndarray, Any]:
        kind, other = HEADINGS[place.section], KIND_OF[str(place.figures["other"])]
        pair = (kind, other) if (kind, other) in self.oracle.comparisons else (other, kind)
        values, p = self.oracle.comparisons[pair]
        return values if pair[0] == kind else -values, p

    def on_better(self, place: Place) -> list[Any]:
        values, p = self.comparison(place)
        mean, low, high = self.estimate(np.sign(values.mean()) * values, (-1.0, 1.0))
        signs = Counter(np.sign(np.where(np.abs(values) < 1e-9, 0, values)).tolist())
        return [mean, low, high, p, signs[1.0], signs[-1.0], signs[0.0]]

    on_worse = on_better

    def on_equal(self, place: Place) -> list[Any]:
        assert np.abs(self.comparison(place)[0]).max() < 1e-9
        return []

    def on_tiny_difference(self, place: Place) -> list[Any]:
        values, p = self.comparison(place)
        assert abs(values.mean()) < 0.00005 and np.abs(values).max() > 1e-9
        return [p]

    def on_no_difference(self, place: Place) -> list[Any]:
        values, p = self.comparison(place)
        return [values.mean(), p]

    def on_undeclared(self, place: Place) -> list[Any]:
        return [self.oracle.affected.sum(), self.oracle.affected.mean()]

    def on_undeclared_rest(self, place: Place) -> list[Any]:
        rest = ~self.oracle.affected
        return [rest.sum(), *(self.ndcg[kind][rest].mean() for kind in self.ndcg)]

    # metrics
    def on_other_metrics(self, place: Place) -> list[Any]:
        highest = [
            max(self.oracle.per_query(kind, m).mean() for kind in self.ndcg) for m in ("success_10", "recall_100")
        ]
        return list(highest)

    def on_other_hit(self, place: Place) -> list[Any]:
        return self.on_other_metrics(place)[:1]

    def on_other_recall(self, place: Place) -> list[Any]:
        return self.on_other_metrics(place)[1:]

    def on_ceiling(self, place: Place) -> list[Any]:
        from page_oracles import evaluate

        oracle = self.oracle
        best = [sorted(own, key=lambda d: -oracle.judged[q][d]) for q, own in enumerate(oracle.positives)]
        return [evaluate(oracle.task, best, metric).mean() for metric in ("ndcg_cut_10", "recall_100")]

    def on_small_corpus(self, place: Place) -> list[Any]:
        return [len(self.oracle.task.corpus), 100 / len(self.oracle.task.corpus)]

    def on_tiny_corpus(self, place: Place) -> list[Any]:
        return [len(self.oracle.task.corpus)]

    def on_near_ceiling(self, place: Place) -> list[Any]:
        return [self.means[self.best] / self.oracle.perfect(self.oracle.positives)]

    def on_rerank(self, place: Place) -> list[Any]:
        return [sum(self.oracle.limits["hybrid"][:2]), self.means["hybrid"]]

    # queries
    def on_questions(self, place: Place) -> list[Any]:
        counts = Counter(word for word in self.oracle.question_words if word)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))[:5]
        return [np.mean(self.oracle.questions), *(counts[word] for word in ranked)]

    def on_all_questions(self, place: Place) -> list[Any]:
        assert all(self.oracle.questions)
        return self.on_questions(place)[1:]

    def on_no_questions(self, place: Place) -> list[Any]:
        return [np.mean(self.oracle.questions)]

    def on_query_classes(self, place: Place) -> list[Any]:
        sizes = np.array(self.oracle.words("Queries"))
        shares = [(np.mean((sizes >= low) & (sizes <= high)), low, high) for low, high in LENGTHS.values()]
        found = [number for share, low, high in shares if share for number in (share, low, high)]
        return [*found, *((np.mean(sizes > 40), 40) if (sizes > 40).any() else ())]

    on_query_characters = on_query_classes

    def on_numbers(self, place: Place) -> list[Any]:
        return [np.mean([any(map(str.isdigit, text)) for text in self.oracle.task.queries.texts])]

    on_few_numbers = on_numbers

    def on_names(self, place: Place) -> list[Any]:
        return [self.oracle.named_share]

    on_few_names = on_all_names = on_all_few_names = on_names

    def on_duplicate_documents(self, place: Place) -> list[Any]:
        bare = [text.strip().casefold() for text in self.oracle.task.corpus.texts]
        return [len(bare) - len(set(bare))]

    def on_duplicate_queries(self, place: Place) -> list[Any]:
        bare = [text.strip().casefold() for text in self.oracle.task.queries.texts]
        return [len(bare) - len(set(bare))]

    # failures
    def mode(self, name: str) -> list[Any]:
        hit = {kind: self.oracle.found(kind) for kind in self.ndcg}
        either = hit["bm25"] | hit["dense"]
        masks = (hit["dense"] & ~hit["bm25"], hit["bm25"] & ~hit["dense"], self.oracle.answerable & ~either)
        mask = (*masks, either & ~hit["hybrid"])[MODES.index(name)]
        return [mask.sum(), mask.sum() / self.oracle.answerable.sum()]

    def on_empty_mode(self, place: Place) -> list[Any]:
        words = {
            "BM25 misses and Dense finds": "bm25_misses_dense_finds",
            "Dense misses and BM25 finds": "dense_misses_bm25_finds",
            "BM25 and Dense both miss": "both_miss",
        }
        assert self.mode(words.get(str(place.figures["mode"]), "hybrid_loses"))[0] == 0, place.text
        return []

    def on_class_test(self, place: Place) -> list[Any]:
        return [len(self.oracle.rules("bm25"))]

    def class_numbers(self, kind: str, name: str) -> list[Any]:
        failed, failures, found, successes = self.oracle.classes[kind, name]["counts"]
        return [failed / failures, *wilson(failed, failures), failures, found / max(successes, 1)]

    def clear_classes(self, kind: str) -> list[str]:
        """The classes that are significantly more frequent among failed queries."""
        names = []
        for (profile, name), one in self.oracle.classes.items():
            failed, failures, found, successes = one["counts"]
            more = failed * successes > found * failures
            if profile == kind and one["p"] is not None and one["p"] < 0.05 and more:
                names.append(name)
        return names

    def on_class_significant(self, place: Place) -> list[Any]:
        kind = KIND_OF[str(place.figures["label"])]
        names = [name for name in self.clear_classes(kind) if self.oracle.classes[kind, name]["counts"][0] >= 5][:3]
        return [n for name in names for n in (*self.class_numbers(kind, name), self.oracle.classes[kind, name]["p"])]

    def on_class_none(self, place: Place) -> list[Any]:
        kind = KIND_OF[str(place.figures["label"])]
        assert not self.clear_classes(kind)
        return [(self.oracle.judged_by(kind) & ~self.oracle.found(kind)).sum()]

    def on_class_few(self, place: Place) -> list[Any]:
        kind = KIND_OF[str(place.figures["label"])]
        return [(self.oracle.answerable & ~self.oracle.found(kind)).sum()]

    def on_separator(self, place: Place) -> list[Any]:
        groups: dict[str, list[Any]] = {}
        for kind in self.ndcg:
            own = {name: row for (of, name), row in self.oracle.separators.items() if of == kind and row[3] < 0.05}
            if own:
                name = min(own, key=lambda one: (-abs(own[one][2] - 0.5), one))
                groups.setdefault(name, []).extend(own[name])
        return [number for values in groups.values() for number in values]

    # slices
    def on_relation(self, place: Place) -> list[Any]:
        found: list[Any] = []
        for kind in self.ndcg:
            means = [np.nanmean(self.oracle.relation(name, kind, 10)) for name in ("same", "cross")]
            found += [*means, self.oracle.relation_p_values[kind]]
        return found

    def on_overlap_gain(self, place: Place) -> list[Any]:
        from scipy.stats import spearmanr

        known = ~np.isnan(self.oracle.overlap)
        test = spearmanr(self.oracle.overlap[known], (self.ndcg["bm25"] - self.ndcg["dense"])[known])
        return [test.statistic, test.pvalue]

    on_weak_overlap_gain = on_overlap_gain

    def on_slice_leader(self, place: Place) -> list[Any]:
        values, size = self.ndcg[KIND_OF[str(place.figures["best"])]], place.figures["queries"]
        means = [values[q].mean() for q in self.oracle.slices.values() if len(q) == size]
        return [size, min(means, key=lambda mean: abs(mean - float(str(place.figures["score"]))))]

    def slice_interval(self, values: np.ndarray) -> tuple[float, float]:
        return student(values) if len(values) >= 1000 else bca(values)

    # limits
    def on_unreachable(self, place: Place) -> list[Any]:
        return [1 - self.oracle.limits["bm25"][3]]

    def on_limit_ranking(self, place: Place) -> list[Any]:
        return list(self.oracle.limits[KIND_OF[str(place.figures["label"])]][1:3])

    def on_limit_order(self, place: Place) -> list[Any]:
        return self.on_limit_ranking(place)[:1]

    def on_limit_pool(self, place: Place) -> list[Any]:
        return self.on_limit_ranking(place)[::-1]

    def on_limit_none(self, place: Place) -> list[Any]:
        return [1 - self.means[KIND_OF[str(place.figures["label"])]]]

    def choice(self) -> tuple[str, np.ndarray, float]:
        """The better single profile, the gain of the better list of every query, and the score of a perfect ranking."""
        single = max(("bm25", "dense"), key=lambda kind: self.means[kind])
        gain = np.maximum(self.ndcg["bm25"], self.ndcg["dense"]) - self.ndcg[single]
        lists = zip(self.oracle.lists["bm25"], self.oracle.lists["dense"], strict=True)
        return single, gain, self.oracle.perfect([list(dict.fromkeys(a[:100] + b[:100])) for a, b in lists])

    def on_complement(self, place: Place) -> list[Any]:
        sparse, dense = self.oracle.found("bm25"), self.oracle.found("dense")
        neither = self.oracle.answerable & ~sparse & ~dense
        return [mask.sum() for mask in (sparse & dense, sparse & ~dense, dense & ~sparse, neither)]

    def on_no_overlap(self, place: Place) -> list[Any]:
        both, *others = self.on_complement(place)
        assert both == 0
        return others

    def on_choice(self, place: Place) -> list[Any]:
        single, gain, pool = self.choice()
        return [self.means[single], self.means[single] + gain.mean(), *self.estimate(gain), pool]

    def on_no_choice(self, place: Place) -> list[Any]:
        return [self.choice()[2]]

    def on_fusion_beyond(self, place: Place) -> list[Any]:
        return [self.means["hybrid"]]

    on_fusion_misses = on_fusion_beyond

    def on_fusion_captures(self, place: Place) -> list[Any]:
        single, gain, _ = self.choice()
        return [self.means["hybrid"], (self.means["hybrid"] - self.means[single]) / gain.mean()]

    def change(self, name: str, kind: str) -> list[Any]:
        one = self.oracle.changes[name, kind]
        return [one["old"].mean(), one["new"].mean(), *self.estimate(one["new"] - one["old"], (-1.0, 1.0))]

    def on_counterfactual(self, place: Place) -> list[Any]:
        text = str(place.figures["change"])
        head = re.search(r"first ([\d,]+) characters", text)
        name = next(name for start, name in CHANGES.items() if text.lower().startswith(start))
        name = f"head_{head[1].replace(',', '')}" if head else name
        kinds = [k for k in KINDS if (name, k) in self.oracle.changes and f" for {LABELS[k]}" in place.text]
        assert kinds == [
            k for k in KINDS if (name, k) in self.oracle.changes and self.oracle.changes[name, k]["p"][0] < 0.05
        ]
        first = [int(head[1].replace(",", ""))] if head else []
        return [*first, *(number for kind in kinds for number in self.change(name, kind))]


CHANGES = {
    "with only documents": "other_languages",
    "without unjudged": "near_duplicates",
    "with only the first": "head",
    "when the dense model": "rerank_pool",
    "when every relevant": "rerank_oracle",
}
