"""One Spark session for all tests that need one: it takes seconds to start."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kgroup.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    conf = {"spark.sql.shuffle.partitions": "2"}
    with open_session("local[2]", conf) as session:
        yield session
