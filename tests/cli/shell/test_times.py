import pytest

from kgroup.cli.shell.times import parse_time
from kgroup.errors import InputError

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(("text", "duration_ms"), [("90s", 90_000), ("P1DT12H", 129_600_000)])
def test_durations_count_back_from_now(text, duration_ms):
    assert parse_time(text, "--since", NOW_MS) == NOW_MS - duration_ms


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1700000000123", 1_700_000_000_123),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
        ("2023-11-14T22:13:20", 1_700_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("2023-11-15", 1_700_006_400_000),
    ],
)
def test_points_in_time_are_utc_unless_they_say_otherwise(text, time_ms):
    assert parse_time(text, "--since", NOW_MS) == time_ms


@pytest.mark.parametrize("text", ["yesterday", "12:00", "1700000000", "2023-13-01", ""])
def test_what_is_no_time_is_refused_with_the_option_and_the_forms(text):
    with pytest.raises(InputError, match=r"--until .*: not a time; give an ISO time"):
        parse_time(text, "--until", NOW_MS)
