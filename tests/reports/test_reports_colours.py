"""Colours of reports and pages, computed from the style sheet: apart for every kind of sight, clear of the paper."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from steelyard.reports.components.charts import SERIES_CLASSES
from steelyard.types import Float64

# Machado, Oliveira and Fernandes (2009), full severity, applied to linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)

APART = 10
"""Least distance of two colours (CIE76)."""
CLEAR = 3
"""Least contrast with the paper (WCAG, graphical objects)."""
READABLE = 4.5
"""Least contrast of text with the paper (WCAG AA)."""


def schemes() -> dict[str, dict[str, Float64]]:
    """The variables of the style sheet as linear RGB, light first, then dark."""
    text = resources.files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    light, dark = ({name: linear(value) for name, value in re.findall(r"--(\w+): (#\w{6});", root)} for root in roots)
    return {"light": light, "dark": dark}


def linear(colour: str) -> Float64:
    """Linear RGB of `#rrggbb`."""
    encoded = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.asarray(np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4))


def lab(rgb: Float64) -> Float64:
    """CIE L*a*b* of linear RGB."""
    relative = (XYZ @ np.clip(rgb, 0, 1)) / XYZ.sum(axis=1)
    bent = np.where(relative > (6 / 29) ** 3, np.cbrt(relative), relative / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


def contrast(a: Float64, b: Float64) -> float:
    """WCAG's contrast of two colours."""
    lighter, darker = sorted((float(XYZ[1] @ a), float(XYZ[1] @ b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_measures_give_known_values() -> None:
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert contrast(linear("#ffffff"), linear("#000000")) == pytest.approx(21)
    assert contrast(linear("#767676"), linear("#ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_series_are_told_apart(scheme: str, sight: str) -> None:
    colours = schemes()[scheme]
    seen = [lab(SIGHT[sight] @ colours[f"s{number}"]) for number in range(SERIES_CLASSES)]
    distances = {(a, b): np.linalg.norm(seen[a] - seen[b]) for a, b in combinations(range(SERIES_CLASSES), 2)}
    nearest = min(distances, key=lambda couple: distances[couple])
    assert distances[nearest] >= APART, f"s{nearest[0]} and s{nearest[1]}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_stands_out_from_the_paper(scheme: str) -> None:
    colours = schemes()[scheme]
    for number in range(SERIES_CLASSES):
        assert contrast(colours[f"s{number}"], colours["paper"]) >= CLEAR, f"s{number}"
    for name in ("ink", "soft", "good", "bad", "accent"):  # accent is the colour of links
        assert min(contrast(colours[name], colours[back]) for back in ("paper", "wash")) >= READABLE, name
