"""Short examples of the data: queries with the sentence of a relevant document that shares most of their terms."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np

from steelyard.reports.pages.diagnose.evidence import Evidence
from steelyard.reports.pages.measure.diagnosis_values import Snippet
from steelyard.text.analysis.language_policy import Policy

COUNT = 5
SEED = 43
"""Other queries than those of the example data."""
LONGEST = 160
_SENTENCE = re.compile(r".+?(?:(?<!\b[A-Z])[.!?…]['\"”’)\]]*(?=\s|$)|[。！？؟।]|\n|$)", re.S)
"""Up to the end of a sentence, which a single capital letter with a point (an initial) is not."""


def snippets(evidence: Evidence, policy: Policy) -> tuple[Snippet, ...]:
    """Return a seeded sample of queries with a snippet each, in the order of their ids."""
    ids = evidence.task.queries.ids
    eligible = sorted(np.flatnonzero(evidence.asked).tolist(), key=ids.__getitem__)
    drawn = sorted(random.Random(SEED).sample(eligible, min(COUNT, len(eligible))), key=ids.__getitem__)
    return tuple(_snippet(evidence, policy, query) for query in drawn)


def _snippet(evidence: Evidence, policy: Policy, query: int) -> Snippet:
    task = evidence.task
    rows = np.array(evidence.positives[query])
    overlap = np.nan_to_num(evidence.reading.terms.overlap(np.full(len(rows), query), rows))
    row = int(rows[int(overlap.argmax())])
    text = task.queries.texts[query]
    parts = sentences(task.corpus.texts[row])
    query_terms = _terms(policy, [text], query=True)[0]
    shared = [len(query_terms & held) for held in _terms(policy, parts, query=False)]
    best = max(range(len(parts)), key=lambda place: (shared[place], -place))
    return Snippet(
        task.queries.ids[query],
        _cut(text),
        task.corpus.ids[row],
        _cut(parts[best]),
        shared[best],
        len(query_terms),
    )


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, long ones in parts.

    >>> sentences("It rains. Who knows? 下雨了。好。")
    ['It rains.', 'Who knows?', '下雨了。', '好。']
    """
    pieces = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    return [part for one in pieces for part in _parts(one)] or [text[:LONGEST]]


def _parts(sentence: str) -> Iterator[str]:
    """Yield a sentence in parts, at spaces where there are any."""
    while len(sentence) > LONGEST:
        at = sentence.rfind(" ", LONGEST // 2, LONGEST)
        at = LONGEST if at < 0 else at
        yield sentence[:at].strip()
        sentence = sentence[at:]
    if sentence.strip():
        yield sentence.strip()


def _terms(policy: Policy, texts: list[str], *, query: bool) -> list[set[str]]:
    terms: list[set[str]] = [set() for _ in texts]
    for analyser, places in policy.groups(texts):
        chosen = [texts[place] for place in places.tolist()]
        tokens = analyser.query_tokens(chosen) if query else analyser.tokens(chosen)
        for owner, number in zip(tokens.owners.tolist(), tokens.numbers.tolist(), strict=True):
            terms[places[owner]].add(tokens.distinct[number])
    return terms


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1]}…"
