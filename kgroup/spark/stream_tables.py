"""A stream's tables in Spark's catalog: the newest rows, and events, each written once.

    lag                   a view of the newest version's rows
    lag_versions          the last versions, a partition for each
    lag_finding_events    events, a partition for each micro-batch of a stream that has some

A Parquet table that is overwritten is not there for a while, and not at all when the driver is killed
meanwhile. So a new version is written next to the old one, and then the view is altered, which is one change
in the metastore: readers see the old rows or the new ones. A version is numbered by the time at which
it was written, so that by the next one's number it is known since when nobody begins with it any more.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kgroup.errors import InputError, KgroupError
from kgroup.spark.spark_notes import stream_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Queries that began with an older version go on: these are kept, and those replaced less long ago than this.
_KEPT: Final = 6  # the newest among them
_KEPT_MS: Final = 10 * 60_000
_VERSION: Final = "version"
_STREAM: Final = "stream"
_BATCH: Final = "batch"
_OWN: Final = "spark_catalog"
_ROWS: Final = "kgroup_rows"


def latest_versions(name: str) -> str:
    """The table of versions behind the view `name`."""
    return f"{name}_versions"


def finding_events(name: str) -> str:
    """The table of events next to it."""
    return f"{name}_finding_events"


def check_stream_table(session: "SparkSession", name: str) -> None:
    """Raises InputError for a catalog whose tables cannot be altered so, and a name that is a table's."""
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error(f"--save-as {name}"):
        catalog, dot, _ = name.partition(".")
        own = {"", _OWN} if not session.conf.get(f"spark.sql.catalog.{_OWN}", "") else set[str]()
        named = catalog if dot and session.conf.get(f"spark.sql.catalog.{catalog}", "") else ""
        if named not in own or session.catalog.currentCatalog() != _OWN:
            raise InputError(
                f"--save-as {name}: with --stream only tables of Spark's own catalog, such as Hive's"
                " metastore; for others write -o parquet --output DIR"
            )
        if session.catalog.tableExists(name) and session.catalog.getTable(name).tableType != "VIEW":
            raise InputError(
                f"--save-as {name}: a table is there already, and a stream makes a view of its newest rows;"
                " give another name"
            )


def replace_latest(session: "SparkSession", name: str, rows: "DataFrame", now_ms: int) -> None:
    """Make these the rows of the view `name`, instead of those before. Raises KgroupError with the cause."""
    from kgroup.spark.failure import raised_as_kgroup_error

    table = latest_versions(name)
    with raised_as_kgroup_error(f"--save-as {name}"):
        _create(session, table, rows, {_VERSION: "BIGINT"})
        versions = _versions(session, table)
        version = max(now_ms, max(versions, default=0) + 1)  # also by a clock that was put back
        _put(session, table, rows, f"{_VERSION} = {version}")
        names = ", ".join(f"`{column}`" for column in rows.columns)
        query = f"AS SELECT {names} FROM {table} WHERE {_VERSION} = {version}"
        session.sql(f"{'ALTER' if session.catalog.tableExists(name) else 'CREATE'} VIEW {name} {query}")
        for old in outdated([*versions, version], now_ms):
            session.sql(f"ALTER TABLE {table} DROP IF EXISTS PARTITION ({_VERSION} = {old})")


def outdated(versions: Sequence[int], now_ms: int) -> list[int]:
    """The versions to remove of these, in order, the last of which is the newest."""
    long_ago = [version for version, next_ms in pairwise(versions) if next_ms <= now_ms - _KEPT_MS]
    return long_ago[: max(len(versions) - _KEPT, 0)]


def append_events(
    session: "SparkSession", name: str, checkpoint: str, number: int, rows: "DataFrame"
) -> None:
    """Add what happened in micro-batch `number` of a stream; a second time it takes the first one's place.

    Streams are distinguished by the id of their checkpoint, as their numbers are the same.
    """
    from kgroup.spark.failure import raised_as_kgroup_error

    table = finding_events(name)
    with raised_as_kgroup_error(f"--save-as {name}"):
        _create(session, table, rows, {_STREAM: "STRING", _BATCH: "BIGINT"})
        if rows.isEmpty():
            return
        stream = stream_id(session, checkpoint)
        _put(session, table, rows.coalesce(1), f"{_STREAM} = '{stream}', {_BATCH} = {number}")


def _create(session: "SparkSession", table: str, rows: "DataFrame", by: dict[str, str]) -> None:
    """Make the table, if it is not there. Raises KgroupError for one with other columns."""
    if not session.catalog.tableExists(table):
        columns = [f"`{field.name}` {field.dataType.simpleString()}" for field in rows.schema]
        columns += [f"{column} {kind}" for column, kind in by.items()]
        session.sql(
            f"CREATE TABLE {table} ({', '.join(columns)}) USING parquet PARTITIONED BY ({', '.join(by)})"
        )
    there: Sequence[str] = session.table(table).columns
    if there != [*rows.columns, *by]:
        raise KgroupError(f"{table} has other columns, as another report made it; give another name")


def _put(session: "SparkSession", table: str, rows: "DataFrame", partition: str) -> None:
    rows.createOrReplaceTempView(_ROWS)
    try:
        session.sql(f"INSERT OVERWRITE TABLE {table} PARTITION ({partition}) SELECT * FROM {_ROWS}")
    finally:
        session.catalog.dropTempView(_ROWS)


def _versions(session: "SparkSession", table: str) -> list[int]:
    partitions = (row.partition for row in session.sql(f"SHOW PARTITIONS {table}").collect())
    return sorted(int(re.sub(r"\D", "", partition)) for partition in partitions)
