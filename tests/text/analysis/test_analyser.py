"""Terms of identifiers do not depend on the texts that were analysed before."""

from __future__ import annotations

from functools import partial

import pytest

from steelyard.text.analysis import identifiers
from steelyard.text.analysis.analyser import stem
from steelyard.text.analysis.identifiers import Identifiers, split_identifier
from steelyard.text.tokenizer.spans import keys_of_strings


@pytest.mark.parametrize("limit", [0, 3, 1 << 17])
def test_terms_of_identifiers_are_the_same_when_names_come_again(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Identifiers, "LIMIT", limit)
    names = Identifiers(partial(stem, "english"))
    parts = [["getUsers", "count", "s"], ["count", "HTTPServers"], [], ["getUsers", "s", "running_tests"]]
    expected = [[stem("english", split_identifier(name)) for name in part] for part in parts]
    tokens = [names.parts(part) for part in parts]
    assert [one.lists(len(part)) for one, part in zip(tokens, parts, strict=True)] == expected
    assert all((one.keys == keys_of_strings(one.distinct)).all() for one in tokens)
    assert expected[0][0] == ["get", "user", "getus"]


def test_an_interrupt_does_not_leave_terms_with_the_numbers_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Identifiers(partial(stem, "english"))
    names.parts(["count"])
    with monkeypatch.context() as patched:
        patched.setattr(identifiers, "keys_of_strings", interrupt)
        with pytest.raises(KeyboardInterrupt):
            names.parts(["getUsers"])
    tokens = names.parts(["httpServer", "count"])
    assert tokens.lists(2) == [stem("english", split_identifier("httpServer")), ["count"]]
    assert tokens.keys is not None and (tokens.keys == keys_of_strings(tokens.distinct)).all()


def interrupt(_: object) -> None:
    raise KeyboardInterrupt
