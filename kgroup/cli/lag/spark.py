"""`lag-report --spark`: the part that Spark computes in place of reading logs here."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kgroup.cli.lag.spark_options import SparkOptions
from kgroup.cli.shell.say import say
from kgroup.report.emit import Column, arrow_schema
from kgroup.report.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(
    options: SparkOptions | None, progress: Progress, name: str
) -> "Iterator[SparkSession | None]":
    """Start Spark, if there are options, and see that the table can be written before work is done for it.

    `name` is the application's.
    """
    if options is None:
        yield None
        return
    import logging

    from kgroup.spark.session import open_session, parse_conf

    # py4j logs a stack for a call that Ctrl-C breaks off; it goes to standard error if nobody handles it.
    logging.getLogger().addHandler(logging.NullHandler())
    with ExitStack() as stack:
        with progress.activity(f"Spark ({options.master}) starts"):
            session = stack.enter_context(
                open_session(options.master, parse_conf(options.conf), ship=options.ship, name=name)
            )
            if options.save_as is not None:
                from kgroup.spark.tables import check_table

                check_table(session, options.save_as)
        yield session


def save_batches(
    session: "SparkSession", name: str, batches: "Iterable[pa.RecordBatch]", columns: Sequence[Column]
) -> int:
    """Make rows a table of Spark's catalog; return how many they are."""
    from kgroup.spark.tables import save_table

    return save_table(session, name, arrow_schema(columns), batches)


def said_saved(name: str, count: int, *, quiet: bool) -> None:
    """Say on standard error how many rows the table has."""
    if not quiet:
        say(f"table {name}: {count} row{'' if count == 1 else 's'}")
