"""What a partition's own log proves where one offset is committed again and again."""

from dataclasses import dataclass

import pytest

from kgroup.api.lag.own_logs import OwnLogs
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import FirstUnread, LogEndAt
from tests.lag.facts import partition, steadily
from tests.lag.windows import NOW, ago


@dataclass
class Records:
    """A log of records with times (seconds ago), the first of which is offset 0."""

    times: list[float]

    def has(self, topic: str, partition: int) -> bool:
        return True

    def history(self, topic: str, partition: int, points_max: int) -> tuple[LogEndAt, ...]:
        return (LogEndAt(len(self.times), ago(self.times[-1])),)

    def first_unread(self, topic: str, partition: int, offset: int) -> FirstUnread:
        return FirstUnread(offset=offset, timestamp_ms=ago(self.times[offset]))

    def ends_at(self, topic: str, partition: int, times_ms: list[int]) -> list[None]:
        return [None for _ in times_ms]


def unread_s(times, commits):
    """For how many seconds something was certainly unread."""
    one = partition(0, commits, len(times))
    logs: DataLogs = Records(times)  # type: ignore[assignment]
    proof = OwnLogs(logs=logs, now_ms=NOW, problems=[]).proof(one.row, lambda _: one.window)
    return None if proof.unread_by_ms is None else (NOW - proof.unread_by_ms) / 1000


STANDS = steadily(1, 2, step=0, every=5)
CASES = {
    "it stands for longer than its window, and the log goes on": ([902, 901, 900, 450, 1], STANDS, 900),
    "its last commits came late, or clocks are behind": (
        [902, 901, 900, 450, 1],
        [(46, 1), *STANDS[1:]],
        44,
    ),
    "a clock 15 minutes behind, and a record came just now": ([940, 930, 901, 900], STANDS, 17),
    "times that go back are of several clocks": ([902, 901, 902, 450, 1], STANDS, 47),
}


@pytest.mark.parametrize(("times", "commits", "expected"), CASES.values(), ids=CASES)
def test_how_long_something_waits(times, commits, expected):
    assert unread_s(times, commits) == expected
