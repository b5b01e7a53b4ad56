"""When a log cleaner counts as dead: by the files alone, in the log's own time."""

import pytest

from kgroup.history.loading.cleaning import OVERDUE_MS, CleanedSegment, cleaning

HOUR = 3_600_000


def segments(*begun_h: float, gaps: tuple[int, ...] = ()) -> list[CleanedSegment]:
    """Of 100 bytes and 10 offsets each, begun at these hours; the last is the one that is written."""
    return [
        CleanedSegment(base_offset=10 * n, size=100, begun_ms=round(h * HOUR), has_gaps=n in gaps)
        for n, h in enumerate(begun_h)
    ]


@pytest.mark.parametrize(
    ("what", "parts", "cleaned_to", "newest_h", "share", "is_dead"),
    [
        ("one segment is never cleaned", segments(0), 0, 900, None, False),
        ("all closed ones are clean", segments(0, 1, 2), 20, 900, 0.0, False),
        ("just closed", segments(0, 5), 0, 5.5, 1.0, False),
        ("closed an hour ago", segments(0, 5), 0, 6, 1.0, True),
        ("half is dirty, which is not more than half", segments(0, 1, 5), 10, 900, 0.5, False),
        ("two of three are dirty, since the last was closed", segments(0, 1, 2, 5), 10, 5.5, 2 / 3, False),
        ("two of three are dirty for long", segments(0, 1, 2, 5), 10, 6, 2 / 3, True),
        ("never cleaned, and no checkpoint", segments(0, 1, 2), None, 3, 1.0, True),
        ("gaps say that it was cleaned", segments(0, 1, 2, gaps=(1,)), None, 900, 0.0, False),
        ("the last ones say how far", segments(0, 1, 2, 3, 4, gaps=(0, 2)), None, 900, 0.25, False),
    ],
)
def test_a_cleaner_is_dead_when_its_work_has_waited_for_an_hour(
    what: str,
    parts: list[CleanedSegment],
    cleaned_to: int | None,
    newest_h: float,
    share: float | None,
    is_dead: bool,
) -> None:
    found = cleaning(parts, cleaned_to, round(newest_h * HOUR))
    assert (found.dirty_share, found.is_dead) == (share, is_dead), what


def test_without_any_time_nothing_is_overdue() -> None:
    assert cleaning(segments(0, 1), 0, None).overdue_ms is None
    assert OVERDUE_MS == HOUR
