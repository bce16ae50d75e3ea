"""What to ship: quality against latency, memory and price, and the cheapest choice that is as good as the best."""

from steelyard.recommendation.constraints import Choice, Constraints
from steelyard.recommendation.costs import Costs, measure_costs
from steelyard.recommendation.latency import Latency, Sampling, measure_latency
from steelyard.recommendation.recommend_models import recommend
from steelyard.recommendation.recommendations import Recommendation

__all__ = [
    "Choice",
    "Constraints",
    "Costs",
    "Latency",
    "Recommendation",
    "Sampling",
    "measure_costs",
    "measure_latency",
    "recommend",
]
