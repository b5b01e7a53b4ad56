"""Values that executors pass on, and batches that they keep: in order, and with what is noted beside them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kgroup.errors import KgroupError
from kgroup.spark.exchange import kept_batches, sent
from kgroup.spark.failure import raised_as_kgroup_error
from kgroup.spark.parts.kinds import Note
from kgroup.spark.reduced_source import SCHEMA, packed_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBERS = pa.schema([pa.field("name", pa.string()), pa.field("number", pa.int64())])

pytestmark = pytest.mark.spark


def values(spark: "SparkSession", *numbers: int) -> "DataFrame":
    rows = [row for number in numbers for row in packed_row(0, number, number).to_pylist()]
    return spark.createDataFrame(rows, SCHEMA).repartition(3)


def by_tens(numbers: Iterator[int]) -> Iterator[tuple[int, int]]:
    return ((number // 10, number) for number in numbers)


def sorted_in_batches(values: Iterator[int]) -> Iterator[pa.RecordBatch | Note]:
    numbers = sorted(values)
    for number in numbers:
        names = pa.array([f"n{number}", None]).dictionary_encode()
        yield pa.record_batch([names, pa.array([number, None], pa.int64())], schema=None, names=NUMBERS.names)
    yield Note(len(numbers))


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def test_what_each_place_was_sent_is_kept_in_the_order_of_the_places(spark: "SparkSession") -> None:
    given = (37, 5, 12, 31, 18, 0, 19)
    kept = kept_batches(sent(values(spark, *given), by_tens, 4), sorted_in_batches, NUMBERS)
    expected = [
        row
        for number in sorted(given)
        for row in ({"name": f"n{number}", "number": number}, {"name": None, "number": None})
    ]
    assert rows_of(kept.fetched()) == expected
    assert sorted(kept.notes) == [0, 2, 2, 3]
    assert [row.asDict() for row in kept.as_frame().collect()] == expected
    kept.forget()
    assert not kept.frame.is_cached


def test_what_fails_in_an_executor_is_one_line_and_nothing_is_kept(spark: "SparkSession") -> None:
    def failing(numbers: Iterator[int]) -> Iterator[Note]:
        raise KgroupError(f"cannot do {max(numbers)}")
        yield

    frame = values(spark, 5)
    with pytest.raises(KgroupError, match=r"^the job: cannot do 5$"), raised_as_kgroup_error("the job"):
        kept_batches(sent(frame, by_tens, 1), failing, NUMBERS)
    assert not spark.sparkContext._jsc.getPersistentRDDs()
