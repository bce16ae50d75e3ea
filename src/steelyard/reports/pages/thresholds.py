"""What a figure must pass before a sentence is made of it. The documentation lists these; a test compares."""

from __future__ import annotations

SIGNIFICANT = 0.05
"""A difference is claimed where its p-value, adjusted after Holm for all tests of its kind on the page, is below."""

FEWEST = 20
"""Nothing is claimed of a slice with fewer queries, nor of one that leaves fewer to compare it with."""

FEW = 5
"""Slices with fewer queries stand in the JSON form only, and their languages in no picture; where all slices of a kind
but the largest hold fewer together, there are none of that kind."""

MANY = 1_000
"""From so many queries on, the interval of a slice is Student's; below it is from resampling (BCa)."""

FOUND = 10
"""A query is found by a profile that has a relevant document among so many of its first."""

MOST = 0.5
"""More than this share of something is called most of it."""

NEARLY_ALL = 0.95
"""From this share on it is called nearly all of it."""

SOME = 0.05
"""Below this share a property of queries or pairs is not worth a sentence."""

LOW_OVERLAP = 0.25
"""A query whose positive holds at most this share of its terms is in the slice of low overlap."""

HIGH_OVERLAP = 0.75
"""From this share on it is in the slice of high overlap."""

SMALL_CORPUS = 1_000
"""In a corpus with fewer documents a recall@100 is read beside what a random order would reach."""

NEAR_CEILING = 0.95
"""From this share of the best possible nDCG@10 on, little room is left above the best profile."""

WEAK = 0.3
"""A correlation that is significant but nearer to 0 is called a weak tendency."""

SAFEGUARDS = 0.25
"""From this share of queries on, positives put into the candidate lists by hand are worth a warning."""

QUESTIONS = 0.5
"""Above this share a task's queries are called questions."""

SHORT_WORDS = 3
"""Queries, and documents, of at most so many words in the median are called short (names, keywords)."""

SENTENCE_WORDS = 25
"""Documents of at most so many words in the median are called sentences."""

PASSAGE_WORDS = 400
"""Documents of at most so many words in the median are called passages; longer ones long texts."""

EXTREMES = 3
"""So many strongest and weakest tasks are named for each profile of a group, in halves of the ranking at most."""
