"""One's own data of all six types: formats, column names, files and splits, options, and how the type is told."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cmteb_parts as parts
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli import main
from steelyard.datasets import check, load_any, profile, task_facts, task_names
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.results import ResultStore
from steelyard.types import Task
from steelyard.types.samples import ClusterTask, LabelTask, PairTask

Columns = dict[str, list[Any]]


def tabs(columns: Columns) -> bytes:
    return parts.delimited(columns).replace(b",", b"\t")


def packed(columns: Columns) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as out:
        out.write(parts.jsonl(columns))
    return bytes(stream.getvalue())


def array(columns: Columns) -> bytes:
    return b"[" + b",".join(parts.jsonl(columns).splitlines()) + b"]"


FORMATS: dict[str, Callable[[Columns], bytes]] = {
    "jsonl": parts.jsonl,
    "json": array,
    "csv": parts.delimited,
    "tsv": tabs,
    "parquet": parts.parquet,
    "jsonl.gz": lambda columns: gzip.compress(parts.jsonl(columns)),
    "jsonl.zst": packed,
    "csv.gz": lambda columns: gzip.compress(parts.delimited(columns)),
}
PAIRS: Columns = {"sentence1": ["a cat", "一只狗", "x"], "sentence2": ["the cat", "狗", "y"], "score": [4.5, 3, 0]}
TEXTS: Columns = {"text": [f"text {i}" for i in range(20)], "label": [i % 4 for i in range(20)]}


def write(path: Path, columns: Columns) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(FORMATS[path.name.split(".", 1)[1]](columns))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_pairs_in_every_format(tmp_path: Path, form: str) -> None:
    task = load_any(f"sts:{write(tmp_path / f'mine.{form}', PAIRS)}")
    assert isinstance(task, PairTask) and task.gold.tolist() == [4.5, 3.0, 0.0]
    assert (task.first, task.second) == (tuple(PAIRS["sentence1"]), tuple(PAIRS["sentence2"]))
    assert (task.name, task.info.type, task.info.split) == ("local/mine", "sts", "test")


@pytest.mark.parametrize("form", FORMATS)
def test_labels_in_every_format_are_the_same_labels(tmp_path: Path, form: str) -> None:
    """CSV knows no types: what reads as a whole number in every row is one."""
    task = load_any(f"clustering:{write(tmp_path / f'mine.{form}', TEXTS)}")
    assert isinstance(task, ClusterTask) and task.problems[0].labels[:2] == ((0,), (1,)) and task.bootstrap is None
    other = write(tmp_path / f"words.{form}", {**TEXTS, "label": [*("one", "2") * 10]})
    words = load_any(f"clustering:{other}")
    assert isinstance(words, ClusterTask) and words.problems[0].labels[:2] == (("one",), ("2",))


@pytest.mark.parametrize(
    "names",
    [("text1", "text2", "similarity"), ("sent1", "sent2", "label"), ("Sentence1", "SENTENCE2", "Score")],
    ids="-".join,
)
def test_usual_names_of_columns(tmp_path: Path, names: tuple[str, str, str]) -> None:
    columns = dict(zip(names, PAIRS.values(), strict=True))
    assert load_any(write(tmp_path / "x.jsonl", columns), type="sts").content_hash == _expected(tmp_path)


def _expected(tmp_path: Path) -> str:
    return load_any(write(tmp_path / "expected.parquet", PAIRS), type="sts").content_hash


def test_pairs_as_lists_of_one_row(tmp_path: Path) -> None:
    listed = {name: [values] for name, values in PAIRS.items()}
    assert load_any(write(tmp_path / "x.jsonl", listed), type="sts").content_hash == _expected(tmp_path)


TRAIN: Columns = {"text": [f"learn {i}" for i in range(30)], "label": [["good", "bad"][i % 2] for i in range(30)]}
TEST: Columns = {"text": ["fine", "poor"], "label": ["good", "bad"]}


def test_classification_from_files_folder_column_or_share(tmp_path: Path) -> None:
    train, test = write(tmp_path / "f/train.csv", TRAIN), write(tmp_path / "f/test.jsonl", TEST)
    both = load_any(f"classification:{train},{test}")
    assert isinstance(both, LabelTask) and (both.name, len(both.train_texts), both.labels) == (
        *("local/f", 30),
        ("good", "bad"),
    )
    assert (both.samples_per_label, both.experiments) == (8, 10)
    assert load_any(tmp_path / "f").content_hash == both.content_hash, "a folder with both is told by its columns"
    joined = {name: [*TRAIN[name], *TEST[name]] for name in TRAIN} | {"split": ["train"] * 30 + ["dev"] * 2}
    column = load_any(f"classification:{write(tmp_path / 'one.jsonl', joined)}")
    assert column.content_hash == both.content_hash and column.info.split == "dev"
    alone = f"classification:{write(tmp_path / 'alone.csv', TRAIN)}"
    divided = load_any(f"{alone}?share=0.4&samples_per_label=3&experiments=2")
    assert isinstance(divided, LabelTask) and (len(divided.texts), len(divided.train_texts)) == (12, 18)
    assert sorted(divided.labels).count("bad") == 6, "each label keeps its share"
    assert not set(divided.texts) & set(divided.train_texts)
    assert (divided.samples_per_label, divided.experiments) == (3, 2) and "seed 42" in divided.info.description
    again, other = load_any(f"{alone}?share=0.4"), load_any(f"{alone}?share=0.4&seed=1")
    assert isinstance(again, LabelTask) and isinstance(other, LabelTask)
    assert again.texts == divided.texts != other.texts


@pytest.mark.slow
@given(st.lists(st.sampled_from("abc"), min_size=6, max_size=60).filter(lambda labels: len(set(labels)) > 1))
def test_a_share_leaves_every_label_something_to_learn_from(labels: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "x.jsonl", {"text": [f"t{i}" for i in range(len(labels))], "label": labels})
        task = load_any(path, type="classification")
    assert isinstance(task, LabelTask)
    assert set(task.train_labels) == set(labels) and len(task.texts) + len(task.train_texts) == len(labels)
    assert dict(zip((*task.texts, *task.train_texts), (*task.labels, *task.train_labels), strict=True)) == {
        f"t{i}": label for i, label in enumerate(labels)
    }


def test_clusters_in_rows_flat_and_in_levels(tmp_path: Path) -> None:
    rows = load_any(f"clustering:{write(tmp_path / 'rows.jsonl', dict(parts.clusters('x')))}")
    assert isinstance(rows, ClusterTask) and [len(problem) for problem in rows.problems] == [5, 5]
    levels: list[Any] = [["a", "b"], ["a"], ["c", None], ["c", "d"]]
    path = write(tmp_path / "levels.jsonl", {"text": ["1", "2", "3", "4"], "labels": levels})
    deep = load_any(f"clustering:{path}?rounds=3&documents=all")
    assert isinstance(deep, ClusterTask) and deep.problems[0].labels == (("a", "b"), ("a",), ("c",), ("c", "d"))
    assert deep.bootstrap is not None and (deep.bootstrap.rounds, deep.bootstrap.documents) == (3, None)
    drawn = load_any(f"clustering:{tmp_path / 'rows.jsonl'}?bootstrap=true&documents=0.5")
    assert isinstance(drawn, ClusterTask) and len(drawn.problems) == 1 and len(drawn) == 10
    assert drawn.bootstrap is not None and drawn.bootstrap.documents == 0.5


def test_reranking_rows_get_the_ids_of_mteb(tmp_path: Path) -> None:
    task = load_any(f"reranking:{write(tmp_path / 'r.jsonl', dict(parts.reranked('x')))}")
    assert isinstance(task, Task) and task.info.type == "reranking"
    assert task.queries.ids == ("test_query0", "test_query1", "test_query2") and task.queries.texts[2] == "x?3"
    listed = [task.corpus.ids[row] for row in task.candidates["top_ranked"].rows_of(0)]
    assert listed == [*(f"apositive_test_query0_0000{i}" for i in range(2)), *(f"negative_test_query0_0000{i}" for i in range(3))]  # fmt: skip  # noqa: E501
    assert task.qrels.positives.tolist() == [2, 2, 2]


def test_reranking_of_a_folder_with_candidates(tmp_path: Path) -> None:
    files = {
        "corpus.jsonl": parts.jsonl({"_id": ["a", "b"], "text": ["one", "two"]}),
        "queries.jsonl": parts.jsonl({"_id": ["q"], "text": ["which"]}),
        "qrels.tsv": b"query-id\tcorpus-id\tscore\nq\ta\t1\n",
        "top_ranked.jsonl": parts.jsonl({"query-id": ["q"], "corpus-ids": [["b", "a"]]}),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    task = load_any(tmp_path, type="reranking")
    assert isinstance(task, Task) and task.info.type == "reranking" and list(task.candidates) == ["top_ranked"]
    assert task_names([str(tmp_path)], type="reranking") == [f"reranking:{tmp_path}"]
    assert load_any(f"retrieval:{tmp_path}").info.type == "retrieval"


# Which type it is


@pytest.mark.parametrize(
    ("columns", "type"),
    [
        (PAIRS, "sts"),
        ({"text1": ["a", "b"], "text2": ["c", "d"], "label": [0, 1]}, "pair_classification"),
        (dict(parts.clusters("x")), "clustering"),
        (dict(parts.reranked("x")), "reranking"),
        ({**TEXTS, "split": ["train", "test"] * 10}, "classification"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_type_is_told_by_the_columns(tmp_path: Path, columns: Columns, type: str, form: str) -> None:
    path = write(tmp_path / f"x.{form}", columns)
    assert task_names([str(path)]) == [f"{type}:{path}"] and load_any(path).info.type == type


def test_the_type_is_told_by_a_sidecar_or_a_card(tmp_path: Path) -> None:
    write(tmp_path / "a/items.jsonl", TEXTS)
    with pytest.raises(DataError):
        load_any(tmp_path / "a" / "..")
    (tmp_path / "a" / "task.json").write_text(
        json.dumps({"type": "clustering", "languages": ["eng"], "name": "named", "bootstrap": True, "rounds": 4})
    )
    task = load_any(tmp_path / "a")
    assert isinstance(task, ClusterTask) and (task.name, task.info.language) == ("local/named", "en")
    assert task.bootstrap is not None and task.bootstrap.rounds == 4
    write(tmp_path / "b/items.jsonl", TEXTS)
    (tmp_path / "b" / "README.md").write_text("---\ntype: classification\n---\n# Mine\n")
    assert load_any(tmp_path / "b").info.type == "classification"


def test_texts_with_labels_need_a_word(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", TEXTS)
    with pytest.raises(UsageError):
        load_any(path)
    assert task_names([str(path)], type="clustering") == [f"clustering:{path}"]
    facts = task_facts(f"clustering:{path}")
    assert facts is not None and facts.type == "clustering"


def test_splits_of_a_folder(tmp_path: Path) -> None:
    for split, score in (("train", 1.0), ("dev", 2.0), ("test", 3.0)):
        write(tmp_path / "s" / f"{split}.jsonl", {**PAIRS, "score": [score, 0.0, 1.0]})
    folder = tmp_path / "s"
    assert _first(load_any(f"sts:{folder}")) == 3.0 and _first(load_any(f"sts:{folder}::validation")) == 2.0
    assert load_any(f"sts:{folder}::dev").name == "local/s:dev"
    with pytest.raises(UnknownName):
        load_any(f"sts:{folder}::eleven")


def _first(task: object) -> float:
    assert isinstance(task, PairTask)
    return float(task.gold[0])


def test_wrong_references_are_helped(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", PAIRS)
    with pytest.raises(UnknownName, match=r"'max_scroe'.*'max_score'"):
        load_any(f"sts:{path}?max_scroe=5")
    with pytest.raises(UsageError, match=r"share.*0.*1.*2"):
        load_any(f"classification:{path}?share=2")
    with pytest.raises(DataError):
        load_any(f"sts:{tmp_path / 'y.jsonl'}")
    with pytest.raises(UsageError, match="2"):
        load_any(f"sts:{path},{path}")
    with pytest.raises(UnknownName):
        load_any(path, type="stss")


# On the command line


def test_show_and_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "x.jsonl", PAIRS)
    assert main(["show", str(path), "--type", "sts"]) == 0
    said = capsys.readouterr().out
    assert "local/x" in said and "a cat" in said and "checked" in said and "-> 4.5" in said
    for columns, type, part in ((TEXTS, "classification", "train_labels"), (TEXTS, "clustering", "labels")):
        (checked,) = check(f"{type}:{write(tmp_path / 'y.jsonl', columns)}")
        assert checked.good and checked.task is not None
        assert profile(checked.task)[part]["distinct"] == 4
    assert main(["show", f"clustering:{tmp_path / 'y.jsonl'}", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["profile"]["labels"]["counts"] == {"0": 5, "1": 5, "2": 5, "3": 5} and told["good"]


@pytest.mark.slow
def test_list_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "benchmarks", "--type", "sts", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)
    # One split of each, as in MTEB(cmn, v1).
    assert (only["benchmark"], only["tasks"], only["evaluations"]) == ("C-MTEB", 7, 7)
    assert main(["run", "bm25", "-b", "C-MTBE", "--no-report"]) == 2
    assert "did you mean 'C-MTEB'" in capsys.readouterr().err


@pytest.mark.slow
def test_run_on_ones_own_data_and_a_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from steelyard.datasets import catalogue

    path = write(tmp_path / "mine.jsonl", PAIRS)
    for entry in catalogue.groups()["C-MTEB"]:
        if entry.type == "sts":
            for name, content in parts.samples("sts", entry.info.task, entry.splits).items():
                (tmp_path / "data" / entry.hub / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "data" / entry.hub / name).write_bytes(content)
    arguments = ["run", "dense", "-t", str(path), "-b", "C-MTEB", "--type", "sts", "--data-dir", str(tmp_path / "data")]
    with pytest.MonkeyPatch().context() as patch:
        patch.setenv("STEELYARD_DATA", "")  # the flag sets it: it is to be gone afterwards
        patch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
        code = main([*arguments, "-o", str(tmp_path / "results"), "--json", "--no-report", "-q"])
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    names = [result.task for result in ResultStore(tmp_path / "results").all() if result.done]
    assert code == 0, printed.err
    assert len(told["results"]) == len(names) == 8
    assert {"local/mine", "C-MTEB/ATEC", "C-MTEB/LCQMC"} < set(names) and not any(":" in name for name in names)
