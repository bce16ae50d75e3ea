"""Terms of identifiers do not depend on the texts that were analysed before."""

from __future__ import annotations

import pytest

from steelyard.text.analysis import analyser
from steelyard.text.analysis.analyser import split_identifier, stem


@pytest.mark.parametrize("limit", [0, 3, 1 << 17])
def test_terms_of_identifiers_are_the_same_when_names_come_again(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyser._Identifiers, "LIMIT", limit)
    names = analyser._Identifiers()
    parts = [["getUsers", "count", "s"], ["count", "HTTPServers"], [], ["getUsers", "s", "running_tests"]]
    expected = [[stem("english", split_identifier(name)) for name in part] for part in parts]
    assert [names.terms(part) for part in parts] == expected
    assert expected[0][0] == ["get", "user", "getus"]
