"""Findings about failures and limits: classes of failed queries, what separates them, what would change the score."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.diagnosis_templates import CHANGES, PROPERTIES, RULES
from steelyard.reports.pages.findings.sentences import Finding, P, finding, language_name, listed
from steelyard.reports.pages.findings.text_findings import word_unit
from steelyard.reports.pages.measure.diagnosis_values import Counterfactual, Diagnosis, FailureClass, Limit, Separator
from steelyard.reports.pages.measure.page_inputs import LABELS, Kind
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import ProfileValues
from steelyard.reports.pages.thresholds import FEW, MOST, SIGNIFICANT, SOME

CLAIMS = 3
"""Classes of a profile that are named in sentences; the table has all."""


def undeclared(task: TaskValues) -> Iterator[Finding]:
    """Yield the languages that the dense model does not declare, and the scores without them."""
    values = task.diagnosis.undeclared if task.diagnosis else None
    if values is None:
        return
    languages = listed([f"{language_name(code)}" for code in values.languages])
    if values.queries == task.queries:
        yield finding("undeclared_all", model=values.model, languages=languages)
        return
    share = values.queries / max(task.queries, 1)
    yield finding("undeclared", model=values.model, languages=languages, queries=values.queries, share=share)
    scores = listed([f"{value:.4f} for {LABELS[kind]}" for kind, value in values.ndcg_at_10.items()])
    yield finding("undeclared_rest", queries=task.queries - values.queries, scores=scores)


def usable_profiles(task: TaskValues) -> list[ProfileValues]:
    """Return the profiles that are evidence about the task: without the dense model, if most queries are undeclared."""
    one = task.diagnosis.undeclared if task.diagnosis else None
    return [p for p in task.main if one is None or p.kind == "bm25" or one.queries <= MOST * task.queries]


def classes(task: TaskValues) -> Iterator[Finding]:
    """Yield the classes that failed queries match significantly more often than found ones."""
    diagnosis = task.diagnosis
    if diagnosis is None:
        return
    failed = failed_queries(task)
    if not any(failed.values()):
        yield finding("no_failures")
        return
    yield finding("class_test", rules=len(RULES) - 1)
    for kind, count in failed.items():
        own = [one for one in diagnosis.classes if one.profile == kind and one.name != "undeclared_language"]
        clear = [one for one in own if one.significant and one.failed >= FEW][:CLAIMS]
        judged = own[0].failures if own else 0
        if clear:
            yield finding("class_significant", label=LABELS[kind], classes=listed([_share(one) for one in clear]))
        elif judged >= FEW:
            yield finding("class_none", failures=judged, label=LABELS[kind])
        elif 0 < count < FEW:
            yield finding("class_few", label=LABELS[kind], failures=count)


def failed_queries(task: TaskValues) -> dict[Kind, int]:
    """Return the number of queries with a relevant document that each profile fails."""
    failed: dict[Kind, int] = {}
    for one in task.main:
        ranks = one.first_positive
        hits = sum(ranks.get(name, 0) for name in ("1", "2-3", "4-10"))
        failed[one.kind] = sum(ranks.values()) - hits - task.positives.queries_without
    return failed


def _share(one: FailureClass) -> str:
    """Return a class with its shares of failed and found queries."""
    assert one.p_value is not None
    failed = f"{one.share:.1%} [{one.interval.low:.1%}, {one.interval.high:.1%}] of {one.failures:,} failed queries"
    return f"{RULES[one.name][0]} ({failed}, {one.found / max(one.successes, 1):.1%} of found ones, p {P(one.p_value)})"


def separation(task: TaskValues) -> Iterator[Finding]:
    """Yield the clearest property that separates found from missed queries, for each profile."""
    diagnosis = task.diagnosis or Diagnosis()
    clear: dict[str, list[str]] = {}
    none: list[str] = []
    for profile in task.main:
        own = [one for one in diagnosis.separators if one.profile == profile.kind]
        best = next((one for one in own if one.significant), None)
        if best is not None:
            values = f"{amount(best, best.found)} against {amount(best, best.missed)}, AUC {best.auc:.2f}"
            clear.setdefault(best.property, []).append(f"{profile.label} {values}, p {P(best.p_value)}")
        elif own:
            none.append(profile.label)
    if clear:
        named = [f"{property_name(task, name)} ({'; '.join(values)})" for name, values in clear.items()]
        yield finding("separator", properties=" and in the ".join(named))
    if none:
        yield finding("no_separator", labels=" or ".join(none))


def property_name(task: TaskValues, name: str) -> str:
    """Return a property in words, with what is counted as words in the task."""
    side = "Documents" if name == "relevant_words" else "Queries"
    return PROPERTIES[name].replace("words", word_unit(task, side))


def amount(one: Separator, value: float) -> str:
    """Return a value of a property as text: a share in per cent, a count as a number."""
    return f"{value:.1%}" if one.is_share or one.property == "overlap" else f"{value:,.1f}".removesuffix(".0")


def relations(task: TaskValues) -> Iterator[Finding]:
    """Yield how often relevant documents in the same and in another language are found."""
    diagnosis = task.diagnosis
    if diagnosis is None or len(diagnosis.relations) < 2:
        return
    same, cross = diagnosis.relations
    shares = []
    for profile in task.main:
        kind = profile.kind
        if kind in same.found_at_10 and kind in cross.found_at_10:
            p = diagnosis.relation_p_values.get(kind)
            test = "too few to test" if p is None else f"p {P(p)}" if p < SIGNIFICANT else f"not significant, p {P(p)}"
            values = f"{same.found_at_10[kind]:.2%} against {cross.found_at_10[kind]:.2%} of cases"
            shares.append(f"{values} for {profile.label} ({test})")
    if shares:
        yield finding("relation", shares=listed(shares))


def limits(task: TaskValues) -> Iterator[Finding]:
    """Yield whether ranking, candidates or judgements cost each profile most."""
    diagnosis = task.diagnosis
    if diagnosis is None:
        return
    if task.ceiling is not None and task.ceiling.ndcg_at_10 < 1 - 1e-9:
        yield finding("unreachable", ceiling=task.ceiling.ndcg_at_10)
    usable = {profile.kind for profile in usable_profiles(task)}
    known = [one for one in diagnosis.limits if one.profile in usable]
    findings = [_limit(one) for one in known]
    best = next((n for n, one in enumerate(known) if task.best and one.profile == task.best.kind), 0)
    if findings:
        yield findings[best]
    same = [LABELS[one.profile] for n, one in enumerate(known) if n != best and findings[n].kind == findings[best].kind]
    if same:
        yield finding("limit_same", labels=listed(same))
    yield from (one for n, one in enumerate(findings) if n != best and one.kind != findings[best].kind)


def _limit(limit: Limit) -> Finding:
    label = LABELS[limit.profile]
    if 1 - limit.ndcg_at_10 < 0.00005:
        return finding("limit_perfect", label=label)
    if 1 - limit.ndcg_at_10 < SOME:
        return finding("limit_none", label=label, gap=1 - limit.ndcg_at_10)
    losses = {"ranking": limit.ranking_loss, "pool": limit.pool_loss, "judgement": limit.judgement_loss}
    most = max(losses, key=lambda name: losses[name])
    if most == "judgement":
        return finding("limit_judgements", label=label, **losses)
    if limit.pool_loss < 0.00005:
        return finding("limit_order", label=label, ranking=limit.ranking_loss)
    kind = "limit_ranking" if most == "ranking" else "limit_pool"
    return finding(kind, label=label, ranking=limit.ranking_loss, pool=limit.pool_loss)


def complement(task: TaskValues) -> Iterator[Finding]:
    """Yield what BM25 and the dense profile find together, and what a perfect choice between them would reach."""
    values = task.diagnosis.complement if task.diagnosis else None
    if values is None:
        return
    counts = {
        "both": values.both,
        "only_bm25": values.only_bm25,
        "only_dense": values.only_dense,
        "neither": values.neither,
    }
    yield finding("complement" if values.both else "no_overlap", **counts)
    if len(usable_profiles(task)) < len(task.main):
        return
    best = LABELS[values.best_single]
    if values.choice_gain < 0.00005:
        yield finding("no_choice", best=best, pool=values.pool_ndcg_at_10)
        return
    yield finding(
        "choice",
        single=values.best_single_ndcg_at_10,
        best=best,
        choice=values.choice_ndcg_at_10,
        gain=values.choice_gain,
        low=values.choice_interval.low,
        high=values.choice_interval.high,
        pool=values.pool_ndcg_at_10,
    )
    if values.hybrid_ndcg_at_10 is None or values.choice_gain <= 0:
        return
    share = (values.hybrid_ndcg_at_10 - values.best_single_ndcg_at_10) / values.choice_gain
    if share <= 0:
        yield finding("fusion_misses", hybrid=values.hybrid_ndcg_at_10)
    elif share > 1:
        yield finding("fusion_beyond", hybrid=values.hybrid_ndcg_at_10)
    else:
        yield finding("fusion_captures", hybrid=values.hybrid_ndcg_at_10, share=share, best=best)


def counterfactuals(task: TaskValues) -> Iterator[Finding]:
    """Yield the changes with a significant effect."""
    changes = task.diagnosis.counterfactuals if task.diagnosis else ()
    clear = [one for one in changes if one.significant]
    for name in dict.fromkeys(one.name for one in clear):
        own = [f"{_change(one)} for {LABELS[one.profile]}" for one in clear if one.name == name]
        yield finding("counterfactual", change=CHANGES[name], profiles=listed(own))
    others = len(changes) - len(clear)
    if others == 1:
        yield finding("counterfactual_one_none" if clear else "one_counterfactual")
    elif others:
        yield finding("counterfactual_none" if clear else "no_counterfactual")


def _change(one: Counterfactual) -> str:
    """Return both scores and their difference."""
    interval = f"[{one.interval.low:+.4f}, {one.interval.high:+.4f}]"
    return f"from {one.before:.4f} to {one.after:.4f} ({one.difference:+.4f} {interval})"


def declared_languages(task: TaskValues) -> Iterator[Finding]:
    """Yield where declared and identified languages disagree."""
    profile = task.language_profile
    if profile is None or not task.languages or task.category == "code":
        return
    from steelyard.text.languages import canonical

    declared = {canonical(code) for code in task.languages}
    sides = (profile.query_languages, profile.document_languages)
    identified = {code for side in sides for code in side if code != "und"}
    missing = sorted(declared - identified)
    extra = sorted(code for code in identified - declared if _clear(code, sides))
    if missing and all(side.get("und", 0.0) <= SOME for side in sides):  # else they may be among the others
        yield finding("language_missing", languages=listed([language_name(code) for code in missing]))
    if extra:
        shares = [f"{language_name(code)} ({_where(code, sides)})" for code in extra]
        yield finding("language_extra", languages=listed(shares))


def _clear(code: str, sides: tuple[object, ...]) -> bool:
    return any(isinstance(side, dict) and side.get(code, 0.0) >= 0.01 for side in sides)


def _where(code: str, sides: tuple[object, ...]) -> str:
    names = ("queries", "documents")
    return listed(
        [
            f"{side[code]:.1%} of {name}"
            for name, side in zip(names, sides, strict=True)
            if isinstance(side, dict) and code in side
        ]
    )
