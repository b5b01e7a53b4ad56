"""Answers as Spark data sources: `kafka-groups`, `kafka-timeline`, `kafka-lag` and `kafka-findings`.

All that a log tells of a group is in one partition of the offsets topic. So a task answers for some of these
as the library does here, and executors need not hear from each other. Read `answers.py` first.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: "SparkSession") -> None:
    """Make kgroup's data sources known to a session, and let filters be pushed down to them.

    This is `kgroup.spark.register`. It sets `spark.sql.python.filterPushdown.enabled`, without which Spark
    refuses sources that can do so.
    """
    from kgroup.api.spark_sources.lag import FindingsSource, LagSource
    from kgroup.api.spark_sources.timelines import GroupsSource, TimelineSource
    from kgroup.spark.sources.offsets import OffsetsSource

    spark.conf.set(_PUSHDOWN, "true")
    for source in (OffsetsSource, GroupsSource, LagSource, FindingsSource, TimelineSource):
        spark.dataSource.register(source)
