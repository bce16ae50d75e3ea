"""Sample a Nano-set from a full dataset: a small set that loads, documents how it was made, and ranks models fairly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from steelyard import __version__
from steelyard.build.sample.completing import CardTexts, Written, complete, metadata_path
from steelyard.build.sample.documents import choose_documents
from steelyard.build.sample.journal import Journal, Progress, SamplingContext, no_progress
from steelyard.build.sample.plan import PlannedTask, SetPlan
from steelyard.build.sample.queries import ChosenQueries, check_strata, choose_queries
from steelyard.build.sample.recipe import Recipe, draw
from steelyard.build.sample.scan import Document, Scan, report_missing, scan
from steelyard.build.sample.selection import Selection
from steelyard.build.source.source import Source, open_sources
from steelyard.config import Settings
from steelyard.datasets.cards import public_source, task_cards
from steelyard.datasets.formats.nano.manifest import refuse_foreign_files, write_json, write_table
from steelyard.datasets.formats.sidecar import info_facts, read_json_object, task_info
from steelyard.datasets.problems import Report
from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.text.pieces import plain
from steelyard.types import TaskInfo

JOURNAL = ".cutting"


@dataclass(frozen=True, eq=False)
class NanoSet:
    """A finished set: its folder, its tasks as read back from disk, and how each was sampled."""

    folder: Path
    tasks: Mapping[str, Written]
    facts: Mapping[str, Mapping[str, Any]]


def sample_set(
    sources: str | Sequence[str] | SetPlan,
    folder: Path,
    recipe: Recipe | None = None,
    *,
    progress: Progress = no_progress,
    settings: Settings | None = None,
    overwrite: bool = False,
    title: str = "",
    licence: str = "",
) -> NanoSet:
    """Sample every task that the sources mean into one folder, next to those that it has already.

    A source is a reference, optionally with the name of the new task in front (`news=./news`); a `set.yaml` or a
    SetPlan has names, recipes and facts of several. The same source and recipe give the same bytes. What an interrupted
    run has done is not done again. A folder that holds another set, or a card or manifest that Steelyard did not write,
    is an error unless `overwrite` is set; text outside the generated regions of a card is kept in any case.
    """
    settings, recipe = settings or Settings.load(), recipe or Recipe()
    folder = Path(folder)
    refuse_foreign_files(folder, overwrite=overwrite)
    plan = SetPlan.of(sources, recipe)
    infos: dict[str, TaskInfo] = {}
    facts: dict[str, dict[str, Any]] = {}
    for planned, reference, open_ in _opened(plan, settings):
        source = open_()
        name, own = planned.name or source.info.task, planned.recipe or recipe
        if name in infos:
            raise _same_name(name, reference)
        key = _key(source, own, name)
        _refuse_other(folder, name, key, overwrite)
        facts[name] = _stored(folder, name, key) or _sample_task(source, folder, own, name, key, progress, settings)
        _add_source_card(folder, name, facts[name], reference, settings)
        infos[name] = _info(source, planned, f"{folder.resolve().name}/{name}", facts[name], licence or plan.licence)
    texts = CardTexts(title or plan.title, plan.description)
    written = complete(folder, texts, infos=infos, overwrite=overwrite)
    parts = {part.task.info.task: part for part in written}
    return NanoSet(folder, {name: parts[name] for name in parts if name in infos}, facts)


def _opened(plan: SetPlan, settings: Settings) -> Iterator[tuple[PlannedTask, str, Callable[[], Source]]]:
    """Yield every task of the plan; a named source with several tasks is a UsageError."""
    for planned in plan.tasks:
        sources = open_sources(planned.source, settings=settings)
        if planned.name and len(sources) > 1:
            raise UsageError(
                f"the source of {planned.name} must be one task, got {len(sources)}: {', '.join(list(sources)[:5])}",
                hint=f"name one: {next(iter(sources))}",
                found=len(sources),
            )
        for reference, open_ in sources.items():
            yield planned, reference, open_


def _same_name(name: str, reference: str) -> UsageError:
    return UsageError(
        f"two sources must have different names, got {name!r} twice",
        found=name,
        hint=f"give a name: OTHER={reference}, or list the tasks in a set.yaml",
    )


def _info(source: Source, planned: PlannedTask, name: str, facts: Mapping[str, Any], licence: str) -> TaskInfo:
    """Return the facts of a sampled task: those of the plan, else of the source, else of the source's card."""
    info = _searched(source.info)
    card = facts["source"].get("card", {})
    own = {key: value for key, value in planned.facts.items() if value is not None}
    if "license" in own:
        own["licence"] = own.pop("license")
    if "language" in own and "languages" not in own:
        own["languages"] = [own["language"]] if own["language"] != "multilingual" else []
    origin = public_source(info.source)
    known = {"source": origin, "licence": licence or info.licence or card.get("licence")}
    merged = {**info_facts(info), **known, **own}
    return (
        task_info(merged, name=name, source=origin)
        if own
        else replace(info, name=name, source=origin, licence=merged["licence"] or None)
    )


def _add_source_card(folder: Path, name: str, facts: dict[str, Any], reference: str, settings: Settings) -> None:
    """Store the card of the source with the facts of the task, so that pages can quote it later."""
    cards = task_cards(reference, settings=settings).cards
    card = next((one for one in cards if one.quote or one.licence), None)
    stored = card.to_dict() if card is not None else None
    if facts["source"].get("card") != stored:
        facts["source"] = {key: value for key, value in facts["source"].items() if key != "card"}
        if stored is not None:
            facts["source"]["card"] = stored
        write_json(metadata_path(folder, name), facts)


def finished_steps(folder: Path) -> dict[str, list[str]]:
    """Return what an interrupted run has finished and will not do again, in words, by task."""
    done = {path.stem: ["sampled"] for path in sorted(folder.glob("metadata/*.json"))}
    for path in sorted((folder / JOURNAL).glob("*")):
        steps = [f"hard negatives among {count:,} documents" for count in Journal.counts(path, "mining-*")]
        if Journal.counts(path, "scan") or steps:
            done[path.name] = ["ids read", *steps]
    return done


def _searched(info: TaskInfo) -> TaskInfo:
    """Return the description of the sampled task, which is a retrieval task: candidate lists are not sampled."""
    if info.type == "retrieval":
        return info
    note = f"Sampled from a {info.type} task, without its candidate lists."
    return replace(info, type="retrieval", main_metric=None, description=f"{info.description} {note}".strip())


def _sample_task(
    source: Source, folder: Path, recipe: Recipe, name: str, key: str, progress: Progress, settings: Settings
) -> dict[str, Any]:
    # Errors of a recipe must be raised before hours of reading.
    check_strata(source, recipe)
    miners = [load_retriever(model, settings) for model in recipe.mine] if recipe.hard_negatives else []
    journal = Journal(folder / JOURNAL / name, key)
    context = SamplingContext(source, recipe, _scan(source, recipe, journal, progress), journal, progress)
    report = Report()
    missing = source.missing_judgements
    dropped = missing == "count" and recipe.order == "source"  # as the published recipe does
    report_missing(source, context.scanned, "ignore" if dropped else missing, report)
    report.raise_errors("strict")
    report.warn_about_repairs(source.info.name)
    report.notify_listener()
    chosen = choose_queries(source, context.scanned, recipe)
    selection = choose_documents(chosen, miners, context)
    counts_missing = missing == "count" and not dropped
    outside = missing_judgements(source, context.scanned, selection, recipe) if counts_missing else {}
    for config, table in tables_of(selection, source, recipe, outside).items():
        write_table(folder, config, name, table)
    facts = facts_of(selection, chosen, context, key)
    if outside:
        facts["judgements"]["outside_corpus_written"] = sum(map(len, outside.values()))
    write_json(metadata_path(folder, name), facts)
    journal.close()
    with suppress(OSError):  # another task is being sampled
        (folder / JOURNAL).rmdir()
    return facts


def _scan(source: Source, recipe: Recipe, journal: Journal, progress: Progress) -> Scan:
    stored = journal.recall("scan")
    if stored is not None and {"draws", "places", "repeated"} <= stored.keys():
        return Scan(stored["draws"], stored["places"], stored["repeated"])
    scanned = scan(source, recipe.seed, progress("reading ids"))
    journal.note("scan", draws=scanned.draws, places=scanned.places, repeated=scanned.repeated)
    return scanned


def _key(source: Source, recipe: Recipe, name: str) -> str:
    facts: list[Any] = [VERSION, source.info.name, source.fingerprint, recipe.settings]
    if source.qrels is not None and source.missing_judgements != Settings.missing_judgements:
        facts.append(source.missing_judgements)
    if name != source.info.task:
        facts.append(name)
    parts = json.dumps(facts, sort_keys=True)
    return hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()


def _stored(folder: Path, task: str, key: str) -> dict[str, Any] | None:
    facts = read_json_object(metadata_path(folder, task))
    return facts if facts.get("key") == key else None


def _refuse_other(folder: Path, task: str, key: str, overwrite: bool) -> None:
    """Raise a UsageError if the folder has this task from another source or recipe."""
    if folder.exists() and not folder.is_dir():
        raise UsageError.invalid("the output", expected="a folder", found=str(folder), path=folder)
    exists = (folder / "corpus" / f"{task}.parquet").exists()
    begun = Journal.key_of(folder / JOURNAL / task) == key
    if exists and not overwrite and not begun and _stored(folder, task, key) is None:
        raise UsageError(
            f"{folder} already has {task}, from another source or recipe",
            path=folder,
            hint="choose another folder, or replace it with --overwrite",
        )


TEXT = pa.string()


def missing_judgements(
    source: Source, scanned: Scan, selection: Selection, recipe: Recipe
) -> dict[int, dict[str, int]]:
    """Return the positives outside the corpus that are written with the chosen queries: grades by id, by query row.

    They count as relevant documents that are not retrieved, as in the full task.
    """
    outside: dict[int, dict[str, int]] = {}
    for at in np.flatnonzero((scanned.places[source.judged] < 0) & (source.grades > 0)):
        row = int(source.asked[at])
        if row in selection.judgements:
            outside.setdefault(row, {})[source.judged_ids[source.judged[at]]] = int(source.grades[at])
    if recipe.max_positives is not None:
        for row, grades in outside.items():
            room = recipe.max_positives - sum(grade > 0 for grade in selection.judgements[row].values())
            best = sorted(grades, key=lambda id_: (-grades[id_], id_))[: max(room, 0)]
            outside[row] = {id_: grades[id_] for id_ in best}
    return {row: grades for row, grades in outside.items() if grades}


def tables_of(
    selection: Selection, source: Source, recipe: Recipe, outside: Mapping[int, Mapping[str, int]]
) -> dict[str, Any]:
    """Return corpus, queries and judgements by the names of their folders."""
    rows = list(selection.judgements)
    return {
        "corpus": _corpus(list(selection.corpus.documents.values()), recipe),
        "queries": _queries(source.queries.take(pa.array(rows, pa.int64())), recipe),
        "qrels": _qrels(selection, source.queries["_id"].to_pylist(), recipe, outside),
    }


def _corpus(documents: list[Document], recipe: Recipe) -> Any:
    """Return the documents in an order that reveals neither relevance nor the source's order."""
    order = draw(recipe.seed, "stored order", (document.id for document in documents))
    stored = [document for _, document in sorted(zip(order, documents, strict=True), key=lambda pair: pair[0])]
    columns = {"_id": [d.id for d in stored], "text": [d.merged if recipe.merge_titles else d.body for d in stored]}
    if not recipe.merge_titles and any(document.title for document in stored):
        columns["title"] = [document.title for document in stored]
    return pa.table({name: pa.array(values, TEXT) for name, values in columns.items()})


def _queries(queries: Any, recipe: Recipe) -> Any:
    """Return the queries with all columns of the source; ids and texts as strings."""
    ids, texts = queries["_id"].to_pylist(), queries["text"].to_pylist()
    for name, values in (("_id", ids), ("text", [text.strip() for text in texts] if recipe.exact else texts)):
        queries = queries.set_column(queries.column_names.index(name), name, pa.array(values, TEXT))
    return queries


def _qrels(selection: Selection, query_ids: list[str], recipe: Recipe, outside: Mapping[int, Mapping[str, int]]) -> Any:
    """Return the judgements, those of each query by document id."""
    documents = selection.corpus.documents
    judged = []
    for row, grades in selection.judgements.items():
        own = {documents[place].id: grade for place, grade in grades.items() if grade > 0 or recipe.zero_grades}
        every = sorted((own | dict(outside.get(row, {}))).items())
        judged += [(query_ids[row], document, 1 if recipe.binary else grade) for document, grade in every]
    return pa.table(
        {
            "query-id": pa.array([query for query, _, _ in judged], TEXT),
            "corpus-id": pa.array([document for _, document, _ in judged], TEXT),
            "score": pa.array([grade for _, _, grade in judged], pa.int32()),
        }
    )


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
            "from": public_source(source.info.source),
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
    query_texts = {row: plain(texts[row]).casefold() for row in selection.judgements}
    return {
        "queries_that_are_a_document": sum(text in whole for text in query_texts.values()),
        "queries_inside_a_positive": sum(
            any(grade > 0 and text in documents[place] for place, grade in selection.judgements[row].items())
            for row, text in query_texts.items()
        ),
    }
