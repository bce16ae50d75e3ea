"""`steelyard score QRELS RUN`: trec_eval's job, in trec_eval's words and columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.waiting import patiently
from steelyard.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.cli.score.measures import Measure
    from steelyard.cli.score.report import Report
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
"""trec_eval's long names of options, understood but not shown, by where ours keep their values."""
ELSEWHERE = {
    "-R": ("--Rel_info_format", "judgements in the format", "qrels"),
    "-T": ("--Results_format", "runs in the format", "trec_results"),
    "-Z": ("--Zscore", "scores relative to the means in", None),
    "-D": ("--Debug_level", "debugging output of level", None),
}
"""trec_eval's options that have one meaning here or none: their long names, what they ask for, the word we know."""
STANDARD_INPUT = Path("/dev/stdin")
QRELS = "judgements: lines of query 0 document grade, Parquet, JSON, or BEIR's with a heading (.gz, .zst too)"
RUN = "a run: lines of query Q0 document rank score tag, Parquet (as saved) or JSON; - to pipe either in"
MEASURES = "such as ndcg_cut.10, P.5,10, nDCG@10, bpref, iprec_at_recall.0.1, official, set, all_trec; repeatable"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb; the letters are trec_eval's, so -q is not --quiet here."""
    import argparse

    options = parser.add_argument_group("options of trec_eval", conflict_handler="resolve")
    parser.add_argument("qrels", type=_file, metavar="QRELS", help=QRELS)
    parser.add_argument("run", type=_file, metavar="RUN", help=RUN)
    add = options.add_argument
    add("-q", "--per-query", action="store_true", help="print the values of every query too")
    add("-n", "--no-summary", action="store_true", help="leave out the lines of all queries together")
    add("-c", "--complete", action="store_true", help="average over all judged queries, not only found")
    add("-m", "--measure", action="append", default=[], help=MEASURES)
    add("-l", "--level", type=int, default=1, help="the lowest grade that is relevant (default: 1)")
    add("-M", "--max-documents", type=int, metavar="N", help="read only the best N of every list")
    add("-J", "--judged-only", action="store_true", help="take documents that nobody judged out of the lists")
    add("-N", "--documents", type=int, default=0, metavar="N", help="documents in the collection (for utility)")
    for name, place in LONG.items():
        if place in ("level", "max_documents", "documents"):
            add(name, dest=place, type=int, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        else:
            add(name, dest=place, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    for name, (long, _, _) in ELSEWHERE.items():
        add(name, long, default=None, help=argparse.SUPPRESS)
    parser.add_argument(
        "--gain", choices=("linear", "exponential"), default="linear", help="of nDCG: the grade, or 2^grade - 1"
    )


def _file(text: str) -> Path:
    return STANDARD_INPUT if text == "-" else Path(text)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Score the run and print it: three columns (measure, query or `all`, value), or JSON."""
    from steelyard.cli.score.measures import OFFICIAL, expand

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
    for name, (long, asked, known) in ELSEWHERE.items():
        if (value := getattr(arguments, long.removeprefix("--"))) not in (None, known):
            hint = f"{name} {known} is all that is read" if known else "leave it out, or use trec_eval itself"
            raise UsageError(f"{name} {value} of trec_eval ({asked} {value}) is not there", hint=hint)
    if arguments.qrels == arguments.run == STANDARD_INPUT:
        raise UsageError("judgements and run cannot both be piped in", hint="give one of them as a file")
    if arguments.max_documents is not None and arguments.max_documents < 1:
        raise UsageError(f"-M {arguments.max_documents}", hint="give at least 1")
    if arguments.level < 0:
        raise UsageError(f"-l {arguments.level}", hint="give at least 0: grades below it are no judgements")
    if arguments.documents < 0:
        raise UsageError(f"-N {arguments.documents}", hint="give the number of documents in the collection")
    if arguments.no_summary and not arguments.per_query:
        raise UsageError("-n alone leaves nothing to print", hint="-q adds the lines of single queries")


def _scored(arguments: argparse.Namespace, measures: list[Measure], output: Output) -> Report:
    import numpy as np

    from steelyard.cli.score.report import Report
    from steelyard.datasets.formats.trec import qrels_runs as trec_files
    from steelyard.datasets.problems import problem_listener
    from steelyard.metrics import Ranking
    from steelyard.metrics.scoring import judged_only

    def tell(problems: Sequence[Problem]) -> None:
        for problem in problems:
            output.note(str(problem))

    with problem_listener(tell), patiently(output, f"reading {arguments.qrels} and {arguments.run}"):
        qrels_lines, run_lines = trec_files.read_qrels(arguments.qrels), trec_files.read_run(arguments.run)
    queries, lists, qrels = trec_files.join(qrels_lines, run_lines, all_judged=arguments.complete)
    ran = set(run_lines.queries)
    if not ran.intersection(queries):
        raise DataError(
            f"no query of {arguments.run} stands in {arguments.qrels}",
            hint=f"the run has {run_lines.queries[0]!r}, the judgements have {qrels_lines.queries[0]!r}: same ids?",
        )
    _tell_of_others(ran, set(qrels_lines.queries), arguments, output)
    if close := int((lists.scores[:, 1:] > lists.scores[:, :-1]).any(axis=1).sum()):
        output.note(
            f"{close:,} of {len(lists):,} lists have scores that differ, but not as float32: "
            "such documents go by their ids, as in trec_eval 9"
        )
    if arguments.max_documents is not None:
        lists = lists.cut(arguments.max_documents)
    if arguments.judged_only:
        lists = judged_only(lists, qrels)
    ranking = Ranking(lists, qrels, arguments.gain, arguments.level, arguments.documents)
    found = np.array([query in ran for query in queries])
    return Report(run_lines.tag, queries, measures, ranking, found)


def _tell_of_others(ran: set[str], judged: set[str], arguments: argparse.Namespace, output: Output) -> None:
    """Queries that stand in one file only; trec_eval passes over them in silence."""
    if unjudged := len(ran - judged):
        output.note(f"{unjudged:,} of {len(ran):,} queries of the run have no judgements and are left out")
    if (missing := len(judged - ran)) and not arguments.complete:
        output.note(f"{missing:,} of {len(judged):,} judged queries are not in the run and left out; -c counts them 0")
