import pytest

from kgroup.durations import lasting, parse_duration


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("250ms", 250),
        ("90s", 90_000),
        ("15m", 900_000),
        ("2h30m", 9_000_000),
        ("3d", 259_200_000),
        ("1w", 604_800_000),
        ("P1D", 86_400_000),
        ("PT1H30M", 5_400_000),
        ("P1DT12H", 129_600_000),
        ("P2W", 1_209_600_000),
        ("PT1.5S", 1_500),
        ("PT1,5S", 1_500),
        ("PT1.S", 1_000),
        ("PT0.05S", 50),
        ("PT1.999999999S", 1_999),
        ("P1DT1M1.25S", 86_461_250),
    ],
)
def test_durations(text, duration_ms):
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "1" * 5000 + "s", "PT", "P1DT", "1M", "1y", "P1Y", "P1M", "15", "m", "-5m", "1.5h"),
        *("PT.5S", "PT1.5", "PT1.5M", "PT1.5H", "P1.5D", "PT1.1234567890S", "1.5s"),
    ],
)
def test_what_is_no_duration(text):
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0s"),
        (40, "40ms"),
        (250, "0.3s"),
        (1_249, "1.2s"),
        (7_000, "7s"),
        (47_849, "47.8s"),
        (59_960, "1m 0s"),
        (723_400, "12m 3s"),
        (35_970_000, "9h 59m"),
        (273_600_000, "3d 4h"),
        (-1_500, "-1.5s"),
    ],
)
def test_lengths_in_evidence(duration_ms, text):
    assert lasting(duration_ms) == text
