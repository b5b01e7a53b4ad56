"""Answers as Spark data sources: `kafka-groups`, `kafka-timeline`, `kafka-lag` and `kafka-findings`.

All that a log tells of a group is in one partition of the offsets topic. So a task answers for some of these
as the library does here, and executors need not hear from each other. Read `answers.py` first.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.net.admin.offsets_topic import LiveOffsetsTopic

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
    offsets = OffsetsSource.streaming(live_topic)
    for source in (offsets, GroupsSource, LagSource, FindingsSource, TimelineSource):
        spark.dataSource.register(source.of_session(storage))


def live_topic(servers: str, config: str | None) -> "LiveOffsetsTopic":
    """The offsets topic of a cluster, to be read by any process; `config` is a file of client properties.

    Raises SourceError if that file cannot be read, InputError for properties that make no sense.
    """
    from pathlib import Path

    from kgroup.net.admin.offsets_topic import LiveOffsetsTopic
    from kgroup.net.connect.properties import ConnectionOptions

    file = None if config is None else Path(config)
    connection = ConnectionOptions(bootstrap_servers=servers, command_config=file)
    return LiveOffsetsTopic(connection.self_contained())
