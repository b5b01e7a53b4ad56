"""One Spark session for all tests that need one: it takes seconds to start."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kgroup.spark import session as session_module
from kgroup.spark.session import open_session
from tests.spark.standalone import JAVA_OF_TESTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": JAVA_OF_TESTS}
    with open_session("local[2]", conf) as session:
        yield session


@pytest.fixture
def shared_session(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands use the session of these tests instead of starting one."""

    @contextmanager
    def opened(master: str, conf: object, **_: object) -> "Iterator[SparkSession]":
        yield spark

    monkeypatch.setattr(session_module, "open_session", opened)
