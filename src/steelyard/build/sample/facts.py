"""How a task was sampled, as facts for the metadata of the set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.selection import Selection
from steelyard.build.source.source import Source
from steelyard.text.pieces import plain

VERSION = 2
"""The version of the method; part of the key, so that a newer version does not continue what an older one began."""


def facts_of(selection: Selection, chosen: ChosenQueries, context: SamplingContext, key: str) -> dict[str, Any]:
    """Return how a task was sampled: source, recipe, what was kept, what was excluded and why; JSON-ready."""
    source, scanned, recipe = context.source, context.scanned, context.recipe
    corpus = selection.corpus
    grades = [grade for judged in selection.judgements.values() for grade in judged.values()]
    return {
        "schema_version": VERSION,
        "steelyard": __version__,
        "key": key,
        "source": {
            "name": source.info.name,
            "from": public(source.info.source),
            "revision": source.info.revision,
            "fingerprint": source.fingerprint,
            "queries": source.queries.num_rows,
            "documents": len(scanned),
            "judgements": len(source.grades),
        },
        "recipe": recipe.settings,
        "queries": {
            "kept": len(selection.judgements),
            "left_out": {name: count for name, count in chosen.tally.items() if count},
            "strata": dict(chosen.strata) if recipe.stratify else None,
        },
        "documents": {
            "kept": len(corpus.documents),
            "roles": dict(corpus.count()),
            "copies": {name: count for name, count in corpus.tally.items() if count},
        },
        "judgements": {
            "positive": sum(grade > 0 for grade in grades),
            "not_relevant": sum(grade <= 0 for grade in grades),
            "not_relevant_written": recipe.zero_grades,
        },
        "notes": {
            name: count
            for name, count in {**selection.tally, "repeated_documents": len(scanned.repeated)}.items()
            if count
        },
        "leakage": _leakage(source, selection),
    }


def _leakage(source: Source, selection: Selection) -> dict[str, int]:
    """Count queries that reveal their answer: the text is a document, or is contained in a positive."""
    texts = source.queries["text"].to_pylist()
    documents = {place: plain(document.text).casefold() for place, document in selection.corpus.documents.items()}
    whole = set(documents.values())
    asked = {row: plain(texts[row]).casefold() for row in selection.judgements}
    return {
        "queries_that_are_a_document": sum(text in whole for text in asked.values()),
        "queries_inside_a_positive": sum(
            any(grade > 0 and text in documents[place] for place, grade in selection.judgements[row].items())
            for row, text in asked.items()
        ),
    }


def public(source: str) -> str:
    """Return where data came from, without the folders of this machine.

    >>> public("/mine/corpus.jsonl,/mine/queries.jsonl"), public("BeIR/scifact")
    ('corpus.jsonl, queries.jsonl', 'BeIR/scifact')
    """
    parts = [Path(part.strip()) for part in source.split(",")]
    return ", ".join(part.name if part.is_absolute() or part.exists() else str(part) for part in parts)
