"""Rows as tables of Spark's catalog. Importing this module does not import PySpark."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kgroup.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_CATALOG = "spark.sql.catalogImplementation"


def check_table(session: "SparkSession", name: str) -> None:
    """Refuse an invalid name, and a catalog that would forget the table: Spark's own, in memory."""
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error(f"--save-as {name}"):
        session.catalog.tableExists(name)
        catalog, dot, _ = name.partition(".")
        configured = dot and session.conf.get(f"spark.sql.catalog.{catalog}", "")
        current = session.catalog.currentCatalog()
    if configured or current != "spark_catalog" or session.conf.get("spark.sql.catalog.spark_catalog", ""):
        return
    if session.conf.get(_CATALOG, "in-memory") == "in-memory":
        raise InputError(
            f"--save-as {name}: this Spark has no catalog that lasts; name one, like"
            f" --spark-conf {_CATALOG}=hive, or --spark-conf spark.sql.catalog.NAME=... for a table NAME.x.y"
        )


def save_table(
    session: "SparkSession", name: str, schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]"
) -> int:
    """Make these rows the table `name`, instead of what it held; return how many they are.

    Raises KgroupError, with the cause, if Spark cannot write it.
    """
    import pyarrow as pa

    table = pa.Table.from_batches(batches, schema)
    _write(session.createDataFrame(table), name)
    return table.num_rows


def frame_of(
    session: "SparkSession", schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]"
) -> "DataFrame":
    """These rows, for Spark's writers."""
    import pyarrow as pa

    return session.createDataFrame(pa.Table.from_batches(batches, schema))


def save_frame(session: "SparkSession", name: str, frame: "DataFrame", times: Sequence[str]) -> int:
    """The same for rows that executors hold; see `with_times`."""
    _write(with_times(frame, times), name)
    return session.table(name).count()


def with_times(frame: "DataFrame", times: Sequence[str]) -> "DataFrame":
    """The frame with its columns `times`, which are epoch ms, as timestamps."""
    from pyspark.sql.functions import col, timestamp_millis

    return frame.withColumns({time: timestamp_millis(col(time)) for time in times})


def write_frame(folder: str, frame: "DataFrame") -> None:
    """Let executors write rows as Parquet files into a folder, instead of what it held."""
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error(folder):
        frame.write.mode("overwrite").parquet(folder)


def write_parquet(
    session: "SparkSession", folder: str, schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]"
) -> None:
    """Write these rows as one Parquet file into a folder, instead of what it held."""
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error(folder):
        frame_of(session, schema, batches).coalesce(1).write.mode("overwrite").parquet(folder)


def _write(frame: "DataFrame", name: str) -> None:
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error(f"--save-as {name}"):
        frame.write.mode("overwrite").saveAsTable(name)
