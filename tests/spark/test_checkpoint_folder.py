"""What is damage to a checkpoint, and what only kept it from being read."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from kgroup.errors import InputError, KgroupError
from kgroup.spark.checkpoint_folder import damage_named
from kgroup.spark.failure import raised_as_kgroup_error

TOO_MUCH = (
    "Job aborted due to stage failure: Total size of serialized results of 7 tasks (412.5 MiB) is bigger"
    " than spark.driver.maxResultSize (409.6 MiB)."
)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            PySparkException(TOO_MUCH),
            "for the driver's memory; try --spark-conf spark.driver.",
        ),
        (
            Py4JError("java.lang.OutOfMemoryError: Java heap space"),
            "heap space; try --spark-conf spark.",
        ),
        (Py4JNetworkError("Answer from Java side is empty"), "Spark's driver process has ended; short of"),
    ],
    ids=["results", "heap", "driver"],
)
def test_what_the_driver_has_no_room_for_is_not_to_be_thrown_away(error: Exception, why: str) -> None:
    with (
        pytest.raises(KgroupError) as raised,
        raised_as_kgroup_error("the streaming query failed"),
        damage_named("/checkpoint"),
    ):
        raise error
    line = str(raised.value)
    assert line.startswith("the streaming query failed: ")
    assert why in line
    assert "damaged" not in line and "\n" not in line


def test_a_file_that_cannot_be_read_is_damage() -> None:
    said = "[CANNOT_READ_FILE_FOOTER] Could not read footer for file: a.parquet."
    why = r"^--checkpoint /checkpoint: damaged: \[CANNOT_READ_FILE_FOOTER\] .*; give a new folder"
    with pytest.raises(InputError, match=why), damage_named("/checkpoint"):
        raise PySparkException(said)
