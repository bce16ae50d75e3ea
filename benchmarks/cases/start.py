"""Row 1: from the command to the first score, and the cost of starting at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from cases import bm25, encoding
from harness.case import Case, Contestant
from harness.inputs import kept

STEELYARD = ("python", "-m", "steelyard")
MTEB = """
import json, sys, warnings
warnings.simplefilter("ignore")
import mteb
from steelyard.compat.mteb import as_mteb_task
from steelyard.datasets import load_any
task = as_mteb_task(load_any(sys.argv[1]))
model = mteb.get_model("mteb/baseline-bm25s")
mteb.evaluate(model, [task], cache=None, show_progress_bar=False, co2_tracker=False)
print(json.dumps({"checks": {}}))
"""


MODEL = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
folder = Path(sys.argv[1])
model = str(folder / "all-MiniLM-L6-v2")
"""
STEELYARD_MODEL = f"""{MODEL}
import steelyard
(result,) = steelyard.evaluate(f"dense:{{model}}", str(folder / "beir"), results="results")
score = result.score
print(json.dumps({{"checks": {{"ndcg_at_10": score}}}}))
"""
MTEB_MODEL = f"""{MODEL}
import mteb
from sentence_transformers import SentenceTransformer
from steelyard.compat.mteb import as_mteb_task
from steelyard.datasets import load_any
task = as_mteb_task(load_any(str(folder / "beir")))
done = mteb.evaluate(SentenceTransformer(model), [task], cache=None, show_progress_bar=False, co2_tracker=False)
score = next(iter(done.task_results[0].scores.values()))[0]["ndcg_at_10"]
print(json.dumps({{"checks": {{"ndcg_at_10": score}}}}))
"""
EVALSCOPE_MODEL = f"""{MODEL}
from evalscope import run_task
tasks = [{{"name": "Made", "data_path": str(folder / "evalscope"), "eval_splits": ["test"]}}]
config = {{"tool": "MTEB", "models": [{{"model_name_or_path": model}}], "eval": {{"custom_tasks": tasks}}}}
run_task({{"eval_backend": "RAGEval", "eval_config": config, "work_dir": "work"}})
(found,) = [path for path in Path("work").rglob("Made.json") if "results" in path.parts]
score = json.loads(found.read_text())["scores"]["test"][0]["ndcg_at_10"]
print(json.dumps({{"checks": {{"ndcg_at_10": score}}}}))
"""


def make(documents: int = 0, queries: int = 0) -> Path:
    """Return a task folder of 2,000 documents and 100 queries; with sizes, one of texts that a model can read."""
    if documents:
        return kept(f"start-model-{documents}x{queries}", lambda folder: _write_readable(folder, documents, queries))
    return kept("start-2000x100", _write)


def _write_readable(folder: Path, documents: int, queries: int) -> None:
    """Write English words in the layout of BEIR and in that of EvalScope; a query is the start of a document."""
    texts = list(dict.fromkeys(encoding.make(2 * documents)))[:documents]
    asked = [(number * 7 % documents, " ".join(texts[number * 7 % documents].split()[:6])) for number in range(queries)]
    judged = [{"query-id": f"q{n}", "corpus-id": f"c{row}", "score": 1} for n, (row, _) in enumerate(asked)]
    rows = {
        "corpus": [{"_id": f"c{n}", "text": text} for n, text in enumerate(texts)],
        "queries": [{"_id": f"q{n}", "text": text} for n, (_, text) in enumerate(asked)],
        "qrels": judged,
    }
    shutil.copytree(encoding.folder(), folder / "all-MiniLM-L6-v2")
    for layout in ("beir", "evalscope"):
        (folder / layout).mkdir()
        for name, some in rows.items():
            if name != "qrels" or layout == "evalscope":
                lines = [json.dumps(one) for one in some]
                (folder / layout / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, one.values())) for one in judged)]
    (folder / "beir" / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write(folder: Path) -> None:
    texts, asked, rows, _ = bm25.make(2000, 100, "en")
    for name, some in (("corpus", texts), ("queries", asked)):
        lines = [json.dumps({"_id": f"{name[0]}{n}", "text": text}) for n, text in enumerate(some)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    judged = [f"q{query}\tc{row}\t1" for query, row in enumerate(rows.tolist())]
    lines = ["query-id\tcorpus-id\tscore", *judged]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


BARE = Contestant("python -c pass", ("python", "-c", "pass"))
CASES = [
    Case(
        1,
        "start-help",
        "steelyard --help against a bare interpreter",
        (Contestant("steelyard", (*STEELYARD, "--help")), BARE),
        rounds=15,
        by="cpu",
        target=1 / 3,
        reason="The peer is an interpreter that does nothing: a limit, not a competitor.",
        memory_reason="It imports nothing.",
    ),
    Case(
        1,
        "start-list-groups",
        "steelyard list groups against a bare interpreter",
        (Contestant("steelyard", (*STEELYARD, "list", "groups")), BARE),
        rounds=15,
        by="cpu",
        target=1 / 8,
        reason="The peer is an interpreter that does nothing: a limit, not a competitor.",
        memory_reason="It imports nothing.",
    ),
    Case(
        1,
        "start-first-score",
        "From the command to the first score: BM25 on 2,000 documents and 100 queries from a folder",
        (
            Contestant("steelyard", (*STEELYARD, "run", "bm25", "-t", "INPUT", "--quiet")),
            Contestant("mteb", ("python", "-c", MTEB, "INPUT"), "mteb"),
        ),
        rounds=3,
    ),
    Case(
        1,
        "start-model-score",
        "From the command to the score of all-MiniLM-L6-v2 on 300 documents and 30 queries from a folder",
        (
            Contestant("steelyard", ("python", "-c", STEELYARD_MODEL, "INPUT"), "models"),
            Contestant("mteb", ("python", "-c", MTEB_MODEL, "INPUT"), "mteb"),
            Contestant("EvalScope", ("python", "-c", EVALSCOPE_MODEL, "INPUT"), "evalscope"),
        ),
        {"documents": 300, "queries": 30},
        rounds=3,
        tolerance=1e-4,
        note="EvalScope runs mteb; both are started as their documentation shows.",
    ),
]
