"""A folder of documents and a table of questions, read as a task, with errors that teach."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli import main
from steelyard.datasets import check, load_task
from steelyard.errors import DataError


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    (folder / "it").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "leave.md").write_text("---\nowner: people\n---\n# Leave\n\nThirty days a year.\n", encoding="utf-8")
    (folder / "canteen.txt").write_text("The canteen opens at eleven.\n", encoding="utf-8")
    page = (
        "<html><head><title>VPN &amp; more</title><script>var x;</script></head><body><h1>VPN</h1><p>Ask the desk.</p>"
    )
    (folder / "it" / "vpn.html").write_text(page, encoding="utf-8")
    (folder / ".hidden" / "old.txt").write_text("nobody reads this", encoding="utf-8")
    return folder


def ask(folder: Path, *rows: str, header: str = "question,file") -> Path:
    path = folder / "questions.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_documents_and_questions_make_a_task(handbook: Path) -> None:
    ask(handbook, "How much leave?,leave.md", "How do I get VPN?,vpn.html", "Lunch?,canteen;leave.md", "Lunch?,it/vpn")
    task = load_task(str(handbook))
    assert task.name == "local/handbook"
    assert task.corpus.ids == ("leave.md", "it/vpn.html", "canteen.txt")
    assert task.corpus.texts == (
        "# Leave\n\nThirty days a year.",
        "VPN & more VPN\nAsk the desk.",
        "The canteen opens at eleven.",
    )
    assert task.queries.texts == ("How much leave?", "How do I get VPN?", "Lunch?")
    found = [[task.corpus.ids[row] for row in task.qrels.rows_of(q)] for q in range(3)]
    assert found == [["leave.md"], ["it/vpn.html"], ["leave.md", "it/vpn.html", "canteen.txt"]]


def test_ids_and_grades_are_kept(handbook: Path) -> None:
    ask(handbook, "x1,How much leave?,leave.md,2", "x1,How much leave?,canteen.txt,0", header="id,question,file,grade")
    task = load_task(str(handbook))
    assert task.queries.ids == ("x1",)
    assert dict(zip(task.qrels.rows.tolist(), task.qrels.grades.tolist(), strict=True)) == {0: 2, 2: 0}


def test_the_questions_may_be_elsewhere(handbook: Path, tmp_path: Path) -> None:
    table = ask(tmp_path, "How much leave?,leave.md")
    assert len(load_task(f"{handbook},{table}").queries) == 1


def test_errors_teach(handbook: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="3") as error:
        load_task(str(handbook))
    assert "question,file" in str(error.value.hint)
    ask(handbook, "How much leave?,leave.md", "Lunch?,cantine.txt")
    with pytest.raises(DataError, match=r"questions\.csv.*2.*'cantine\.txt'.*'canteen\.txt'"):
        load_task(str(handbook))
    (handbook / "it" / "leave.md").write_text("Leave for IT.", encoding="utf-8")
    ask(handbook, "How much leave?,leave")
    with pytest.raises(DataError, match=r"it/leave\.md.*leave\.md"):
        load_task(str(handbook))
    (handbook / "more.csv").write_text("question,file\nLunch?,canteen.txt\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"2.*more\.csv.*questions\.csv"):
        load_task(str(handbook))
    with pytest.raises(DataError):
        load_task(f"{handbook},{tmp_path / 'absent.csv'}")
    with pytest.raises(DataError) as error:  # two tables are documents and questions
        load_task(f"{handbook / 'more.csv'},{handbook / 'questions.csv'}")
    assert error.value.field == "columns"
    with pytest.raises(DataError):
        load_task(f"{tmp_path},{handbook / 'more.csv'}".replace(str(tmp_path) + ",", f"{empty(tmp_path)},"))


def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir(exist_ok=True)
    return folder


def test_a_folder_of_anything_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_text("a", encoding="utf-8")
    with pytest.raises(DataError):
        load_task(str(tmp_path))


def test_bytes_that_are_no_text_are_told(handbook: Path) -> None:
    ask(handbook, "How much leave?,leave.md")
    (handbook / "canteen.txt").write_bytes("Käse".encode("latin-1"))
    (checked,) = check(handbook)
    assert [(problem.kind, problem.file) for problem in checked.report.of("error")] == [("encoding", "canteen.txt")]


def test_one_command_weighs_a_model_on_it(handbook: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(handbook, "When does the canteen open?,canteen.txt", "How many days of leave a year?,leave.md")
    assert main(["run", "bm25", "-t", str(handbook), "-o", str(tmp_path / "r"), "--no-report", "-q", "--json"]) == 0
    assert '"local/handbook"' in capsys.readouterr().out
