"""`steelyard score QRELS RUN`: score a TREC run with the options and the output format of trec_eval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import integer
from steelyard.cli._ui.progress import waiting
from steelyard.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.cli.score.measure_names import Measure
    from steelyard.cli.score.score_lines import Report
    from steelyard.datasets.problems import Problem

LONG = {
    "--query_eval_wanted": "per_query",
    "--nosummary": "no_summary",
    "--complete_rel_info_wanted": "complete",
    "--level_for_rel": "level",
    "--Max_retrieved_per_topic": "max_documents",
    "--Judged_docs_only": "judged_only",
    "--Number_docs_in_coll": "documents",
}
"""Long option names of trec_eval, accepted but not in the help, and the attributes of their values."""
UNSUPPORTED = {
    "-R": ("--Rel_info_format", "qrels"),
    "-T": ("--Results_format", "trec_results"),
    "-Z": ("--Zscore", None),
    "-D": ("--Debug_level", None),
}
"""Options of trec_eval with at most one supported value: their long names and that value."""
STANDARD_INPUT = Path("/dev/stdin")
QRELS = "Judgements: TREC qrels, BEIR TSV, Parquet or JSON, also .gz and .zst; - reads standard input."
RUN = "Run: TREC run, Parquet (as saved) or JSON, also .gz and .zst; - reads standard input."
MEASURES = "Measures such as nDCG@10, ndcg_cut.10, P.5,10, bpref, set, all_trec; repeatable (default: official)."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb; the letters are those of trec_eval, so -q is not --quiet here."""
    import argparse

    options = parser.add_argument_group("options of trec_eval")
    parser.add_argument("qrels", type=_file, metavar="QRELS", help=QRELS)
    parser.add_argument("run", type=_file, metavar="RUN", help=RUN)
    add = options.add_argument
    add("-q", "--per-query", action="store_true", help="Also print the values of every query.")
    add("-n", "--no-summary", action="store_true", help="Do not print the values of all queries together.")
    add("-c", "--complete", action="store_true", help="Average over all judged queries, not only those in the run.")
    add("-m", "--measure", action="append", default=[], help=MEASURES)
    add(
        "-l",
        "--level",
        type=integer("-l", at_least=0),
        default=1,
        metavar="N",
        help="Lowest grade that counts as relevant (default: 1).",
    )
    add(
        "-M",
        "--max-documents",
        type=integer("-M", at_least=1),
        metavar="N",
        help="Use only the top N documents of each query (default: all).",
    )
    add("-J", "--judged-only", action="store_true", help="Remove documents without a judgement from the run.")
    add(
        "-N",
        "--documents",
        type=integer("-N", at_least=0),
        default=0,
        metavar="N",
        help="Documents in the collection, for utility (default: 0).",
    )
    for name, place in LONG.items():
        if place in ("level", "max_documents", "documents"):
            low = 1 if place == "max_documents" else 0
            add(name, dest=place, type=integer(name, at_least=low), default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        else:
            add(name, dest=place, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    for name, (long, _) in UNSUPPORTED.items():
        add(name, long, default=None, help=argparse.SUPPRESS)
    gain = "Gain of nDCG: linear is the grade (default), exponential is 2^grade - 1."
    parser.add_argument("--gain", choices=("linear", "exponential"), default="linear", help=gain)


def _file(text: str) -> Path:
    return STANDARD_INPUT if text == "-" else Path(text)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Score the run and print it: three columns (measure, query or `all`, value), or JSON."""
    from steelyard.cli.score.measure_names import OFFICIAL, expand

    measures = expand(arguments.measure or OFFICIAL)
    _check(arguments)
    report = _scored(arguments, measures, output)
    if output.json:
        output.data(report.as_data(summary=not arguments.no_summary, per_query=arguments.per_query))
        return 0
    lines = report.lines_by_query() if arguments.per_query else []
    lines += [] if arguments.no_summary else report.lines()
    if lines:
        output.line("\n".join(lines))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    for name, (long, supported) in UNSUPPORTED.items():
        if (value := getattr(arguments, long.removeprefix("--"))) not in (None, supported):
            if supported:
                raise UsageError.invalid(name, expected=supported, found=value, option=name)
            raise UsageError(f"{name} of trec_eval is not supported", hint=f"remove {name} {value}", option=name)
    if arguments.qrels == arguments.run == STANDARD_INPUT:
        raise UsageError("QRELS and RUN cannot both be read from standard input", hint="name one of them as a file")
    if arguments.no_summary and not arguments.per_query:
        raise UsageError("-n without -q prints nothing", hint="add -q to print the values of single queries")


def _scored(arguments: argparse.Namespace, measures: list[Measure], output: Output) -> Report:
    import numpy as np

    from steelyard.cli.score.score_lines import Report
    from steelyard.datasets.formats.trec import qrels_runs as trec_files
    from steelyard.datasets.problems import problem_listener
    from steelyard.metrics import Ranking
    from steelyard.metrics.scoring import judged_only

    def note(problems: Sequence[Problem]) -> None:
        for problem in problems:
            output.note(str(problem))

    with problem_listener(note), waiting(output, f"reading {arguments.qrels} and {arguments.run}"):
        qrels_lines, run_lines = trec_files.read_qrels(arguments.qrels), trec_files.read_run(arguments.run)
    queries, lists, qrels = trec_files.join(qrels_lines, run_lines, all_judged=arguments.complete)
    ran = set(run_lines.queries)
    if not ran.intersection(queries):
        raise DataError(
            f"no query of {arguments.run} is in {arguments.qrels}",
            hint=f"use the same ids: the run has {run_lines.queries[0]!r}, the judgements {qrels_lines.queries[0]!r}",
            path=arguments.run,
            found=run_lines.queries[0],
            expected=qrels_lines.queries[0],
        )
    _note_unmatched(ran, set(qrels_lines.queries), arguments, output)
    if close := int((lists.scores[:, 1:] > lists.scores[:, :-1]).any(axis=1).sum()):
        output.note(
            f"{close:,} of {len(lists):,} lists have scores that are equal as float32: "
            "such documents are ordered by id, as in trec_eval 9"
        )
    if arguments.max_documents is not None:
        lists = lists.top(arguments.max_documents)
    if arguments.judged_only:
        lists = judged_only(lists, qrels)
    ranking = Ranking(lists, qrels, arguments.gain, arguments.level, arguments.documents)
    in_run = np.array([query in ran for query in queries])
    return Report(run_lines.tag, queries, measures, ranking, in_run)


def _note_unmatched(ran: set[str], judged: set[str], arguments: argparse.Namespace, output: Output) -> None:
    """Note queries that are in one file only, which trec_eval skips silently."""
    if unjudged := len(ran - judged):
        output.note(f"{unjudged:,} of {len(ran):,} queries of the run have no judgements and are skipped")
    if (missing := len(judged - ran)) and not arguments.complete:
        output.note(
            f"{missing:,} of {len(judged):,} judged queries are not in the run and are skipped; -c counts them as 0"
        )
