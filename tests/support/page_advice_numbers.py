"""The numbers that advice, tables, captions and figures of a task's page must print."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from page_expectations import CHANGES, CLASSES, KIND_OF, LABELS, Expectations, wilson
from page_numbers import LENGTH, TEXT_COLUMNS, Place, figure_texts, mismatch, numbers
from page_oracle import KINDS

PROPERTIES = {
    "share of their terms in a relevant document": "overlap",
    "number of documents with their rarest term": "rarest_term",
    "number of words": "query_words",
    "length of the shortest relevant document, in words": "relevant_words",
    "number of relevant documents": "relevant_documents",
    "presence of a number": "has_number",
    "presence of a name": "has_name",
    "need for another language": "cross_language",
}
RANKS = {"1": (1, 1), "2-3": (2, 3), "4-10": (4, 10), "11-100": (11, 100), "over 100": (101, 10**9)}


def code_in(text: str) -> str:
    """The code of a language in `Arabic (ar)`; else the text."""
    match = re.search(r"\(([a-z]+)\)", text)
    return match[1] if match else text


class PageExpectations(Expectations):
    """The expected numbers of sentences, rows, captions and figures."""

    # advice
    def on_keep_out(self, place: Place) -> list[Any]:
        documents = {d for rows in self.oracle.positives for d in rows}
        return [self.size, sum(self.counts), len(documents)]

    def trained(self, name: str, place: Place) -> list[Any]:
        kind = self.judged_profile()
        failed, failures, found, successes = self.oracle.classes[kind, name]["counts"]
        if failed + found >= 0.95 * (failures + successes) and name in ("translation", "script"):
            total = failures + successes
            return [*([] if failed + found == total else [(failed + found) / total]), total, failed]
        share, low, high, _, other = self.class_numbers(kind, name)
        return [failed, failures, share, low, high, other, self.oracle.classes[kind, name]["p"]]

    def judged_profile(self) -> str:
        usable = [k for k in self.means if k == "bm25" or self.oracle.affected.mean() <= 0.5]
        return max(usable, key=lambda kind: self.means[kind])

    def on_train_translation(self, place: Place) -> list[Any]:
        if "of the relevant documents in another language" in place.text:
            kind = self.judged_profile()
            cross, same = (np.nanmean(self.oracle.relation(name, kind, 10)) for name in ("cross", "same"))
            return [cross, same, self.oracle.relation_p_values[kind]]
        return self.trained("translation", place)

    def on_train_slice(self, place: Place) -> list[Any]:
        return []

    def on_no_derived_data(self, place: Place) -> list[Any]:
        kind = self.judged_profile()
        failed = int((self.oracle.judged_by(kind) & ~self.oracle.found(kind)).sum())
        return ([failed] if failed else []) + [self.size] if failed < 20 else [9, failed]

    def on_synthetic_shape(self, place: Place) -> list[Any]:
        units = [str(place.figures[name]).split()[1] for name in ("query_words", "document_words")]
        counted = [self.oracle.characters if unit == "characters" else self.oracle.words for unit in units]
        sides = zip(("Queries", "Documents"), counted, strict=True)
        return [round(float(np.median(count(side)))) for side, count in sides]

    def on_synthetic_language(self, place: Place) -> list[Any]:
        return [share for share in self.pair_shares()[1:2] if share < 1]

    def on_synthetic_overlap(self, place: Place) -> list[Any]:
        return [np.nanmedian(self.oracle.overlap)]

    def on_synthetic_several(self, place: Place) -> list[Any]:
        return [np.mean([n > 1 for n in self.counts])]

    on_synthetic_numbers = Expectations.on_numbers

    def on_improve_ranking(self, place: Place) -> list[Any]:
        return [self.oracle.limits[self.judged_profile()][1]]

    def on_improve_pool(self, place: Place) -> list[Any]:
        return [self.oracle.limits[self.judged_profile()][2]]

    def on_improve_choice(self, place: Place) -> list[Any]:
        return self.estimate(self.choice()[1])

    def on_hybrid_helps(self, place: Place) -> list[Any]:
        tests = {pair: (v.mean(), p) for pair, (v, p) in self.oracle.comparisons.items() if pair[0] == "hybrid"}
        p = (max(one[1][0] for one in tests.values()), max(one[1][1] for one in tests.values()))
        return [min(one[0] for one in tests.values()), p]

    def on_hybrid_hurts(self, place: Place) -> list[Any]:
        values, p = self.oracle.comparisons[self.best, "hybrid"]
        return [values.mean(), p]

    on_hybrid_helps_little, on_hybrid_hurts_little = on_hybrid_helps, on_hybrid_hurts

    def on_weak_slice(self, place: Place) -> list[Any]:
        """The slice with that number of queries whose difference is nearest; its p-value is that of Welch's test."""
        values, size = self.ndcg[self.best], place.figures["queries"]
        rows = []
        for (dimension, name), queries in self.oracle.slices.items():
            if len(queries) == size and (dimension, name, self.best) in self.oracle.rest_p_values:
                rest = np.delete(values, queries).mean()
                p = self.oracle.rest_p_values[dimension, name, self.best]
                rows.append([rest - values[queries].mean(), size, values[queries].mean(), p])
        return min(rows, key=lambda row: abs(row[0] - float(str(place.figures["difference"]))))

    def on_lower_class(self, place: Place) -> list[Any]:
        values, size = self.ndcg[self.best], place.figures["queries"]
        means = [values[queries].mean() for queries in self.oracle.slices.values() if len(queries) == size]
        return [min(means, key=lambda mean: abs(mean - float(str(place.figures["score"])))), size]

    def gained(self, name: str) -> list[Any]:
        return self.change(name, self.judged_profile())[2:]

    def on_improve_language(self, place: Place) -> list[Any]:
        return self.gained("other_languages")

    def on_improve_judgements(self, place: Place) -> list[Any]:
        return self.gained("near_duplicates")

    def head(self) -> tuple[int, list[Any]]:
        head = 1024 if ("head_1024", "bm25") in self.oracle.changes else 256
        return head, self.change(f"head_{head}", "bm25")[2:]

    def on_improve_context(self, place: Place) -> list[Any]:
        head, (difference, low, high) = self.head()
        return [head, -difference, -high, -low]

    def on_context_enough(self, place: Place) -> list[Any]:
        head, (difference, low, high) = self.head()
        assert low > -0.02
        return [head, difference, low, high]

    def on_improve_rerank_pool(self, place: Place) -> list[Any]:
        one = self.oracle.changes["rerank_oracle", "dense"]
        return [len(one["old"]), one["old"].mean(), one["new"].mean(), (one["new"] - one["old"]).mean()]

    # tables
    def row(self, place: Place) -> tuple[list[str], list[Any]]:
        """The cells with numbers of a row, and the numbers that they must print."""
        columns = tuple(str(name) for name in place.figures["columns"])  # type: ignore[attr-defined]
        cells = dict(zip(columns, place.key, strict=True))
        for name in [one for one in cells if one in TEXT_COLUMNS or one.endswith("put first")]:
            self.check_text(cells.pop(name))
        kind = KIND_OF.get(cells.get("Profile", ""), "")
        oracle = self.oracle
        if place.section == "Observed Data Profile" and "Unit" in cells:
            unit = cells["Unit"].split()[0]
            values = getattr(oracle, unit)(cells["Texts"])
            sample = [1000] if "(of" in cells["Unit"] else []
            return list(cells.values()), [*sample, np.mean(values), min(values), np.median(values), max(values)]
        if "Pairs" in cells and "Query language" in cells:
            return self.pair_row(cells)
        if "Class" in cells and kind:
            return self.class_row(kind, cells)
        if "Class" in cells or "Shared terms" in cells:
            return ([cells["Shared terms"]], self.shared_terms(place)) if "Shared terms" in cells else ([], [])
        if any(name.endswith(" rank") for name in cells):
            return self.rank_row(cells, place)
        if "Relevant document in" in cells:
            name = "same" if cells["Relevant document in"].startswith("language of") else "cross"
            shares = [oracle.relation(name, kind, depth) for depth in (10, 100)]
            pairs = sum((oracle.asked[q] == oracle.language(d)) == (name == "same") for q, d in oracle.pairs)
            known = shares[0][~np.isnan(shares[0])]
            return list(cells.values())[2:], [pairs, *self.estimate(known), np.nanmean(shares[1])]
        if "AUC" in cells:
            return list(cells.values())[2:], list(oracle.separators[kind, PROPERTIES[_spelled(cells["Property"])]])
        if "Slice by" in cells:
            return self.slice_row(cells)
        if "Out of reach" in cells:
            return list(cells.values())[1:], list(oracle.limits[kind])
        if "Change" in cells:
            return self.change_row(kind, cells)
        if "Language" in cells:
            return self.language_row(cells)
        if "Candidates" in cells:
            sizes = list(map(len, oracle.lists[kind]))
            scores = [self.means[kind], oracle.per_query(kind, "success_10").mean(), oracle.pooled(kind)]
            depth = cells["Candidates"].replace("top-", "top ").split()[-1]
            return [*list(cells.values())[2:5], depth], [*scores, max(sizes)]
        if "Field" in cells:
            return self.field_row(cells)
        return list(cells.values()), []

    def check_text(self, cell: str) -> None:
        """A text of the data is that of a query or document, with its length."""
        if cell == "nothing":
            return
        size = LENGTH.search(cell)
        shown = cell[: size.start()] if size else cell
        start = shown.removesuffix("…")
        texts = [*self.oracle.task.queries.texts, *self.oracle.task.corpus.texts]
        flat = [" ".join(text.split()) for text in texts]
        assert any(start in text for text in (*texts, *flat)), cell
        if size:
            own = [text for text in texts if (text.startswith(start) if shown.endswith("…") else text == shown)]
            assert int(size[1]) in {len(text) for text in own}, cell

    def pair_row(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        counts = Counter((self.oracle.asked[q], self.oracle.language(d)) for q, d in self.oracle.pairs)
        pair = (code_in(cells["Query language"]), code_in(cells["Positive's language"]))
        if pair in counts:
            return [cells["Pairs"]], [counts[pair] / counts.total()]
        assert "other pairs" in cells["Query language"]
        ranked = sorted(counts, key=lambda one: (-counts[one], "-".join(one)))[12:]
        values = [len(ranked), sum(counts[one] for one in ranked) / counts.total()]
        return [cells["Query language"], cells["Pairs"]], values

    def class_row(self, kind: str, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        name = next(name for name, label in CLASSES.items() if label == cells["Class"])
        one = self.oracle.classes[kind, name]
        failed, failures, found, successes = one["counts"]
        p = [] if one["p"] is None else [one["p"]]
        values = [failed, failures, failed / failures, *wilson(failed, failures), found / max(successes, 1), *p]
        return list(cells.values())[2:], values

    def rank_row(self, cells: dict[str, str], place: Place) -> tuple[list[str], list[Any]]:
        text = LENGTH.sub("", place.key[0])
        start = text.removesuffix("…")
        rows = [q for q, one in enumerate(self.oracle.task.queries.texts) if one.startswith(start)]
        shown = [cells[f"{LABELS[kind]} rank"] for kind in KINDS]
        ranks = [[self.oracle.ranks[kind][q] for kind in KINDS] for q in rows]
        assert [0 if cell == "not found" else int(cell.replace(",", "")) for cell in shown] in ranks, place
        return [], []

    def slice_row(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        dimension, value = cells["Slice by"], cells["Value"]
        if dimension == "languages of the pair":
            asked, sought = value.split(" to ", 1)
            several = {"several languages": "several", "no document": "none"}
            value = f"{code_in(asked)}-{several.get(sought) or code_in(sought)}"
        elif dimension in ("language", "script"):
            value = code_in(value).lower()
        queries = self.oracle.slices[dimension, value]
        found: list[Any] = [len(queries)]
        for kind in self.ndcg:
            values = self.ndcg[kind][queries]
            found += [values.mean(), *self.slice_interval(values)]
        if len(queries) >= 20:
            best = max(self.ndcg, key=lambda kind: self.ndcg[kind][queries].mean())
            assert cells["Best profile"].split(" or ")[0] == LABELS[best], cells
        return list(cells.values())[2:-1], found

    def change_row(self, kind: str, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        head = re.search(r"first ([\d,]+) characters", cells["Change"])
        name = next(name for start, name in CHANGES.items() if cells["Change"].startswith(start))
        name = f"head_{head[1].replace(',', '')}" if head else name
        one = self.oracle.changes[name, kind]
        changed = int((np.abs(one["new"] - one["old"]) > 1e-9).sum())
        return list(cells.values())[2:], [*self.change(name, kind), one["p"], changed, len(one["old"])]

    def language_row(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        code = code_in(cells["Language"])
        queries = [q for q, one in enumerate(self.oracle.asked) if one == code]
        documents = sum(self.oracle.language(d) == code for d in self.oracle.task.corpus.ids)
        found: list[Any] = [len(queries), documents]
        for kind in self.ndcg if queries else ():
            found += [self.ndcg[kind][queries].mean(), *self.slice_interval(self.ndcg[kind][queries])]
        return list(cells.values())[1:], found

    def field_row(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        mean, least, median, most = self.positives()
        several = sum(n > 1 for n in self.counts)
        known: dict[str, list[Any]] = {
            "Queries": [self.size],
            "Documents": [len(self.oracle.task.corpus)],
            "Positive qrels": [sum(self.counts)],
            "Positives / query avg": [mean],
            "Positives / query min": [least],
            "Positives / query median": [median],
            "Positives / query max": [most],
            "Multi-positive queries": [several, several / self.size],
            "Query length avg chars": [np.mean(self.oracle.characters("Queries"))],
            "Document length avg chars": [np.mean(self.oracle.characters("Documents"))],
        }
        return [cells["Value"]] if cells["Field"] in known else [], known.get(cells["Field"], [])

    def shared_terms(self, place: Place) -> list[Any]:
        query, snippet, _ = place.key
        rows = [q for q, text in enumerate(self.oracle.task.queries.texts) if " ".join(text.split()) == query]
        terms = [self.oracle.terms[0][q] for q in rows]
        shown = [int(one.text) for one in numbers(place.key[2])]
        assert shown[1] in [len(one) for one in terms], place
        held = [one & self.oracle.terms_of(snippet, self.oracle.asked[q]) for one, q in zip(terms, rows, strict=True)]
        return [len(held[0]), len(terms[0])] if len(rows) == 1 else list(shown)

    # figures
    def check_figure(self, place: Place) -> str:
        """Why a label of a figure is not a computed number; empty if all are."""
        texts, name = figure_texts(place.text), place.key[0]
        for title in texts["titles"]:
            expected = self.title(name, title)
            problem = mismatch(numbers(title.rpartition(": ")[2]), expected)
            if problem:
                return f"{title}: {problem}"
        if name == "languages":
            for label, row in zip(texts["labels"], _rows(texts["cells"], len(self.ndcg)), strict=True):
                queries = [q for q, one in enumerate(self.oracle.asked) if one == code_in(label)]
                values = [len(queries), *(self.ndcg[kind][queries].mean() for kind in self.ndcg)]
                problem = mismatch(numbers(" ".join((label.rpartition(", ")[2], *row))), values)
                if problem:
                    return f"{label}: {problem}"
        return ""

    def title(self, name: str, title: str) -> list[Any]:
        """The numbers after the colon of a mark's title."""
        label, _, _ = title.rpartition(": ")
        if name == "scores":
            metric, profile = label.split(", ")
            theirs = {"nDCG@10": "ndcg_cut_10", "hit@10": "success_10", "recall@100": "recall_100"}[metric]
            return self.estimate(self.oracle.per_query(KIND_OF[profile], theirs))
        if name == "ranks" and label:
            profile, rank = label.split(", ")
            ranks = self.oracle.ranks[KIND_OF[profile]]
            low, high = RANKS.get(rank, (0, 0))
            return [sum(low <= one <= high for one in ranks)]
        if name.endswith("-lengths"):
            values = getattr(self.oracle, title.split()[-1 if label == "median" else 1].rstrip(":"))(
                name.split("-")[0].capitalize()
            )
            if label == "median":
                return [np.median(values)]
            low, _, high = label.split()[0].replace(",", "").partition("-")
            # 0 is counted with 1.
            return [sum(int(low) <= max(one, 1) <= int(high or low) for one in values)]
        if name == "overlap":
            x, y = (float(text) for text in re.findall(r"(?<= )[+-]?\d\.\d", label))
            gain = self.ndcg["bm25"] - self.ndcg["dense"]
            near = (np.rint(self.oracle.overlap * 10) == round(x * 10)) & (np.rint(gain * 10) == round(y * 10))
            return [near.sum()]
        return []

    def on_caption(self, place: Place) -> list[Any]:
        if not place.key[0].endswith("-lengths"):
            return []
        side = place.key[0].split("-")[0].capitalize()
        sample = [1000] if "drawn at random" in place.text else []
        units = ("characters", "words", "tokens")
        return [*sample, *(np.median(getattr(self.oracle, unit)(side)) for unit in units)]

    def on_bullet(self, place: Place) -> list[Any]:
        return self.on_keep_out(place) if place.key[0] == "Leakage note" else []

    def on_note(self, place: Place) -> list[Any]:
        match = re.match(r"(\d+) smaller slices? (?:is|are) in the JSON", place.text)
        if not match:
            return []
        shown = [(one["dimension"], one["queries"]) for one in self.oracle.page["slices"]]
        seen: Counter[str] = Counter()
        visible = 0
        for dimension, size in shown:
            visible += size >= 5 and seen[dimension] < 8
            seen[dimension] += 1
        return [len(shown) - visible]


def _spelled(name: str) -> str:
    """The name of a property with words, which are characters or clusters in scripts without spaces."""
    return re.sub("characters$|clusters$", "words", name)


def _rows(cells: list[str], width: int) -> list[list[str]]:
    return [cells[at : at + width] for at in range(0, len(cells), width)]


for _name in ("script", "paraphrase", "missing_term", "same_topic", "name", "number", "long_document"):
    setattr(PageExpectations, f"on_train_{_name}", lambda self, place, name=_name: self.trained(name, place))
