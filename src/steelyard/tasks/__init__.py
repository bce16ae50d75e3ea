"""Scores of vectors on each type of task without a corpus, one type a file; and what instructions add to retrieval.

`texts_of` returns the texts that a task needs vectors of, and `score_task` scores those vectors: our metrics with
intervals, and mteb's, key by key. Retrieval and reranking are scored by their lists, in `engine` and `metrics`.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.tasks.classification import label_texts, score_labels
from steelyard.tasks.clustering import cluster_texts, score_clusters
from steelyard.tasks.multilabel import multilabel_texts, score_multilabel
from steelyard.tasks.pairs import score_bitext, score_pairs
from steelyard.tasks.sample_scores import Profile, SampleScores
from steelyard.tasks.summarization import score_summaries, summary_texts
from steelyard.types import Float32
from steelyard.types.samples import LabelTask, PairTask, SampleTask, SummaryTask, distinct

BITEXT, MULTILABEL = "bitext_mining", "multilabel_classification"

__all__ = ["Profile", "SampleScores", "score_task", "texts_of"]


def texts_of(task: SampleTask, profile: Profile = "mteb-2.26") -> list[str]:
    """Return the distinct texts that the task needs vectors of: of training texts, only those that are sampled.

    Both profiles sample the same texts.
    """
    if isinstance(task, PairTask):
        return distinct(task.first, task.second)
    if isinstance(task, LabelTask):
        return multilabel_texts(task) if task.info.type == MULTILABEL else label_texts(task)
    return summary_texts(task) if isinstance(task, SummaryTask) else cluster_texts(task)


def score_task(
    task: SampleTask, texts: Sequence[str], vectors: Float32, similarity: str, profile: Profile = "mteb-2.26"
) -> SampleScores:
    """Return the scores of the vectors of these texts. `similarity` is how the model compares vectors.

    Classification and clustering need scikit-learn (`pip install 'steelyard[tasks]'`); pairs do not.
    """
    if isinstance(task, PairTask):
        if task.info.type == BITEXT:
            return score_bitext(task, texts, vectors, similarity)
        return score_pairs(task, texts, vectors, similarity, profile)
    if isinstance(task, LabelTask):
        multilabel = task.info.type == MULTILABEL
        return score_multilabel(task, texts, vectors) if multilabel else score_labels(task, texts, vectors, profile)
    if isinstance(task, SummaryTask):
        return score_summaries(task, texts, vectors, similarity)
    return score_clusters(task, texts, vectors, profile)
