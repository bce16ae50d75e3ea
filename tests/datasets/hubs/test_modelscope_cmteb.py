"""C-MTEB from ModelScope, through its real client, from a small server on loopback: names are mapped."""

from __future__ import annotations

from pathlib import Path

import cmteb_parts as parts
from loopback import told_by
from modelscope_server import COMMIT, serve

from steelyard.datasets import catalogue, load_any

SCRIPT = """
import json, sys
from steelyard.datasets import load_any
for name, options in json.loads(sys.argv[1]):
    task = load_any(name, **options)
    print(json.dumps({"name": task.name, "hash": task.content_hash, "source": task.info.source,
                      "revision": task.info.revision}))
"""
TASKS = ("T2Retrieval", "T2Reranking", "STSB", "TNews", "Ocnli", "CLSClusteringS2S")


def test_every_type_in_both_generations_and_then_offline(tmp_path: Path) -> None:
    repositories: dict[str, dict[str, bytes]] = {}
    copies = tmp_path / "copies"
    for task in TASKS:
        entry = catalogue.find(task)
        assert entry is not None
        first = parts.first_generation(entry.type, task, entry.splits)
        found = zip(entry.extra["v1"], first, strict=True)
        every = {facts["hub"]: files for facts, files in found}
        every |= {entry.hub: parts.second_generation(entry.type, task, entry.splits)}
        repositories |= {hub.replace("mteb/", "MTEB/"): files for hub, files in every.items()}
        for hub, files in every.items():
            for name, content in files.items():
                path = copies / hub / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    wanted = [(task, {"generation": generation}) for task in TASKS for generation in ("v2", "v1")]
    with serve(repositories) as scope:
        online = told_by(SCRIPT, tmp_path, wanted, MODELSCOPE_ENDPOINT=scope.url, STEELYARD_HUB="modelscope")
        asked = len(scope.requests)
        offline = told_by(
            SCRIPT, tmp_path, wanted, MODELSCOPE_ENDPOINT=scope.url, STEELYARD_HUB="modelscope", STEELYARD_OFFLINE="1"
        )
        assert len(scope.requests) == asked, "what was loaded once needs no network"
    assert offline == online
    expected = [load_any(task, data_dir=copies).content_hash for task in TASKS for _ in ("v2", "v1")]
    assert [told["hash"] for told in online] == expected, "the data is that of the other hub"
    assert {told["revision"] for told in online} == {COMMIT}, "ModelScope's own commit, not the pinned one"
    assert online[0]["source"] == "MTEB/T2Retrieval" and online[1]["source"] == "C-MTEB/T2Retrieval"
