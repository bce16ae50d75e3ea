"""Notes of a person and drafts of a model, from a chat service on loopback that also lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import serve_chat
from pages_parts import ranked_task

from steelyard.config import Settings
from steelyard.errors import DataError, ModelError, UsageError
from steelyard.reports.pages import TaskValues, measure_task
from steelyard.reports.pages.prose.checking import Facts, problem, split_sentences
from steelyard.reports.pages.prose.drafting import Writer
from steelyard.reports.pages.prose.notes import parse_notes, read_notes, similar_headings, with_notes
from steelyard.reports.pages.render.blocks import Note
from steelyard.reports.pages.render.html_page import html_page
from steelyard.reports.pages.render.markdown import markdown
from steelyard.reports.pages.render.task_page import task_page

FACTS = Facts(
    (
        "BM25 nDCG@10 = 0.4546",
        "Dense nDCG@10 = 0.5197",
        "Reranking hybrid nDCG@10 = 0.6290",
        "The task NanoToy/ranks has 600 queries and 1,440 documents.",
        "16.67% of queries are in Hindi (hi).",
        "The queries are in 6 languages.",
    ),
    frozenset({"English", "Hindi"}),
    {"BM25": 0.4546, "Dense": 0.5197, "Reranking hybrid": 0.6290},
)

TRUE = [
    "The task has 600 queries in six languages.",
    "Dense reaches an nDCG@10 of 0.52, while BM25 stays at 0.4546.",
    "About 17% of the queries are in Hindi.",
    "BM25 is below Dense, and the hybrid reaches 0.6290.",
    "Reranking hybrid is the strongest profile.",
    "NanoToy/ranks is small.",
    "BM25 is not better than Dense.",
]
LIES = {
    "The task has 700 queries.": "700",
    "The task has 600 documents.": "600",
    "Dense reaches an nDCG@10 of 0.4546.": "0.4546",
    "Dense reaches an nDCG@10 of 0.53.": "0.53",
    "About 18% of the queries are in Hindi.": "18%",
    "The queries are in nine languages.": "9",
    "Most queries are in Swahili.": "Swahili",
    "It was sampled from MIRACL.": "MIRACL",
    "A fine-tuned ColBERT would help.": "ColBERT",
    "Mistral models do better.": "Mistral",
    "Results resemble those on NanoBEIR-en.": "NanoBEIR-en",
    "BM25 outperforms Dense.": "BM25",
    "Dense is below BM25.": "Dense",
    "BM25 is the strongest profile.": "BM25",
}


@pytest.mark.parametrize("sentence", TRUE)
def test_a_sentence_that_follows_from_the_facts_is_kept(sentence: str) -> None:
    assert problem(sentence, FACTS) == ""


@pytest.mark.parametrize("sentence", LIES)
def test_a_lie_is_found_and_named(sentence: str) -> None:
    assert LIES[sentence] in problem(sentence, FACTS)


def test_sentences_are_split_at_their_ends_only() -> None:
    assert split_sentences("It has 0.5 nDCG@10, i.e. half. Dense (0.7) leads.") == [
        "It has 0.5 nDCG@10, i.e. half.",
        "Dense (0.7) leads.",
    ]


def values() -> TaskValues:
    task, profiles = ranked_task({"bm25": [1, 2, 0] * 10, "dense": [1, 1, 3] * 10})
    return measure_task(task, profiles)


def draft_with(answer: Any) -> tuple[Any, list[dict[str, Any]]]:
    measured = values()
    with serve_chat(lambda content: answer) as chat:
        writer = Writer.of(f"api/toy?url={chat.url}&max_retries=0", Settings.load())
        return writer.draft(measured, task_page(measured)), chat.requests


def test_lies_of_a_model_are_dropped_and_listed() -> None:
    dense = next(one for one in values().profiles if one.kind == "dense")
    answer = {
        "Overview": f"Dense is the strongest profile, with an nDCG@10 of {dense.ndcg_at_10:.4f}. BM25 reaches 0.9999.",
        "Model Improvement Notes": "Training on SQuAD helps.",
        "Invented Section": "This heading was not requested.",
    }
    draft, requests = draft_with(f"Here you are:\n```json\n{json.dumps(answer)}\n```")
    assert [note.heading for note in draft.notes] == ["Overview"]
    assert "0.9999" not in draft.notes[0].text and f"{dense.ndcg_at_10:.4f}" in draft.notes[0].text
    assert [(one.heading, one.sentence) for one in draft.dropped] == [
        ("Overview", "BM25 reaches 0.9999."),
        ("Model Improvement Notes", "Training on SQuAD helps."),
    ]
    assert requests[0]["path"] == "/v1/chat/completions" and requests[0]["model"] == "toy"
    assert "nDCG@10" in requests[0]["messages"][-1]["content"]


def test_the_page_says_what_was_drafted_and_what_was_dropped() -> None:
    from dataclasses import replace

    draft, _ = draft_with({"Overview": "It has 30 queries. It has 31 queries."})
    page = task_page(replace(values(), draft=draft))
    text, html = markdown(page), html_page(page)
    assert "It has 30 queries." in text and "Drafted by toy" in text and "Drafted by toy" in html
    assert page.table("Drafted Text").rows[0][1] == "It has 31 queries."


@pytest.mark.parametrize("answer", ["no JSON here", "[1, 2]", "{broken", '{"a":' * 9000 + "}" * 9000], ids=len)
def test_an_answer_without_sections_is_an_error(answer: str) -> None:
    with pytest.raises(ModelError):
        draft_with(answer)


def test_a_writer_needs_a_name() -> None:
    with pytest.raises(UsageError) as error:
        Writer.of("api/", Settings.load())
    assert error.value.option == "--write-with"


def test_notes_are_merged_into_their_sections() -> None:
    notes = parse_notes("First.\n\n## example data\n\nBy *hand*.\n\n# My own section\n\n- a\n- b\n", "notes/ranks.md")
    page = with_notes(task_page(values()), notes)
    blocks = {one.heading: one.blocks for one in page.sections}
    assert blocks["Overview"][0] == Note("First.", "notes/ranks.md")
    assert blocks["Example Data"][0] == Note("By *hand*.", "notes/ranks.md")
    assert page.sections[-1].heading == "My own section"
    html = html_page(page)
    assert "<em>hand</em>" in html and "<li>a</li><li>b</li>" in html
    assert markdown(page).count("notes/ranks.md") == 3


def test_notes_cannot_bring_markup() -> None:
    page = with_notes(task_page(values()), parse_notes("<script>alert(1)</script> [x](javascript:y)", "n.md"))
    assert "<script>" not in html_page(page) and 'href="javascript' not in html_page(page)


def test_a_heading_that_is_nearly_one_of_the_page_is_reported(tmp_path: Path) -> None:
    notes = parse_notes("## Model Improvement Note\nx\n## Something else\ny", "n.md")
    assert similar_headings(task_page(values()), notes) == {"Model Improvement Note": "Model Improvement Notes"}
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DataError) as error:
        read_notes(tmp_path / "bad.md", "bad.md")
    assert error.value.path == str(tmp_path / "bad.md")


def test_notes_and_drafts_survive_a_rebuild(tmp_path: Path) -> None:
    import steelyard

    home = tmp_path / "pages" / "NanoAlmanac"
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "en.md").write_text("Written by hand.", encoding="utf-8")
    (home / "notes" / "index.md").write_text("## Dataset Shape\nAbout the group.", encoding="utf-8")
    arguments: dict[str, Any] = {"results": tmp_path / "results", "formats": "md,json"}
    count = len(steelyard.load_task("NanoAlmanac/en").queries)
    with serve_chat(lambda content: {"Overview": f"It has {count} queries. It has 123 queries."}) as chat:
        name = f"api/toy?url={chat.url}"
        steelyard.build_pages("NanoAlmanac/en", tmp_path / "pages", write_with=name, **arguments)
        steelyard.build_pages("NanoAlmanac/en", tmp_path / "pages", write_with=name, **arguments)
        assert len(chat.requests) == 1  # the values did not change
    built = steelyard.build_pages("NanoAlmanac/en", tmp_path / "pages", **arguments)
    assert built.up_to_date == ["NanoAlmanac/en"] and not built.failures
    text = (home / "en.md").read_text(encoding="utf-8")
    assert (
        "Written by hand." in text and "Drafted by toy" in text and "123 queries" in text.partition("Drafted Text")[2]
    )
    assert "About the group." in (home / "index.md").read_text(encoding="utf-8")
