"""The values that flow between the stages: tasks, corpora, queries, judgements, runs.

`retrieval` defines those of retrieval tasks, `samples` those of tasks without a corpus, `protocols` what a part must
implement, `hashing` how content is identified.
"""

from steelyard.types.retrieval import (
    Corpus,
    Float32,
    Float64,
    Guarded,
    Int32,
    Int64,
    Interval,
    Qrels,
    Queries,
    Ragged,
    Role,
    Run,
    Scores,
    Task,
    TaskInfo,
    join_title,
)

__all__ = [
    "Corpus",
    "Float32",
    "Float64",
    "Guarded",
    "Int32",
    "Int64",
    "Interval",
    "Qrels",
    "Queries",
    "Ragged",
    "Role",
    "Run",
    "Scores",
    "Task",
    "TaskInfo",
    "join_title",
]
