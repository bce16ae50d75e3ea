"""Find data revisions of mteb's tasks that have the same data in another format, from statistics that mteb recorded.

    python benchmarks/studies/same_data.py MTEB_REPOSITORY

mteb 2.0 converted many datasets and gave them new revisions under the same task name. Before and after it, mteb
recorded statistics: the number of documents and queries, the mean lengths of their texts and the relevant documents per
query, or the numbers of samples and characters. Two revisions have the same data if the counts of rows are equal and
lengths differ by at most 0.02 % on every split. In one commit after 2.0, mteb moved datasets to its own organisation of
the hub: where only address and revision of the dataset changed, the revisions count as one by mteb's word. Other
revisions are not listed: the leaderboard treats them as other data. Writes `src/steelyard/warehouse/same_data.json`.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

OLD, NEW = ("57c1c1272", "1.38.9", "8c27b8010^", "45114a584^"), "c07c289b0"
"""mteb in July 2024, with statistics in the task files; in May 2025, with files of statistics; on the way to 2.0 before
it uploaded the reranking tasks again (#2097), and before it uploaded the datasets with code again (#3161); 2.0.0."""
MOVED = "55d6103b0"
"""Moves datasets to the organisation mteb (#4172)."""
TOLERANCE = 2e-4
DISPUTED = ("BelebeleRetrieval", "FloresBitextMining", "HagridRetrieval", "NTREXBitextMining")
DISPUTED += ("TwitterHjerneRetrieval", "WikipediaRetrievalMultilingual")
"""Tasks whose scores were reported to differ for all that (mteb issue 5228, results pull request 687)."""
TARGET = Path(__file__).parents[2] / "src/steelyard/warehouse/same_data.json"


class History:
    """Files of a git repository at a commit."""

    def __init__(self, repository: str) -> None:
        self._repository = repository

    def _git(self, *arguments: str, given: str = "") -> bytes:
        command = ["git", "-C", self._repository, *arguments]
        return subprocess.run(command, input=given.encode(), capture_output=True, check=True).stdout

    def files(self, commit: str, folder: str, ending: str) -> dict[str, str]:
        """Return the texts of the files below a folder, by path."""
        listed = self._git("ls-tree", "-r", "--name-only", commit, folder).decode().splitlines()
        paths = [path for path in listed if path.endswith(ending)]
        content = self._git("cat-file", "--batch", given="".join(f"{commit}:{path}\n" for path in paths))
        texts_of, start = {}, 0
        for path in paths:
            end = content.index(b"\n", start)
            header = content[start:end].split()
            start = end + 1
            if header[-1] != b"missing":
                size = int(header[2])
                texts_of[path] = content[start : start + size].decode("utf-8", "replace")
                start += size + 1
        return texts_of

    def revisions(self, commit: str) -> dict[str, tuple[str, str]]:
        """Return the data revision of every task, and the source of its metadata."""
        revision_of = {}
        for source in self.files(commit, "mteb/tasks", ".py").values():
            for part in source.split("TaskMetadata(")[1:]:
                name, revision = re.search(r'name="([^"]+)"', part), re.search(r'"revision":\s*"([0-9a-f]{40})"', part)
                if name and revision:
                    revision_of[name[1]] = (revision[1], part)
        return revision_of

    def statistics(self, commit: str) -> dict[str, dict[str, Any]]:
        """Return the recorded statistics of every task by split."""
        files = self.files(commit, "mteb/descriptive_stats", ".json")
        return {Path(path).stem: json.loads(content) for path, content in files.items()}


def in_source(part: str) -> dict[str, Any]:
    """Return the statistics inside the metadata of a task, as mteb had them in 2024."""
    match = re.search(r'"avg_character_length":\s*(\{.*?\n            \})', part, re.DOTALL)
    try:
        return dict(ast.literal_eval(match[1])) if match else {}
    except (ValueError, SyntaxError):
        return {}


def numbers(split: Any) -> dict[str, float]:
    """Return what is known of: documents, queries, mean lengths, relevant documents per query; samples, characters."""
    if not isinstance(split, dict):
        return {}
    names = ("num_documents", "num_queries", "average_document_length", "average_query_length")
    names = (*names, "average_relevant_docs_per_query", "num_samples", "number_of_characters")
    values = {name: float(split[name]) for name in names if isinstance(split.get(name), int | float)}
    for kind, texts in (("document", "documents_text_statistics"), ("query", "queries_text_statistics")):
        if texts_of := split.get(texts):
            mean = texts_of["average_text_length"]
            values[f"average_{kind}_length"] = mean
            plural = {"document": "num_documents", "query": "num_queries"}[kind]
            values[plural] = round(texts_of["total_text_length"] / mean) if mean else 0
    if relevant := split.get("relevant_docs_statistics"):
        values["average_relevant_docs_per_query"] = relevant["average_relevant_docs_per_query"]
    return values


def same(old: dict[str, float], new: dict[str, float]) -> bool:
    """Return whether enough is known on both sides, and it is equal."""
    shared = set(old) & set(new)
    enough = {"num_samples", "number_of_characters"} <= shared or {"num_documents", "num_queries"} <= shared
    counts = {name for name in shared if name.startswith("num_")}
    return enough and all(
        old[name] == new[name] if name in counts else abs(old[name] - new[name]) <= TOLERANCE * abs(old[name])
        for name in shared
    )


def recomputed(split: Any) -> bool:
    """Return whether the statistics have the form of mteb 2.0, so that they are of the converted data."""
    return isinstance(split, dict) and any(
        name.endswith("_statistics") and isinstance(value, dict) for name, value in split.items()
    )


def moved(history: History) -> dict[str, set[str]]:
    """Return the revisions of tasks whose dataset was moved: nothing but its path and revision changed."""
    before, after = history.revisions(f"{MOVED}^"), history.revisions(MOVED)
    address = re.compile(r'"(path|revision)":\s*"[^"]+"')
    return {
        task: {before[task][0], revision}
        for task, (revision, part) in after.items()
        if task in before
        and before[task][0] != revision
        and task not in DISPUTED
        and address.sub("", before[task][1]) == address.sub("", part)
    }


def main(repository: str) -> None:
    history = History(repository)
    current, now = history.revisions(NEW), history.statistics(NEW)
    revisions_of: dict[str, set[str]] = {}
    for commit in OLD:
        statistics = history.statistics(commit)
        for task, (revision, part) in history.revisions(commit).items():
            before, after = statistics.get(task) or in_source(part), now.get(task) or {}
            pairs = [(before[split], after[split]) for split in after if split in before]
            known = [recomputed(b) and not recomputed(a) and same(numbers(a), numbers(b)) for a, b in pairs]
            if task in DISPUTED or task not in current or revision == current[task][0]:
                continue
            if known and all(known):
                revisions_of.setdefault(task, {current[task][0]}).add(revision)
    for task, revisions in moved(history).items():
        revisions_of[task] = revisions_of.get(task, set()) | revisions
    content = {task: sorted(revisions) for task, revisions in sorted(revisions_of.items())}
    TARGET.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{len(content)} tasks")


if __name__ == "__main__":
    main(sys.argv[1])
