"""The catalogue as shipped: complete, unique, and true to figures published elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from steelyard.cli import main
from steelyard.datasets import catalogue

CMTEB = ("C-MTEB", "C-MTEB.v2")


def test_all_groups_and_tasks_are_there() -> None:
    nano = [entry for entry in catalogue.entries().values() if entry.group not in CMTEB]
    assert len(nano) == 569 and len({entry.group for entry in nano}) == 38
    assert [len(catalogue.groups()[group]) for group in CMTEB] == [31, 9]
    assert len({(entry.hub, entry.split) for entry in nano}) == 569, "no task twice under two names"


def test_names_are_unique_and_end_in_the_task() -> None:
    rows = sum(len(members) for members in catalogue.groups().values())
    assert rows == len(catalogue.entries()) == 609
    for name, entry in catalogue.entries().items():
        assert entry.info.name == name
        if entry.group not in CMTEB:
            assert entry.info.task == entry.split
    assert "MNanoBEIR/NanoBEIR-ar/NanoArguAna" in catalogue.entries()
    assert catalogue.entries()["MNanoBEIR/NanoBEIR-ar/NanoArguAna"].info.group == "MNanoBEIR/NanoBEIR-ar"


def test_aliases_never_hide_a_name() -> None:
    assert not catalogue.aliases().keys() & catalogue.entries().keys()
    assert set(catalogue.aliases().values()) <= catalogue.entries().keys()
    claims = Counter(alias for entry in catalogue.entries().values() for alias in entry.aliases)
    assert [alias for alias, count in claims.items() if count > 1] == []
    assert catalogue.aliases()["CMedQAv2"] == "C-MTEB/CMedQAv2-reranking"


# From the published pages of the tasks: queries, documents, nDCG@10 of BM25, dense and hybrid.
PUBLISHED = {
    "NanoMMTEB-v2/belebele": (376, 10_000, 0.0903, 0.2781, 0.1782),
    "NanoMMTEB-v2/ailastatutes": (50, 82, 0.2070, 0.2725, 0.2557),
    "NanoMMTEB-v2/lembpasskey": (100, 100, 0.9963, 0.8463, 0.8525),
    "NanoMMTEB-v2/mlqa": (196, 10_000, 0.0390, 0.0959, 0.0534),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_figures_are_the_published_ones(name: str) -> None:
    entry = catalogue.entries()[name]
    figures = [entry.reference[f"{profile}_ndcg_at_10"] for profile in ("bm25", "dense", "hybrid")]
    found = (entry.counts["queries"], entry.counts["documents"], *(round(figure, 4) for figure in figures))
    assert found == PUBLISHED[name]


def test_the_group_sums_up_as_published() -> None:
    group = catalogue.groups()["NanoMMTEB-v2"]
    sums = [sum(int(entry.counts[key]) for entry in group) for key in ("queries", "documents", "positives")]
    assert (len(group), *sums) == (18, 3_248, 116_569, 9_408)


def test_cmteb_is_pinned_in_both_forms() -> None:
    types = Counter(entry.type for entry in catalogue.groups()["C-MTEB"])
    assert types == {
        "retrieval": 8, "reranking": 4, "pair_classification": 2, "clustering": 4, "sts": 7, "classification": 6,
    }  # fmt: skip
    for entry in catalogue.groups()["C-MTEB"]:
        assert entry.revision and len(entry.revision) == 40 and entry.language == "zh"
        assert all(len(old["revision"]) == 40 for old in entry.extra["v1"]) and entry.extra["main_score"]
    t2 = catalogue.entries()["C-MTEB/T2Retrieval"]
    assert [old["hub"] for old in t2.extra["v1"]] == ["C-MTEB/T2Retrieval", "C-MTEB/T2Retrieval-qrels"]
    assert t2.ignore_identical_ids and not catalogue.entries()["C-MTEB/DuRetrieval"].ignore_identical_ids


def test_figures_are_in_range() -> None:
    for entry in catalogue.entries().values():
        assert all(0.0 <= value <= 1.0 for value in entry.reference.values())
        if "queries" in entry.counts:
            assert entry.counts["positives"] >= entry.counts["queries"]


def test_reading_it_imports_nothing_heavy() -> None:
    code = (
        "import sys; from steelyard.datasets import catalogue; catalogue.entries();"
        "print(sorted({'numpy', 'pyarrow', 'huggingface_hub'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_tasks_of_c_mteb_have_the_facts_of_evalscopes_table() -> None:
    entries = catalogue.groups()["C-MTEB"]
    categories = {"retrieval": {"s2p"}, "reranking": {"s2p"}, "clustering": {"s2s", "p2p"}}
    for entry in entries:
        facts = entry.extra
        assert facts["text_category"] in categories.get(entry.type, {"s2s"})
        assert facts["link"].startswith("https://") or facts["link"].startswith("http://")
        assert entry.info.description == facts["description"] != ""
        count = entry.counts.get("queries", entry.counts.get("samples"))
        assert ("samples_note" in facts) == (count != facts["evalscope_samples"]), entry.name
    assert len(entries) == 31 and sum("samples_note" in entry.extra for entry in entries) == 16
    table = Path(__file__).parents[3] / "shared" / "seeds" / "003_evalscope_mteb_guide.txt"
    if table.exists():  # the table itself
        row = re.compile(r"\| \[(\w+)\]\((.*?)\) \|.*?\|.*?\| .*? \| (s2s|s2p|p2p) \| ([\d,]+) \|")
        rows = {match[1]: match.groups() for match in map(row.match, table.read_text().splitlines()) if match}
        assert len(rows) == 31
        for name, link, category, samples in rows.values():
            entry = catalogue.find(name)
            assert entry is not None and (entry.extra["link"], entry.extra["text_category"]) == (link, category)
            assert entry.extra["evalscope_samples"] == int(samples.replace(",", ""))


def test_the_facts_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "tasks", "--group", "C-MTEB", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    facts = {"text_category", "description", "link", "evalscope_samples"}
    assert len(rows) == 31 and all(facts <= set(row) for row in rows)
    assert main(["show", "MMarcoRetrieval", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (
        shown["evalscope_samples"] == shown["counts"]["dev"]["positives"] == 7437
        and "judgements" in shown["samples_note"]
    )
