"""The audit itself: evaluation sets against training data, from names to findings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.audit.audit_file import Audit
from steelyard.audit.checkpoint import Checkpoint
from steelyard.audit.evaluation_side import DEFAULT_PARTS, EvaluationSide, collect
from steelyard.audit.findings import find
from steelyard.audit.matcher import LEVELS, Matcher, Thresholds
from steelyard.audit.scan import Progress, Scan, Scanner, no_progress
from steelyard.audit.training_data import TrainingFile, training_files
from steelyard.datasets import load_any, task_names
from steelyard.errors import UsageError
from steelyard.types import Task
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, PairTask

Evaluation = str | Path | AnyTask
STATE_FOLDER = ".state"


def audit(
    evaluation: Evaluation | Sequence[Evaluation],
    against: str | Path | Sequence[str | Path] = (),
    *,
    records: Iterable[Any] | None = None,
    parts: Sequence[str] = DEFAULT_PARTS,
    columns: Sequence[str] = (),
    thresholds: Thresholds | None = None,
    output: str | Path | None = None,
    threads: int | None = None,
    offline: bool | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Compare evaluation sets with training data and return what was found.

    `evaluation` is a task, the name of a task, a group or a pattern, a path, or a list of these. `against` is a file,
    a folder, `hf://owner/dataset`, or a list of these; `records` is training data in memory: strings, tuples of strings
    (pairs, triplets), dictionaries.

    With an `output` folder, `audit.json` and `matches.jsonl` are written there, and an interrupted audit resumes.

    >>> task = Task.of("X/rivers", {"d1": "The Nile is the longest river."}, {"q1": "Which river is the longest?"},
    ...                {"q1": ["d1"]})
    >>> found = audit(task, records=[("which river is the longest", "The Nile is the longest river of Africa.")])
    >>> found.tasks[0].verdict, found.tasks[0].contaminated
    ('severe', ('q1',))
    """
    tasks = load_tasks(evaluation, offline=offline)
    references: list[Any] = [against] if isinstance(against, str | Path) else list(against)
    if records is not None:
        references.append(records)
    files = training_files(references, offline=bool(offline))
    thresholds = thresholds or Thresholds()
    side = collect(tasks, parts)
    matcher = Matcher(side, thresholds)
    settings = {"levels": list(LEVELS[:3]), "parts": list(parts), "columns": list(columns), **thresholds.to_dict()}
    scanner = Scanner(matcher, threads=threads, progress=progress)
    checkpoint = None
    if output is not None and all(file.path is not None for file in files):
        checkpoint = Checkpoint(Path(output) / STATE_FOLDER, _key(side, settings, files))
    scan = scanner.scan(files, columns, checkpoint)
    findings = find(side, scan, thresholds)
    result = Audit(
        datetime.now(UTC).isoformat(timespec="seconds"),
        __version__,
        settings,
        training_facts(references, scan),
        findings.tasks,
        findings.matches,
    )
    if output is not None:
        result.save(output)
    if checkpoint is not None:
        checkpoint.remove()
    return result


def load_tasks(evaluation: Evaluation | Sequence[Evaluation], *, offline: bool | None = None) -> list[AnyTask]:
    """Return the tasks that are named, groups and patterns expanded."""
    listed = evaluation if isinstance(evaluation, list | tuple) else [evaluation]
    tasks: list[AnyTask] = []
    for item in listed:
        if isinstance(item, Task | PairTask | LabelTask | ClusterTask):
            tasks.append(item)
        elif isinstance(item, str | Path):
            tasks += [load_any(name, offline=offline) for name in task_names([str(item)], offline=offline)]
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
