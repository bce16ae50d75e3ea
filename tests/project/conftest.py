"""What the tests of the project share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import source_tree


@pytest.fixture(scope="package", autouse=True)
def _source_tree() -> Iterator[None]:
    """Free the syntax trees of the source afterwards."""
    yield
    source_tree.trees.cache_clear()
    source_tree.nodes.cache_clear()
