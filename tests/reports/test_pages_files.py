"""Pages as files: Markdown that nothing breaks out of, HTML that fetches nothing, JSON that says all, in a browser."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pages_parts import as_lists, ranked_task

from steelyard.cli import main
from steelyard.datasets import write_nano_set
from steelyard.reports.pages import GroupValues, measure_group, measure_task, write_pages
from steelyard.reports.pages.findings.sentences import TEMPLATES
from steelyard.reports.pages.measure import diagnosis_values, page_values, part_values
from steelyard.reports.pages.render.blocks import Page, Section, Table
from steelyard.reports.pages.render.html_page import html_page
from steelyard.reports.pages.render.json_page import JSON_NAMES, limits
from steelyard.reports.pages.render.markdown import markdown
from steelyard.reports.pages.render.task_page import task_page
from steelyard.types import Corpus, Queries, Task

DOCS = Path(__file__).parents[2] / "docs" / "pages.md"
PAGES = Path(part_values.__file__).parents[1]
NASTY = "pipes | and\nlines <script>alert('سؤال')</script> [link](x) *bold* `code` \\ $x$"


def nasty_group() -> GroupValues:
    task, profiles = ranked_task({"bm25": [40, 0, 1] * 10, "dense": [1, 0, 30] * 10, "hybrid": [1, 20, 2] * 10})
    corpus = Corpus(task.corpus.ids, (NASTY, *task.corpus.bodies[1:]))
    queries = Queries(task.queries.ids, tuple(f"{NASTY} {i}" for i in range(len(task.queries))))
    info = dataclasses.replace(task.info, description=NASTY)
    return measure_group("NanoToy", [measure_task(Task(info, corpus, queries, task.qrels), profiles)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pages")
    write_pages(nasty_group(), home)
    return home / "NanoToy"


class Checker(HTMLParser):
    """Fails on a tag that is closed in the wrong place; keeps what would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [value or "" for name, value in attrs if name == "src" or (name == "href" and tag != "a")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["index", "ranks"])
def test_html_is_whole_and_fetches_nothing(folder: Path, name: str) -> None:
    text = (folder / f"{name}.html").read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.fetched == []
    assert "script" not in checker.tags
    assert not re.search(r"@import|url\(", text)
    pictures = re.findall(r'<svg viewBox[^>]*class="chart[^>]*>', text)
    assert pictures
    assert all('role="img"' in one and 'aria-label="' in one for one in pictures)


def test_markdown_keeps_its_tables_whatever_the_texts_hold(folder: Path) -> None:
    lines = (folder / "ranks.md").read_text(encoding="utf-8").splitlines()
    assert "<script" not in "\n".join(lines)
    width = 0
    seen = 0
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        width = width or cells
        assert cells == width, line
        seen += following.startswith("|")
    assert seen > 30


def test_a_length_runs_from_left_to_right_after_any_text() -> None:
    cells = ("أين يقع النهر؟ [14 chars]", "where is it? [12 chars]")
    page = Page("Toy", "toy", (Section("Example Data", (Table(("Query", "Positive document"), (cells,)),)),))
    html = html_page(page)
    assert '<td dir="auto" data-label="Query">أين يقع النهر؟ <bdi dir="ltr">[14 chars]</bdi></td>' in html
    assert '<td dir="auto" data-label="Positive document">where is it? <bdi dir="ltr">[12 chars]</bdi></td>' in html
    row = markdown(page).splitlines()[-1]
    assert row == "| \u2068أين يقع النهر؟\u2069 \u2066\\[14 chars\\]\u2069 | where is it? \\[12 chars\\] |"


def test_the_pictures_of_markdown_are_there_and_are_xml(folder: Path) -> None:
    named = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (folder / "ranks.md").read_text(encoding="utf-8"))
    assert {name.split(".")[-2] for name in named} >= {"scores", "ranks", "overlap", "queries-lengths"}
    for name in named:
        root = ElementTree.fromstring((folder / name).read_text(encoding="utf-8"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.attrib["aria-label"]


def test_json_holds_every_figure_and_every_sentence(folder: Path) -> None:
    value = json.loads((folder / "ranks.json").read_text(encoding="utf-8"))
    assert (value["schema_version"], value["kind"]) == (page_values.PAGE_SCHEMA, "task")
    assert set(value["figures"]) == {
        JSON_NAMES.get(field.name, field.name) for field in dataclasses.fields(page_values.TaskValues)
    }
    assert value["thresholds"] == limits()
    html = (folder / "ranks.html").read_text(encoding="utf-8")
    for one in value["findings"]:
        assert one["kind"] in TEMPLATES
        if "&" not in one["sentence"] and "<" not in one["sentence"] and "'" not in one["sentence"]:
            assert one["sentence"] in html
    group = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    assert group["figures"]["tasks"] == ["NanoToy/ranks"]


def test_numbers_of_a_sentence_come_from_its_finding() -> None:
    """Take the figures away and no number is left but those that the template itself names."""
    for _, one in task_page(nasty_group().tasks[0]).findings:
        fixed = set(re.findall(r"\b\d+\b", re.sub(r"\{[^}]*\}", "", TEMPLATES[one.kind])))
        assert fixed <= {"10", "100", "101", "1"}, one.kind


def test_every_kind_of_finding_has_a_template_and_every_template_a_finding() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(PAGES.rglob("*.py")) if path.stem != "sentences")
    for kind in TEMPLATES:
        assert f'"{kind}"' in code, f"no finding makes {kind}"
    for kind in re.findall(r'finding\(\s*"(\w+)"', code):
        assert kind in TEMPLATES


def test_the_documentation_names_every_field_and_threshold() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, value in limits().items():
        assert re.search(rf"`{name}`\s*\|\s*{re.escape(f'{value:,}')}\s*\|", text), (
            f"{name} = {value} is not in {DOCS.name}"
        )
    for kind in [*vars(part_values).values(), *vars(diagnosis_values).values(), *vars(page_values).values()]:
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind.__module__.endswith("values"):
            for field in dataclasses.fields(kind):
                name = JSON_NAMES.get(field.name, field.name)
                assert f"`{name}`" in text, f"{kind.__name__}.{field.name} is not documented"


def test_the_same_figures_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for path in write_pages(nasty_group(), tmp_path):
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    task, profiles = ranked_task({"bm25": [1, 2]}, name="../index")
    files = write_pages(measure_group("..", [measure_task(task, profiles)]), tmp_path / "out", ["json"])
    assert [path.relative_to(tmp_path / "out").as_posix() for path in files] == ["_../index.json", "_../index_.json"]


def nano_set(folder: Path, *, lists: bool) -> None:
    task, profiles = ranked_task(
        {"bm25": [40, 0, 1], "dense": [1, 0, 30], "hybrid": [1, 20, 2]}, name="NanoCMTEB/medical"
    )
    names = ("bm25", "harrier", "reranking_hybrid")
    stored = {name: as_lists(one.run) for name, one in zip(names, profiles, strict=True)} if lists else {}
    write_nano_set(folder, [Task(task.info, task.corpus, task.queries, task.qrels, stored)])


def test_the_verb_reads_stored_lists_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nano_set(tmp_path / "set", lists=True)
    words = ["pages", str(tmp_path / "set"), "-o", str(tmp_path / "out"), "--results", str(tmp_path / "results")]
    assert main([*words, "--against", "NanoCMTEB", "--format", "md,json"]) == 0
    home = tmp_path / "out" / "NanoCMTEB"
    assert sorted(path.name for path in home.glob("*.[mj]*")) == [
        "index.json",
        "index.md",
        "medical.json",
        "medical.md",
    ]
    assert not (tmp_path / "results").exists()
    published = json.loads((home / "medical.json").read_text(encoding="utf-8"))["figures"]["published"]
    assert {(one["kind"], one["metric"]) for one in published} >= {("bm25", "ndcg_at_10"), ("hybrid", "ndcg_at_10")}
    assert published[0]["published"] == pytest.approx(0.3582, abs=1e-4)
    assert main([*words, "--against", "NanoCMTEX"]) == 2
    assert "NanoCMTEB" in capsys.readouterr().err
    assert main([*words, "--format", "pdf"]) == 2


def test_the_verb_searches_where_there_are_no_lists_and_only_once(tmp_path: Path) -> None:
    nano_set(tmp_path / "set", lists=False)
    words = ["pages", str(tmp_path / "set"), "-o", str(tmp_path / "out"), "--results", str(tmp_path / "results"), "-q"]
    assert main(words) == 0
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.run.parquet")}
    assert len(runs) == 3
    before = {path.name: path.read_bytes() for path in (tmp_path / "out" / "NanoCMTEB").iterdir()}
    assert main(words) == 0
    assert runs == {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.run.parquet")}
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "out" / "NanoCMTEB").iterdir()}
    value = json.loads(before["medical.json"])
    assert value["figures"]["profiles"][0]["config"] == "bm25"
    assert not any(one["stored"] for one in value["figures"]["profiles"])


def test_a_broken_task_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, profiles = ranked_task({"bm25": [1, 2, 3]}, name="NanoToy/good")
    second, _ = ranked_task({"bm25": [1, 2, 3]}, name="NanoToy/bad")
    stored = {name: as_lists(profiles[0].run) for name in ("bm25", "harrier", "reranking_hybrid")}
    tasks = [Task(one.info, one.corpus, one.queries, one.qrels, stored) for one in (first, second)]
    write_nano_set(tmp_path / "set", tasks)
    (tmp_path / "set" / "qrels" / "bad.parquet").write_bytes(b"no Parquet")
    assert main(["pages", str(tmp_path / "set"), "-o", str(tmp_path / "out")]) == 1
    assert (tmp_path / "out" / "NanoToy" / "good.html").exists()
    assert not (tmp_path / "out" / "NanoToy" / "bad.html").exists()
    assert "bad.parquet" in capsys.readouterr().err


def test_the_record_of_an_audit_is_read_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nano_set(tmp_path / "set", lists=True)
    record = tmp_path / "set" / "metadata" / "medical.audit.json"
    record.parent.mkdir(exist_ok=True)
    record.write_text('{"training_data": "mC4", "queries_found": 2, "documents_found": 0}', encoding="utf-8")
    words = ["pages", str(tmp_path / "set"), "-o", str(tmp_path / "out"), "--format", "json"]
    assert main(words) == 0
    value = json.loads((tmp_path / "out" / "NanoCMTEB" / "medical.json").read_text(encoding="utf-8"))
    assert value["figures"]["leakage"]["audit"] == "audited: 2 queries and 0 documents found in mC4"
    record.write_text('{"training_data": "mC4"}', encoding="utf-8")
    assert main(words) == 1
    assert "queries_found" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["index", "ranks"])
def test_a_browser_draws_the_page(folder: Path, tmp_path: Path, name: str) -> None:
    """Chromium opens the file from disk: headings are there, every picture has a size, nothing is fetched."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert browser, "Chromium is not installed: apt install chromium"
    page = tmp_path / f"{name}.html"
    probe = (
        "<script>document.title = [...document.querySelectorAll('svg.chart')]"
        ".filter(one => one.getBoundingClientRect().height > 40).length + ' drawn, '"
        " + performance.getEntriesByType('resource').length + ' fetched'</script></body>"
    )
    original = (folder / f"{name}.html").read_text(encoding="utf-8")
    page.write_text(original.replace("</body>", probe), encoding="utf-8")
    quiet = "--no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-quic"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", *quiet.split()]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    title = re.search(r"<title>(\d+) drawn, (\d+) fetched</title>", done.stdout)
    assert title is not None, done.stdout[:500]
    assert int(title[1]) == len(re.findall(r'class="chart\b', original)) > 0
    assert title[2] == "0"
    for heading in re.findall(r"<h2>([^<]+)</h2>", original):
        assert f"<h2>{heading}</h2>" in done.stdout
