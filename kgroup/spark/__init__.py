"""The only package that imports PySpark: session, data sources, jobs.

    kgroup.spark.register(spark)  # kafka-offsets, kafka-groups, kafka-lag, kafka-findings, kafka-timeline

Read `session.py` first for what the commands do, `sources/tables.py` for the data sources.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    def register(spark: "SparkSession") -> None:
        """Make kgroup's data sources known to a session, and let filters be pushed down to them."""


def __getattr__(name: str) -> object:
    """Some of the sources are answers, which are made above this package: `register` is only named here."""
    if name != "register":
        raise AttributeError(f"module 'kgroup.spark' has no attribute {name!r}")
    from importlib import import_module

    return import_module("kgroup.api.spark_sources").register
