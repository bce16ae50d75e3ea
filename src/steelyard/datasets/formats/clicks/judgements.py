"""Turn the rows of a click log into queries, documents and judgements."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets.assemble import Tables
from steelyard.datasets.formats.clicks.grades import Events, Grading, Pairs, tally, values_of
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import DOCUMENTS, JUDGEMENTS, QUERIES
from steelyard.datasets.tables.convert import TEXT, seconds
from steelyard.datasets.tables.tabular import Table
from steelyard.errors import DataError, UsageError
from steelyard.types import Int64, TaskInfo, join_title


def judge(log: Table, grading: Grading, corpus: Table | None, info: TaskInfo, report: Report) -> Tables | None:
    """Return the log as queries and judgements of the corpus; None, and a problem, if there are none.

    Without a corpus, every document counts as part of it.
    """
    query, ids, texts = _queries(log)
    encoded = pa.array(_document_ids(log), TEXT).dictionary_encode()
    names, document = encoded.dictionary, np.asarray(encoded.indices, dtype=np.int64)
    events = _events(log, query, document, grading, report)
    if events is None:
        return None
    pairs = tally(events, grading)
    usable = _usable(pairs, texts, names, corpus, grading, log, report)
    grades = grading.grades(values_of(pairs, grading))
    answered = np.unique(pairs.query[usable & (grades > 0)])
    unanswered = len(np.unique(pairs.query)) - len(answered)
    if unanswered:
        log.add_problem(report, "click-log", f"{unanswered:,} queries have no document of grade 1", ())
    if not len(answered):
        best = float(values_of(pairs, grading)[usable].max(initial=0.0))
        report.add(
            "nothing-there",
            log.name,
            f"no document reaches grade 1 ({grading}); the highest value is {best:.3g}",
            remedy="lower the threshold (at=...) or min_impressions",
        )
        return None
    usable &= np.isin(pairs.query, answered)
    queries = {
        "id": pa.array([ids[query] for query in answered], TEXT),
        "text": pa.array([texts[query] for query in answered], TEXT),
    }
    judged = {
        "query": pa.array([ids[query] for query in pairs.query[usable]], TEXT),
        "document": names.take(pa.array(pairs.document[usable])),
        "grade": pa.array(grades[usable].astype(np.float64)),
    }
    origin = f"Graded by {len(events.query):,} rows of a click log, {grading}."
    return Tables(
        replace(info, description=f"{info.description} {origin}".strip()),
        corpus,
        Table(QUERIES, queries, log.names, (0,)),
        Table(JUDGEMENTS, judged, log.names, (0,)),
    )


def documents_of(log: Table, report: Report) -> Table:
    """Return the documents of a log; if the text of one changed, the last one."""
    ids = _document_ids(log)
    order = np.arange(len(log)) if "time" not in log else np.argsort(_column(log, "time", -np.inf), kind="stable")
    titles = log["title"].to_pylist() if "title" in log else [""] * len(log)
    bodies = log["text"].to_pylist() if "text" in log else [""] * len(log)
    newest: dict[str, int] = {}
    changed: set[str] = set()
    for row in order.tolist():
        id_, text = ids[row], (titles[row], bodies[row])
        if any(text):
            if id_ in newest and text != (titles[newest[id_]], bodies[newest[id_]]):
                changed.add(id_)
            newest[id_] = row
        else:
            newest.setdefault(id_, row)
    if changed:
        log.add_problem(
            report, "click-log", f"the text of {len(changed):,} documents changed: the last one is used", ()
        )
    rows = np.array(list(newest.values()), dtype=np.int64)
    columns = {"id": pa.array(list(newest), TEXT), "text": pa.array([bodies[row] for row in rows], TEXT)}
    if "title" in log:
        columns["title"] = pa.array([titles[row] for row in rows], TEXT)
    return Table(DOCUMENTS, columns, log.names, (0,), rows)


def _document_ids(log: Table) -> list[str]:
    """Return the ids of the log, or ids made from the texts."""
    if "document" in log:
        ids: list[str] = log["document"].to_pylist()
        return ids
    if "text" not in log:  # its values are all missing
        raise DataError(
            "no row has the id or the text of its document", path=log.name, field="document", expected="an id or a text"
        )
    titles = log["title"].to_pylist() if "title" in log else [""] * len(log)
    known: dict[tuple[str, str], str] = {}
    for pair in zip(titles, log["text"].to_pylist(), strict=True):
        if pair not in known:
            known[pair] = _name("d", " ".join(join_title(*pair).split()))
    return [known[pair] for pair in zip(titles, log["text"].to_pylist(), strict=True)]


def _name(letter: str, text: str) -> str:
    """Return an id that depends only on the text, so that it is stable while the log grows."""
    return f"{letter}-{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _column(log: Table, name: str, missing: float) -> Any:
    return np.asarray(pc.fill_null(log[name], missing), dtype=np.float64)


def _queries(log: Table) -> tuple[Int64, list[str], list[str]]:
    """Return for each row the number of its query, and ids and texts by number; the most frequent spelling is used."""
    texts = log["query"].dictionary_encode()
    spellings: list[str] = texts.dictionary.to_pylist()
    spelt = np.asarray(texts.indices, dtype=np.int64)
    if "query_id" in log:
        encoded = log["query_id"].dictionary_encode()
        ids, number = encoded.dictionary.to_pylist(), np.asarray(encoded.indices, dtype=np.int64)
    else:
        folded = [fold(text) for text in spellings]
        first = {text: place for place, text in enumerate(dict.fromkeys(folded))}
        number = np.array([first[text] for text in folded], dtype=np.int64)[spelt]
        ids = [_name("q", text) for text in first]
    usual: dict[int, str] = {}
    counts = Counter(zip(number.tolist(), spelt.tolist(), strict=True))
    for query, spelling in sorted(counts, key=lambda pair: (-counts[pair], spellings[pair[1]])):
        usual.setdefault(query, spellings[spelling])
    return number, ids, [usual[query] for query in range(len(ids))]


def fold(text: str) -> str:
    """Return the form that spellings of one query share.

    >>> fold(" ＶＰＮ  Token") == fold("vpn token")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _usable(
    pairs: Pairs,
    texts: Sequence[str],
    names: Any,
    corpus: Table | None,
    grading: Grading,
    log: Table,
    report: Report,
) -> Any:
    """Return which pairs may be judged; ignored ones are reported."""
    usable = np.ones(len(pairs.query), dtype=bool)
    reasons = {
        f"shown fewer than {grading.min_impressions} times": pairs.impressions < grading.min_impressions,
        "of an empty query": np.array([not text.strip() for text in texts], dtype=bool)[pairs.query],
    }
    if corpus is not None:
        known = np.asarray(pc.is_in(names, value_set=corpus["id"]))
        reasons["of a document that is not in the corpus"] = ~known[pairs.document]
    for reason, out in reasons.items():
        if count := int((usable & out).sum()):
            log.add_problem(report, "click-log", f"{count:,} of {len(out):,} pairs {reason}", ())
        usable &= ~out
    return usable


def _events(log: Table, query: Int64, document: Int64, grading: Grading, report: Report) -> Events | None:
    """Return the rows in the time window, with clicks and impressions; without a column of clicks every row is one."""
    clicks = _column(log, "clicks", 0.0) if "clicks" in log else np.ones(len(log))
    counted = "impressions" in log
    shown = _column(log, "impressions", 1.0) if counted else np.maximum(clicks, 1.0)
    if len(rows := np.flatnonzero(clicks > shown)):
        message = f"clicks must not exceed impressions, got {clicks[rows[0]]:g} of {shown[rows[0]]:g}"
        log.add_problem(report, "value", message, rows)
        return None
    single = not counted and bool((clicks <= 1).all())
    if grading.signal == "ctr" and not counted and not (single and bool((clicks == 0).any())):
        raise UsageError(
            f"signal=ctr needs impressions without clicks, which {log.name} does not have",
            hint="use signal=clicks, or add rows with clicked=0, or a column impressions",
        )
    position = _positions(log, grading, clicks, report)
    if position is None:
        return None
    session = None
    if single and "session" in log:
        session = np.asarray(log["session"].dictionary_encode().indices, dtype=np.int64)
    rows = np.flatnonzero(_window(log, grading))
    if len(rows) < len(log):
        log.add_problem(report, "click-log", f"{len(log) - len(rows):,} rows outside the time window", ())
    return Events(
        query[rows],
        document[rows],
        clicks[rows],
        shown[rows],
        position[rows],
        None if session is None else session[rows],
    )


def _positions(log: Table, grading: Grading, clicks: Any, report: Report) -> Any:
    """Return positions from 1; 1 for all if they are not used."""
    if grading.positions == "ignore":
        return _column(log, "position", 1.0) if "position" in log else np.ones(len(log))
    if "position" not in log:
        raise UsageError(
            f"positions=ips needs a column of positions, which {log.name} does not have",
            hint="name it position or rank (the first is 1), or omit positions=ips",
        )
    position = _column(log, "position", np.nan)
    bad = np.flatnonzero((clicks > 0) & ~(position >= 1))
    if len(bad):
        value = position[bad[0]]
        got = "none" if np.isnan(value) else f"{value:g}"
        log.add_problem(report, "value", f"the position of a click must be at least 1, got {got}", bad)
        return None
    return np.where(position >= 1, position, 1.0)


def _window(log: Table, grading: Grading) -> Any:
    """Return which rows are between `since` (inclusive) and `until` (exclusive)."""
    inside = np.ones(len(log), dtype=bool)
    for name, text in (("since", grading.since), ("until", grading.until)):
        if text is None:
            continue
        if "time" not in log:
            raise UsageError(
                f"{name}={text} needs a column of times, which {log.name} does not have", hint="name it timestamp"
            )
        try:
            moment = seconds(text)
        except (ValueError, OverflowError, OSError):
            raise UsageError.invalid(name, expected="a date such as 2026-03-01", found=text, option=name) from None
        times = _column(log, "time", np.nan)
        inside &= times >= moment if name == "since" else times < moment
    return inside
