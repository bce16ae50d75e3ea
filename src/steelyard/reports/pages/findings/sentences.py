"""The sentences of the pages: a template for each kind of finding, filled with the values of the finding."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from steelyard.reports.pages.findings.diagnosis_templates import DIAGNOSIS

TEMPLATES = {
    **DIAGNOSIS,
    # overview
    "task_size": "{name} is a {type} task: {focus}. It has {queries:query}, {documents:document} and "
    "{positives:positive qrel}.",
    "single_positive": "Each query has exactly one relevant document.",
    "even_positive": "Each query has exactly {count:relevant document}.",
    "all_multi_positive": "Each query has several relevant documents: {mean:.2f} on average, with a median of "
    "{median:.2f} and a maximum of {max:,}.",
    "multi_positive": "Several relevant documents exist for {several:,} of {queries:query} ({share:.2%}); over all "
    "queries there are {mean:.2f} on average, with a median of {median:.2f} and a maximum of {max:,}.",
    "strongest": "{best} is the strongest profile, with an nDCG@10 of {score:.4f}, significantly above {others} "
    "({which} {p}).",
    "strongest_shared": "{best} has the highest nDCG@10, {score:.4f}, but it cannot be distinguished from {rivals} "
    "({which} {p}).",
    "highest": "{best} has the highest nDCG@10, {score:.4f}. Significance was not tested: there are no scores per "
    "query.",
    # what the data measures
    "not_described": "No dataset card or catalogue entry that describes the data was found, so this page relies on "
    "what was measured.",
    "declared": "The set declares {language} as its {noun} and {category} as its category. Licence: {licence}.",
    "declared_several": "The set declares itself multilingual, without a list of languages, and {category} as its "
    "category. Licence: {licence}.",
    "declared_none": "The set declares no language; its category is {category}. Licence: {licence}.",
    # data
    "positives": "A query has {mean:.2f} relevant documents on average (minimum {min:,}, median {median:.2f}, "
    "maximum {max:,}).",
    "no_positive": "No relevant document is known for {queries:query}; such queries count as 0 in every mean.",
    "grades": "The relevant judgements are graded: {grades}.",
    "outside": "{count:relevant document is/are} not in the corpus and cannot be retrieved.",
    "lengths": "{what} average {characters:,.2f} characters ({min:,} to {max:,}, median {median:,.2f}), which is "
    "{words:,.2f} {unit} or {tokens:,.2f} tokens.",
    "lengths_characters": "{what} average {characters:,.2f} characters ({min:,} to {max:,}, median {median:,.2f}) or "
    "{tokens:,.2f} tokens.",
    "empty_texts": "{what} without text: {count:,}.",
    "one_language": "All {what} are in {language}.",
    "same_language": "All queries and all documents are in {language}.",
    "main_language": "{share:.2%} of {what} are in {language}.",
    "nearly_one_language": "{share:.2%} of {what} are in {language}; the language of {hidden:.2%} is uncertain.",
    "no_language": "The language of all {what} is uncertain.",
    "languages": "The {what} are in {count:language}: {shares}.",
    "some_languages": "The {what} are in {count:language}: {shares}; the language of {hidden:.2%} could not be "
    "identified.",
    "few_languages": "The language of {hidden:.2%} of {what} could not be identified; the others are in "
    "{count:language}: {shares}.",
    "few_in_language": "The language of {hidden:.2%} of {what} could not be identified; the others are in {language}.",
    "scripts": "The {what} are written in {count:script}: {shares}.",
    "scripts_and_none": "The {what} are written in {count:script}: {shares}; {none:.2%} have no letters.",
    "even_pairs": "All {pairs:pair} of a query and a relevant document are in {relation}.",
    "even_pairs_scripts": "All {pairs:pair} of a query and a relevant document are in {relation}; {script:.2%} are "
    "in two scripts.",
    "pairs": "Of {pairs:pair} of a query and a relevant document, {same:share} are in the same language and "
    "{cross:share} in two languages; {script:share} are in two scripts.",
    "uncertain_pairs": "Of {pairs:pair} of a query and a relevant document, {same:share} are in the same language "
    "and {cross:share} in two languages; {undecided:.2%} are uncertain. Pairs in two scripts: {script:share}.",
    "overlap": "On average a query shares {mean:.4f} of its terms with its most similar relevant document; {extremes}.",
    # profiles
    "profile": "{label} ({config}, {origin}) reaches nDCG@10 = {ndcg}, hit@10 = {hit} and recall@100 = {recall}.",
    "pooled": "Pooled recall@100, which counts all relevant documents together as published tables do, is "
    "{pooled:.4f}.",
    "candidates": "The lists have {mean:.2f} candidates on average, {min:,} to {max:,}.",
    "even_candidates": "Every list has {count:,} candidates.",
    "safeguards": "Lists with a safeguard, a relevant document inserted at rank 101 because the list had none: "
    "{rows:,} ({share:.2%}).",
    "many_safeguards": "With so many safeguards, the lists alone often contain no relevant document to rerank.",
    "first_positive": "It ranks a relevant document first for {first:query}, within the top 10 for {ten:,} and "
    "within the top 100 for {hundred:,}.",
    "never_found": "For {lost:query} its list contains no relevant document at all.",
    "always_found": "Each of its lists contains a relevant document somewhere.",
    "better": "It is {difference:.4f} [{low:.4f}, {high:.4f}] nDCG@10 above {other} (p {p}): better on "
    "{wins:query}, worse on {losses:,} and equal on {ties:,}.",
    "worse": "It is {difference:.4f} [{low:.4f}, {high:.4f}] nDCG@10 below {other} (p {p}): better on "
    "{losses:query}, worse on {wins:,} and equal on {ties:,}.",
    "equal": "Every query has the same nDCG@10 as with {other}.",
    "tiny_difference": "Against {other} there is no significant difference: the means are equal to four decimals (p "
    "{p}).",
    "no_difference": "Against {other} the difference of {difference:+.4f} is not significant (p {p}).",
    "no_profile": "The set has no such lists, and none were made.",
    # metrics
    "single_reading": "With one relevant document per query, hit@10 measures whether it is in the top 10, nDCG@10 "
    "how high it ranks there, and recall@100 whether a reranker of 100 candidates would see it.",
    "multi_reading": "With several relevant documents, one in the top 10 is enough for hit@10; nDCG@10 is higher "
    "the earlier all of them rank; recall@100 is the mean share of a query's relevant documents in the top 100.",
    "graded": "nDCG@10 gives higher grades more gain; hit@10 and recall@100 treat all grades alike.",
    "other_metrics": "The highest hit@10 is that of {hit}, the highest recall@100 that of {recall}. These "
    "differences were not tested.",
    "other_hit": "The highest hit@10 is that of {hit}; this difference was not tested.",
    "other_recall": "The highest recall@100 is that of {recall}; this difference was not tested.",
    "reranking_task": "In this reranking task every profile ranks the candidates of a query, not the whole corpus.",
    "reranking_recall": "No query has more than 100 candidates, so recall@100 is the share of relevant documents "
    "among the candidates and does not depend on the ranking.",
    "ceiling": "A perfect ranking would reach nDCG@10 = {ndcg:.4f} and recall@100 = {recall:.4f}.",
    "small_corpus": "With {documents:document}, a random ranking would reach recall@100 = {chance:.4f}, the "
    "baseline to compare with.",
    "tiny_corpus": "With {documents:document}, all fit into a list of 100: recall@100 only shows which lists are "
    "incomplete.",
    "near_ceiling": "{best} reaches {share:.2%} of the best possible nDCG@10, which leaves little room for "
    "improvement.",
    "rerank": "A perfect reranker of the top 100 candidates of {label} would reach nDCG@10 = {perfect:.4f}, "
    "compared with {now:.4f} now.",
    # tendencies
    "questions": "{share:.2%} of queries are questions, by question mark or question word{words}.",
    "all_questions": "All queries are questions, by question mark or question word{words}.",
    "without_questions": "No query is a question, by question mark or question word.",
    "no_questions": "Only {share:.2%} of queries are questions, by question mark or question word.",
    "query_classes": "{classes}.",
    "query_characters": "{classes}; punctuation is not counted.",
    "numbers": "{share:.2%} contain a number.",
    "all_names": "{share:.2%} contain a name, judged by capital letters.",
    "all_few_names": "Only {share:.2%} contain a name, judged by capital letters.",
    "names": "Of the queries in languages that capitalise names, {share:.2%} contain one.",
    "without_names": "No query in a language that capitalises names contains one.",
    "few_names": "Of the queries in languages that capitalise names, only {share:.2%} contain one.",
    "names_unknown": "Names were not counted, because capital letters do not mark names in most queries.",
    "names_uncased": "Names were not counted, because the queries are in a script without capital letters.",
    "without_numbers": "No query contains a number.",
    "few_numbers": "Only {share:.2%} contain a number.",
    "no_duplicates": "There are no duplicate queries and no duplicate documents.",
    "duplicate_queries": "{count:query repeats/repeat} an earlier one.",
    "duplicate_documents": "{count:document repeats/repeat} another one; if only one of two copies is judged, the "
    "other counts as not relevant.",
    "queries_in_corpus": "{count:query is/are} also in the corpus as a document.",
    # failures
    "empty_mode": "{mode}: no query.",
    "bm25_misses_dense_finds": "BM25 misses and Dense finds: {queries:query} ({share:.2%}).",
    "dense_misses_bm25_finds": "Dense misses and BM25 finds: {queries:query} ({share:.2%}).",
    "both_miss": "BM25 and Dense both miss: {queries:query} ({share:.2%}).",
    "hybrid_loses": "Reranking hybrid misses what BM25 or Dense finds: {queries:query} ({share:.2%}).",
    "found_means": "A profile finds a query if a relevant document is in its top {found}, and misses it otherwise.",
    # slices
    "slice_leader": "{where}, {best} is significantly better than all others ({queries:query}, nDCG@10 = "
    "{score:.4f}), while {whole} has the highest nDCG@10 on the whole task.",
    "overlap_gain": "The {more} terms a query shares with its relevant document, the better BM25 is compared with "
    "Dense (Spearman correlation {rho:.4f}, p {p}).",
    "weak_overlap_gain": "Weak tendency: the {more} terms a query shares with its relevant document, the better "
    "BM25 is compared with Dense (Spearman correlation {rho:.4f}, p {p}).",
    "no_slices": "No slice differs significantly from the other queries.",
    # training, improvement
    "not_audited": "No audit for leakage is recorded for this task, so it is unknown whether a model was trained "
    "on it.",
    "audited": "The recorded audit reports: {status}.",
    "keep_out": "To keep scores comparable, {note}.",
    "weak_slice": "{label} is {difference:.4f} nDCG@10 lower {where} than on the other queries ({queries:query}, "
    "{score:.4f}; p {p}).",
    "hybrid_hurts": "Fusion costs {difference:.4f} nDCG@10 against {best} alone (p {p}); give {best} a higher "
    "weight, or use it alone.",
    "hybrid_helps": "Fusion helps: the hybrid is {difference:.4f} nDCG@10 above {other}, the next best profile (p "
    "{p}).",
    "hybrid_hurts_little": "Fusion costs {difference:.4f} nDCG@10 against {best} alone (p {p}), a small loss.",
    "hybrid_helps_little": "Fusion adds little: the hybrid is {difference:.4f} nDCG@10 above {other}, the next best "
    "profile (p {p}).",
    # published
    "published": "Published scores are those of {name}; an interval is that of the difference.",
    "other_data": "The data differ from those of the published scores: {counts}. This alone may explain a difference.",
    "same_counts": "The numbers of {what} are those of the data of the published scores.",
    "data_unknown": "The size of the data of the published scores is not recorded.",
    "searched_here": "Searched for this page, possibly with another model or other settings than the published "
    "lists: {names}.",
    "all_inside": "All {count:published score} with an interval are within it: no difference is significant.",
    "outside_interval": "{label} is significantly {side} the published scores: by {differences}.",
    "not_published": "{name} has no published scores for this task.",
    # group
    "group_size": "{name} contains {tasks:task} with {queries:query}, {documents:split-local document} and "
    "{positives:positive qrel}, {mean:.2f} per query.",
    "group_part": "This page measures {tasks:,} of the {total:task} of {name}: {queries:query}, "
    "{documents:split-local document} and {positives:positive qrel}, {mean:.2f} per query. The other "
    "{missing:task} are listed below as missing, with the reason.",
    "group_languages": "Declared languages: {languages}.",
    "group_undeclared_tasks": "No language is declared for {names}.",
    "group_no_languages": "No task declares a language.",
    "group_lead": "Over {tasks:task}, {best} is significantly better than {others}: mean nDCG@10 {score:.4f} "
    "(largest p {p}; each task counts once).",
    "group_too_few": "{best} has the highest mean nDCG@10 over {tasks:task}, {score:.4f}; so few tasks cannot show a "
    "significant difference between profiles.",
    "group_no_lead": "Over {tasks:task}, no profile is significantly better than every other; {best} has the "
    "highest mean nDCG@10, {score:.4f}.",
    "group_wins_all": "It is significantly better than all others on every task.",
    "group_wins": "It is significantly better than all others on {clear:,} of {tasks:task}: {names}.",
    "group_wins_none": "It is not significantly better than all others on any task.",
    "group_open_all": "On no task is the best profile significantly better than every other.",
    "group_open": "On {count:,} of {tasks:task} the best profile is not significantly better than every other: "
    "{names}.",
    "group_multi_all": "On every task some queries have several relevant documents.",
    "group_multi": "Tasks with several relevant documents for some queries: {names}.",
    "group_single": "Every query of every task has at most one relevant document.",
    "shape": "Documents have {low:,.2f} ({low_task}) to {high:,.2f} ({high_task}) characters on average.",
    "corpora": "Corpora have {smallest:,} to {largest:document}.",
    "even_corpora": "Every corpus has {documents:document}.",
    "group_cross_all": "On every task more than half of the pairs are in two languages.",
    "group_cross": "Tasks where more than half of the pairs are in two languages: {names}.",
    "profile_mean": "The mean nDCG@10 of {label} over {tasks:task} is {mean:.4f}, from {low:.4f} to {high:.4f}.",
    "profile_strong": "It is highest on {names}.",
    "profile_weak": "It is lowest on {names}.",
    "group_ceiling_all": "Every task is within {margin:.0%} of the best possible nDCG@10, which leaves little room "
    "for improvement.",
    "group_ceiling": "Tasks within {margin:.0%} of the best possible nDCG@10, which leaves little room for "
    "improvement: {names}.",
    "group_recall_all": "Because queries have several relevant documents, consider recall@100 as well as nDCG@10.",
    "group_recall": "For tasks with several relevant documents per query ({names}), consider recall@100 as well as "
    "nDCG@10.",
    "group_small_all": "Every corpus has fewer than {limit:document}, so recall@100 is high by chance.",
    "group_small": "Tasks with fewer than {limit:document}, where recall@100 is high by chance: {names}.",
    "group_audit": "Audited for leakage: {audited:,} of {tasks:task}.",
    "group_not_audited": "No task of this group was audited for leakage.",
    "group_keep_out": "Keep the queries, qrels and relevant documents of all tasks out of training.",
    "group_published": "Of {count:published score} with an interval, {outside:,} are outside it, a significant "
    "difference.",
    "group_other_data": "Tasks whose data differ from those of the published scores: {names}.",
    "contents": "{groups:group} with {tasks:task} in this folder.",
    "group_described": "Cards or catalogue entries describe {count:,} of {tasks:task}.",
    "group_all_described": "Every task has a card or a catalogue entry that describes it.",
    "group_not_described": "No card or catalogue entry describes these tasks, so this page relies on what was "
    "measured.",
}
"""The template of each kind of finding. Numbers are formatted here only: scores with four decimals, shares in %."""


class P(float):
    """A p-value that is formatted with its sign of comparison.

    >>> f"p {P(0.0312)}, p {P(0.00001)}"
    'p = 0.0312, p < 0.0001'
    """

    def __format__(self, form: str) -> str:
        return f"= {float(self):.4f}" if self >= 0.0001 else "< 0.0001"


@dataclass(frozen=True)
class Finding:
    """One statement about a task or group: its kind, and the values of its sentence."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The sentence of the finding.

        >>> Finding("numbers", {"share": 0.125}).sentence
        '12.50% contain a number.'
        >>> Finding("both_miss", {"queries": 1, "share": 0.5}).sentence
        'BM25 and Dense both miss: 1 query (50.00%).'
        >>> Finding("notes_dropped", {"count": 0}).sentence
        'No sentence was left out because a check failed.'
        """
        text = _PROSE.vformat(TEMPLATES[self.kind], (), self.values)
        return f"N{text[1:]}" if text.startswith("no ") else text


_NOUN = re.compile(r"([a-z]{3,}(?:[ -][a-z]+)*?)(?: ([a-z]+)/([a-z]+))?")


class _Prose(string.Formatter):
    """Formats like `str.format`, and counts with their noun: `{count:query}` is `1 query`, `2 queries`.

    Nothing is `no query`. A verb may follow: `{count:query is/are}`.
    `{value:share}` is `none`, `12.50%` or `all`, and `{value:Share}` starts a sentence with `None`, `12%` or `All`.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "share":
            return {0: "none", 1: "all"}.get(value, f"{value:.2%}")
        if format_spec == "Share":
            rounded = {"0%": "Hardly any", "100%": "Nearly all"}
            return {0: "None", 1: "All"}.get(value, rounded.get(f"{value:.0%}", f"{value:.0%}"))
        if match := _NOUN.fullmatch(format_spec):
            noun, one, many = match.groups()
            plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
            count = f"{value:,}" if value else "no"
            return " ".join(filter(None, (count, *((noun, one) if value in (0, 1) else (plural, many)))))
        return format(value, format_spec)


_PROSE = _Prose()


def finding(kind: str, **values: Any) -> Finding:
    """Return a finding of that kind."""
    return Finding(kind, values)


def paragraph(findings: Iterable[Finding]) -> str:
    """Return the sentences of the findings as one text."""
    return " ".join(one.sentence for one in findings)


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names for a sentence; of many, the first ones and the number of the others.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def isolated(text: str) -> str:
    """Return text in Unicode isolates if it is written from right to left, so that the sentence around it is not.

    >>> isolated("left"), len(isolated("يمين"))
    ('left', 6)
    """
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(c) in ("R", "AL") for c in text) else text


def script_name(script: str) -> str:
    """Return the name of a script.

    >>> script_name("latin"), script_name("none")
    ('Latin', 'no letters')
    """
    return "no letters" if script == "none" else script.capitalize()


@cache
def language_name(code: str) -> str:
    """Return the English name of a language with its code.

    >>> language_name("ar"), language_name("und"), language_name("xx")
    ('Arabic (ar)', 'undecided', 'xx')
    """
    if code == "und":
        return "undecided"
    from babel.core import Locale

    name = Locale("en").languages.get(code)
    return f"{name} ({code})" if name else code
