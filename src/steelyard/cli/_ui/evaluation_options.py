"""The options of an evaluation, for `steelyard run` and `steelyard plan`: models, tasks, measurement, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.mteb_options import add_splits
from steelyard.cli._ui.options import (
    Add,
    add_executor,
    add_languages,
    add_locations,
    add_model_options,
    add_results,
    add_type,
    integer,
    integers,
)

if TYPE_CHECKING:
    from steelyard.cli._ui.parser import Parser


def add_work(parser: Parser) -> None:
    """Add the models and tasks, and what determines how they are evaluated."""
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="Models such as bm25, dense:ID@REV?option=value or '[bm25, dense] > rerank:ID'.",
    )
    parser.add_argument(
        *("-m", "--model", "--models"),
        action="append",
        default=[],
        help="One more model; repeatable (default models: bm25, dense and their fusion).",
    )
    _add_data(parser.add_argument_group("tasks and data").add_argument)
    _add_measurement(parser.add_argument_group("measurement").add_argument)
    _add_models(parser.add_argument_group("models").add_argument)


def _add_data(add: Add) -> None:
    add(
        *("-t", "--tasks"),
        nargs="+",
        action="extend",
        default=[],
        metavar="TASK",
        help="Tasks, groups, patterns ('NanoCLDR/*') or paths (default: builtin).",
    )
    add(
        *("-b", "--benchmarks"),
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="Benchmarks such as C-MTEB, on all splits they use (default: none).",
    )
    add_languages(add)
    add_type(add)
    add_splits(add)
    limit = integer("--limit")
    add("--limit", type=limit, metavar="N", help="Evaluate N random queries of each task (default: all).")
    add("--seed", type=integer("--seed"), metavar="N", help="Seed of the sample of --limit (default: 0).")
    add_locations(add)


def _add_measurement(add: Add) -> None:
    add(
        "--metrics",
        nargs="+",
        action="extend",
        default=[],
        metavar="METRIC",
        help="Additional metrics such as nDCG@20 P@5, each shown as a table (default: none).",
    )
    add("--top-k", type=integer("--top-k"), metavar="N", help="Documents to retrieve per query (default: 1000).")
    add(
        "--profile",
        choices=["mteb-2.26", "mteb-1.14"],
        help="Version of mteb whose metrics and data are reproduced (default: mteb-2.26).",
    )
    add(
        "--candidates",
        metavar="NAME",
        help="Candidate lists of the task that a reranker alone ranks (default: those of the task).",
    )


def _add_models(add: Add) -> None:
    add(
        "--depths",
        type=integers("--depths"),
        default=[],
        metavar="N,N",
        help="Evaluate pipelines at each of these rerank depths (default: that of the pipeline).",
    )
    add(
        "--truncate-dim",
        default="",
        metavar="D,D",
        help="Also evaluate dense models with vectors truncated to these dimensions.",
    )
    add(
        "--precision",
        default="",
        metavar="P,P",
        help="Also evaluate dense models with vectors stored as float16, int8, binary ...",
    )
    add(
        "--rescore",
        nargs="?",
        const="4",
        default="",
        metavar="N",
        help="Also rescore the top N x 100 of --precision in float32 (N without a value: 4).",
    )
    add(
        "--chunk",
        default="",
        metavar="N,N",
        help="Divide documents into passages of N tokens; 'none' is the whole document (default: none).",
    )
    add(
        "--overlap",
        type=integer("--overlap", at_least=0),
        default=0,
        metavar="N",
        help="Tokens that two neighbouring passages share (default: 0).",
    )
    add_model_options(add)
    add(
        "--device",
        metavar="D,D",
        help="Devices such as cpu, cuda:1, mps or cuda:0,cuda:1 (default: auto, all GPUs or the CPU).",
    )
    add_executor(add)


def add_stored(add: Add) -> None:
    """Add the folder of results, and which of them are used."""
    add_results(add, "-o", "--output", "--output-folder", "--results", dest="output")
    add(
        "--overwrite-strategy",
        choices=["always", "never", "only-missing", "only-cache"],
        default="only-missing",
        help="What to evaluate again; never keeps failures, only-cache evaluates nothing (default: only-missing).",
    )
