"""The sentences of the pages: a template for each kind of finding, filled with the finding's figures and no more."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

TEMPLATES = {
    # overview
    "task_size": "{name} is a task of {queries:query}, {documents:document} and {positives:positive qrel}: {focus}.",
    "single_positive": "Every query has exactly one positive document.",
    "all_multi_positive": "Every query has several positives: {mean:.2f} on average, {median:.2f} in the median, "
    "{max:,} at most.",
    "multi_positive": "Of {queries:query} {several:,} ({share:.2%}) have several positives; over all queries that is "
    "{mean:.2f} on average, {median:.2f} in the median, {max:,} at most.",
    "strongest": "{best} is the strongest profile, with nDCG@10 = {score:.4f}; it is ahead of {others} beyond what "
    "luck explains (p {p} or less).",
    "strongest_shared": "{best} has the highest nDCG@10, {score:.4f}, but the paired test cannot tell it from {rivals} "
    "(largest p {p}).",
    "highest": "{best} has the highest nDCG@10, {score:.4f}; without values by query its lead was not tested.",
    # what the data measures
    "described": "The set's card or catalogue says of the data:",
    "not_described": "Neither a card nor the catalogue says what the data measures; what follows is observed.",
    "declared": "Declared {noun}: {language}; category: {category}; licence: {licence}.",
    # data
    "positives": "Positives per query: {mean:.2f} on average, {min:,} at least, {median:.2f} in the median, {max:,} at "
    "most.",
    "no_positive": "Queries without any positive, which count as 0 in every mean: {queries:,}.",
    "grades": "Positive judgements by grade: {grades}.",
    "outside": "Positives that are not in the corpus and cannot be found: {count:,}.",
    "lengths": "{what} average {characters:,.2f} characters ({min:,} to {max:,}, median {median:,.2f}), "
    "{words:,.2f} words and {tokens:,.2f} tokens.",
    "empty_texts": "{what} without any text: {count:,}.",
    "one_language": "All {what} are in {language}.",
    "main_language": "{share:.2%} of {what} are in {language}.",
    "nearly_one_language": "{share:.2%} of {what} are in {language}; {hidden:.2%} show no language for certain.",
    "no_language": "None of the {what} shows its language for certain.",
    "languages": "The {what} are in {count:language}: {shares}.",
    "some_languages": "The {what} are in {count:language}: {shares}; {hidden:.2%} are too short to tell for certain.",
    "few_languages": "{hidden:.2%} of {what} are too short to tell their language for certain; the others are in "
    "{count:language}: {shares}.",
    "scripts": "The {what} are written in {count:script}: {shares}.",
    "pairs": "Of {pairs:pair} of query and positive {same:share} are in the same language and {cross:share} in two; "
    "{script:share} are in two scripts.",
    "uncertain_pairs": "Of {pairs:pair} of query and positive {same:share} are certainly in the same language and "
    "{cross:share} certainly in two; of {undecided:.2%} it cannot be told. Pairs in two scripts: {script:share}.",
    "overlap": "A query shares {mean:.4f} of its terms with its nearest positive on average; {none:.2%} of queries "
    "share none, {full:.2%} all.",
    # profiles
    "profile": "{label} ({config}, {origin}) reaches nDCG@10 = {ndcg}, hit@10 = {hit} and recall@100 = {recall}.",
    "pooled": "Counting all positives together, as published tables do, its recall@100 is {pooled:.4f}.",
    "candidates": "Its lists hold {mean:.2f} candidates on average, {min:,} at least and {max:,} at most.",
    "even_candidates": "Its lists hold {count:,} candidates each.",
    "safeguards": "Lists with a safeguard row, a positive set at rank 101 because the list had none: {rows:,} "
    "({share:.2%}).",
    "many_safeguards": "So many safeguards say that the list alone often holds no positive to rerank.",
    "first_positive": "The first relevant document stands at rank 1 for {first:query}, within the first ten for "
    "{ten:,}, within a hundred for {hundred:,}.",
    "never_found": "For {lost:query} the list holds no relevant document.",
    "always_found": "Every list holds a relevant document.",
    "better": "It is better than {other} by {difference:.4f} nDCG@10 [{low:.4f}, {high:.4f}] (p {p}; "
    "better on {wins:query}, worse on {losses:,}, alike on {ties:,}).",
    "worse": "It is worse than {other} by {difference:.4f} nDCG@10 [{low:.4f}, {high:.4f}] (p {p}; "
    "better on {losses:query}, worse on {wins:,}, alike on {ties:,}).",
    "no_difference": "Its difference from {other}, {difference:+.4f}, may be luck (p {p}).",
    "no_profile": "The set has no such lists, and none were made.",
    # metrics
    "single_reading": "With one positive per query hit@10 says whether it is among the first ten, nDCG@10 how high it "
    "stands there, and recall@100 whether a reranker of 100 candidates would see it.",
    "multi_reading": "With several positives hit@10 is satisfied by any one of them; nDCG@10 rewards having them all "
    "early; recall@100 is the mean share of a query's positives among the first hundred.",
    "graded": "Of the grades nDCG@10 weighs the higher ones more; hit@10 and recall@100 count them alike.",
    "other_metrics": "By hit@10 the highest is {hit}, by recall@100 {recall}; of these no difference was tested.",
    "reranking_task": "In this reranking task every profile ranks the candidates that came with a query, not the whole "
    "corpus.",
    "reranking_recall": "None of them has more than 100, so recall@100 is the share of positives among the candidates, "
    "whoever ranks them.",
    "ceiling": "A perfect ranking would reach nDCG@10 = {ndcg:.4f} and recall@100 = {recall:.4f}.",
    "small_corpus": "With {documents:document} a random order would reach a recall@100 of {chance:.4f}; read it "
    "beside that.",
    "tiny_corpus": "With {documents:document} all fit into a list of 100: recall@100 tells only which lists leave some "
    "out.",
    "near_ceiling": "{best} reaches {share:.2%} of the best possible nDCG@10, which leaves little room above it.",
    "rerank": "A perfect reranker of the first 100 candidates of {label} would reach nDCG@10 = {perfect:.4f}, against "
    "{now:.4f} as they stand.",
    # tendencies
    "questions": "{share:.2%} of queries are questions, by question mark or question word{words}.",
    "without_questions": "No query is a question, by question mark or question word.",
    "no_questions": "Hardly any query is a question, by question mark or question word ({share:.2%}).",
    "query_classes": "Lengths of queries: {classes}.",
    "numbers": "{share:.2%} of queries hold a number.",
    "names": "Of queries in languages that capitalise names {share:.2%} hold one, told by a capital after the first "
    "word.",
    "without_names": "No query holds a name, told by a capital after the first word.",
    "few_names": "Hardly any query holds a name, told by a capital after the first word ({share:.2%}).",
    "names_unknown": "How many hold a name is not told: too few are written so that capitals mark names.",
    "without_numbers": "No query holds a number.",
    "few_numbers": "Hardly any query holds a number ({share:.2%}).",
    "no_duplicates": "No query and no document appears twice.",
    "duplicate_queries": "Queries that repeat an earlier one: {count:,}.",
    "duplicate_documents": "Documents that repeat another: {count:,}; where one is judged, its copy counts as wrong.",
    "queries_in_corpus": "Queries that stand word for word in the corpus: {count:,}.",
    # failures
    "bm25_misses_dense_finds": "BM25 misses and Dense finds: {queries:query} ({share:.2%}).",
    "dense_misses_bm25_finds": "Dense misses and BM25 finds: {queries:query} ({share:.2%}).",
    "both_miss": "BM25 and Dense both miss: {queries:query} ({share:.2%}).",
    "hybrid_loses": "Reranking hybrid misses what BM25 or Dense finds: {queries:query} ({share:.2%}).",
    "found_means": "Found means that a relevant document is among the first {found}.",
    # slices
    "slice_leader": "{where} {best} is ahead of all others beyond what luck explains ({queries:query}, nDCG@10 = "
    "{score:.4f}), while on the whole task {whole} has the highest nDCG@10.",
    "overlap_gain": "The {more} of its terms a query shares with its positive, the better BM25 does beside Dense "
    "(Spearman's correlation {rho:.4f}, p {p}).",
    "weak_overlap_gain": "There is a weak tendency: the {more} of its terms a query shares with its positive, the "
    "better BM25 does beside Dense (Spearman's correlation {rho:.4f}, p {p}).",
    "no_slices": "No slice differs from the other queries by more than luck explains.",
    # training, improvement
    "not_tried": "No training was tried for this page, so no data is recommended from evidence.",
    "try_first": "{best}, the best here, is significantly weaker {slices}: for a model that is to do better, pairs of "
    "that kind are the first to try.",
    "not_audited": "Nobody has audited this task for leakage: whether a model was trained on it is not known.",
    "audited": "The audit says: {status}.",
    "keep_out": "To keep the figures honest, {note}.",
    "weak_slice": "{label} is {difference:.4f} nDCG@10 lower {where} than on the other queries ({queries:query}, "
    "{score:.4f}; p {p}).",
    "hybrid_hurts": "Joining the lists costs: Reranking hybrid is {difference:.4f} below {best} (p {p}), so a "
    "fusion that weighs {best} more is worth trying.",
    "hybrid_helps": "Joining the lists pays: Reranking hybrid is {difference:.4f} above {other}, the next best "
    "(p {p}).",
    "room_for_reranking": "A perfect reranker of its first 100 candidates would add {gain:.4f} nDCG@10 to {label}.",
    "no_advice": "No slice and no pair of profiles differs significantly, so the figures single nothing out.",
    # published
    "published": "Published figures are those of {name}; a range is that of the difference.",
    "other_data": "The data differ from those behind the published figures: {counts}. A difference of figures may "
    "come from that alone.",
    "same_counts": "The numbers of {what} are those of the data behind the published figures.",
    "data_unknown": "How large the data behind the published figures were is not recorded.",
    "searched_here": "Searched here, and so perhaps with another model or other settings than the published lists: "
    "{names}.",
    "all_inside": "All {count:published figure} with a range lie within ours: luck explains the differences.",
    "outside_interval": "{label} is {distance:.4f} {side} the published {metric} [{low:+.4f}, {high:+.4f}], more than "
    "luck explains.",
    "not_published": "{name} has no published figures for this task.",
    # group
    "group_size": "{name} has {tasks:task} with {queries:query}, {documents:split-local document} and "
    "{positives:positive qrel}, {mean:.2f} per query.",
    "group_languages": "Declared languages: {languages}.",
    "group_lead": "Over {tasks:task} {best} is ahead of {others} beyond what luck explains: mean nDCG@10 "
    "{score:.4f} (p {p} or less, a task counting as one).",
    "group_no_lead": "Over {tasks:task} no profile is ahead of every other beyond what luck explains; the "
    "highest mean nDCG@10 is that of {best}, {score:.4f}.",
    "group_wins": "It is significantly ahead of all others on {clear:,} of {tasks:task}: {names}.",
    "group_wins_none": "On no task is it significantly ahead of all others.",
    "group_open": "On {count:,} of {tasks:task} the best profile cannot be told from the next: {names}.",
    "family": "{family}: {names}.",
    "group_multi": "Some queries have several positives in {names}.",
    "group_single": "Every query of every task has at most one positive.",
    "shape": "Documents average from {low:,.2f} characters ({low_task}) to {high:,.2f} ({high_task}).",
    "corpora": "Corpora hold {smallest:,} to {largest:document}.",
    "even_corpora": "Every corpus holds {documents:document}.",
    "group_cross": "More than half of the pairs cross languages in {names}.",
    "profile_mean": "{label}'s nDCG@10 is {mean:.4f} on average over {tasks:task}, from {low:.4f} to {high:.4f}.",
    "profile_strong": "It is highest on {names}.",
    "profile_weak": "It is lowest on {names}.",
    "group_ceiling": "Within {margin:.2%} of the best possible nDCG@10, which leaves little room above the best "
    "profile: {names}.",
    "group_recall": "Where queries have several positives ({names}), read recall@100 beside nDCG@10.",
    "group_small": "Fewer than {limit:document}, where a recall@100 comes easily: {names}.",
    "group_audit": "Audited for leakage: {audited:,} of {tasks:task}.",
    "group_not_audited": "Nobody has audited any task of this group for leakage.",
    "group_keep_out": "Keep the queries, qrels and positive documents of all tasks out of training.",
    "group_published": "Of {count:published figure} with a range {outside:,} lie outside it, more than luck explains.",
    "group_other_data": "Tasks whose data differ from those behind the published figures: {names}.",
    "contents": "{groups:group} with {tasks:task} in this folder.",
    "group_described": "Cards or the catalogue describe {count:,} of {tasks:task}.",
    "group_all_described": "Cards or the catalogue describe every task.",
    "group_not_described": "Neither cards nor the catalogue say what the tasks measure; what follows is observed.",
}
"""By kind of finding. A number is formatted here and nowhere else: scores with four decimals, shares as per cent."""


class P(float):
    """A p-value, written with its sign of comparison.

    >>> f"p {P(0.0312)}, p {P(0.00001)}"
    'p = 0.0312, p < 0.0001'
    """

    def __format__(self, form: str) -> str:
        return f"= {float(self):.4f}" if self >= 0.0001 else "< 0.0001"


@dataclass(frozen=True)
class Finding:
    """Something that the figures say, typed by its kind; `figures` are the values its sentence shows."""

    kind: str
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The finding in words.

        >>> Finding("numbers", {"share": 0.125}).sentence
        '12.50% of queries hold a number.'
        >>> Finding("both_miss", {"queries": 1, "share": 0.5}).sentence
        'BM25 and Dense both miss: 1 query (50.00%).'
        """
        return _PROSE.vformat(TEMPLATES[self.kind], (), self.figures)


_NOUN = re.compile(r"[a-z]{3,}([ -][a-z]+)*")


class _Prose(string.Formatter):
    """Formats as `str.format` does, and numbers of things by their name: `{count:query}` is `1 query`, `2 queries`.

    `{value:share}` is a share as people say it: `none`, `12.50%`, `all`.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "share":
            return {0: "none", 1: "all"}.get(value, f"{value:.2%}")
        if _NOUN.fullmatch(format_spec):
            plural = format_spec[:-1] + "ies" if format_spec.endswith("y") else format_spec + "s"
            return f"{value:,} {format_spec if value == 1 else plural}"
        return format(value, format_spec)


_PROSE = _Prose()


def finding(kind: str, **figures: Any) -> Finding:
    """A finding of that kind."""
    return Finding(kind, figures)


def paragraph(findings: Iterable[Finding]) -> str:
    """The sentences of the findings, one after the other."""
    return " ".join(one.sentence for one in findings)


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in a sentence; of many, the first and how many more.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def isolated(text: str) -> str:
    """Text that may run from right to left, kept from turning the sentence around it (Unicode isolates).

    >>> isolated("left"), len(isolated("يمين"))
    ('left', 6)
    """
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(c) in ("R", "AL") for c in text) else text


def script_name(script: str) -> str:
    """A script's name in a sentence.

    >>> script_name("latin"), script_name("none")
    ('Latin', 'no letters')
    """
    return "no letters" if script == "none" else script.capitalize()


@cache
def language_name(code: str) -> str:
    """A language's English name with its code.

    >>> language_name("ar"), language_name("und"), language_name("xx")
    ('Arabic (ar)', 'undecided', 'xx')
    """
    if code == "und":
        return "undecided"
    from babel.core import Locale

    name = Locale("en").languages.get(code)
    return f"{name} ({code})" if name else code
