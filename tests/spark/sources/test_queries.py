"""The data sources in SQL: what EXPLAIN shows, how many tasks run, what writers of Spark's own keep."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kgroup.spark
from kgroup.errors import KgroupError
from kgroup.spark.failure import raised_as_kgroup_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = FIXTURES / "4.3.1/lives"

pytestmark = pytest.mark.spark


CONDITION = (
    "group = 'aiokafka-app' AND record_timestamp >= timestamp'2026-11-20 12:47:00Z' AND group LIKE 'a%'"
)


@pytest.fixture(scope="module")
def registered(spark: "SparkSession") -> "SparkSession":
    kgroup.spark.register(spark)
    return spark


def explained(frame) -> str:
    return frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )


def test_explain_shows_what_is_pushed_down_and_spark_filters_no_more(registered: "SparkSession"):
    reader = registered.read.format("kafka-offsets").option("columns", "group,record_timestamp")
    offsets = reader.option("pushFilters", "true").load(str(LIVES))
    query = offsets.where(CONDITION)
    plan = explained(query)
    assert "BatchScan kafka-offsets" in plan
    pushed = next(line for line in plan.splitlines() if line.startswith("PushedFilters:"))
    for condition in (
        "EqualTo(group,aiokafka-app)",
        "GreaterThanOrEqual(record_timestamp,",
        "StringStartsWith(group,a)",
    ):
        assert condition in pushed
    assert "Filter (" not in plan
    assert "ReadSchema: struct<group:string,record_timestamp:timestamp>" in plan
    plain = reader.option("pushFilters", "false").load(str(LIVES)).where(CONDITION)
    assert "Filter (" in explained(plain)
    assert 0 < query.count() == plain.count()


def test_a_frame_can_be_asked_again_and_joined_with_itself(registered: "SparkSession"):
    offsets = registered.read.format("kafka-offsets").option("columns", "group").load(str(LIVES))
    of_one = offsets.where("group = 'aiokafka-app'")
    of_another = offsets.where("group = 'cron-exporter'")
    counts = [frame.count() for frame in (of_one, of_another, offsets)]
    assert 0 < counts[0] + counts[1] < counts[2]
    both = of_one.union(of_another).groupBy("group").count().orderBy("group")
    assert [row["count"] for row in both.collect()] == counts[:2]


def test_a_view_in_sql_with_members_exploded(registered: "SparkSession"):
    registered.sql(f"CREATE OR REPLACE TEMPORARY VIEW `groups` USING `kafka-groups` OPTIONS (path '{LIVES}')")
    rows = registered.sql(
        "SELECT member.client_id, size(member.assigned) AS partitions FROM `groups`"
        " LATERAL VIEW explode(members) AS member WHERE group = 'fraud-one-partition' AND is_last ORDER BY 1"
    ).collect()
    assert [tuple(row) for row in rows] == [("onepart-1", 2), ("onepart-2", 2)]


def test_every_source_has_the_schema_that_spark_shows_and_parquet_keeps(
    registered: "SparkSession", tmp_path: Path
):
    for name in ("kafka-offsets", "kafka-groups", "kafka-lag", "kafka-findings", "kafka-timeline"):
        frame = registered.read.format(name).load(str(LIVES))
        folder = str(tmp_path / name)
        frame.write.parquet(folder)
        kept = registered.read.parquet(folder)
        assert [(each.name, each.dataType) for each in kept.schema] == [
            (each.name, each.dataType) for each in frame.schema
        ]
        assert kept.count() > 0


def test_an_option_that_is_wrong_is_one_line_of_the_error(registered: "SparkSession"):
    with (
        pytest.raises(
            KgroupError,
            match=r"^the query: kafka-lag: option status is 'maybe', not none or kgroup or burrow$",
        ),
        raised_as_kgroup_error("the query"),
    ):
        registered.read.format("kafka-lag").option("status", "maybe").load(str(LIVES)).collect()


def test_several_paths(registered: "SparkSession"):
    folders = [next(LIVES.rglob(f"__consumer_offsets-{number}")) for number in (2, 48)]
    columns = registered.read.format("kafka-offsets").option("columns", "offsets_partition")
    one_by_one = [columns.load(str(folder)).count() for folder in folders]
    assert columns.load([str(folder) for folder in folders]).count() == sum(one_by_one) > max(one_by_one)
