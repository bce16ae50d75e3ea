"""Load tasks of `ir_datasets` by id (`pip install 'steelyard[ir-datasets]'`): `ir_datasets:beir/scifact/test`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.language_codes import language_code
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import DOCUMENTS, JUDGEMENTS, QUERIES
from steelyard.datasets.tables.tabular import Table
from steelyard.errors import DataError, HubError, MissingPart, UnknownName, UsageError
from steelyard.types import Task, TaskInfo

PREFIXES = ("ir_datasets:", "irds:")
BODY = ("text", "body", "contents", "abstract", "passage")
QUERY = ("text", "title", "query", "question", "description")


class IrDatasetsSource:
    """`ir_datasets:ID`."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Return whether the reference begins with `ir_datasets:` or `irds:`."""
        return reference.startswith(PREFIXES)

    def names(self, reference: str) -> Sequence[str]:
        """Return the reference itself: an id is one task."""
        return [reference]

    def load(self, name: str) -> Task:
        """Read the dataset with its own package, which downloads what is missing."""
        identity = name.partition(":")[2]
        dataset = _dataset(identity)
        for part in ("docs", "queries", "qrels"):
            if not getattr(dataset, f"has_{part}")():
                raise UsageError(
                    f"{identity} of ir_datasets does not have {part}", hint="choose a subset that has, such as /test"
                )
        report = Report(missing_judgements=self.options.settings.missing_judgements)
        try:
            tables = _tables(identity, dataset)
        except OSError as error:  # its downloads raise errors of requests, which are OSErrors
            raise HubError(
                f"{identity} could not be downloaded: {error}",
                hint="see the documentation of ir_datasets on manual copies",
            ) from error
        return report.finish(assemble(tables, report), self.options.validate or "report", name, local=False)


def _dataset(identity: str) -> Any:
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingPart.extra("ir_datasets", "ir-datasets") from error
    try:
        return ir_datasets.load(identity)
    except KeyError as error:
        raise UnknownName("ir_datasets id", identity, list(ir_datasets.registry), hint="see ir-datasets.com") from error


def _tables(identity: str, dataset: Any) -> Tables:
    import importlib.metadata

    import pyarrow as pa

    languages = {str(code) for part in (dataset.docs_lang(), dataset.queries_lang()) if (code := part)}
    codes = tuple(sorted(map(language_code, languages)))
    group, _, last = identity.rpartition("/")
    info = TaskInfo(
        f"{group or 'ir_datasets'}/{last}",
        language=codes[0] if len(codes) == 1 else "multilingual" if codes else "unknown",
        languages=codes,
        source=f"ir_datasets {importlib.metadata.version('ir_datasets')} {identity}",
        split=last,
    )
    documents = list(dataset.docs_iter())
    queries = list(dataset.queries_iter())
    qrels = list(dataset.qrels_iter())
    body, title = _field(documents, BODY), _field(documents, ("title",), needed=False)
    text = pa.large_string()
    corpus = {
        "id": pa.array((d.doc_id for d in documents), text),
        "text": pa.array((getattr(d, body) or "" for d in documents), text),
    }
    if title:
        corpus["title"] = pa.array((getattr(d, title) or "" for d in documents), text)
    text_field = _field(queries, QUERY)
    return Tables(
        info,
        Table(DOCUMENTS, corpus, ("docs",), (0,)),
        Table(
            QUERIES,
            {
                "id": pa.array((q.query_id for q in queries), text),
                "text": pa.array((getattr(q, text_field) for q in queries), text),
            },
            ("queries",),
            (0,),
        ),
        Table(
            JUDGEMENTS,
            {
                "query": pa.array((j.query_id for j in qrels), text),
                "document": pa.array((j.doc_id for j in qrels), text),
                "grade": pa.array((float(j.relevance) for j in qrels), pa.float64()),
            },
            ("qrels",),
            (0,),
            trec=True,
        ),
    )


def _field(rows: Sequence[Any], names: Iterable[str], needed: bool = True) -> str:
    """Return the first of the names that the records have."""
    first = rows[0] if rows else None
    match = next((name for name in names if hasattr(first, name)), "")
    if needed and not match:
        fields = ", ".join(getattr(first, "_fields", ())) or "nothing"
        raise DataError(
            f"the records must have one of {', '.join(names)}, got {fields}",
            where="ir_datasets",
            hint="export them as JSONL with one of these names, and give the files",
        )
    return match
