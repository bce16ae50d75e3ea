"""The columns of each type of task, with the names that published data uses."""

from __future__ import annotations

from steelyard.datasets.tables.columns import Field, Role

FIRST = (
    "sentence1",
    "text1",
    "sent1",
    "sentence_1",
    "text_1",
    "sentence_a",
    "text_a",
    "premise",
    "question1",
    "query1",
)
SECOND = (
    *("sentence2", "text2", "sent2", "sentence_2", "text_2", "sentence_b", "text_b"),
    *("hypothesis", "question2", "query2"),
)
SCORE = ("score", "similarity", "similarity_score", "relatedness_score", "gold", "rating", "label", "labels")
MATCH = ("label", "labels", "is_duplicate", "match", "score", "similarity")
TEXT = ("text", "sentence", "sentences", "content", "review", "utterance", "question", "query", "title")
LABEL = ("label", "labels", "class", "category", "target", "intent", "topic", "cluster")
SPLIT = Field("split", "text", ("split", "subset", "partition"), required=False)

POSITIONS = (("first", "second", "value"),)

STS = Role(
    "scored pairs",
    (Field("first", "texts", FIRST), Field("second", "texts", SECOND), Field("value", "numbers", SCORE), SPLIT),
    POSITIONS,
)
PAIRS = Role(
    "labelled pairs",
    (Field("first", "texts", FIRST), Field("second", "texts", SECOND), Field("value", "numbers", MATCH), SPLIT),
    POSITIONS,
)
CLASSIFIED = Role("labelled texts", (Field("text", "texts", TEXT), Field("label", "labels", LABEL), SPLIT))
CLUSTERED = Role(
    "texts to cluster",
    (
        Field("text", "texts", ("sentences", "sentence", "texts", *TEXT)),
        Field("label", "labels", ("labels", *LABEL)),
        SPLIT,
    ),
)
TRANSLATED = Role(
    "translations",
    (Field("first", "texts", (*FIRST, "source", "src")), Field("second", "texts", (*SECOND, "target", "tgt")), SPLIT),
    (("first", "second"),),
)
SUMMARISED = Role(
    "summaries",
    (
        Field("human", "texts", ("human_summaries", "human", "references", "reference_summaries")),
        Field("machine", "texts", ("machine_summaries", "machine", "summaries", "candidates")),
        Field("value", "numbers", ("relevance", "scores", "score", "ratings")),
        SPLIT,
    ),
)
RANKED = Role(
    "queries with positives and negatives",
    (
        Field("query", "texts", ("query", "question", "anchor")),
        Field("positive", "texts", ("positive", "positives", "pos")),
        Field("negative", "texts", ("negative", "negatives", "neg")),
        SPLIT,
    ),
)

ROLES: dict[str, Role] = {
    "sts": STS,
    "pair_classification": PAIRS,
    "classification": CLASSIFIED,
    "clustering": CLUSTERED,
    "reranking": RANKED,
    "bitext_mining": TRANSLATED,
    "multilabel_classification": CLASSIFIED,
    "summarization": SUMMARISED,
}
"""The columns of a table of each type."""
