"""A set on disk: tables as Parquet, then card and `eval.yaml`, and last, when all can be read again, the manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.build import card
from steelyard.datasets.folder import Place, places
from steelyard.datasets.layout import TaskFiles
from steelyard.datasets.nano_write import SCHEMA_VERSION
from steelyard.datasets.problems import Problem, Report
from steelyard.datasets.sidecar import MANIFEST, info_facts, read_json_object
from steelyard.errors import DataError
from steelyard.types import Ragged, Task, TaskInfo

CARD = "README.md"
EVALUATION = "eval.yaml"


@dataclass(frozen=True, eq=False)
class Written:
    """One task of the finished set, read back from disk, with what the check found short of an error."""

    task: Task
    problems: Sequence[Problem]


def write_table(folder: Path, config: str, task: str, table: Any) -> Path:
    """Write one table of a task; the same table gives the same bytes. It is there whole or not at all."""
    import pyarrow.parquet as pq

    path = folder / config / f"{task}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.tmp")
    # Ids come again and again in judgements and lists, texts and their ids do not.
    pq.write_table(table, str(unfinished), compression="zstd", use_dictionary=config not in ("corpus", "queries"))
    unfinished.replace(path)
    return path


def candidate_table(task: Task, lists: Ragged) -> Any:
    """Candidate lists as the published sets write them: `query-id`, `corpus-ids`, best first."""
    import pyarrow as pa

    documents = pa.array(task.corpus.ids, pa.string()).take(pa.array(lists.rows))
    ids = pa.ListArray.from_arrays(pa.array(lists.offsets, pa.int32()), documents)
    return pa.table({"query-id": pa.array(task.queries.ids, pa.string()), "corpus-ids": ids})


def write_json(path: Path, value: Any) -> None:
    """A JSON file, strict and readable, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.tmp")
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(path)


def complete(
    folder: Path,
    *,
    infos: Mapping[str, TaskInfo] | None = None,
    title: str = "",
    description: str = "",
    licence: str = "",
    sections: Mapping[str, str] | None = None,
    new_card: bool = False,
) -> list[Written]:
    """Read every task of the folder back, strictly, and write card, `eval.yaml` and manifest around them.

    A card that is there keeps its words, unless a `new_card` is wanted; its list of tables and the given `sections`
    are made anew. Facts of tasks come from `infos`, else from the manifest that is there. A set with an error raises
    a DataError and stays without a manifest that would vouch for it.
    """
    found = [place for place in places(folder) if place.task]
    if not found:
        raise DataError(
            "no Nano-set", where=str(folder), hint="expected corpus/, queries/ and qrels/ with Parquet files"
        )
    told = {place.task: (infos or {}).get(place.task, place.info) for place in found}
    written = [_read_back(place, told[place.task]) for place in found]
    files = {place.task: place.files for place in found}
    if new_card:
        for name in (CARD, EVALUATION):
            (folder / name).unlink(missing_ok=True)
    _write_card(folder, title or folder.resolve().name, description, licence, told, files, sections or {})
    old = read_json_object(folder / MANIFEST)
    manifest = {
        **old,
        "schema_version": SCHEMA_VERSION,
        "tasks": {
            name: info_facts(told[name]) | _counts(part.task) | _checks(folder, name, part)
            for name, part in zip(told, written, strict=True)
        },
        "files": {name: _file_facts(folder / name) for name in _listed(folder, files)},
    }
    write_json(folder / MANIFEST, manifest)
    return written


def metadata_path(folder: Path, task: str) -> Path:
    """Where a set keeps how a task was cut."""
    return folder / "metadata" / f"{task}.json"


def _checks(folder: Path, task: str, written: Written) -> dict[str, Any]:
    """What the checks at the end found: problems by kind, and the signs of leakage that the cut counted."""
    kinds = Counter(problem.kind for problem in written.problems)
    leakage = read_json_object(metadata_path(folder, task)).get("leakage")
    return {"validation": {"errors": 0, **dict(sorted(kinds.items()))}, **({"leakage": leakage} if leakage else {})}


def _read_back(place: Place, info: TaskInfo) -> Written:
    report = Report()
    task = place.read(report)
    report.stop_if_bad("strict", place.reference)
    if task is None:  # every path to None tells a fatal fault, so this is a fault of ours
        raise DataError("the data could not be put together", where=place.reference)
    return Written(replace(task, info=info), report.problems)


def _write_card(
    folder: Path,
    title: str,
    description: str,
    licence: str,
    infos: Mapping[str, TaskInfo],
    files: Mapping[str, TaskFiles],
    sections: Mapping[str, str],
) -> None:
    path = folder / CARD
    if path.exists():
        text = card.with_configs(path.read_text(encoding="utf-8"), files)
    else:
        text = card.new_card(title, description, infos.values(), licence, files)
    for heading, body in sections.items():
        text = card.with_section(text, heading, body)
    path.write_text(text, encoding="utf-8")
    if not (folder / EVALUATION).exists():
        summary = description.strip().split("\n\n")[0].replace("\n", " ")
        (folder / EVALUATION).write_text(card.eval_yaml(title, summary, infos), encoding="utf-8")


def _listed(folder: Path, files: Mapping[str, TaskFiles]) -> list[str]:
    tables = {name for found in files.values() for name in found.all}
    beside = {path.relative_to(folder).as_posix() for path in folder.glob("metadata/*.json")}
    return sorted(tables | beside)


def _file_facts(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    facts: dict[str, Any] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        facts = {"rows": pq.read_metadata(str(path)).num_rows, **facts}
    return facts


def _counts(task: Task) -> dict[str, Any]:
    return {
        "documents": len(task.corpus),
        "queries": len(task.queries),
        "judgements": len(task.qrels.rows),
        "positives": int(task.qrels.positives.sum()),
        "content_hash": task.content_hash,
    }
