"""What SECURITY.md promises about the source as a whole, and that every test it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from source_tree import nodes

ROOT = Path(__file__).parents[2]
CODE_LOADERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Return the module, the dotted name and the node of every call."""
    return [
        (f"{module}:{node.lineno}", ast.unparse(node.func), node)
        for module, all_nodes in nodes().items()
        for node in all_nodes
        if isinstance(node, ast.Call)
    ]


def keywords(call: ast.Call) -> dict[str, str]:
    return {keyword.arg or "**": ast.unparse(keyword.value) for keyword in call.keywords}


def test_no_module_reads_pickles() -> None:
    for module, all_nodes in nodes().items():
        for node in all_nodes:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert CODE_LOADERS.isdisjoint(name.partition(".")[0] for name in names), module
    for place, name, call in calls():
        if name == "np.load":
            assert keywords(call).get("allow_pickle") == "False", place
        assert name not in ("torch.load", "pd.read_pickle"), place


def test_no_module_runs_text_as_code_or_a_shell() -> None:
    for place, name, call in calls():
        assert name not in ("eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"), place
        assert keywords(call).get("shell", "False") == "False", place


def test_remote_code_is_never_on_by_itself() -> None:
    found = 0
    for place, _, call in calls():
        value = keywords(call).get("trust_remote_code")
        if value is not None:
            found += 1
            assert value != "True", place
    assert found


def test_certificates_are_always_checked() -> None:
    for place, name, call in calls():
        assert not name.endswith("_create_unverified_context"), place
        assert keywords(call).get("verify") != "False", place


NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "SECURITY.md").read_text("utf-8"))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_test_of_the_threat_model_exists(file: str, test: str) -> None:
    assert f"def {test}" in (ROOT / file).read_text("utf-8")


def test_the_threat_model_names_tests() -> None:
    assert len(NAMED) >= 10
