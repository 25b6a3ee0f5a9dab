"""The schema and its versions, and what is said of a database that cannot be used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Column, Inspector, MetaData, Table, Text, create_engine, event, inspect, text
from sqlalchemy.types import BigInteger, Boolean, LargeBinary

from agents.read_model import FactFilter, ReadModelError, facts, folding_of, migrations, open_url, schema
from agents.read_model.database import ReadModel, url_of
from state.facts import State
from state.instants import Instant
from streams.settings import Settings

KINDS = {"TEXT": Text, "BIGINT": BigInteger, "BLOB": LargeBinary, "BYTEA": LargeBinary, "BOOLEAN": Boolean}


def shape(inspector: Inspector, name: str) -> tuple[object, ...]:
    """Columns, key and indexes of a table as the database has them."""
    columns = [
        (c["name"], KINDS[str(c["type"]).partition(" ")[0]], c["nullable"])
        for c in inspector.get_columns(name)
    ]
    indexes = sorted(
        (i["name"] or "", tuple(i["column_names"]), bool(i["unique"])) for i in inspector.get_indexes(name)
    )
    return columns, inspector.get_pk_constraint(name)["constrained_columns"], indexes


def declared(table: Table) -> tuple[object, ...]:
    """The same as the code has them."""

    def kind(column: Column[object]) -> type:
        return next(k for k in set(KINDS.values()) if isinstance(column.type, k))

    columns = [(c.name, kind(c), c.nullable) for c in table.columns]
    indexes = sorted((i.name or "", tuple(c.name for c in i.columns), i.unique) for i in table.indexes)
    return columns, [c.name for c in table.primary_key.columns], indexes


def test_all_migrations_together_give_the_schema_that_the_code_declares(model: ReadModel) -> None:
    with model.reading() as connection:
        inspector = inspect(connection)
        found = {name: shape(inspector, name) for name in inspector.get_table_names()}

    assert found == {table.name: declared(table) for table in schema.metadata.sorted_tables}


def test_a_database_of_version_1_is_migrated_and_keeps_its_rows(database: Callable[[], URL]) -> None:
    url = database()
    engine = create_engine(url)
    with engine.begin() as connection:
        migrations.migrate(connection, to=1)
        connection.execute(
            schema.subjects.insert().values(namespace="n", subject="s", spelled="S", spelled_at=1)
        )
        assert migrations.version_of(connection) == 1
    engine.dispose()

    with contextlib.closing(open_url(url)) as model, model.reading() as connection:
        assert migrations.version_of(connection) == migrations.NEWEST > 1
        assert connection.execute(schema.subjects.select()).all() == [("n", "s", "S", 1)]
        assert connection.execute(schema.erasures.select()).all() == []


def test_a_database_is_migrated_once(database: Callable[[], URL]) -> None:
    url = database()
    with contextlib.closing(open_url(url)) as model, model.reading() as connection:
        first = migrations.generation(connection)

    with contextlib.closing(open_url(url)) as model, model.reading() as connection:
        assert migrations.generation(connection) == first


def test_a_newer_schema_is_refused(database: Callable[[], URL]) -> None:
    url = database()
    with contextlib.closing(open_url(url)) as model, model.writing() as connection:
        connection.execute(schema.meta.update().where(schema.meta.c.name == "schema").values(value="99"))

    with pytest.raises(ReadModelError, match="schema version 99") as refused:
        open_url(url)

    assert refused.value.code == "read_model_newer"


def test_tables_of_somebody_else_are_left_alone(database: Callable[[], URL]) -> None:
    url = database()
    engine = create_engine(url)
    theirs = MetaData()
    Table("facts", theirs, Column("x", Text))
    theirs.create_all(engine)
    engine.dispose()

    with pytest.raises(ReadModelError, match="facts") as refused:
        open_url(url)

    assert refused.value.code == "read_model_foreign"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "read-model.sqlite"
    path.write_bytes(b"nothing of the kind" * 100)

    with pytest.raises(ReadModelError) as refused:
        open_url(URL.create("sqlite", database=str(path)))

    assert refused.value.code in ("read_model_foreign", "read_model_unreachable")
    assert path.read_bytes() == b"nothing of the kind" * 100


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    url = URL.create(
        "postgresql+psycopg", username="kim", password="secret", host="127.0.0.1", port=1, database="x"
    )

    with pytest.raises(ReadModelError) as refused:
        open_url(url)

    assert refused.value.code == "read_model_unreachable"
    assert "127.0.0.1" in refused.value.message
    assert "secret" not in refused.value.message


@pytest.mark.parametrize("url", ["mysql://a@b/c", "no url at all"])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(ReadModelError, match="postgresql://") as refused:
        url_of(Settings(read_model_url=url), Path())

    assert refused.value.code == "read_model_unreachable"


def test_the_database_is_a_file_in_the_data_folder_unless_a_url_is_set(tmp_path: Path) -> None:
    assert url_of(Settings(), tmp_path).database == str(tmp_path / "read-model.sqlite")
    named = url_of(Settings(read_model_url="postgresql://kim@db.example/facts"), tmp_path)
    assert (named.drivername, named.host, named.database) == ("postgresql+psycopg", "db.example", "facts")


def test_a_reader_sees_one_state_while_somebody_writes(model: ReadModel) -> None:
    row = {"namespace": "n", "subject": "s", "spelled": "S", "spelled_at": 1}
    with model.reading() as reader:
        before = reader.execute(schema.subjects.select()).all()
        with model.writing() as writer:
            writer.execute(schema.subjects.insert().values(**row))
        assert reader.execute(schema.subjects.select()).all() == before == []

    with model.reading() as reader:
        assert len(reader.execute(schema.subjects.select()).all()) == 1


def test_sqlite_overwrites_what_is_deleted(tmp_path: Path) -> None:
    url = URL.create("sqlite", database=str(tmp_path / "read-model.sqlite"))
    with contextlib.closing(open_url(url)) as model, model.reading() as connection:
        assert connection.execute(text("PRAGMA secure_delete")).scalar() == 1


def plan_of(folder: Path, wanted: FactFilter) -> list[str]:
    """By which indexes SQLite looks for facts."""
    folding = folding_of(Settings(_env_file=None))
    asked: list[tuple[str, Any]] = []
    with (
        contextlib.closing(open_url(URL.create("sqlite", database=str(folder / "x.sqlite")))) as model,
        model.reading() as connection,
    ):
        event.listen(connection, "before_cursor_execute", lambda *call: asked.append((call[2], call[3])))
        facts(connection, folding, wanted, now=Instant(0))
        statement, values = next((s, v) for s, v in asked if "facts" in s)
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
    return [row[3] for row in plan]


def test_contested_facts_are_found_without_reading_the_others(tmp_path: Path) -> None:
    steps = plan_of(tmp_path, FactFilter(state=State.CONTESTED))

    assert any("ix_facts_contested" in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps


def test_a_subject_is_found_without_its_namespace(tmp_path: Path) -> None:
    steps = plan_of(tmp_path, FactFilter(subject="Kim"))

    assert any("ix_facts_subject (subject=?" in step for step in steps), steps


def test_a_subject_of_a_namespace_is_found_in_its_order(tmp_path: Path) -> None:
    steps = plan_of(tmp_path, FactFilter(namespace="home", subject="Kim"))

    assert any("ix_facts_name (namespace=? AND subject=?" in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps
