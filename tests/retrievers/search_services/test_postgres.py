"""`postgres:` against a real PostgreSQL with pgvector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pg8000.native
import pytest
from search_servers import postgres

import steelyard
from steelyard.config import Settings
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.http.secrets import Secrets
from steelyard.retrievers import load_retriever
from steelyard.retrievers.search_services.postgres.connection import Address, hang_up
from steelyard.retrievers.search_services.postgres.retriever import PostgresRetriever
from steelyard.retrievers.search_services.postgres.schema import check_vectors
from steelyard.retrievers.search_services.postgres.sql import Plan
from steelyard.types import Corpus, Queries, Run, Task, TaskInfo

ENGLISH = TaskInfo("x/y", language="en")
pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(autouse=True)
def _user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "keeper")


@pytest.fixture
def sql(server: str) -> Iterator[pg8000.native.Connection]:
    host, _, rest = server.partition(":")
    connection = pg8000.native.Connection("keeper", host=host, port=int(rest.partition("/")[0]), database="postgres")
    yield connection
    for (name,) in connection.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'steelyard\\_%'"):
        connection.run(f"DROP SCHEMA {name} CASCADE")
    connection.close()


@pytest.fixture(scope="module")
def task(almanac: Task) -> Task:
    return almanac


def schemas(sql: Any) -> list[str]:
    return [name for (name,) in sql.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'steelyard\\_%'")]


def search(model: str, task: Task, top_k: int = 20) -> tuple[Run, dict[str, Any]]:
    index = load_retriever(model).index(task.corpus, task.info)
    assert index.size_bytes >= 0
    return index.search(task.queries, top_k), dict(index.notes)


def find(model: str, corpus: Corpus, text: str, info: TaskInfo = ENGLISH) -> list[str]:
    run = load_retriever(model).index(corpus, info).search(Queries(("q",), (text,)), 10)
    return [corpus.ids[row] for row in run.rows[0] if row >= 0]


def test_full_text_through_the_engine(task: Task, server: str, sql: Any) -> None:
    (result,) = steelyard.evaluate(f"postgres:{server}", task)
    assert result.done, result.error
    assert result["ndcg_at_10"] > 0.6
    assert result.notes["config"] == "english" and result.notes["latency_ms"]["p50"] > 0
    assert result.index_bytes and result.index_bytes > 0


def test_scores_are_those_of_the_server(task: Task, server: str, sql: Any) -> None:
    """The ranking function, asked by hand, without our schema."""
    run, _ = search(f"postgres:{server}?rank=ts_rank_cd&normalization=2", task, top_k=5)
    for query in (0, 7, 11):
        words = [
            word
            for (word,) in sql.run("SELECT lexeme FROM unnest(to_tsvector('english', :q))", q=task.queries.texts[query])
        ]
        for row, score in zip(run.rows[query], run.scores[query], strict=True):
            if row < 0:
                continue
            ((expected,),) = sql.run(
                "SELECT ts_rank_cd(to_tsvector('english', :d), CAST(:q AS tsquery), 2)",
                d=task.corpus.texts[row],
                q=" | ".join(f"'{word}'" for word in words),
            )
            assert score == pytest.approx(expected, rel=1e-5)


def test_words_by_language_and_operator(server: str, sql: Any) -> None:
    corpus = Corpus.of(["a", "b", "c"], ["die Häuser am See", "ein Haus", "am See"])
    german = TaskInfo("x/y", language="de")
    assert set(find(f"postgres:{server}", corpus, "Häuser See", german)) == {"a", "b", "c"}
    assert find(f"postgres:{server}?operator=and", corpus, "Haus See", german) == ["a"]
    assert find(f"postgres:{server}?operator=websearch", corpus, "See -Haus", german) == ["c"]
    assert set(find(f"postgres:{server}?config=simple", corpus, "Haus", german)) == {"b"}
    with pytest.raises(UsageError) as caught:
        find(f"postgres:{server}?config=klingon", corpus, "x")
    assert (caught.value.option, caught.value.found) == ("config", "klingon")


def test_a_language_without_spaces_is_noted(server: str, sql: Any) -> None:
    corpus = Corpus.of(["a"], ["長江は中国の川です"])
    index = load_retriever(f"postgres:{server}").index(corpus, TaskInfo("x/y", language="ja"))
    assert "ja" in index.notes["words"]


def test_ties_go_to_the_lower_row_also_at_the_cut(server: str, sql: Any) -> None:
    corpus = Corpus.of([f"d{number:03}" for number in range(50)], ["fox"] * 50)
    run = load_retriever(f"postgres:{server}").index(corpus, ENGLISH).search(Queries(("q",), ("fox",)), 3)
    assert run.rows.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    "text", ["it's & | ! ( ) <-> :* \\ '", "", "   ", "\0", "a\tb\\N\n\r", "\ud800", "%s :query $1"]
)
def test_odd_texts_do_no_harm(server: str, sql: Any, text: str) -> None:
    corpus = Corpus.of([f"odd {text}", "plain"], [f"{text} marmot", "badger"])
    assert find(f"postgres:{server}", corpus, f"{text} marmot") == [corpus.ids[corpus.ids.index(f"odd {text}")]]
    find(f"postgres:{server}", corpus, text)


def test_the_corpus_is_stored_once_whole_and_removed_on_request(task: Task, server: str, sql: Any) -> None:
    assert search(f"postgres:{server}", task)[1]["documents_stored"] == len(task.corpus)
    assert search(f"postgres:{server}?rank=ts_rank_cd", task)[1]["documents_stored"] == 0
    assert len(schemas(sql)) == 1
    search(f"postgres:{server}?keep=no", task)
    assert schemas(sql) == []


def test_an_interruption_leaves_nothing_behind(task: Task, server: str, sql: Any) -> None:
    def interrupted(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_retriever(f"postgres:{server}").index(task.corpus, task.info, interrupted)
    assert schemas(sql) == []


def test_two_at_once_store_it_once(task: Task, server: str, sql: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(search, f"postgres:{server}", task) for _ in range(4)]
        stored = [job.result()[1]["documents_stored"] for job in jobs]
    assert sorted(stored) == [0, 0, 0, len(task.corpus)]


def test_vectors_rank_as_exact_search_here(task: Task, server: str, sql: Any) -> None:
    expected, _ = search("dense", task)
    for options in ("", "&search=hnsw&m=8&ef_construction=32"):
        run, notes = search(f"postgres:{server}?dense=use-multilingual-v3{options}", task)
        np.testing.assert_allclose(run.scores, expected.scores, atol=1e-6)
        assert (run.rows == expected.rows).mean() > 0.99
        assert notes["pgvector"].startswith("0.") and notes["query_vectors"]["texts"] == len(task.queries)
    assert len(schemas(sql)) == 2


def test_the_graph_is_used_when_asked_for(task: Task, server: str, sql: Any) -> None:
    plan = Plan(vectors=True, search="hnsw")
    _, notes = search(f"postgres:{server}?dense=use-multilingual-v3&search=hnsw", task)
    for setting in plan.session(10):
        sql.run(setting)
    vector = json.dumps([0.1] * 512)
    lines = sql.run(f"EXPLAIN {plan.statement(notes['schema'])}", vector=vector, k=10)
    assert "using documents_vector_idx" in str(lines)
    sql.run("RESET ALL")


def test_sql_of_your_own(task: Task, server: str, sql: Any, tmp_path: Path) -> None:
    sql.run("CREATE TABLE articles (ref text, body text)")
    for id_, text in zip(task.corpus.ids, task.corpus.texts, strict=True):
        sql.run("INSERT INTO articles VALUES (:id, :body)", id=id_, body=text)
    file = tmp_path / "search.sql"
    try:
        file.write_text(
            "WITH wanted AS (SELECT replace(plainto_tsquery('english', :query::text)::text, '&', '|')::tsquery AS q)\n"
            "SELECT ref, ts_rank(to_tsvector('english', body), q)::float8 FROM articles, wanted\n"
            "WHERE to_tsvector('english', body) @@ q ORDER BY 2 DESC LIMIT :k;\n"
        )
        run, _ = search(f"postgres:{server}?sql={file}", task, top_k=5)
        expected, _ = search(f"postgres:{server}", task, top_k=5)
        np.testing.assert_allclose(run.scores, expected.scores, rtol=1e-6)
        file.write_text("DELETE FROM articles WHERE body <> :query RETURNING ref, :k::int")
        with pytest.raises(ModelError, match="read-only transaction"):
            search(f"postgres:{server}?sql={file}", task)
        file.write_text("SELECT ref FROM articles WHERE body ILIKE '%' || :query || '%' ORDER BY ref LIMIT :k")
        assert search(f"postgres:{server}?sql={file}", task)[0].lengths.sum() == 0
        file.write_text("SELECT ref FROM nowhere WHERE body = :query LIMIT :k")
        with pytest.raises(ModelError, match='relation "nowhere" does not exist'):
            search(f"postgres:{server}?sql={file}", task)
    finally:
        sql.run("DROP TABLE articles")


@pytest.mark.parametrize("text", ["SELECT 1 LIMIT :k", "SELECT :query", "SELECT :vector, :k"])
def test_sql_that_could_not_work(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.sql").write_text(text)
    with pytest.raises(UsageError) as caught:
        load_retriever(f"postgres?sql={tmp_path / 'a.sql'}")
    assert caught.value.option == "sql"


def test_a_server_without_pgvector_says_how_to_get_it(sql: Any) -> None:
    sql.run("CREATE SCHEMA decoy")  # a catalogue in front of the server's own, without the extension
    try:
        sql.run("CREATE VIEW decoy.pg_available_extensions AS SELECT 'plpgsql' AS name")
        sql.run("SET search_path = decoy, pg_catalog, public")
        with pytest.raises(MissingPart, match="pgvector"):
            check_vectors(sql)
        sql.run("RESET search_path")
        assert check_vectors(sql).startswith("0.")
    finally:
        sql.run("DROP SCHEMA decoy CASCADE")


def test_a_slow_query_is_left(task: Task, server: str, sql: Any, tmp_path: Path) -> None:
    file = tmp_path / "slow.sql"
    file.write_text("SELECT pg_sleep(3)::text FROM generate_series(1, :k) WHERE :query <> ''")
    with pytest.raises(MissingPart, match=r"0.3 s"):
        search(f"postgres:{server}?sql={file}&timeout=0.3&retries=0&concurrency=1", task)


def test_a_connection_that_the_server_closes_while_storing_is_an_error(task: Task, server: str, sql: Any) -> None:
    """The driver's own close fails on a dead line, and hid what had happened."""
    lines = []

    def hung_up_on(texts: int) -> None:
        if not lines:
            ours = "pid <> pg_backend_pid() AND application_name = 'steelyard'"
            lines.append(sql.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}"))

    with pytest.raises((MissingPart, ModelError), match=r"postgres at .* (closed|refused)"):
        load_retriever(f"postgres:{server}").index(task.corpus, task.info, hung_up_on)
    assert lines and not schemas(sql)


@pytest.mark.parametrize("dead", [False, True])
def test_hanging_up_leaves_no_socket_to_the_collector(server: str, sql: Any, dead: bool) -> None:
    retriever = load_retriever(f"postgres:{server}")
    assert isinstance(retriever, PostgresRetriever)
    connection = retriever.address.connect()
    line = connection._sock
    if dead:
        sql.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'steelyard'")
        with pytest.raises((pg8000.native.DatabaseError, pg8000.native.InterfaceError, OSError)):
            connection.run("SELECT 1")
    hang_up(connection)
    assert line.closed
    hang_up(connection)


def test_nobody_there_and_nobody_known(task: Task, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingPart, match=r"127\.0\.0\.1:1"):
        search("postgres:127.0.0.1:1/postgres", task)
    monkeypatch.setenv("DATABASE_URL", f"postgresql://keeper:hush-hush@{server.rpartition('/')[0]}/absent")
    retriever = load_retriever("postgres:${DATABASE_URL}")
    with pytest.raises(MissingPart, match='database "absent" does not exist') as caught:
        retriever.index(task.corpus, task.info)
    assert "hush-hush" not in str(caught.value) and "hush-hush" not in json.dumps(dict(retriever.settings))
    monkeypatch.setenv("DATABASE_URL", f"postgresql://keeper:hush-hush@{server}?sslmode=prefer")
    assert retriever.index(task.corpus, task.info).search(task.queries, 5).depth == 5
    host, _, port = server.rpartition("/")[0].partition(":")
    parts = f"host={host}&port={port}&user=keeper&password=hush-hush&dbname=absent"
    monkeypatch.setenv("DATABASE_URL", f"postgresql://nobody@nowhere.invalid/postgres?{parts}")
    with pytest.raises(MissingPart, match='database "absent" does not exist') as caught:
        retriever.index(task.corpus, task.info)
    assert "hush-hush" not in str(caught.value)
    monkeypatch.setenv("DATABASE_URL", f"postgresql://keeper:hush-hush@{server}?sslmode=require")
    with pytest.raises(MissingPart, match="SSL"):
        retriever.index(task.corpus, task.info)


@pytest.mark.parametrize(
    ("address", "encrypted"),
    [
        ("postgresql://me:hush-hush@db.example.org/x", True),
        ("postgresql://me:hush-hush@db.example.org/x?sslmode=prefer", True),
        ("postgresql://me:hush-hush@10.0.0.7/x?sslmode=allow", True),
        ("postgresql://me:hush-hush@db.example.org/x?sslmode=disable", False),
        ("postgresql://me:hush-hush@127.0.0.1/x", None),
        ("postgresql://me@db.example.org/x", None),
    ],
)
def test_a_password_leaves_this_machine_over_tls_only(
    address: str, encrypted: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    secrets = Secrets(Settings(offline=False, secrets={"DATABASE_URL": address}))
    arguments = Address("${DATABASE_URL}", secrets, 1.0)._arguments()
    assert arguments["ssl_context"] is encrypted  # None: encrypted if the server can


@pytest.mark.parametrize(
    "model",
    [
        "postgres:postgresql://me:hush@host/db",
        "postgres?search=hnsw",
        "postgres?rank=bm25",
        "postgres?sql=nowhere.sql",
        "postgres?conf=english",
    ],
)
def test_names_that_cannot_be(model: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_retriever(model)
    assert "hush" not in str(caught.value)


def test_settings_hold_what_could_change_a_figure() -> None:
    dense = "dense=use-multilingual-v3"
    options = ["", "config=simple", "operator=and", "rank=ts_rank_cd", "normalization=1", dense, f"{dense}&search=hnsw"]
    options += [f"{dense}&search=hnsw&m=8", f"{dense}&search=hnsw&ef_search=50", "unknown=ignore"]
    settings = {json.dumps(dict(load_retriever(f"postgres?{option}").settings)) for option in options}
    assert len(settings) == len(options)
