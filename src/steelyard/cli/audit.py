"""`steelyard audit`: leakage of evaluation sets into training data, and overlap of and within evaluation sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.progress import Progress
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from steelyard.audit import Audit, OverlapAudit, PartFindings, Rate
    from steelyard.cli._ui.output import Cell, Output


DEFAULT_OUTPUT = "audit"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "evaluation", nargs="+", metavar="EVAL", help="Evaluation sets: names, groups, patterns or paths."
    )
    parser.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="TRAIN",
        help="Training data: files, folders or hf://owner/dataset (default: the sets against each other).",
    )
    levels = parser.add_argument_group("what counts as a match")
    levels.add_argument(
        "--jaccard", type=float, default=0.7, help="Least similarity of near-duplicates (default: 0.7)."
    )
    levels.add_argument(
        "--containment", type=float, default=0.5, help="Least share of 13-grams found in one text (default: 0.5)."
    )
    levels.add_argument(
        "--encoder", metavar="MODEL", help="Add the semantic level with this encoder, such as use-multilingual-v3."
    )
    reading = parser.add_argument_group("what is read")
    reading.add_argument(
        "--columns", default="", metavar="A,B", help="Text columns of the training data (default: detected)."
    )
    reading.add_argument(
        "--parts",
        default="",
        metavar="A,B",
        help="Parts of the sets, such as queries, positives or documents (default: all but documents).",
    )
    reading.add_argument("--threads", type=int, help="Threads that match texts (default: the cores, at most 4).")
    reading.add_argument("--offline", action="store_true", default=None, help="Use only what is on this machine.")
    writing = parser.add_argument_group("what is written")
    writing.add_argument(
        "-o",
        "--output",
        default=DEFAULT_OUTPUT,
        metavar="DIR",
        help=f"Folder for audit.json, matches.jsonl and report.html (default: {DEFAULT_OUTPUT}).",
    )
    writing.add_argument("--clean", metavar="DIR", help="Write the training data without the rows that leak.")
    writing.add_argument("--drop", metavar="DIR", help="Write the evaluation sets without contaminated queries.")
    writing.add_argument(
        "--results", metavar="DIR", help="Score the results stored here with and without contaminated queries."
    )
    writing.add_argument(
        "--record", action="store_true", help="Write metadata/TASK.audit.json next to the sets, for their pages."
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the audit and print what was found; 1 if a training file could not be read to its end."""
    from steelyard.audit import Thresholds, audit
    from steelyard.audit.evaluation_side import DEFAULT_PARTS

    if arguments.threads is not None and arguments.threads < 1:
        raise UsageError.invalid("--threads", expected="at least 1", found=arguments.threads, option="--threads")
    if not arguments.against:
        return _overlap(arguments, output)
    progress = Progress.for_output(output)
    try:
        result = audit(
            arguments.evaluation,
            arguments.against,
            parts=_words(arguments.parts) or DEFAULT_PARTS,
            columns=_words(arguments.columns),
            thresholds=Thresholds(arguments.jaccard, arguments.containment),
            encoder=arguments.encoder,
            output=arguments.output,
            clean=arguments.clean,
            drop=arguments.drop,
            results=arguments.results,
            record=arguments.record,
            threads=arguments.threads,
            offline=arguments.offline,
            progress=_scan_listener(progress),
        )
    finally:
        progress.close()
    if output.json:
        output.data(result.to_dict())
    else:
        print_audit(result, output)
    _report_files(result, output)
    return 0 if result.complete else 1


def _scan_listener(progress: Progress) -> Callable[[str, int, int, int], None]:
    """Return a function that shows the state of a scan: rows, megabytes, rows per second and matches."""

    def show(file: str, rows: int, size: int, matches: int) -> None:
        rate = rows / max(progress.seconds, 1e-9)
        text = f"{file}: {rows:,} rows, {size / 1e6:,.0f} MB, {rate:,.0f} rows/s, {matches:,} matches"
        progress.show(None, text)

    return show


def _overlap(arguments: argparse.Namespace, output: Output) -> int:
    """Audit the sets by themselves and against each other."""
    from steelyard.audit import overlap

    for option in ("clean", "drop", "results", "record", "encoder"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} needs training data", hint="name it with --against", option=f"--{option}")
    result = overlap(
        arguments.evaluation,
        jaccard=arguments.jaccard,
        output=arguments.output,
        offline=arguments.offline,
        progress=lambda name: output.note(f"auditing {name} ..."),
    )
    if output.json:
        output.data(result.to_dict())
    else:
        print_overlap(result, output)
    return 0


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _report_files(result: Audit, output: Output) -> None:
    """Report what was not read: bad rows as notes, unreadable files as errors."""
    for problem in result.training["problems"]:
        rows = ", ".join(str(row) for row, _ in problem["rows"][:5])
        more = " ..." if problem["count"] > 5 else ""
        output.note(
            f"{problem['file']}: {problem['count']:,} x {problem['kind']}: {problem['meaning']} (rows {rows}{more})"
        )
    for file in result.training["files"]:
        if file["rows"] and not file["columns"]:
            output.note(
                f"{file['file']}: no text column was detected in {file['rows']:,} rows (name one with --columns)"
            )
        if file["error"]:
            output.failure(f"steelyard: {file['file']} was not read to its end: {file['error']}")


def print_audit(result: Audit, output: Output) -> None:
    """Print one line for each part of each task, then the verdicts."""
    levels = [*result.settings["levels"], "any"]
    rows: list[list[Cell]] = []
    for task in result.tasks:
        for part in task.parts:
            rates = [_rate(part.rates[level]) if level in part.rates else "-" for level in levels]
            rows.append([task.task, part.part, part.items, *rates, _apart(part)])
        if task.pairs.total:
            blank: list[Cell] = ["-"] * (len(levels) - 1)
            rows.append([task.task, "pairs", task.pairs.total, *blank, _rate(task.pairs), "-"])
    output.table(["task", "part", "items", *levels, "kept apart"], rows, fold=True)
    output.line("")
    for task in result.tasks:
        output.line(f"{task.task}: {task.verdict}: {task.reason}")
    _print_scores(result, output)
    training = result.training
    output.note(f"{training['rows']:,} rows, {training['texts']:,} texts in {len(training['files'])} training files")
    semantic = result.settings.get("semantic")
    if semantic:
        output.note(
            f"semantic level: {semantic['encoder']}, margin at least {semantic['threshold']:.3f}: "
            f"{semantic['flagged']:.1%} of the texts pass, about {semantic['false_positive_rate']:.1%} by chance"
        )


def _print_scores(result: Audit, output: Output) -> None:
    from steelyard.audit.report import lead_sentence

    for score in result.scores:
        rows: list[list[Cell]] = [
            [model["model"], model["all"], model["clean"], model["contaminated"], model["effect"], model["effect_p"]]
            for model in score["models"]
        ]
        output.line(f"\n{score['task']}: {score['metric']} with {score['contaminated']:,} contaminated queries")
        output.table(["model", "all", "clean", "contaminated", "contaminated - clean", "p"], rows, fold=True)
        for lead in score["leads"]:
            output.line(lead_sentence(lead))


def print_overlap(result: OverlapAudit, output: Output) -> None:
    """Print what each set repeats of itself, then which sets overlap."""
    rows: list[list[Cell]] = [
        [one.task, finding.kind.replace("_", " "), finding.count, finding.total]
        for one in result.within
        for finding in one.overlaps
    ]
    output.table(["task", "finding", "count", "of"], rows, fold=True)
    if result.between is None:
        return
    output.line("")
    pairs: list[list[Cell]] = [
        [pair["first"], pair["second"], ", ".join(pair["kinds"]), _both(pair["queries"]), _both(pair["documents"])]
        for pair in result.between.overlaps()
    ]
    if pairs:
        output.table(["task", "other task", "overlap", "queries", "documents"], pairs, fold=True)
    else:
        output.line(f"No two of the {len(result.between.tasks)} sets overlap.")


def _both(shares: list[float]) -> str:
    return f"{shares[0]:.1%} / {shares[1]:.1%}"


def _rate(rate: Rate) -> str:
    if not rate.count or rate.interval is None:
        return "0"
    return f"{rate.count:,} ({rate.share:.1%} [{rate.interval.low:.1%}, {rate.interval.high:.1%}])"


def _apart(part: PartFindings) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in part.kept_apart.items()) or "-"
