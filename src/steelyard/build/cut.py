"""Cut a Nano-set: from a full dataset to a small one that loads, says how it was made, and ranks models fairly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from steelyard import __version__
from steelyard.build.copies import plain
from steelyard.build.documents import Selection, Watch, choose_documents, unwatched
from steelyard.build.journal import Journal
from steelyard.build.queries import ChosenQueries, check_strata, choose_queries
from steelyard.build.recipe import Recipe, draw
from steelyard.build.scan import Scan, scan
from steelyard.build.source import Source, open_sources
from steelyard.build.writing import Written, complete, metadata_path, write_json, write_table
from steelyard.datasets.sidecar import read_json_object
from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.types import TaskInfo

VERSION = 2
"""Of the way of cutting; part of the key, so that a newer one does not go on with what an older one began."""
JOURNAL = ".cutting"
SECTION = "How it was cut"


@dataclass(frozen=True, eq=False)
class NanoSet:
    """A finished set: its folder, its tasks as read back from disk, and how each was cut."""

    folder: Path
    tasks: Mapping[str, Written]
    facts: Mapping[str, Mapping[str, Any]]


def cut(
    reference: str,
    folder: Path,
    recipe: Recipe,
    *,
    watch: Watch = unwatched,
    offline: bool | None = None,
    overwrite: bool = False,
    title: str = "",
    licence: str = "",
) -> NanoSet:
    """Cut every task that the reference stands for into one folder.

    The same source and recipe give the same bytes. What an interrupted cut has done is not done again. A folder
    that holds another set is refused, unless it may be overwritten.
    """
    infos: dict[str, TaskInfo] = {}
    facts: dict[str, dict[str, Any]] = {}
    fresh = False
    for open_ in open_sources(reference, offline=offline):
        source = open_()
        name = source.info.task
        key = _key(source, recipe)
        _refuse_other(folder, name, key, overwrite)
        infos[name] = replace(
            _searched(source.info),
            name=f"{folder.resolve().name}/{name}",
            source=_public(source.info.source),
            licence=licence or source.info.licence,
        )
        stored = _stored(folder, name, key)
        fresh |= stored is None
        facts[name] = stored or _cut_task(source, folder, recipe, key, watch)
    description = _description(recipe)
    licences = {info.licence for info in infos.values() if info.licence}
    written = complete(
        folder,
        infos=infos,
        title=title,
        description=description,
        licence=licence or (licences.pop() if len(licences) == 1 else ""),
        sections={SECTION: _told(facts)},
        new_card=fresh,
    )
    return NanoSet(folder, {part.task.info.task: part for part in written}, facts)


def kept(folder: Path) -> dict[str, list[str]]:
    """What an interrupted cut has done and will not do again, in words, by task."""
    done = {path.stem: ["cut"] for path in sorted(folder.glob("metadata/*.json"))}
    for place in sorted((folder / JOURNAL).glob("*")):
        steps = [f"hard negatives among {count:,} documents" for count in Journal.counts(place, "mining-*")]
        if Journal.counts(place, "scan") or steps:
            done[place.name] = ["ids read", *steps]
    return done


def _searched(info: TaskInfo) -> TaskInfo:
    """What a task becomes that was cut: a corpus to search. The lists of a reranking task are not cut along with it."""
    if info.type == "retrieval":
        return info
    told = f"Cut from a {info.type} task, without its candidate lists."
    return replace(info, type="retrieval", main_metric=None, description=f"{info.description} {told}".strip())


def _cut_task(source: Source, folder: Path, recipe: Recipe, key: str, watch: Watch) -> dict[str, Any]:
    name = source.info.task
    # What a recipe names wrongly must not be found out after hours of reading.
    check_strata(source, recipe)
    miners = [load_retriever(model) for model in recipe.mine] if recipe.hard_negatives else []
    journal = Journal(folder / JOURNAL / name, key)
    scanned = _scan(source, recipe, journal, watch)
    chosen = choose_queries(source, scanned, recipe)
    selection = choose_documents(source, scanned, chosen, recipe, miners, journal, watch)
    tables = _tables(source, selection, recipe)
    for config, table in tables.items():
        write_table(folder, config, name, table)
    facts = _facts(source, scanned, chosen, selection, recipe, key)
    write_json(metadata_path(folder, name), facts)
    journal.close()
    if not any((folder / JOURNAL).iterdir()):
        (folder / JOURNAL).rmdir()
    return facts


def _scan(source: Source, recipe: Recipe, journal: Journal, watch: Watch) -> Scan:
    kept = journal.recall("scan")
    if kept is not None:
        return Scan(kept["draws"], kept["places"], kept["repeated"])
    scanned = scan(source, recipe.seed, watch("reading ids"))
    journal.note("scan", draws=scanned.draws, places=scanned.places, repeated=scanned.repeated)
    return scanned


def _tables(source: Source, selection: Selection, recipe: Recipe) -> dict[str, Any]:
    """The tables of the set; documents in an order that says nothing, neither of relevance nor of the source."""
    documents = selection.basket.documents
    order = draw(recipe.seed, "stored order", (document.id for document in documents.values()))
    stored = [document for _, document in sorted(zip(order, documents.values(), strict=True), key=lambda pair: pair[0])]
    corpus: dict[str, Any] = {"_id": [d.id for d in stored], "text": [d.body for d in stored]}
    if recipe.merge_titles:
        corpus["text"] = [document.merged for document in stored]
    elif any(document.title for document in stored):
        corpus["title"] = [d.title for d in stored]
    rows = list(selection.judgements)
    ids = source.queries["_id"].to_pylist()
    judged = [
        (ids[row], documents[place].id, 1 if recipe.binary else grade)
        for row in rows
        for place, grade in sorted(selection.judgements[row].items(), key=lambda pair: documents[pair[0]].id)
        if grade > 0 or recipe.zero_grades
    ]
    text = pa.string()
    queries = source.queries.take(pa.array(rows, pa.int64()))
    asked: list[str] = queries["text"].to_pylist()
    plain_columns = {"_id": queries["_id"].to_pylist(), "text": [t.strip() for t in asked] if recipe.exact else asked}
    for name, values in plain_columns.items():
        queries = queries.set_column(queries.column_names.index(name), name, pa.array(values, text))
    return {
        "corpus": pa.table({name: pa.array(values, text) for name, values in corpus.items()}),
        "queries": queries,
        "qrels": pa.table(
            {
                "query-id": pa.array([query for query, _, _ in judged], text),
                "corpus-id": pa.array([document for _, document, _ in judged], text),
                "score": pa.array([grade for _, _, grade in judged], pa.int32()),
            }
        ),
    }


def _facts(
    source: Source, scanned: Scan, chosen: ChosenQueries, selection: Selection, recipe: Recipe, key: str
) -> dict[str, Any]:
    basket = selection.basket
    grades = [grade for judged in selection.judgements.values() for grade in judged.values()]
    return {
        "schema_version": VERSION,
        "steelyard": __version__,
        "key": key,
        "source": {
            "name": source.info.name,
            "from": _public(source.info.source),
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
            "kept": len(basket.documents),
            "roles": dict(basket.count()),
            "copies": {name: count for name, count in basket.tally.items() if count},
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
    """Queries that give their answer away: the text is a document, or stands word for word in a positive."""
    texts = source.queries["text"].to_pylist()
    documents = {place: plain(document.text).casefold() for place, document in selection.basket.documents.items()}
    whole = set(documents.values())
    asked = {row: plain(texts[row]).casefold() for row in selection.judgements}
    return {
        "queries_that_are_a_document": sum(text in whole for text in asked.values()),
        "queries_inside_a_positive": sum(
            any(grade > 0 and text in documents[place] for place, grade in selection.judgements[row].items())
            for row, text in asked.items()
        ),
    }


def _key(source: Source, recipe: Recipe) -> str:
    parts = json.dumps([VERSION, source.info.name, source.fingerprint, recipe.settings], sort_keys=True)
    return hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()


def _stored(folder: Path, task: str, key: str) -> dict[str, Any] | None:
    facts = read_json_object(metadata_path(folder, task))
    return facts if facts.get("key") == key else None


def _refuse_other(folder: Path, task: str, key: str, overwrite: bool) -> None:
    """A task that is there, was not cut like this and was not being cut like this belongs to somebody."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", hint="choose another folder")
    there = (folder / "corpus" / f"{task}.parquet").exists()
    begun = Journal.key_of(folder / JOURNAL / task) == key
    if there and not overwrite and not begun and _stored(folder, task, key) is None:
        raise UsageError(
            f"{folder} holds {task}, made in another way", hint="choose another folder, or --overwrite to cut it anew"
        )


def _public(source: str) -> str:
    """Where data came from, without the folders of this machine.

    >>> _public("/mine/corpus.jsonl,/mine/queries.jsonl"), _public("BeIR/scifact")
    ('corpus.jsonl, queries.jsonl', 'BeIR/scifact')
    """
    parts = [Path(part.strip()) for part in source.split(",")]
    return ", ".join(part.name if part.is_absolute() or part.exists() else str(part) for part in parts)


def _description(recipe: Recipe) -> str:
    drawn = f"drawn with seed {recipe.seed}" if recipe.order == "random" else "in the order of the source"
    mined = f" Hard negatives were mined with {' and '.join(recipe.mine)}." if recipe.mine else ""
    size = f"at most {recipe.queries:,} queries and {recipe.documents:,} documents a task"
    return (
        f"A Nano-set cut by Steelyard {__version__}: {size}, {drawn}.{mined} "
        "Documents are stored in an order that says nothing of relevance."
    )


def _told(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """The section of the card: numbers by task, then every choice."""
    lines = [
        "| task | queries | of | documents | of | relevant pairs | hard negatives | judged negatives "
        "| queries that are a document | queries inside a positive |",
        "|---" * 10 + "|",
    ]
    for name, told in facts.items():
        roles = told["documents"]["roles"]
        cells = (
            name,
            told["queries"]["kept"],
            told["source"]["queries"],
            told["documents"]["kept"],
            told["source"]["documents"],
            told["judgements"]["positive"],
            roles.get("hard negative", 0),
            roles.get("judged negative", 0),
            *told["leakage"].values(),
        )
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    recipe = next(iter(facts.values()))["recipe"]
    lines += ["", "| choice | value |", "|---|---|", *(f"| {name} | `{json.dumps(v)}` |" for name, v in recipe.items())]
    checked = (
        "When it was finished, the set was read back and checked; `manifest.json` has what was found. The last two "
        "columns count queries that give their answer away: their text is a document, or stands word for word in a "
        "positive."
    )
    return "\n".join([*lines, "", checked, "", "`metadata/` has what was left out and why, for each task."])
