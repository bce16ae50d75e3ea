"""Results as data frames and as tables of documents: Arrow, pandas, polars, Markdown, LaTeX, HTML."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from steelyard.errors import MissingPart

if TYPE_CHECKING:
    from steelyard.results.schema import Result

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "≥": r"$\geq$", "≤": r"$\leq$", ">": r"$>$", "<": r"$<$", "–": "--", "−": "$-$",
}  # fmt: skip
_ANY = re.compile("|".join(map(re.escape, _LATEX)))


def record(result: Result, metrics: Sequence[str] = ()) -> dict[str, Any]:
    """Return one flat row of a result: names, the main score with its interval, sizes, costs, and more metrics."""
    facts, interval = result.facts, result.interval
    return {
        "task": result.task,
        "model": result.model,
        "status": result.status,
        "type": facts.type,
        "language": facts.language,
        "split": facts.split,
        "metric": result.main_metric,
        "score": result.score,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "queries": facts.queries,
        "documents": facts.documents,
        "samples": facts.samples,
        "limit": facts.limit,
        "seconds": result.timings.get("total"),
        "index_bytes": result.index_bytes,
        "data_hash": facts.data_hash,
        "revision": facts.revision,
        "key": result.key,
        "created": result.created,
        "error": str(result.error) if result.error else None,
        **{name: result.metrics.get(name) for name in metrics},
    }


def arrow_table(records: Sequence[dict[str, Any]]) -> Any:
    """Return the rows as an Arrow table whose column types do not depend on which values are missing."""
    import pyarrow

    text, number, count = pyarrow.string(), pyarrow.float64(), pyarrow.int64()
    counts = {"queries", "documents", "samples", "limit", "index_bytes"}
    texts = {
        "task", "model", "status", "type", "language", "split", "metric", "data_hash", "revision", "key", "created",
        "error",
    }  # fmt: skip
    names = list(records[0]) if records else sorted(texts | counts)
    types = {name: text if name in texts else count if name in counts else number for name in names}
    columns = {name: pyarrow.array([row[name] for row in records], type_) for name, type_ in types.items()}
    return pyarrow.table(columns)


def data_frame_library(name: str) -> Any:
    """Return pandas or polars, or raise a MissingPart with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPart(f"the package {name!r} is not installed", hint=f"pip install {name}") from error


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table; cells in `**` stay bold.

    >>> print(markdown_table(["task", "bm25"], [["a|b", "0.5000"]]))
    | task | bm25 |
    |---|---|
    | a\|b | 0.5000 |
    """
    lines = [list(columns), ["---"] * len(columns), *rows]
    texts = ["| " + " | ".join(cell.replace("|", "\\|").strip() for cell in line) + " |" for line in lines]
    return "\n".join([texts[0], texts[1].replace(" ", ""), *texts[2:]])


def latex_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a LaTeX tabular in the style of booktabs; cells in `**` become bold.

    >>> print(latex_table(["task", "bm25"], [["a_b", "**0.5**"]]))
    \begin{tabular}{lr}
    \toprule
    task & bm25 \\
    \midrule
    a\_b & \textbf{0.5} \\
    \bottomrule
    \end{tabular}
    """
    lines = [" & ".join(map(_latex_cell, line)) + r" \\" for line in (columns, *rows)]
    head = rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}"
    return "\n".join([head, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"])


def _latex_cell(cell: str) -> str:
    text = cell.strip()
    if bold := re.fullmatch(r"\*\*(.*)\*\*", text):
        return rf"\textbf{{{latex(bold[1].strip())}}}"
    return latex(text)


def latex(text: str) -> str:
    r"""Return the text with LaTeX's special characters escaped.

    >>> latex("a_b & 50%")
    'a\\_b \\& 50\\%'
    """
    return _ANY.sub(lambda match: _LATEX[match[0]], text)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a plain HTML table, all text escaped.

    >>> html_table(["task"], [["a<b"]])
    '<table><thead><tr><th>task</th></tr></thead><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
