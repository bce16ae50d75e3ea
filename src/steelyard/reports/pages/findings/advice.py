"""Advice with its evidence: training data, synthetic data, improvements. Only significant findings lead to advice.

Nothing is concluded from queries in languages that the dense model does not declare.
"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.diagnosis_findings import failed_queries, usable_profiles
from steelyard.reports.pages.findings.diagnosis_templates import RULES
from steelyard.reports.pages.findings.sentences import Finding, P, finding, language_name, listed
from steelyard.reports.pages.findings.slice_findings import NOTABLE, fusion, lower_class, weak_slices, where
from steelyard.reports.pages.findings.text_findings import counted, word_unit
from steelyard.reports.pages.measure.diagnosis_values import Complement, Counterfactual, Diagnosis, FailureClass
from steelyard.reports.pages.measure.page_inputs import LABELS
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import ProfileValues
from steelyard.reports.pages.render.tables import pair_in_words
from steelyard.reports.pages.thresholds import (
    FEW,
    FEWEST,
    MOST,
    NEARLY_ALL,
    QUESTIONS,
    REPRESENTATIVE,
    SHORT_WORDS,
    SIGNIFICANT,
    SOME,
)
from steelyard.text.language_id.detect import UNDECIDED

FREQUENT, UNCLEAR = 0.01, 0.25
"""Pairs of languages are named from this share on, unless this share of the pairs is undecided."""
MIXED = 0.2
"""From this share of questions on, up to `QUESTIONS`, queries are a mix."""
NAMED = 8
"""Languages that are named in a sentence."""
SMALL_LOSS = 0.02
"""A loss of nDCG@10 below which, by its interval, a part of a document is enough."""
WORKS = 0.2
"""nDCG@10 from which BM25 shows how much of a document is needed."""
NOT_TRAINED = ("undeclared_language", "near_duplicate")
"""Classes that training data does not help."""
IMPROVED = {"other_languages": "improve_language", "near_duplicates": "improve_judgements"}
NEGATIVES = {
    "same_topic": "documents of the same topic that are not relevant",
    "name": "documents about another name than the query's",
    "number": "documents with another number or date",
    "translation": "documents in the language of the query that share its topic",
    "missing_term": "documents that contain the query's rarest word but are not relevant",
}


def judged_profile(task: TaskValues) -> ProfileValues | None:
    """Return the best profile from which advice may be drawn: without the dense model, if most queries are affected."""
    return max(usable_profiles(task), key=lambda profile: profile.ndcg_at_10, default=None)


def explaining_classes(task: TaskValues) -> list[FailureClass]:
    """Return the classes of that profile's failures that lead to advice, most frequent first.

    A class is significantly more frequent among failed queries, or it is the relation of nearly all queries.
    """
    profile, diagnosis = judged_profile(task), task.diagnosis or Diagnosis()
    own = [one for one in diagnosis.classes if profile and one.profile == profile.kind and one.failed >= FEW]
    return [
        one
        for one in own
        if one.name not in NOT_TRAINED
        and one.interval.low >= REPRESENTATIVE
        and (one.significant or _relation_of_all(one))
    ]


def _relation_of_all(one: FailureClass) -> bool:
    """Return whether nearly all queries match a rule about languages: then it is the relation of the task."""
    total = one.failures + one.successes
    return one.name in ("translation", "script") and one.failed + one.found >= NEARLY_ALL * total


def training(task: TaskValues) -> Iterator[Finding]:
    """Yield the recorded training data, and what follows from the failures."""
    if task.leakage.useful_data != "not_recorded":
        yield finding("recorded_data", data=task.leakage.useful_data)
    profile, chosen = judged_profile(task), explaining_classes(task)
    if profile is None:
        return
    weak = weak_slices(task)
    named = {one.name for one in chosen}
    relation = None if named & {"translation", "script"} else _relation_evidence(task, profile)
    if not chosen and not weak and relation is None:
        yield finding("no_derived_data", reason=_reason(task, profile))
        return
    yield finding("derived_data", label=profile.label)
    for failure in chosen:
        values = {"pairs": _pairs(task)} if failure.name == "translation" else {}
        yield finding(f"train_{failure.name}", evidence=_evidence(failure).sentence, **values)
    if relation is not None:
        yield finding("train_translation", pairs=_pairs(task), evidence=relation.sentence)
    if weak and task.best is not None:
        slices = listed([where(part).removeprefix("on ") for part in weak])
        yield finding("train_slice", slices=slices, label=task.best.label)


def _relation_evidence(task: TaskValues, profile: ProfileValues) -> Finding | None:
    """Return the evidence that relevant documents in another language are found less often, if significant."""
    diagnosis, kind = task.diagnosis or Diagnosis(), profile.kind
    p = diagnosis.relation_p_values.get(kind, 1.0)
    if p >= SIGNIFICANT:
        return None
    same, cross = (one.found_at_10[kind] for one in diagnosis.relations)
    return None if cross >= same else finding("evidence_relation", label=profile.label, same=same, cross=cross, p=P(p))


def _reason(task: TaskValues, profile: ProfileValues) -> str:
    own = [one for one in (task.diagnosis or Diagnosis()).classes if one.profile == profile.kind]
    judged = [one.failures for one in own if one.name != "undeclared_language"]
    failed = judged[0] if judged else failed_queries(task).get(profile.kind, 0)
    if failed < FEWEST:
        count = f"only {failed:,}" if failed else "none"
        return f"{profile.label} fails {count} of {task.queries:,} queries"
    rules = f"none of {len(RULES) - 1} rules matches the {failed:,} failed queries of {profile.label}"
    return f"{rules} significantly more often than the queries that it finds"


def _evidence(failure: FailureClass) -> Finding:
    if _relation_of_all(failure) or failure.p_value is None:
        total = failure.failures + failure.successes
        share = (failure.failed + failure.found) / max(total, 1)
        return finding("evidence_all", share=share, total=total, failed=failure.failed)
    return finding(
        "evidence",
        failed=failure.failed,
        failures=failure.failures,
        share=failure.share,
        low=failure.interval.low,
        high=failure.interval.high,
        found=failure.found / max(failure.successes, 1),
        p=P(failure.p_value),
    )


def _pairs(task: TaskValues) -> str:
    """Return the most frequent pairs of two languages in words; nothing if many are undecided or none is frequent."""
    shares = task.language_profile.pair_languages if task.language_profile else {}
    pairs = {name: name.partition("-")[::2] for name, share in shares.items() if share >= FREQUENT}
    other = [name for name, (asked, sought) in pairs.items() if asked != sought]
    undeclared = task.diagnosis.undeclared if task.diagnosis else None
    if undeclared is not None:  # named only if all are in such languages
        other = [name for name in other if not {*pairs[name]} & {*undeclared.languages}] or other
    named = [pair_in_words(name) for name in other[:3]]
    if not named or shares.get(UNDECIDED, 0.0) > UNCLEAR:
        return ""
    if len(other) > len(named) + 1:  # the first three would all have the same language
        codes = list(dict.fromkeys(code for name in other for code in pairs[name]))
        shown = [language_name(code) for code in codes[:NAMED]]
        return f", between {listed([*shown, 'others'] if len(codes) > NAMED else shown)}"
    return f", such as {listed(named)}"


def synthetic(task: TaskValues) -> Iterator[Finding]:
    """Yield recorded guidance, and the shape that synthetic data should have."""
    for part, text in task.synthetic_data.items():
        prefix = "" if part == "guidance" else f"{part.replace('_', ' ')}: "
        yield finding("recorded_synthetic", text=f"{prefix}{text}".rstrip(".") + ".")
    if task.query_lengths.words is None or task.document_lengths.words is None:
        return
    lengths = {"query_words": _median(task, "Queries"), "document_words": _median(task, "Documents")}
    yield finding("synthetic_shape", queries=_query_kind(task), **lengths)
    if task.language_profile is not None and task.language_profile.cross_language > SOME:
        yield finding("synthetic_language", pairs=_pairs(task), cross=task.language_profile.cross_language)
    if task.overlap is not None and (task.language_profile is None or task.language_profile.cross_language <= MOST):
        yield finding("synthetic_overlap", median=task.overlap.median)
    if task.positives.multi_positive_share >= SOME:
        yield finding("synthetic_several", share=task.positives.multi_positive_share)
    if task.tendencies is not None and task.tendencies.numbers >= SOME:
        yield finding("synthetic_numbers", share=task.tendencies.numbers)
    both = bool(task.diagnosis and task.diagnosis.relations)  # else no document is in the language of its query
    chosen = [one.name for one in explaining_classes(task) if one.name != "translation" or both]
    negatives = [NEGATIVES[name] for name in chosen if name in NEGATIVES]
    if negatives:
        yield finding("synthetic_negatives", negatives=listed(negatives))


def _median(task: TaskValues, what: str) -> str:
    """Return the median length in words; in characters, if the script has no spaces."""
    lengths = task.query_lengths if what == "Queries" else task.document_lengths
    if lengths.words is None or word_unit(task, what) != "words":
        return counted(round(lengths.characters.median), "characters")
    return counted(round(lengths.words.median), "words")


def _query_kind(task: TaskValues) -> str:
    if task.tendencies is not None and task.tendencies.questions > QUESTIONS:
        return "questions"
    words = task.query_lengths.words
    if task.tendencies is not None and task.tendencies.questions >= MIXED:
        return "a mix of questions and other texts"
    return "short queries" if words is not None and words.median <= SHORT_WORDS else "sentences, not questions"


def improvement(task: TaskValues) -> Iterator[Finding]:
    """Yield where there is most to gain, by measured limits and counterfactual changes."""
    findings = [*_gains(task), *_weaknesses(task), *_changes(task.diagnosis or Diagnosis(), judged_profile(task))]
    profile = judged_profile(task)
    if not findings and profile is not None:
        findings = [finding("no_improvement", label=profile.label)]
    yield from findings


def _gains(task: TaskValues) -> Iterator[Finding]:
    diagnosis, profile = task.diagnosis or Diagnosis(), judged_profile(task)
    limit = next((one for one in diagnosis.limits if profile and one.profile == profile.kind), None)
    if limit is not None and profile is not None and max(limit.ranking_loss, limit.pool_loss) >= SOME:
        ranking = limit.ranking_loss >= limit.pool_loss
        gain = limit.ranking_loss if ranking else limit.pool_loss
        kind = "improve_order" if task.type == "reranking" else "improve_ranking" if ranking else "improve_pool"
        yield Finding(kind, {"gain": gain, "label": profile.label})
    complement = diagnosis.complement
    affected = diagnosis.undeclared is not None and diagnosis.undeclared.queries > SOME * task.queries
    if complement is not None and not affected and complement.choice_gain >= SOME and _open(complement):
        interval, single = complement.choice_interval, LABELS[complement.best_single]
        yield finding("improve_choice", gain=complement.choice_gain, low=interval.low, high=interval.high, best=single)
    if _fusion_is_evidence(task):
        yield from fusion(task)


def _fusion_is_evidence(task: TaskValues) -> bool:
    """Return whether fusion helps or hurts in the same way without languages that the dense model does not declare."""
    undeclared = task.diagnosis.undeclared if task.diagnosis else None
    best, hybrid = task.best, task.profile("hybrid")
    if undeclared is None or best is None or hybrid is None:
        return True
    scores = undeclared.ndcg_at_10
    single = max((value for kind, value in scores.items() if kind != "hybrid"), default=0.0)
    if undeclared.queries > MOST * task.queries or "hybrid" not in scores:
        return False
    return scores["hybrid"] > single if best.kind == "hybrid" else scores[best.kind] > scores["hybrid"]


def _weaknesses(task: TaskValues) -> Iterator[Finding]:
    best = task.best
    for part in weak_slices(task):
        assert best is not None
        yield finding(
            "weak_slice",
            label=best.label,
            difference=-part.against_rest[best.kind],
            where=where(part),
            queries=part.queries,
            score=part.ndcg_at_10[best.kind],
            p=P(part.rest_p_values[best.kind]),
        )
        yield from lower_class(task, part, best)


def _open(one: Complement) -> bool:
    """Return whether fusion reaches less than the choice of the better list."""
    return one.hybrid_ndcg_at_10 is None or one.hybrid_ndcg_at_10 < one.choice_ndcg_at_10


def _changes(diagnosis: Diagnosis, profile: ProfileValues | None) -> Iterator[Finding]:
    changes = {(one.name, one.profile): one for one in diagnosis.counterfactuals}
    for (name, kind), change in changes.items():
        own = profile is not None and kind == profile.kind and change.significant and change.difference >= NOTABLE
        if profile is not None and own and name in IMPROVED:
            gain = {"gain": change.difference, "low": change.interval.low, "high": change.interval.high}
            yield finding(IMPROVED[name], label=profile.label, **gain)
    yield from _context(changes.get(("head_1024", "bm25")) or changes.get(("head_256", "bm25")))
    pool, oracle = changes.get(("rerank_pool", "dense")), changes.get(("rerank_oracle", "dense"))
    if pool is not None and oracle is not None and oracle.significant and oracle.difference >= SOME:
        yield finding(
            "improve_rerank_pool", pool=pool.after, oracle=oracle.after, gain=oracle.difference, queries=oracle.queries
        )


def _context(one: Counterfactual | None) -> Iterator[Finding]:
    if one is None or one.before < WORKS:  # what it misses anyway shows nothing about the length of documents
        return
    head = int(one.name.partition("_")[2])
    if one.significant and one.difference < 0:
        loss = {"loss": -one.difference, "low": -one.interval.high, "high": -one.interval.low}
        yield finding("improve_context", head=head, **loss)
    elif not one.significant and one.interval.low > -SMALL_LOSS:  # else there are too few queries for a conclusion
        interval = {"low": one.interval.low, "high": one.interval.high}
        yield finding("context_enough", head=head, difference=one.difference, **interval)
