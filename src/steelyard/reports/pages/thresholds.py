"""The thresholds that decide which findings a page has. docs/pages.md lists them."""

from __future__ import annotations

SIGNIFICANT = 0.05
"""A difference is significant if its p-value, with Holm's correction over all tests of its kind, is below."""

FEWEST = 20
"""A slice is only tested with at least this number of queries in it and outside of it."""

FEW = 5
"""Slices with fewer queries are in the JSON file only. If all slices of a kind but the largest have fewer together,
there are no slices of that kind."""

MANY = 1_000
"""From this number of queries on, the interval of a slice is Student's; below, it is bootstrapped (BCa)."""

FOUND = 10
"""A profile finds a query if a relevant document is in this number of top documents."""

MOST = 0.5
"""More than this share is called most."""

NEARLY_ALL = 0.95
"""From this share on it is called nearly all."""

SOME = 0.05
"""Below this share a property of queries or pairs is called rare."""

LOW_OVERLAP = 0.25
"""A query with at most this overlap is in the slice of low overlap."""

HIGH_OVERLAP = 0.75
"""A query with at least this overlap is in the slice of high overlap."""

SMALL_CORPUS = 1_000
"""With fewer documents, recall@100 is compared with that of a random ranking."""

NEAR_CEILING = 0.95
"""From this share of the best possible nDCG@10 on, there is little room for improvement."""

WEAK = 0.3
"""A significant correlation closer to 0 is called weak."""

SAFEGUARDS = 0.25
"""From this share of queries with a safeguard on, there is a warning."""

QUESTIONS = 0.5
"""Above this share of questions, the queries of a task are called questions."""

SHORT_WORDS = 3
"""Texts with at most this median number of words are called short (names, keywords)."""

SENTENCE_WORDS = 25
"""Documents with at most this median number of words are called sentences."""

PASSAGE_WORDS = 400
"""Documents with at most this median number of words are called passages; longer ones long texts."""

EXTREMES = 3
"""Number of highest and lowest tasks that are named for each profile of a group."""

LONG_RATIO = 2
"""A relevant document is long if it has more than PASSAGE_WORDS words and so many times the median of the corpus."""

SAME_TOPIC = 0.15
"""Two documents have the same topic from this cosine of their terms on, weighted by rarity."""

NEAR_DUPLICATE = 0.8
"""Two documents are near duplicates from this Jaccard index of their five-character pieces on."""

REPRESENTATIVE = 0.1
"""A class of failures leads to advice from this share of the failed queries on, by the lower end of its interval."""

LONGER = 0.25
"""BM25 is searched in truncated documents if at least this share of the documents is longer."""
