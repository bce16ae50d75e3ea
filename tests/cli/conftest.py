"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steelyard.errors import SteelyardError


@pytest.fixture
def error_of() -> Callable[..., SteelyardError]:
    """Runs a command that must fail and returns its error, to look at its type and fields."""
    from steelyard.cli import _run_verb
    from steelyard.cli._ui.output import Output

    def run(*words: str) -> SteelyardError:
        with pytest.raises(SteelyardError) as caught:
            _run_verb(list(words), Output())
        return caught.value

    return run
