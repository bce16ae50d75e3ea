"""Write results of a warehouse in the formats of others: mteb's layout, hub metadata, tables for papers and READMEs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import DataError, UnknownName
from steelyard.files import with_home, write_output
from steelyard.warehouse.query import query
from steelyard.warehouse.tables import variant_name

FORMATS = ("csv", "parquet", "markdown", "latex", "mteb", "eval-results", "model-index")


@dataclass(frozen=True)
class Selection:
    """Which results to export; an empty tuple selects all."""

    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    benchmark: str | None = None

    def where(self, table: str) -> tuple[str, list[Any]]:
        """Return an SQL condition on a table with the columns `model` and `task`, and its parameters."""
        conditions: list[str] = ["true"]
        parameters: list[Any] = []
        for column, values in (("model", self.models), ("task", self.tasks)):
            if values:
                conditions.append(f"list_contains(?, {table}.{column})")
                parameters.append(list(values))
        if self.benchmark:
            conditions.append(f"{table}.task IN (SELECT task FROM benchmarks WHERE benchmark = ?)")
            parameters.append(self.benchmark)
        return " AND ".join(conditions), parameters


def export(warehouse: str | Path, form: str, output: str | Path, selection: Selection | None = None) -> list[Path]:
    """Write the selected results and return the files that were written.

    `csv`, `parquet`, `markdown` and `latex` write one file; the other formats write a folder.
    """
    if form not in FORMATS:
        raise UnknownName("export format", form, FORMATS, hint=f"one of {', '.join(FORMATS)}")
    chosen, target = selection or Selection(), with_home(output)
    if chosen.benchmark:
        known = query(warehouse, "SELECT DISTINCT benchmark FROM benchmarks").column(0).to_pylist()
        if chosen.benchmark not in known:
            raise UnknownName("benchmark", chosen.benchmark, known, hint="steelyard results query 'FROM benchmarks'")
    writers: dict[str, Callable[[str | Path, Path, Selection], list[Path]]] = {
        "csv": _write_csv,
        "parquet": _write_parquet,
        "markdown": _write_markdown,
        "latex": _write_latex,
        "mteb": _write_mteb,
        "eval-results": _write_eval_results,
        "model-index": _write_model_index,
    }
    written = writers[form](warehouse, target, chosen)
    if not written:
        raise DataError(
            "no result matches the selection", path=warehouse, hint="steelyard results query 'FROM mart_model_task'"
        )
    return written


def scores_table(warehouse: str | Path, selection: Selection) -> Any:
    """Return one row per model and task as an Arrow table; a benchmark counts its own splits and subsets."""
    if selection.benchmark:
        where, parameters = selection.where("b")
        columns = "b.* EXCLUDE (benchmark)"
        sql = f"SELECT {columns} FROM mart_benchmark b WHERE b.benchmark = ? AND {where} ORDER BY model, task"
        return query(warehouse, sql, [selection.benchmark, *parameters])
    where, parameters = selection.where("m")
    return query(
        warehouse, f"SELECT m.* FROM mart_model_task m WHERE {where} ORDER BY model, revision, task", parameters
    )


def wide_table(
    warehouse: str | Path, selection: Selection
) -> tuple[list[str], list[tuple[str, float | None, list[float | None]]]]:
    """Return the tasks, and name, mean and scores of each model; the mean only where no task is missing.

    Scores of a benchmark on other data than most models have are left out, as on the leaderboard.
    """
    cells: dict[str, dict[str, float | None]] = {}
    for row in scores_table(warehouse, selection).to_pylist():
        name = variant_name(row["model"], row["experiment"])
        if row.get("other_data"):
            cells.setdefault(name, {})
            continue
        cells.setdefault(name, {}).setdefault(row["task"], row["score"])
    tasks = sorted({task for scores in cells.values() for task in scores})
    rows: list[tuple[str, float | None, list[float | None]]] = []
    for name, scores in cells.items():
        values = [scores.get(task) for task in tasks]
        present = [value for value in values if value is not None]
        rows.append((name, sum(present) / len(tasks) if len(present) == len(tasks) else None, values))
    return tasks, sorted(rows, key=lambda row: (row[1] is None, -(row[1] or 0), row[0]))


def _write_csv(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    table = scores_table(warehouse, selection)
    if not table.num_rows:
        return []
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow([";".join(map(str, value)) if isinstance(value, list) else value for value in row.values()])
    write_output(target, text.getvalue().encode("utf-8"))
    return [target]


def _write_parquet(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = scores_table(warehouse, selection)
    if not table.num_rows:
        return []
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_output(target, sink.getvalue().to_pybytes())
    return [target]


def _write_markdown(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    tasks, rows = wide_table(warehouse, selection)
    lines = [f"| model | mean | {' | '.join(map(_in_cell, tasks))} |", "|---|" + "---:|" * (len(tasks) + 1)]
    lines += [
        f"| {_in_cell(name)} | {_shown(mean)} | {' | '.join(map(_shown, values))} |" for name, mean, values in rows
    ]
    if rows:
        write_output(target, ("\n".join(lines) + "\n").encode("utf-8"))
    return [target] if rows else []


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _write_latex(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    tasks, rows = wide_table(warehouse, selection)
    best = [max((value for row in rows if (value := row[2][i]) is not None), default=None) for i in range(len(tasks))]
    lines = [r"\begin{tabular}{l" + "r" * (len(tasks) + 1) + "}", r"\toprule"]
    lines += ["model & mean & " + " & ".join(map(_latex, tasks)) + r" \\", r"\midrule"]
    for name, mean, values in rows:
        cells = [
            rf"\textbf{{{_shown(value)}}}" if value is not None and value == top else _shown(value)
            for value, top in zip(values, best, strict=True)
        ]
        lines.append(f"{_latex(name)} & {_shown(mean)} & {' & '.join(cells)} " + r"\\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if rows:
        write_output(target, ("\n".join(lines) + "\n").encode("utf-8"))
    return [target] if rows else []


def _latex(text: str) -> str:
    for character in "\\&%$#_{}":
        text = text.replace(character, r"\textbackslash{}" if character == "\\" else f"\\{character}")
    return text


def _shown(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _write_mteb(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    """Write `org__model/revision/[experiments/NAME/]Task.json`, which mteb's ResultCache reads."""
    where, parameters = selection.where("s")
    sql = f"""
        SELECT s.model, s.revision, s.experiment, s.task, s.split, s.subset, s.languages, s.main_score,
               s.dataset_revision, s.version, s.seconds,
               list(m.metric::VARCHAR ORDER BY m.metric) AS names, list(m.value ORDER BY m.metric) AS numbers
        FROM scores s LEFT JOIN metrics m USING (score_id)
        WHERE {where}
        GROUP BY ALL
        ORDER BY s.model, s.revision, s.experiment, s.task, s.split, s.subset
    """
    files: dict[Path, dict[str, Any]] = {}
    for row in query(warehouse, sql, parameters).to_pylist():
        folder = target / row["model"].replace("/", "__") / _folder(row["revision"])
        if row["experiment"]:
            folder = folder / "experiments" / _folder(row["experiment"])
        content = files.setdefault(
            folder / f"{_folder(row['task'])}.json",
            {
                "dataset_revision": row["dataset_revision"],
                "task_name": row["task"],
                "mteb_version": row["version"],
                "scores": {},
                "evaluation_time": row["seconds"],
                "kg_co2_emissions": None,
            },
        )
        values = {name: value for name, value in zip(row["names"], row["numbers"], strict=True) if name is not None}
        facts = {"main_score": row["main_score"], "hf_subset": row["subset"], "languages": row["languages"]}
        content["scores"].setdefault(row["split"], []).append({**values, **facts})
    for path, content in files.items():
        write_output(path, json.dumps(content, indent=2, allow_nan=True).encode("utf-8"))
    return list(files)


def _folder(name: str) -> str:
    """Return a name that is safe as that of a file or folder."""
    safe = name.replace("/", "__").replace("\\", "_").replace("\0", "_")
    return safe if safe.strip(".") else f"_{safe}"


def _by_model(warehouse: str | Path, selection: Selection) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in scores_table(warehouse, selection).to_pylist():
        if row["score"] is not None and not row["experiment"]:
            rows.setdefault(row["model"], []).append(row)
    yield from rows.items()


def _write_eval_results(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    """Write `MODEL/.eval_results/steelyard.yaml`: the list of results that a model repository of the hub carries."""
    written = []
    for model, rows in _by_model(warehouse, selection):
        entries = [
            {
                "dataset": {"id": _dataset(row["task"]), "task_id": row["task"], "revision": _revision(row)},
                "value": round(100 * row["score"], 4),
                "notes": f"mean of the main metric over {row['n_values']} splits and subsets",
            }
            for row in rows
        ]
        path = target / model.replace("/", "__") / ".eval_results" / "steelyard.yaml"
        write_output(path, _yaml(entries).encode("utf-8"))
        written.append(path)
    return written


def _write_model_index(warehouse: str | Path, target: Path, selection: Selection) -> list[Path]:
    """Write `MODEL/README.md` with the front matter `model-index` of a model card."""
    written = []
    for model, rows in _by_model(warehouse, selection):
        results = [
            {
                "task": {"type": row.get("type") or "retrieval"},
                "dataset": {"name": row["task"], "type": _dataset(row["task"])},
                "metrics": [{"type": "main_score", "value": round(100 * row["score"], 4)}],
            }
            for row in rows
        ]
        path = target / model.replace("/", "__") / "README.md"
        front = _yaml({"model-index": [{"name": model.rpartition("/")[2], "results": results}]})
        write_output(path, f"---\n{front}---\n".encode())
        written.append(path)
    return written


def _dataset(task: str) -> str:
    return task if "/" in task else f"mteb/{task}"


def _revision(row: dict[str, Any]) -> str | None:
    revisions = row.get("dataset_revisions") or [row.get("dataset_revision")]
    return revisions[0] if len(revisions) == 1 else None


def _yaml(value: Sequence[Any] | dict[str, Any]) -> str:
    """Return YAML; JSON is a subset of it, and every reader of YAML accepts it."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
