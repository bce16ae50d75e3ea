"""A task and training pairs that a trainer on two cores reads in no time."""

from __future__ import annotations

from steelyard.types import Task

WORDS = ["river", "mountain", "ocean", "forest", "desert", "island", "valley", "glacier", "volcano", "canyon"]
TASK = Task.of(
    "Mine/places",
    {f"d{place}": f"An article about a {word} and its animals." for place, word in enumerate(WORDS)},
    {f"q{place}": f"What lives near a {word}?" for place, word in enumerate(WORDS)},
    {f"q{place}": {f"d{place}": 1} for place in range(len(WORDS))},
    language="en",
)
PAIRS = {
    "anchor": [f"Tell me about the {word}" for word in WORDS] * 2,
    "positive": [f"The {word} is a place in nature" for word in WORDS] * 2,
}
