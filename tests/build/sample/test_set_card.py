"""Sets of several sources: cards that keep hand-written text, mixed licences, `set.yaml`, what publishing refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from build_parts import big_set

from steelyard.build import CandidatePlan, Recipe, build_candidates, prepare_upload, read_set_file, sample_set
from steelyard.cli import main
from steelyard.datasets import load_task, task_cards
from steelyard.datasets.hubs.remote import HubDataset, RemoteSource
from steelyard.datasets.hubs.snapshots import Snapshot
from steelyard.datasets.options import LoadOptions
from steelyard.errors import DataError, UsageError

SMALL = Recipe(queries=5, documents=60)
LICENCES = {"alpha": "mit", "beta": "cc-by-4.0", "gamma": None}
pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Three folders with cards: of two licences, and without one."""
    for number, (name, licence) in enumerate(LICENCES.items()):
        folder = big_set(tmp_path / name, documents=150, queries=12, seed=number)
        front = f"---\nlicense: {licence}\n---\n" if licence else ""
        text = f"The {name} collection has questions of students, with the paragraphs that answer them."
        (folder / "README.md").write_text(f"{front}# {name}\n\n{text}\n", encoding="utf-8")
    return tmp_path


def front(folder: Path) -> dict[str, Any]:
    value = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert isinstance(value, dict)
    return value


def by_hand(folder: Path) -> None:
    """Add text and front matter by hand, outside the generated regions."""
    path = folder / "README.md"
    card = path.read_text(encoding="utf-8")
    card = card.replace("tags:\n- steelyard\n", "pretty_name: Mine\ntags:\n- steelyard\n- exams\n")
    path.write_text(
        card.replace("## How", "## Why\n\nBy hand.\n\n## How", 1) + "\nThe end, by hand.\n", encoding="utf-8"
    )


def test_a_second_source_keeps_text_candidates_and_rows(sources: Path) -> None:
    folder = sources / "Nano"
    sample_set(str(sources / "alpha"), folder, SMALL)
    assert front(folder)["license"] == "mit"
    build_candidates(str(folder), CandidatePlan(("bm25",)))
    by_hand(folder)
    sample_set(str(sources / "beta"), folder, Recipe(queries=4, documents=50))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "\nBy hand.\n" in card and "\nThe end, by hand.\n" in card
    assert "## Candidate subsets" in card and "| alpha | bm25 |" in card
    assert "| alpha | 5 | 12 |" in card and "| beta | 4 | 12 |" in card
    assert "| queries | `5` | `4` |" in card and "recipe 1: alpha; recipe 2: beta" in card
    assert "| alpha | alpha | not recorded | mit |" in card and "| beta | beta | not recorded | cc-by-4.0 |" in card
    facts = front(folder)
    assert (facts["license"], facts["license_name"], facts["pretty_name"]) == ("other", "mixed", "Mine")
    assert facts["tags"] == ["steelyard", "exams"]
    splits = {one["config_name"]: [file["split"] for file in one["data_files"]] for one in facts["configs"]}
    assert splits == {
        "corpus": ["alpha", "beta"], "queries": ["alpha", "beta"], "qrels": ["alpha", "beta"], "bm25": ["alpha"]
    }  # fmt: skip
    tasks = json.loads((folder / "manifest.json").read_text())["tasks"]
    assert {name: own["licence"] for name, own in tasks.items()} == {"alpha": "mit", "beta": "cc-by-4.0"}
    assert [task["id"] for task in yaml.safe_load((folder / "eval.yaml").read_text())["tasks"]] == ["alpha", "beta"]
    assert prepare_upload(folder, "me/Nano").files


def test_several_sources_in_one_command_equal_one_after_the_other(sources: Path) -> None:
    names = [str(sources / name) for name in LICENCES]
    size = ["--queries", "5", "--docs", "60", "-q"]
    assert main(["build", "sample", *names, "-o", str(sources / "a" / "Nano"), *size]) == 0
    for name in names:
        assert main(["build", "sample", name, "-o", str(sources / "b" / "Nano"), *size]) == 0
    files = {
        part: {
            path.relative_to(sources / part): path.read_bytes()
            for path in (sources / part).rglob("*")
            if path.is_file()
        }
        for part in "ab"
    }
    assert files["a"] == files["b"] and len(files["a"]) == 15
    card = (sources / "a" / "Nano" / "README.md").read_text()
    assert front(sources / "a" / "Nano")["license_name"] == "mixed" and "not recorded: gamma" in card


def test_the_card_of_a_source_is_stored_and_quoted(sources: Path) -> None:
    made = sample_set(str(sources / "alpha"), sources / "Nano", SMALL)
    own, source = task_cards(f"{made.folder}::alpha").cards
    assert own.paragraphs == () and source.role == "source"
    assert source.name == "alpha" and source.quote.startswith("The alpha collection") and source.licence == "mit"


def test_sources_of_one_name_need_names(sources: Path) -> None:
    alpha = str(sources / "alpha")
    with pytest.raises(UsageError) as caught:
        sample_set([alpha, alpha], sources / "Nano", SMALL)
    assert caught.value.found == "alpha"
    made = sample_set([f"one={alpha}", f"two={sources / 'beta'}"], sources / "Named", SMALL)
    assert sorted(made.tasks) == ["one", "two"]
    assert load_task(f"{made.folder}::two").name == "Named/two"


SET = """
title: Campus
description: Questions of students at two universities.
licence: cc-by-4.0
options: {queries: 5, docs: 60, seed: 3}
tasks:
  lectures:
    source: ./alpha
    language: el
    description: Lecture notes.
    retrieval_focus: student question to lecture note
    useful_training_data: [forum posts, notes]
    references:
    - {title: "Campus & questions", year: 2021, url: "https://x.y/z", doi: 10.1/x, confidence: human_verified}
  exams:
    source: ./beta
    licence: mit
    options: {queries: 4, mine: bm25, max-positives: 1}
"""


def test_a_set_file_has_names_options_and_metadata(sources: Path) -> None:
    path = sources / "set.yaml"
    path.write_text(SET, encoding="utf-8")
    plan = read_set_file(path)
    assert [task.name for task in plan.tasks] == ["lectures", "exams"]
    lectures, exams = (task.recipe for task in plan.tasks)
    assert lectures is not None and exams is not None
    assert (lectures.queries, lectures.documents, lectures.seed, lectures.mine) == (5, 60, 3, ())
    assert (exams.queries, exams.documents, exams.seed, exams.mine, exams.max_positives) == (4, 60, 3, ("bm25",), 1)
    folder = sources / "NanoCampus"
    assert main(["build", "sample", str(path), "-o", str(folder), "-q"]) == 0
    info = load_task(f"{folder}::lectures").info
    assert (info.name, info.language, info.licence) == ("NanoCampus/lectures", "el", "cc-by-4.0")
    assert info.description == "Lecture notes."
    assert info.metadata.retrieval_focus == "student question to lecture note"
    assert info.metadata.useful_training_data == ("forum posts", "notes")
    assert info.metadata.references[0].doi == "10.1/x"
    other = load_task(f"{folder}::exams")
    assert other.info.licence == "mit" and len(other.queries) == 4 and other.qrels.positives.max() == 1
    card = (folder / "README.md").read_text()
    assert "# Campus\n\nQuestions of students at two universities.\n" in card
    assert "@misc{campus2021," in card and r"Campus \& questions" in card
    path.write_text(SET.replace("Lecture notes.", "Notes of lectures."), encoding="utf-8")
    assert main(["build", "sample", str(path), "-o", str(folder), "-q"]) == 0
    assert load_task(f"{folder}::lectures").info.description == "Notes of lectures."


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("title:", "titel:", "titel"),
        ("    language:", "    langauge:", "langauge"),
        ("{queries: 5", "{querys: 5", "querys"),
        ("{title: ", "{titel: ", "titel"),
        ("docs: 60", "docs: many", "docs"),
        ("seed: 3", "shares: some", "shares"),
        ("docs: 60", "docs: 0", "options"),
        ("source: ./beta", "source: 3", "tasks.exams.source"),
        ("  exams:", "  ex/ams:", "tasks.ex/ams"),
        ("year: 2021", "year: soon", "references.year"),
    ],
)
def test_a_wrong_set_file_is_an_error_with_its_place(sources: Path, old: str, new: str, field: str) -> None:
    path = sources / "set.yaml"
    path.write_text(SET.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        sample_set(str(path), sources / "Nano")
    assert (caught.value.path, caught.value.field) == (str(path), field)
    assert not (sources / "Nano").exists()


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('license: "mit"', 'license: "apache-2.0"', "license"),
        ("corpus/alpha.parquet", "corpus/other.parquet", "configs"),
        ("| alpha | 5 |", "| alpha | 500 |", "How it was sampled"),
        ("| alpha | bm25 | ", "| alpha | bm25 | 9", "Candidate subsets"),
        ('- "en"', '- "fr"', "language"),
    ],
)
def test_publish_refuses_a_card_that_contradicts_the_manifest(sources: Path, old: str, new: str, field: str) -> None:
    folder = sources / "Nano"
    (sources / "alpha" / "task.json").write_text('{"language": "en"}')
    sample_set(str(sources / "alpha"), folder, SMALL)
    build_candidates(str(folder), CandidatePlan(("bm25",)))
    by_hand(folder)
    assert prepare_upload(folder, "me/Nano").files, "text by hand is no contradiction"
    path = folder / "README.md"
    card = path.read_text(encoding="utf-8")
    assert old in card
    path.write_text(card.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        prepare_upload(folder, "me/Nano")
    assert (caught.value.path, caught.value.field) == (str(path), field) and caught.value.hint


def test_a_published_set_keeps_its_metadata(sources: Path) -> None:
    """Loaded from a hub, the manifest of a set is read for description, licence and metadata."""
    (sources / "set.yaml").write_text(SET, encoding="utf-8")
    folder = sample_set(str(sources / "set.yaml"), sources / "NanoCampus").folder
    files = tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))

    class Copied(RemoteSource):
        prefix = "hf://"

        def open(self, repository: str, revision: str | None) -> HubDataset:
            return HubDataset(Snapshot(repository, "0" * 40, files), lambda name, again: folder / name)

    info = Copied(LoadOptions()).load("hf://me/NanoCampus/lectures").info
    assert (info.name, info.source, info.revision) == ("NanoCampus/lectures", "me/NanoCampus", "0" * 40)
    assert (info.licence, info.description) == ("cc-by-4.0", "Lecture notes.")
    assert info.metadata.references[0].year == 2021


def test_progress_never_exceeds_the_corpus(sources: Path) -> None:
    """Of several sources of different sizes, in every stage; candidates count the documents of each model."""
    import io
    import re

    from steelyard.cli._ui.progress import Progress
    from steelyard.cli.build.sample import _stages

    big_set(sources / "large", documents=400, queries=12, seed=9)
    screen = io.StringIO()
    progress = Progress(screen, terminal=True)
    progress.show = lambda share, text: screen.write(f"{share}: {text}\n")  # type: ignore[assignment,method-assign]
    names = [str(sources / "alpha"), str(sources / "large")]
    sample_set(names, sources / "Nano", Recipe(queries=5, documents=60, mine=("bm25",)), progress=_stages(progress))
    counts = re.findall(r"([\d.]+|None): .*: ([\d,]+)(?: of ([\d,]+))? documents", screen.getvalue())
    assert {total for _, _, total in counts} == {"", "400", "150"}
    for share, done, total in counts:
        assert not total or int(done) <= int(total)
        assert share == "None" or float(share) <= 1.0


def test_all_tasks_of_a_config_have_the_same_columns(sources: Path) -> None:
    """With and without titles, with other columns of queries: the datasets library reads every split."""
    datasets = pytest.importorskip("datasets")
    plain = sources / "plain"
    plain.mkdir()
    (plain / "corpus.csv").write_text("_id,text\n" + "".join(f"d{n},text number {n}\n" for n in range(40)))
    (plain / "queries.csv").write_text("_id,text,turn\n" + "".join(f"q{n},number {n}?,x{n}\n" for n in range(9)))
    (plain / "qrels.csv").write_text("query-id,corpus-id\n" + "".join(f"q{n},d{n}\n" for n in range(9)))
    folder = sample_set(str(plain), sources / "Nano", SMALL).folder
    alone = load_task(f"{folder}::plain").content_hash
    sample_set(str(sources / "alpha"), folder, SMALL)
    for config, columns in {"corpus": ["_id", "text", "title"], "queries": ["_id", "text", "turn", "language"]}.items():
        for split in ("plain", "alpha"):
            table = datasets.load_dataset(str(folder), config, split=split, cache_dir=str(sources / "cache"))
            assert sorted(table.column_names) == sorted(columns)
    assert load_task(f"{folder}::plain").content_hash == alone, "empty titles are no titles"
    assert prepare_upload(folder, "me/Nano").files


def test_facts_of_a_set_file_do_not_reveal_the_folder_of_a_source(sources: Path) -> None:
    """A path next to facts is recorded as the name of the file, as it is without facts."""
    rows = [
        {"question": f"Where is river {n}?", "context": f"River {n} is in the valley of the hills."} for n in range(9)
    ]
    (sources / "src").mkdir()
    (sources / "src" / "rivers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    tasks = {"described": {"source": "src/rivers.jsonl", "language": "en"}, "plain": "src/rivers.jsonl"}
    (sources / "set.yaml").write_text(yaml.safe_dump({"tasks": tasks}), encoding="utf-8")
    folder = sample_set(str(sources / "set.yaml"), sources / "NanoRivers", SMALL).folder
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["tasks"]
    assert {name: one["source"] for name, one in facts.items()} == dict.fromkeys(tasks, "rivers.jsonl")
    assert facts["described"]["language"] == "en"
    assert "huggingface.co" not in (folder / "README.md").read_text(encoding="utf-8")
