"""The kernel that writes text: times, which are Python's own."""

from datetime import UTC, datetime

import numpy as np
import pytest

from kgroup.report.emit import iso_time
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.records import CELLS, Cell
from kgroup.scan.kernels.text import SLACK, Op, write_items

pytestmark = pytest.mark.usefixtures("each_tier")

DAY_MS = 86_400_000
LAST_OF_CALENDAR_MS = 253_402_300_799_999


def shown(times_ms: list[int]) -> list[str]:
    count = len(times_ms)
    cells = np.zeros((CELLS, count), np.int64)
    cells[Cell.TIMESTAMP] = times_ms
    nothing: Bytes = np.zeros(SLACK, np.uint8)
    out: Bytes = np.empty(32 * count + 64, np.uint8)
    numbers, ends = np.zeros(2, np.int64), np.zeros(count, np.int64)
    written, size = write_items(
        np.arange(count),
        0,
        cells,
        cells[Cell.FORM],
        np.array([0, 1]),
        np.array([Op.TIME, Cell.TIMESTAMP, 0]),
        nothing,
        nothing,
        numbers,
        nothing,
        numbers,
        nothing,
        out,
        0,
        ends,
    )
    assert written == count
    text, starts = out[:size].tobytes().decode(), [0, *ends[:-1].tolist()]
    return [text[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]


def test_each_month_of_eight_centuries_begins_and_ends_where_python_says():
    begins = [
        int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000
        for year in [*range(1971, 2810), 9999]
        for month in range(1, 13)
    ]
    times = [begin + after for begin in begins for after in (-1, 0)]
    assert shown(times) == [iso_time(time) for time in times]


def test_times_of_a_day():
    times = [1_767_225_600_000 + of_day for of_day in range(0, DAY_MS, 59_999)]
    assert shown(times) == [iso_time(time) for time in times]


def test_what_is_in_no_calendar():
    assert shown([0, -1, -(2**63)]) == ["1970-01-01T00:00:00.000Z", "-", "-"]
    beyond = [LAST_OF_CALENDAR_MS, LAST_OF_CALENDAR_MS + 1, 2**63 - 1]
    assert shown(beyond) == [iso_time(time) for time in beyond]
