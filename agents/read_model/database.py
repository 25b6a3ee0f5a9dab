"""The database of the read model: where it is, how it is opened, who may write.

SQLite in the data folder unless FACTDRIFT_READ_MODEL_URL names a PostgreSQL. Many read at once, one writes:
on SQLite by the lock of the file, on PostgreSQL by an advisory lock, so that a second projector waits and
then finds everything applied. Knows no table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from agents.read_model import migrations
from agents.read_model.errors import ReadModelError
from streams.settings import Settings

FILE_NAME: Final = "read-model.sqlite"
BUSY_TIMEOUT_S: Final = 30.0  # one batch of the projection takes a fraction of a second
CACHE_KIB: Final = 128 * 1024  # the inner pages of all indexes at a million facts
CHECKPOINT_PAGES: Final = 16_384  # 64 MiB of log between two copies into the file; by default 4
_WRITER_LOCK: Final = 0x666163746472  # any number that nobody else uses for an advisory lock


class ReadModel:
    """A read model that is open, at the newest schema. Safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection on which all reads see one state of the data. Raises ReadModelError."""
        with _translated(self.engine.url), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection that alone may write: everything inside happens or nothing. Raises ReadModelError."""
        with _translated(self.engine.url), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                # A snapshot of the whole transaction would be taken before the lock is.
                connection.execution_options(isolation_level="READ COMMITTED")
            connection.execution_options(factdrift_writes=True)
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _WRITER_LOCK})
                yield connection

    def reclaim(self) -> bool:
        """Give back the space of deleted rows, so that no file holds their text any more.

        False where a reader kept a part of the file: to be done again.
        """
        with _translated(self.engine.url), self.engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                raw = connection.connection.driver_connection  # SQLAlchemy would begin a transaction
                assert raw is not None
                raw.execute("VACUUM")
                busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM FULL"))
            return True

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def open_read_model(settings: Settings, folder: Path) -> ReadModel:
    """The read model of these settings: by URL, else in the data folder; made or migrated where needed.

    Raises ReadModelError.
    """
    return open_url(url_of(settings, folder))


def url_of(settings: Settings, folder: Path) -> URL:
    """Where the read model is. Raises ReadModelError for a URL of another database."""
    if settings.read_model_url is None:
        return URL.create("sqlite", database=str(folder / FILE_NAME))
    try:
        url = make_url(settings.read_model_url.get_secret_value())
    except ArgumentError as error:
        raise _unusable("FACTDRIFT_READ_MODEL_URL is no URL") from error
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite":
        return url
    raise _unusable(f"FACTDRIFT_READ_MODEL_URL names {url.get_backend_name()}")


def open_url(url: URL) -> ReadModel:
    """The read model at a URL, made or migrated where needed. Raises ReadModelError."""
    if url.get_backend_name() == "sqlite" and url.database:
        try:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReadModelError(
                "read_model_unreachable",
                f"{url.database} cannot be made: {error.strerror}. Give another folder.",
            ) from error
    with _translated(url):
        engine = _engine(url)
        model = ReadModel(engine)
        try:
            with model.writing() as connection:
                migrations.migrate(connection)
        except BaseException:
            engine.dispose()
            raise
    return model


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        try:
            return create_engine(url, isolation_level="REPEATABLE READ", pool_pre_ping=True)
        except (ImportError, NoSuchModuleError) as error:
            raise ReadModelError(
                "read_model_unreachable",
                "PostgreSQL needs the package psycopg. Install it with: pip install 'factdrift[postgres]'",
            ) from error
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not where the driver guesses
        for pragma in (
            "journal_mode = WAL",
            "synchronous = NORMAL",  # a lost last batch is projected again: its offset is lost with it
            "secure_delete = ON",
            f"cache_size = -{CACHE_KIB}",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("factdrift_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _unusable(what: str) -> ReadModelError:
    return ReadModelError(
        "read_model_unreachable", f"{what}; expected postgresql://user@host/database or sqlite:///file."
    )


@contextlib.contextmanager
def _translated(url: URL) -> Iterator[None]:
    """The databases' errors as ours, with what the user can do; a password is never shown."""
    try:
        yield
    except OperationalError as error:
        reason = str(error.orig).strip().splitlines()[0] if error.orig is not None else str(error)
        if "locked" in reason or "busy" in reason:
            raise ReadModelError(
                "read_model_busy",
                f"The read model {shown(url)} is locked by another process for over {BUSY_TIMEOUT_S:.0f} s. "
                "Stop that process, or wait.",
            ) from error
        raise ReadModelError(
            "read_model_unreachable", f"The read model {shown(url)} cannot be used: {reason}"
        ) from error
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise ReadModelError(
            "read_model_foreign", f"The read model {shown(url)} cannot be used: {reason}"
        ) from error


def shown(url: URL) -> str:
    """A URL for people."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)
