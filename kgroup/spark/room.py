"""The size of what comes to the driver, asked for in advance, and whether there is room for it.

Importing this module does not import PySpark.
"""

import re
from typing import TYPE_CHECKING, Final

from kgroup.errors import KgroupError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LIMIT: Final = "spark.driver.maxResultSize"
_DEFAULT: Final = "1g"  # as Spark's documentation has it
# Spark takes a plain number as bytes here (`ConfigBuilder.bytesConf(ByteUnit.BYTE)`).
_SHIFT: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


def fetched(frame: "DataFrame", what: str) -> "pa.Table":
    """All rows of a frame that executors keep, with a column `part` of bytes, which is the most of it.

    Raises KgroupError, in one line with the settings that help, before anything comes if it would be too
    much; `what` says in the plural what it is.
    """
    room, size = room_of(frame.sparkSession), _bytes_of(frame)
    if room is not None and size > room:
        raise KgroupError(
            f"{what} are {size / 1e6:,.1f} MB, and the driver takes {room / 1e6:,.1f} MB ({_LIMIT}); give it"
            f" more: --spark-conf spark.driver.memory=8g --spark-conf {_LIMIT}=4g"
        )
    return frame.toArrow()


def room_of(session: "SparkSession") -> int | None:
    """The bytes that the driver takes of a job's results; None without a limit, or if it is unknown."""
    setting = session.conf.get(_LIMIT, _DEFAULT) or _DEFAULT
    given = re.fullmatch(r"(\d+)([kmgtp]?)b?", setting.strip().lower())
    return (int(given[1]) << _SHIFT[given[2]]) or None if given else None


def _bytes_of(frame: "DataFrame") -> int:
    (row,) = frame.selectExpr("coalesce(sum(length(part)), 0) AS bytes").collect()
    return int(row["bytes"])
