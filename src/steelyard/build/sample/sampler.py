"""Cut a Nano-set: from a full dataset to a small one that loads, says how it was made, and ranks models fairly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from steelyard.build.sample.completing import CardWords, Written, complete, metadata_path
from steelyard.build.sample.documents import choose_documents
from steelyard.build.sample.facts import VERSION, card_section, description, facts_of, public
from steelyard.build.sample.journal import Cutting, Journal, Watch, unwatched
from steelyard.build.sample.queries import check_strata, choose_queries
from steelyard.build.sample.recipe import Recipe, draw
from steelyard.build.sample.scan import Document, Scan, scan
from steelyard.build.sample.selection import Selection
from steelyard.build.source.source import Source, open_sources
from steelyard.config import Settings
from steelyard.datasets.formats.nano.manifest import write_json, write_table
from steelyard.datasets.formats.sidecar import read_json_object
from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.types import TaskInfo

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
    settings: Settings | None = None,
    overwrite: bool = False,
    title: str = "",
    licence: str = "",
) -> NanoSet:
    """Cut every task that the reference stands for into one folder.

    The same source and recipe give the same bytes. What an interrupted cut has done is not done again. A folder
    that holds another set is refused, unless it may be overwritten.
    """
    settings = settings or Settings.load()
    infos: dict[str, TaskInfo] = {}
    facts: dict[str, dict[str, Any]] = {}
    fresh = False
    for open_ in open_sources(reference, settings=settings):
        source = open_()
        name = source.info.task
        key = _key(source, recipe)
        _refuse_other(folder, name, key, overwrite)
        infos[name] = replace(
            _searched(source.info),
            name=f"{folder.resolve().name}/{name}",
            source=public(source.info.source),
            licence=licence or source.info.licence,
        )
        stored = _stored(folder, name, key)
        fresh |= stored is None
        facts[name] = stored or _cut_task(source, folder, recipe, key, watch, settings)
    licences = {info.licence for info in infos.values() if info.licence}
    words = CardWords(
        title,
        description(recipe),
        licence or (licences.pop() if len(licences) == 1 else ""),
        {SECTION: card_section(facts)},
    )
    written = complete(folder, words, infos=infos, new_card=fresh)
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


def _cut_task(
    source: Source, folder: Path, recipe: Recipe, key: str, watch: Watch, settings: Settings
) -> dict[str, Any]:
    name = source.info.task
    # What a recipe names wrongly must not be found out after hours of reading.
    check_strata(source, recipe)
    miners = [load_retriever(model, settings) for model in recipe.mine] if recipe.hard_negatives else []
    journal = Journal(folder / JOURNAL / name, key)
    cutting = Cutting(source, recipe, _scan(source, recipe, journal, watch), journal, watch)
    chosen = choose_queries(source, cutting.scanned, recipe)
    selection = choose_documents(chosen, miners, cutting)
    for config, table in tables_of(selection, source, recipe).items():
        write_table(folder, config, name, table)
    facts = facts_of(selection, chosen, cutting, key)
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


TEXT = pa.string()


def tables_of(selection: Selection, source: Source, recipe: Recipe) -> dict[str, Any]:
    """Corpus, queries and judgements, by the name of their folder."""
    rows = list(selection.judgements)
    return {
        "corpus": _corpus(list(selection.basket.documents.values()), recipe),
        "queries": _queries(source.queries.take(pa.array(rows, pa.int64())), recipe),
        "qrels": _qrels(selection, source.queries["_id"].to_pylist(), recipe),
    }


def _corpus(documents: list[Document], recipe: Recipe) -> Any:
    """The documents in an order that says nothing, neither of relevance nor of the source."""
    order = draw(recipe.seed, "stored order", (document.id for document in documents))
    stored = [document for _, document in sorted(zip(order, documents, strict=True), key=lambda pair: pair[0])]
    columns = {"_id": [d.id for d in stored], "text": [d.merged if recipe.merge_titles else d.body for d in stored]}
    if not recipe.merge_titles and any(document.title for document in stored):
        columns["title"] = [document.title for document in stored]
    return pa.table({name: pa.array(values, TEXT) for name, values in columns.items()})


def _queries(queries: Any, recipe: Recipe) -> Any:
    """The queries with all columns that the source has; ids and texts as plain text."""
    ids, texts = queries["_id"].to_pylist(), queries["text"].to_pylist()
    for name, values in (("_id", ids), ("text", [text.strip() for text in texts] if recipe.exact else texts)):
        queries = queries.set_column(queries.column_names.index(name), name, pa.array(values, TEXT))
    return queries


def _qrels(selection: Selection, query_ids: list[str], recipe: Recipe) -> Any:
    """The judgements, those of each query by document id."""
    documents = selection.basket.documents
    judged = [
        (query_ids[row], documents[place].id, 1 if recipe.binary else grade)
        for row, grades in selection.judgements.items()
        for place, grade in sorted(grades.items(), key=lambda pair: documents[pair[0]].id)
        if grade > 0 or recipe.zero_grades
    ]
    return pa.table(
        {
            "query-id": pa.array([query for query, _, _ in judged], TEXT),
            "corpus-id": pa.array([document for _, document, _ in judged], TEXT),
            "score": pa.array([grade for _, _, grade in judged], pa.int32()),
        }
    )
