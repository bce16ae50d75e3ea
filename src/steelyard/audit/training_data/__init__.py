"""Training data, streamed: readers of files and folders that return batches of texts with their rows."""

from steelyard.audit.training_data.batches import Batch, Block, ProblemLog, RowProblem
from steelyard.audit.training_data.sources import TrainingFile, training_files

__all__ = ["Batch", "Block", "ProblemLog", "RowProblem", "TrainingFile", "training_files"]
