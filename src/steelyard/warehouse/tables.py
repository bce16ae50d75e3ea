"""The star schema of the warehouse: one table of files, one of models, three of facts.

| table | one row per | written |
|---|---|---|
| `files` | result file that was read, good or bad | whole, at each import |
| `models` | model card: size, dimension, licence ... | in parts, one per import |
| `scores` | file, split and subset: the main score | in parts |
| `metrics` | score and metric: every number of the file | in parts |
| `queries` | score, query and metric, where a file has them | in parts |

A fact row belongs to a file by `file_id`. A file that changed gets a new id. Rows of ids that are no longer in
`files` are dead; the views skip them, and an import that leaves too many rewrites the parts.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1
"""Changes whenever a table changes. A warehouse of another version is built again by the next import."""

FILES = pa.schema(
    [
        ("file_id", pa.int64()),
        ("root", pa.string()),  # the folder that was imported
        ("path", pa.string()),  # relative to the root
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("digest", pa.string()),  # BLAKE2 of the bytes
        ("format", pa.string()),  # mteb, steelyard, hakari, table, model_meta
        ("reason", pa.string()),  # why the file could not be read; null: it could
    ]
)
MODELS = pa.schema(
    [
        ("file_id", pa.int64()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("family", pa.string()),  # dense, sparse, late, rerank, bm25 ... where known
        ("n_parameters", pa.int64()),
        ("embed_dim", pa.int64()),
        ("max_tokens", pa.int64()),
        ("memory_mb", pa.float64()),
        ("license", pa.string()),
        ("open_weights", pa.bool_()),
        ("release_date", pa.string()),
        ("languages", pa.list_(pa.string())),
        ("training_datasets", pa.list_(pa.string())),
        ("url", pa.string()),
        ("extra", pa.string()),  # JSON of every other field
    ]
)
SCORES = pa.schema(
    [
        ("score_id", pa.int64()),
        ("file_id", pa.int64()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("experiment", pa.string()),  # the folder below experiments/, empty for the model as it is
        ("task", pa.string()),
        ("split", pa.string()),
        ("subset", pa.string()),
        ("languages", pa.list_(pa.string())),
        ("main_score", pa.float64()),  # null where the file has NaN or no main score
        ("low", pa.float64()),  # 95 % interval, where the file has one
        ("high", pa.float64()),
        ("dataset_revision", pa.string()),
        ("version", pa.string()),  # of mteb, whose formulas the numbers follow
        ("seconds", pa.float64()),
        ("limit", pa.int64()),  # queries of a partial evaluation
        ("extra", pa.string()),
    ]
)
METRICS = pa.schema(
    [("score_id", pa.int64()), ("metric", pa.dictionary(pa.int32(), pa.string())), ("value", pa.float64())]
)
QUERIES = pa.schema(
    [
        ("score_id", pa.int64()),
        ("query", pa.string()),
        ("metric", pa.dictionary(pa.int32(), pa.string())),
        ("value", pa.float64()),
        ("position", pa.int32()),  # of the query in the file: the order that random draws of a test depend on
    ]
)


def variant_name(model: str, experiment: str) -> str:
    """Return the name of a model in an experiment, or of the model alone if the experiment has no name.

    >>> variant_name("org/m", "dim_256"), variant_name("org/m", "")
    ('org/m (dim_256)', 'org/m')
    """
    return f"{model} ({experiment})" if experiment else model


FACTS = {"models": MODELS, "scores": SCORES, "metrics": METRICS, "queries": QUERIES}
"""The tables that are written in parts."""
SCORES_PER_FILE = 1 << 20
"""A score's id is its file's id times this, plus its position in the file."""
