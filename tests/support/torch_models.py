"""Tiny models with random weights, built by the libraries' own classes, for tests that load them by path."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast

WORDS = (
    *("the", "a", "of", "in", "is", "what", "who", "where", "river", "mountain", "city", "salt", "iron", "gold"),
    *("king", "queen", "bridge", "tower", "book", "letter", "music", "bread", "wine", "wool", "ship", "harbour"),
    *("winter", "summer", "north", "south", "old", "new", "great", "small", "red", "blue"),
)


def tokenizer(folder: Path) -> BertTokenizerFast:
    """Words, the letters that spell all others, punctuation, and the marks of BERT."""
    letters = [mark + letter for letter in string.ascii_lowercase for mark in ("", "##")]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.punctuation, *letters, *WORDS]
    path = folder / "vocab.txt"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(dict.fromkeys(vocabulary)), encoding="utf-8")
    return BertTokenizerFast(vocab=str(path), model_max_length=64)


def save_bert(folder: Path, *, masked: bool = False, seed: int = 0) -> Path:
    """A BERT of two layers and 32 dimensions; `masked` has the head that predicts words."""
    words = tokenizer(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    torch.manual_seed(seed)
    model: Any = (BertForMaskedLM if masked else BertModel)(config)
    # The weights that BERT starts from are so small that every text looks like every other.
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(8)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


DOCUMENTS = {
    f"d{number}": text
    for number, text in enumerate(
        [
            "The old bridge of the city is red.",
            "A great king, a small queen!",
            "Salt and iron in the north mountain",
            "What is bread? Bread is old; wine is new.",
            "The ship in the harbour of the south",
            "Winter music: the tower of gold",
            "a",
            "",
            "The letter of the queen. " * 9,
            "Wool, wool, wool (and wine).",
        ]
    )
}
QUESTIONS = {
    "q0": "where is the red bridge",
    "q1": "who is the king",
    "q2": "iron",
    "q3": "what music in winter?",
    "q4": "the letter",
}
RELEVANT = {"q0": {"d0"}, "q1": {"d1"}, "q2": {"d2", "d9"}, "q3": {"d5"}, "q4": {"d8", "d6"}}


def save_cross_encoder(folder: Path) -> None:
    """Write a tiny cross-encoder with random weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    words = tokenizer(folder)
    torch.manual_seed(3)
    settings = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, num_labels=1, initializer_range=0.5,
    )  # fmt: skip
    BertForSequenceClassification(settings).save_pretrained(folder)
    words.save_pretrained(folder)
