"""Metrics of rankings: values with names, computed for a whole run at once, with the score of every query."""

from steelyard.metrics.definition import METRICS, Definition
from steelyard.metrics.names import Metric, parse, parse_many
from steelyard.metrics.ranking import Ranking
from steelyard.metrics.scoring import CUTOFFS, DEFAULT_METRICS, score

__all__ = ["CUTOFFS", "DEFAULT_METRICS", "METRICS", "Definition", "Metric", "Ranking", "parse", "parse_many", "score"]
