"""The tables of the pages, with the columns of published pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from steelyard.reports.pages.findings.sentences import language_name, script_name
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS, METRIC_NAMES
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import Draft, FailureMode, ProfileValues, SliceValues, Source, Text
from steelyard.reports.pages.render.blocks import Bullets, Code, Table, table
from steelyard.reports.pages.thresholds import FEW, FEWEST, NEARLY_ALL
from steelyard.results.schema import with_interval
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Interval

LENGTH = re.compile(r" (\[\d+ chars\])$")
"""The length that `with_length` adds to a text."""
MOST_PAIRS = 12
"""Maximum number of rows of the table of pairs of languages."""
MOST_SLICES = 8
"""Maximum number of slices of a dimension in the table, largest first."""
NDCG_COLUMNS = tuple(f"{LABELS[kind]} nDCG@10" for kind in KINDS)


def decimals(value: float | None) -> str:
    """Return a score as text.

    >>> decimals(0.5), decimals(None)
    ('0.5000', '-')
    """
    return "-" if value is None else f"{value:.4f}"


def best_profile(task: TaskValues) -> str:
    """Return the best profile, and those that cannot be distinguished from it."""
    names = [one.label for one in (task.best, *task.tied) if one is not None]
    return " or ".join(names) or "-"


def dataset_information(task: TaskValues) -> Table | None:
    """Return the facts and counts of the set."""
    positives = task.positives
    rows = [
        ("Nano set", task.nano_set),
        ("Backing dataset", task.backing_dataset),
        ("Task / split", task.task),
        ("Hugging Face dataset" if task.on_hub else "Source", task.dataset or "-"),
        ("Language", task.language_label),
        ("Category", task.category),
        ("Queries", f"{task.queries:,}"),
        ("Documents", f"{task.documents:,}"),
        ("Positive qrels", f"{positives.count:,}"),
        ("Positives / query avg", f"{positives.mean:.2f}"),
        ("Positives / query min", f"{positives.min:,}"),
        ("Positives / query median", f"{positives.median:.2f}"),
        ("Positives / query max", f"{positives.max:,}"),
        ("Multi-positive queries", f"{positives.multi_positive_queries:,} ({positives.multi_positive_share:.2%})"),
        ("Query length avg chars", f"{task.query_lengths.characters.mean:.2f}"),
        ("Document length avg chars", f"{task.document_lengths.characters.mean:.2f}"),
    ]
    return table(("Field", "Value"), rows)


def candidate_subsets(task: TaskValues) -> Table | None:
    """Return the scores of each profile."""
    columns = ("Profile", "Config", "nDCG@10", "Hit@10", "Recall@100", "Candidates")
    note = "Recall@100 counts all positives together, as published tables do." if task.profiles else ""
    return table(columns, map(_subset, task.profiles), note)


def _subset(one: ProfileValues) -> tuple[str, ...]:
    scores = (one.ndcg_at_10, one.hit_rate_at_10, one.pooled_recall_at_100)
    return (one.label, one.config, *map(decimals, scores), one.candidates)


def lengths(task: TaskValues) -> Table | None:
    """Return the characters, words and tokens of queries and documents."""
    rows = []
    for what, side in (("Queries", task.query_lengths), ("Documents", task.document_lengths)):
        count = task.queries if what == "Queries" else task.documents
        sampled = f" (of {side.tokens_of:,})" if side.tokens_of < count else ""
        for unit, spread in (("characters", side.characters), ("words", side.words), (f"tokens{sampled}", side.tokens)):
            if spread is not None:
                cells = (f"{spread.mean:.2f}", f"{spread.min:,}", f"{spread.median:.2f}", f"{spread.max:,}")
                rows.append((what, unit, *cells))
    note = (
        f"Tokens: {task.query_lengths.tokenizer}. Words are separated by spaces and punctuation; in scripts without "
        "spaces a Han or kana character, or a cluster of Thai, Lao, Khmer or Burmese, counts as one."
    )
    return table(("Texts", "Unit", "Mean", "Min", "Median", "Max"), rows, note)


def pair_languages(task: TaskValues) -> Table | None:
    """Return the shares of pairs of languages, if there are several and not nearly all are undecided."""
    profile = task.language_profile
    if profile is None or len(profile.pair_languages) < 2 or profile.pair_languages.get(UNDECIDED, 0.0) > NEARLY_ALL:
        return None
    known = [(name, share) for name, share in profile.pair_languages.items() if name != UNDECIDED]
    rows = [_pair(name, share) for name, share in known[:MOST_PAIRS]]
    if rest := known[MOST_PAIRS:]:
        rows.append((f"{len(rest):,} other pairs", "", f"{sum(share for _, share in rest):.2%}"))
    if hidden := profile.pair_languages.get(UNDECIDED):
        rows.append(("one or both undecided", "", f"{hidden:.2%}"))
    return table(("Query language", "Positive's language", "Pairs"), rows)


def _pair(name: str, share: float) -> tuple[str, str, str]:
    query, _, document = name.partition("-")
    return language_name(query), language_name(document), f"{share:.2%}"


def slices(parts: Sequence[SliceValues]) -> Table | None:
    """Return nDCG@10 by slice and profile, with intervals, for the largest slices of each dimension."""
    kinds = [kind for kind in KINDS if any(kind in part.ndcg_at_10 for part in parts)]
    shown = [part for part in parts if part.queries >= FEW and _place(part, parts) < MOST_SLICES]
    left = len(parts) - len(shown)
    rows = (
        (
            part.dimension,
            slice_name(part),
            f"{part.queries:,}",
            *(with_interval(part.ndcg_at_10[kind], part.intervals.get(kind)) for kind in kinds),
            _best(part),
        )
        for part in shown
    )
    columns = ("Slice by", "Value", "Queries", *(f"{LABELS[kind]} nDCG@10" for kind in kinds), "Best profile")
    return table(columns, rows, _rest(left))


def _rest(left: int) -> str:
    if not left:
        return ""
    return f"{left:,} smaller slice{'s are' if left > 1 else ' is'} in the JSON form of this page."


def _place(part: SliceValues, parts: Sequence[SliceValues]) -> int:
    return [other for other in parts if other.dimension == part.dimension].index(part)


def _best(part: SliceValues) -> str:
    if part.queries < FEWEST:
        return "too few to test"
    return " or ".join(LABELS[kind] for kind in (part.best, *part.tied))


def slice_name(part: SliceValues) -> str:
    """Return the name of a slice; languages in English."""
    if part.dimension == "language":
        return language_name(part.name)
    if part.dimension == "languages of the pair":
        return "one or both undecided" if part.name == UNDECIDED else pair_in_words(part.name)
    return script_name(part.name) if part.dimension == "script" else part.name


def pair_in_words(name: str) -> str:
    """Return the languages of a pair in words.

    >>> pair_in_words("ar-en"), pair_in_words("ar-several")
    ('Arabic (ar) to English (en)', 'Arabic (ar) to several languages')
    """
    query, _, document = name.partition("-")
    more = {"several": "several languages", "none": "no document"}
    return f"{language_name(query)} to {more.get(document) or language_name(document)}"


def failure_examples(mode: FailureMode) -> Table | None:
    """Return the queries of a failure mode with ranks and the document that was ranked first."""
    kinds = [kind for kind in KINDS if mode.examples and kind in mode.examples[0].ranks]
    winner = LABELS[mode.examples[0].winner] if mode.examples else ""
    rows = (
        (
            with_length(one.query),
            *("not found" if one.ranks[kind] is None else f"{one.ranks[kind]:,}" for kind in kinds),
            "nothing" if one.won is None else with_length(one.won),
            with_length(one.positive),
        )
        for one in mode.examples
    )
    ranks = (f"{LABELS[kind]} rank" for kind in kinds)
    return table(("Query", *ranks, f"{winner} put first", "Positive document"), rows)


def with_length(text: Text) -> str:
    """Return a text with its full length.

    >>> with_length(Text("where", 5))
    'where [5 chars]'
    """
    return f"{text.text} [{text.characters} chars]"


def example_data(task: TaskValues) -> Table | None:
    """Return a sample of queries with a relevant document."""
    rows = ((with_length(one.query), with_length(one.document)) for one in task.examples)
    return table(("Query", "Positive document"), rows)


def sources(cited: Sequence[Source], first: str = "Title") -> Table | None:
    """Return the sources of the data."""
    return table((first, "Year", "Type", "URL"), ((one.title, one.year, one.type, one.url) for one in cited))


def bibtex(cited: Sequence[Source]) -> Code | None:
    """Return the BibTeX entries of the sources; those of several tasks may have the same key, which gets a number."""
    keys: Counter[str] = Counter()
    entries = []
    for entry in dict.fromkeys(one.bibtex for one in cited if one.bibtex):
        head, comma, rest = entry.partition(",")
        keys[head] += 1
        entries.append(f"{head}{f'-{keys[head]}' if keys[head] > 1 else ''}{comma}{rest}")
    return Code("\n\n".join(entries), "bibtex") if entries else None


def leakage_metadata(task: TaskValues) -> Bullets:
    """Return what is recorded about training."""
    leakage = task.leakage
    return Bullets(
        (
            ("Original train split", leakage.train_split),
            ("Evaluation split origin", leakage.split_origin),
            ("Train/eval overlap audit", leakage.audit),
            ("Leakage note", leakage.note or "not_recorded"),
            ("Multi-positive training", leakage.multi_positive or "not_recorded"),
            ("Useful training data", leakage.useful_data),
        )
    )


def dropped(draft: Draft) -> Table | None:
    """Return the sentences of a draft that failed a check."""
    rows = ((one.heading, one.sentence, one.reason) for one in draft.dropped)
    return table(("Section", "Dropped sentence", "Reason"), rows)


def published(task: TaskValues) -> Table | None:
    """Return our scores and the published ones."""
    words = {True: "inside", False: "outside", None: "-"}
    rows = (
        (
            LABELS[one.kind],
            METRIC_NAMES[one.metric],
            decimals(one.here),
            decimals(one.published),
            signed(one.difference, one.interval),
            words[one.inside],
        )
        for one in task.published
    )
    return table(("Profile", "Metric", "Here", "Published", "Difference", "Published in our interval"), rows)


def signed(difference: float, interval: Interval | None) -> str:
    """Return a difference with its sign and interval.

    >>> signed(0.1, Interval(-0.05, 0.25)), signed(-0.1, None)
    ('+0.1000 [-0.0500, +0.2500]', '-0.1000')
    """
    return f"{difference:+.4f}" + (f" [{interval.low:+.4f}, {interval.high:+.4f}]" if interval else "")
