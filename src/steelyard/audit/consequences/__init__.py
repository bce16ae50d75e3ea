"""What follows from an audit: clean training data, sets without contaminated queries, and scores without them."""

from steelyard.audit.consequences.clean import clean
from steelyard.audit.consequences.drop import drop
from steelyard.audit.consequences.rescore import rescore

__all__ = ["clean", "drop", "rescore"]
