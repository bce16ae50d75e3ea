"""Comparison of models on the same queries: differences with their evidence, and a gate for CI."""

from steelyard.comparison.compare_models import compare
from steelyard.comparison.comparison import Comparison
from steelyard.comparison.model import Difference, QueryChange, SliceDifference, TaskComparison

__all__ = ["Comparison", "Difference", "QueryChange", "SliceDifference", "TaskComparison", "compare"]
