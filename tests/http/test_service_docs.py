"""The page on services names every option with its default, every shape with its fields, every note."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from steelyard.encoders.backends import api
from steelyard.encoders.backends.api_texts import ApiTexts
from steelyard.http.secrets import OWNERS
from steelyard.http.traffic import Traffic
from steelyard.http.usage import Usage
from steelyard.retrievers.rerank import api as rerank_api

PAGE = (Path(__file__).parents[2] / "docs" / "services.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]
ROW_OF = {name: row for row in ROWS for name in re.findall(r"`([^`]+)`", row[0])}


@pytest.mark.parametrize(
    "option", sorted({*api.OWN_OPTIONS, *rerank_api.OWN_OPTIONS, *ApiTexts.names(), *Traffic.names()})
)
def test_every_option_has_a_row(option: str) -> None:
    assert len(ROW_OF[option]) == 3


def test_defaults_are_as_told() -> None:
    for option in fields(Traffic):
        told = ROW_OF[option.name][2].split(";")[0].strip()
        assert told == ("none" if option.default is None else f"{option.default:g}"), option.name
    assert f"reranking {rerank_api.BATCH_SIZE}" in ROW_OF["batch_size"][2]


@pytest.mark.parametrize("shape", rerank_api.SHAPES)
def test_every_shape_has_a_row(shape: str) -> None:
    asked = re.findall(r"`([^`]+)`", next(row for row in ROWS if row[0] == f"`{shape}`" and len(row) == 4)[1])
    assert asked == list(rerank_api.SHAPES[shape].body("model", "query", ["document"]))


def test_every_key_and_note_is_told() -> None:
    for variable in OWNERS:
        assert f"`{variable}`" in PAGE
    usage = Usage(1.0, 1.0)
    usage.request(1.0)
    usage.tokens(1, 1)
    usage.tokens(None)
    usage.fault("429", retried=True)
    for note in usage.take():
        assert note in ROW_OF, note
