"""The uncertainty of scores: intervals of means, and paired tests of two models on the same queries."""

from steelyard.stats.intervals import intervals, mean_interval
from steelyard.stats.paired import PairedTest, paired_test, paired_tests

__all__ = ["PairedTest", "intervals", "mean_interval", "paired_test", "paired_tests"]
