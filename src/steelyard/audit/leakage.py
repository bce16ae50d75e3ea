"""The audit itself: evaluation sets against training data, from names to findings and their consequences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import __version__
from steelyard.audit.audit_file import Audit, record
from steelyard.audit.evaluation_side import DEFAULT_PARTS, EvaluationSide, collect
from steelyard.audit.findings import Findings, find
from steelyard.audit.lexical.matcher import LEVELS, SEMANTIC, Matcher, Thresholds
from steelyard.audit.scan import Checkpoint, Progress, Scan, Scanner, no_progress
from steelyard.audit.semantic import SemanticIndex
from steelyard.audit.training_data import TrainingFile, training_files
from steelyard.datasets import load_any, task_names
from steelyard.errors import DataError, UsageError
from steelyard.types import Task
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, PairTask, SummaryTask

if TYPE_CHECKING:
    from steelyard.types.protocols import Encoder

Evaluation = str | Path | AnyTask
Loaded = tuple[str | None, AnyTask]
"""A task and the reference it was loaded by; None for one that was given as such."""
STATE_FOLDER = ".state"
REPORT = "report.html"


@dataclass(frozen=True)
class Consequences:
    """What is written or computed after the audit."""

    clean: str | Path | None = None
    """A folder for the training data without the rows that leak."""
    drop: str | Path | None = None
    """A folder for the evaluation sets without contaminated queries."""
    results: str | Path | None = None
    """A folder of stored results, to be scored without contaminated queries."""
    record: bool = False
    """Whether to write `metadata/<task>.audit.json` next to the evaluation sets, for their pages and cards."""


def audit(
    evaluation: Evaluation | Sequence[Evaluation],
    against: str | Path | Sequence[str | Path] = (),
    *,
    records: Iterable[Any] | None = None,
    parts: Sequence[str] = DEFAULT_PARTS,
    columns: Sequence[str] = (),
    thresholds: Thresholds | None = None,
    encoder: str | Encoder | None = None,
    output: str | Path | None = None,
    clean: str | Path | None = None,
    drop: str | Path | None = None,
    results: str | Path | None = None,
    record: bool = False,
    threads: int | None = None,
    offline: bool | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Compare evaluation sets with training data and return what was found.

    `evaluation` is a task, the name of a task, a group or a pattern, a path, or a list of these. `against` is a file,
    a folder, `hf://owner/dataset`, or a list of these; `records` is training data in memory: strings, tuples of strings
    (pairs, triplets), dictionaries. An `encoder`, such as "use-multilingual-v3", adds the semantic level.

    With an `output` folder, `audit.json`, `matches.jsonl` and `report.html` are written there, and an interrupted audit
    resumes. `clean`, `drop`, `results` and `record` are explained at `Consequences`.

    >>> task = Task.of("X/rivers", {"d1": "The Nile is the longest river."}, {"q1": "Which river is the longest?"},
    ...                {"q1": ["d1"]})
    >>> found = audit(task, records=[("which river is the longest", "The Nile is the longest river of Africa.")])
    >>> found.tasks[0].verdict, found.tasks[0].contaminated
    ('severe', ('q1',))
    """
    loaded = load_tasks(evaluation, offline=offline)
    references: list[Any] = [against] if isinstance(against, str | Path) else list(against)
    references += [records] if records is not None else []
    files = training_files(references, offline=bool(offline))
    thresholds = thresholds or Thresholds()
    side = collect([task for _, task in loaded], parts)
    semantic = None if encoder is None else SemanticIndex(side, _encoder(encoder))
    settings = _settings(parts, columns, thresholds, semantic)
    checkpoint = _checkpoint(output, _key(side, settings, files), files)
    matcher = Matcher(side, thresholds)
    scanner = Scanner(matcher, threads=threads, semantic=semantic, progress=progress)
    scan = scanner.scan(files, columns, checkpoint)
    _check_texts(scan)
    chance = _add_semantic(semantic, scan, settings) if semantic is not None else None
    findings = find(matcher, scan, chance)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    facts = training_facts(references, scan)
    result = Audit(created, __version__, settings, facts, findings.tasks, findings.matches)
    result = _with_consequences(result, loaded, files, findings, Consequences(clean, drop, results, record))
    result = result if output is None else _saved(result, Path(output))
    if checkpoint is not None:
        checkpoint.remove()
    return result


def _check_texts(scan: Scan) -> None:
    """Refuse training data without any text: nothing can be found in it, and no set would be shown to be clean."""
    if scan.texts == 0 and not any(file.error for file in scan.files):
        raise DataError(
            f"the training data has no texts: {scan.rows:,} rows in {len(scan.files)} files",
            hint="check the path; name the text columns with --columns",
        )


def _settings(
    parts: Sequence[str], columns: Sequence[str], thresholds: Thresholds, semantic: SemanticIndex | None
) -> dict[str, Any]:
    levels = LEVELS if semantic is not None else LEVELS[:SEMANTIC]
    settings = {"levels": list(levels), "parts": list(parts), "columns": list(columns), **thresholds.to_dict()}
    return settings if semantic is None else settings | {"semantic": {"encoder": semantic.encoder.name}}


def _checkpoint(output: str | Path | None, key: str, files: Sequence[TrainingFile]) -> Checkpoint | None:
    """Return where the state of the scan is saved; records in memory cannot be read again."""
    if output is None or any(file.path is None for file in files):
        return None
    return Checkpoint(Path(output) / STATE_FOLDER, key)


def _add_semantic(semantic: SemanticIndex, scan: Scan, settings: dict[str, Any]) -> float:
    """Add the semantic matches to the scan and return their false-positive rate."""
    matches, calibration = semantic.finish()
    for match in matches:
        scan.log.add_one(match.text, SEMANTIC, match.evidence)
    settings["semantic"] |= calibration.to_dict()
    return calibration.false_positives


def _encoder(encoder: str | Encoder) -> Encoder:
    from steelyard.encoders import load_encoder

    return load_encoder(encoder.removeprefix("dense:")) if isinstance(encoder, str) else encoder


def _with_consequences(
    result: Audit, loaded: Sequence[Loaded], files: Sequence[TrainingFile], findings: Findings, wanted: Consequences
) -> Audit:
    """Write the clean data and sets, and score stored results, as wanted."""
    from steelyard.audit import consequences

    written: dict[str, Any] = {}
    scores: list[dict[str, Any]] = []
    if wanted.clean is not None:
        written["clean"] = consequences.clean(files, findings.leaking_rows, wanted.clean)
    if wanted.drop is not None:
        contaminated = {task.task: task.contaminated for task in findings.tasks}
        written["drop"] = consequences.drop([task for _, task in loaded], contaminated, wanted.drop)
    if wanted.record:
        references = {task.name: reference for reference, task in loaded if reference is not None}
        written["record"] = record(result, references)
    if wanted.results is not None:
        rescored = (consequences.rescore(task, wanted.results) for task in findings.tasks)
        scores = [score for score in rescored if score is not None]
    return replace(result, written=written, scores=tuple(scores))


def _saved(result: Audit, folder: Path) -> Audit:
    from steelyard.audit.report import write_report

    result = replace(result, written={**result.written, "report": str(folder / REPORT)})
    write_report(result, folder / REPORT)
    result.save(folder)
    return result


def load_tasks(evaluation: Evaluation | Sequence[Evaluation], *, offline: bool | None = None) -> list[Loaded]:
    """Return the tasks that are named, groups and patterns expanded, with the reference of each that has one."""
    listed = evaluation if isinstance(evaluation, list | tuple) else [evaluation]
    tasks: list[Loaded] = []
    for item in listed:
        if isinstance(item, Task | PairTask | LabelTask | ClusterTask | SummaryTask):
            tasks.append((None, item))
        elif isinstance(item, str | Path):
            names = task_names([str(item)], offline=offline)
            tasks += [(name, load_any(name, offline=offline)) for name in names]
        else:
            kind = type(item).__name__
            raise UsageError(
                f"an evaluation set must be a name, a path or a task, got {kind}", hint="load_task loads one"
            )
    if not tasks:
        raise UsageError("at least one evaluation set must be given, got none", hint="such as NanoAlmanac/en")
    return tasks


def training_facts(references: Iterable[Any], scan: Scan) -> dict[str, Any]:
    """Return what was read, as JSON-ready values."""
    return {
        "references": [str(one) if isinstance(one, str | Path) else "records in memory" for one in references],
        "rows": scan.rows,
        "texts": scan.texts,
        "files": [{key: value for key, value in file.to_dict().items() if key != "blocks"} for file in scan.files],
        "problems": scan.problems.to_dict(),
    }


def _key(side: EvaluationSide, settings: dict[str, Any], files: Sequence[TrainingFile]) -> str:
    facts = [dict(side.content_hashes), settings, [file.fingerprint for file in files], __version__]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
