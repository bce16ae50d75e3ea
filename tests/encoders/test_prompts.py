"""Prompts that a model names after tasks and types of task: chosen as mteb chooses them, told in the result."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch_models
from hypothesis import given, settings
from hypothesis import strategies as st
from mteb.models.abs_encoder import get_prompt_name
from mteb.types import PromptType

from steelyard import evaluate, load_retriever
from steelyard.encoders.prompts import task_prompt_name
from steelyard.retrievers.composite import for_task
from steelyard.types import Corpus, Qrels, Queries, Role, Task, TaskInfo
from steelyard.types.samples import PairTask
from steelyard.types.task_info import MTEB_TYPES as TYPES

NAMES = [f"{name}{role}" for name in ("TNews", *TYPES.values()) for role in ("", "-query", "-document")]
PROMPTS = {"query": "q: ", "Retrieval-query": "find: ", "STS": "compare: ", "Mine": "mine: ", "Mine-document": "text: "}
DOCUMENTS = ("the old bridge", "a great king", "salt and iron")
pytestmark = pytest.mark.usefixtures("own_home")


@settings(max_examples=200)
@given(st.sets(st.sampled_from(NAMES)), st.sampled_from(sorted(TYPES)), st.sampled_from(["query", "document", "text"]))
def test_the_name_is_the_one_that_mteb_finds(names: set[str], type: str, role: Role) -> None:
    own: dict[str, str | None] = dict.fromkeys(names, "x")
    metadata = cast(Any, SimpleNamespace(name="TNews", type=TYPES[type]))
    theirs = get_prompt_name(cast(Any, own), metadata, None if role == "text" else PromptType(role))
    assert task_prompt_name(own, TaskInfo("C-MTEB/TNews:validation", type=type), role) == theirs


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = torch_models.save_bert(tmp_path_factory.mktemp("models") / "prompted")
    from sentence_transformers import SentenceTransformer

    whole = SentenceTransformer(str(folder), prompts=PROMPTS)
    whole.save(str(folder.parent / "whole"))
    return folder.parent / "whole"


def sts(name: str = "My/sts") -> PairTask:
    return PairTask(TaskInfo(name, type="sts"), DOCUMENTS, DOCUMENTS[::-1], np.array([0.0, 1.0, 0.5]))


def retrieval(name: str) -> Task:
    corpus = Corpus.of(["a", "b", "c"], list(DOCUMENTS))
    return Task(TaskInfo(name), corpus, Queries(("q",), ("old bridge",)), Qrels.of([0], [0], [1], queries=1))


def told(model: str, *tasks: Any) -> list[dict[str, str]]:
    results = evaluate(model, list(tasks))
    assert all(result.done for result in results), [result.error for result in results]
    return [dict(result.settings["model_settings"]["prompts"]) for result in results]


def test_each_task_has_its_own_and_the_result_says_which(model: Path) -> None:
    assert told(f"dense:{model}", sts(), retrieval("My/search"), retrieval("My/Mine")) == [
        {"query": "compare: ", "document": "compare: ", "text": "compare: "},
        {"query": "find: ", "document": ""},
        {"query": "mine: ", "document": "text: ", "text": "mine: "},
    ]


def test_what_is_asked_for_counts_before(model: Path) -> None:
    assert told(f"dense:{model}?text_prompt=", sts()) == [{"query": "q: ", "document": ""}]
    assert told(f"dense:{model}?query_prompt=x", retrieval("My/search")) == [{"query": "x", "document": ""}]


def test_vectors_are_those_of_the_library_with_that_prompt(model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    mine = cast(Any, for_task(load_retriever(f"dense:{model}"), sts().info))
    vectors, _ = mine.embed(list(DOCUMENTS), "text")
    theirs = SentenceTransformer(str(model)).encode(list(DOCUMENTS), prompt="compare: ")
    assert np.allclose(vectors, theirs, atol=1e-5)
    plain, _ = cast(Any, load_retriever(f"dense:{model}")).embed(list(DOCUMENTS), "text")
    assert not np.allclose(vectors, plain, atol=1e-3), "vectors under another prompt are stored by themselves"


def test_parts_and_variants_go_by_the_task_too(model: Path) -> None:
    whole = load_retriever(f"[bm25, dense:{model}]")
    fused = for_task(whole, TaskInfo("My/search"))
    assert "find: " in json.dumps(fused.settings) and "find: " not in json.dumps(whole.settings)
    assert for_task(load_retriever("bm25"), TaskInfo("My/search")).name == "bm25"
    short = cast(Any, for_task(load_retriever(f"dense:{model}?truncate_dim=16"), TaskInfo("My/search")))
    assert short.encoder.settings["prompts"]["query"] == "find: "


def test_stored_results_are_announced_with_the_prompts_of_each_task(model: Path, tmp_path: Path) -> None:
    from steelyard.engine.events import Event, Planned

    tasks, events = [sts(), retrieval("My/search"), retrieval("My/Mine")], list[Event]()
    evaluate(f"dense:{model}", tasks, results=tmp_path / "results")
    evaluate(f"dense:{model}", tasks, results=tmp_path / "results", progress=events.append)
    assert Planned(models=1, tasks=3, stored=3) in events


def test_mteb_gets_the_vectors_of_its_task(model: Path) -> None:
    import mteb

    from steelyard.compat.mteb import as_mteb_model, as_mteb_task

    task = sts()
    done = mteb.evaluate(as_mteb_model(f"dense:{model}"), [as_mteb_task(task)], cache=None, show_progress_bar=False)
    (ours,) = evaluate(f"dense:{model}", task)
    scores = done.task_results[0].scores["test"][0]
    assert scores["cosine_pearson"] == pytest.approx(ours.mteb["cosine_pearson"], abs=1e-6)


def test_instructions_by_task_are_the_prompt_of_queries(tmp_path):
    from steelyard.encoders.instructions import OPTIONS as INSTRUCTIONS
    from steelyard.encoders.prompts import OPTIONS, all_prompts
    from steelyard.errors import DataError, UsageError
    from steelyard.options import Options
    from steelyard.types import TaskInfo

    (tmp_path / "i.toml").write_text('"NanoX/en" = "find rivers"\nsts = "compare"\n')
    options = Options("x", {"instructions": str(tmp_path / "i.toml")}, (*OPTIONS, *INSTRUCTIONS))
    own = {"query": "query: ", "document": "passage: "}
    english, other = (all_prompts(own, options, info=TaskInfo(name)) for name in ("NanoX/en", "NanoX/de"))
    assert english == {"query": "Instruct: find rivers\nQuery: ", "document": "passage: "}
    assert other["query"] == "query: ", "a task without an instruction has the model's own prompt"
    short = Options("x", {"instructions": "find", "instruction_template": "{instruction}: "}, (*OPTIONS, *INSTRUCTIONS))
    assert all_prompts(own, short)["query"] == "find: "
    for value, error in (("missing.json", UsageError), (str(tmp_path / "bad.json"), DataError)):
        (tmp_path / "bad.json").write_text("[1]")
        with pytest.raises(error):
            all_prompts(own, Options("x", {"instructions": value}, (*OPTIONS, *INSTRUCTIONS)))
