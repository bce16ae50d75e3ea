"""Results: their form, their files, the store that keeps them."""

from steelyard.results.query_scores import QueryScores
from steelyard.results.result_file import NewerResult
from steelyard.results.schema import (
    HEADLINES,
    MAIN_METRIC,
    MAIN_METRICS,
    SCHEMA_VERSION,
    TITLES,
    Failure,
    Miss,
    Result,
    TaskFacts,
)
from steelyard.results.store import ResultStore
from steelyard.results.table import Results, load_results

__all__ = [
    "HEADLINES",
    "MAIN_METRIC",
    "MAIN_METRICS",
    "SCHEMA_VERSION",
    "TITLES",
    "Failure",
    "Miss",
    "NewerResult",
    "QueryScores",
    "Result",
    "ResultStore",
    "Results",
    "TaskFacts",
    "load_results",
]
