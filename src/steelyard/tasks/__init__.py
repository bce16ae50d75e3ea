"""What vectors are worth on each type of task that has no corpus: STS, pairs, classification, clustering.

`texts_of` says which texts a task needs vectors of, `weigh` makes figures of those vectors: ours with intervals, and
mteb's, key by key. Retrieval and reranking are weighed by their lists, in `engine` and `metrics`.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.tasks.classification import label_texts, weigh_labels
from steelyard.tasks.clustering import cluster_texts, weigh_clusters
from steelyard.tasks.pairs import weigh_pairs
from steelyard.tasks.scored import Profile, Weighed
from steelyard.types import Float32
from steelyard.types.samples import LabelTask, PairTask, SampleTask, distinct

__all__ = ["Profile", "Weighed", "texts_of", "weigh"]


def texts_of(task: SampleTask, profile: Profile = "mteb-2.26") -> list[str]:
    """The distinct texts that the task needs vectors of: of a classification's training texts, only those drawn.

    Both profiles draw the same.
    """
    if isinstance(task, PairTask):
        return distinct(task.first, task.second)
    return label_texts(task) if isinstance(task, LabelTask) else cluster_texts(task)


def weigh(
    task: SampleTask, texts: Sequence[str], vectors: Float32, similarity: str, profile: Profile = "mteb-2.26"
) -> Weighed:
    """The figures that the vectors of these texts give. `similarity` is the model's own way to compare them.

    Fits are scikit-learn's (`pip install 'steelyard[tasks]'`); pairs need none.
    """
    if isinstance(task, PairTask):
        return weigh_pairs(task, texts, vectors, similarity, profile)
    if isinstance(task, LabelTask):
        return weigh_labels(task, texts, vectors, profile)
    return weigh_clusters(task, texts, vectors, profile)
