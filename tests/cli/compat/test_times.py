"""Times and durations by Java's rules."""

import pytest

from kgroup.cli.compat.failure import ToolError
from kgroup.cli.compat.times import date_time_ms, duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:01.000", 1000),
        ("1970-01-01T00:00:00.250Z", 250),
        ("1970-01-01T00:00:00.5Z", 5),  # SimpleDateFormat takes it for a number of milliseconds
        ("1970-01-01T05:30:00.000+0530", 0),
        ("1970-01-01T05:30:00.000+05:30", 0),
        ("1969-12-31T19:00:00.000-05", 0),
        ("2024-02-29T00:00:00.000", 1_709_164_800_000),
    ],
)
def test_a_time(text: str, ms: int) -> None:
    assert date_time_ms(text) == ms


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2020-01-01", "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"),
        ("2020-01-01T", "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"),
        ("2020-01-01T00:00:00", 'Unparseable date: "2020-01-01T00:00:00Z"'),
        ("2020-02-30T00:00:00.000", 'Unparseable date: "2020-02-30T00:00:00.000Z"'),
        ("2020-01-01T25:00:00.000Z", 'Unparseable date: "2020-01-01T25:00:00.000Z"'),
        ("2020-01-01T00:00:00.1000Z", 'Unparseable date: "2020-01-01T00:00:00.1000Z"'),
        ("xTy", 'Unparseable date: "xTyZ"'),
    ],
)
def test_what_is_no_time(text: str, why: str) -> None:
    with pytest.raises(ToolError) as raised:
        date_time_ms(text)
    assert raised.value.message == f"java.text.ParseException: {why}"
    assert raised.value.trace == f"java.lang.RuntimeException: java.text.ParseException: {why}"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT0S", 0),
        ("P1D", 86_400_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt1.25s", 1250),
        ("PT-1.5S", -1500),
        ("-PT1H", -3_600_000),
        ("PT-2H+30M", -5_400_000),
    ],
)
def test_a_duration(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "1d", "P", "PT", "P1DT", "P1H", "PT1D", "P1W", "PT1H "])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ToolError, match=r"^Text cannot be parsed to a Duration$"):
        duration_ms(text)
