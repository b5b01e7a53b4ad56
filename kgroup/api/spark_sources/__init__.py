"""Answers as Spark data sources: `kafka-groups`, `kafka-timeline`, `kafka-lag` and `kafka-findings`.

All that a log tells of a group is in one partition of the offsets topic. So a task answers for some of these
as the library does here, and executors need not hear from each other. Read `answers.py` first.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: "SparkSession") -> None:
    """Make kgroup's data sources known to a session, with its settings of storage as they are now.

    This is `kgroup.spark.register`. It sets `spark.sql.python.filterPushdown.enabled`, without which Spark
    refuses sources that filters are pushed down to.
    """
    from kgroup.api.spark_sources.lag import FindingsSource, LagSource
    from kgroup.api.spark_sources.timelines import GroupsSource, TimelineSource
    from kgroup.spark.hadoop import storage_of
    from kgroup.spark.sources.offsets import OffsetsSource

    storage = storage_of(spark)
    spark.conf.set(_PUSHDOWN, "true")
    for source in (OffsetsSource, GroupsSource, LagSource, FindingsSource, TimelineSource):
        spark.dataSource.register(source.of_session(storage))
