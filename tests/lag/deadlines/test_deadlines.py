"""When a lag meets a bound: a truth table over small pasts, times in seconds from now."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from kgroup.lag.deadlines.deadlines import Forecast
from kgroup.lag.deadlines.model import Deadline, DeadlineKind, DeadlineNote, Outlook, PartitionPast, Seen

NOW = 1_000_000


def past(
    written_per_s: float,
    read_per_s: float,
    *,
    behind: int = 0,
    commits: int = 31,
    every_s: int = 2,
    silent_s: int = 0,
    quiet_s: int = 0,
    uneven: Sequence[int] = (0,),
    segment: int = 1,
    bytes_per_record: float | None = 100.0,
) -> PartitionPast:
    """Commits of the last minute: the group is `behind` at its last commit, `silent_s` ago.

    Nothing has been written for `quiet_s`. `uneven` is added to offsets in turn.
    """

    def ended_at(at_ms: int) -> int:
        written_ms = min(at_ms, NOW - quiet_s * 1000) - (NOW - silent_s * 1000)
        return 100_000 + round(written_per_s * written_ms / 1000)

    last_ms = NOW - silent_s * 1000
    seen = []
    for number in range(commits):
        back_s = every_s * (commits - 1 - number)
        position = 100_000 - behind - round(read_per_s * back_s) + uneven[number % len(uneven)]
        seen.append(Seen(last_ms - back_s * 1000, position, ended_at(last_ms - back_s * 1000)))
    return PartitionPast(
        seen=tuple(seen),
        position=seen[-1].position,
        end=ended_at(NOW),
        now_ms=NOW,
        ended_at=ended_at,
        deleted_from=lambda offset: offset // segment * segment,
        bytes_per_record=bytes_per_record,
    )


def ahead(deadline: Deadline) -> tuple[float | None, ...]:
    times = (deadline.low_ms, deadline.likely_ms, deadline.high_ms)
    return tuple(None if at_ms is None else (at_ms - NOW) / 1000 for at_ms in times)


@dataclass(frozen=True)
class Case:
    """A past, a bound, and what is foreseen; `likely_s` from now, to a tenth."""

    past: PartitionPast
    ask: Callable[[Forecast], Deadline]
    outlook: Outlook
    likely_s: float | None = None


def records(number: int) -> Callable[[Forecast], Deadline]:
    return lambda forecast: forecast.slo_records(number)


def waiting(seconds: int) -> Callable[[Forecast], Deadline]:
    return lambda forecast: forecast.slo_time(seconds * 1000)


CASES = {
    # 5 a second more come than go, from 200 on, and up to 20 between two commits
    "lag that grows meets a number": Case(past(10, 5, behind=200), records(500), Outlook.EXPECTED, 58),
    "it is above it already": Case(past(10, 5, behind=600), records(500), Outlook.PASSED, 0),
    "a lag that shrinks never does": Case(past(5, 10, behind=200), records(500), Outlook.NOT_IN_SIGHT),
    "who keeps up never does": Case(past(10, 10, behind=3), records(500), Outlook.NOT_IN_SIGHT),
    "between two commits it may": Case(past(10, 10), records(15), Outlook.EXPECTED, 1.5),
    "who stands still meets it by what is written": Case(
        past(10, 10, silent_s=20), records(500), Outlook.EXPECTED, 30
    ),
    "nothing is written any more": Case(
        past(10, 5, behind=200, quiet_s=30), records(500), Outlook.NOT_IN_SIGHT
    ),
    # The first unread record came 20 s ago: a minute in 40 s, if nobody reads on.
    "who stands still makes records wait": Case(past(10, 10, silent_s=20), waiting(60), Outlook.EXPECTED, 40),
    # 200 behind are 20 s at 10/s; of each second half is read: half a second a second.
    "lag in time grows with the lag": Case(past(10, 5, behind=200), waiting(60), Outlook.EXPECTED, 78),
    "lag in time of who keeps up": Case(past(10, 10, behind=3), waiting(60), Outlook.NOT_IN_SIGHT),
    "it has waited for longer already": Case(past(10, 5, behind=700), waiting(60), Outlook.PASSED, 0),
    "nothing is unread, nothing comes": Case(
        past(10, 10, silent_s=40, quiet_s=40), waiting(60), Outlook.NOT_IN_SIGHT
    ),
    "by retention, record by record": Case(
        past(10, 5, behind=200), lambda f: f.retention_time(60_000), Outlook.EXPECTED, 78
    ),
    "by bytes": Case(past(10, 5, behind=200), lambda f: f.retention_bytes(50_000), Outlook.EXPECTED, 58),
}


def test_a_lag_of_what_is_allowed_is_allowed() -> None:
    forecast = Forecast(past(10, 10, behind=500))
    assert forecast.slo_records(500).outlook is not Outlook.PASSED
    assert forecast.slo_records(499).outlook is Outlook.PASSED


@pytest.mark.parametrize(
    ("every_s", "silent_s", "is_still"),
    [(1, 10, False), (1, 11, True), (5, 15, False), (5, 16, True)],
    ids=["ten-seconds", "more", "three-times-its-longest-pause", "longer"],
)
def test_a_pause_is_no_standstill_before(every_s: int, silent_s: int, is_still: bool) -> None:
    deadline = Forecast(past(10, 10, every_s=every_s, silent_s=silent_s)).slo_records(2_000)
    assert (deadline.note is DeadlineNote.STANDS_STILL) is is_still


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_foreseen(case: Case) -> None:
    deadline = case.ask(Forecast(case.past))
    assert deadline.outlook is case.outlook
    low, likely, high = ahead(deadline)
    if case.likely_s is None:
        assert likely is None
        return
    assert likely == pytest.approx(case.likely_s, rel=0.06, abs=0.1)
    assert low is not None and low <= likely
    assert high is None or likely <= high


def test_segments_go_as_a_whole_so_what_is_in_one_stays_longer() -> None:
    """The next record came 20 s ago; with it in a segment are records up to those of now."""
    by_record = Forecast(past(10, 10, silent_s=20)).retention_time(60_000)
    by_segment = Forecast(past(10, 10, silent_s=20, segment=500)).retention_time(60_000)
    assert ahead(by_record)[1] == pytest.approx(40, abs=0.3)
    assert ahead(by_segment)[1] == pytest.approx(60, abs=0.6)


def test_an_uneven_past_makes_wide_intervals() -> None:
    even = Forecast(past(10, 5, behind=200)).slo_records(500)
    uneven = Forecast(past(10, 5, behind=200, uneven=(0, -40, 0, 30))).slo_records(500)
    assert even.low_ms is not None and uneven.low_ms is not None
    assert uneven.low_ms < even.low_ms
    assert even.high_ms is not None and (uneven.high_ms is None or uneven.high_ms > even.high_ms)


def test_what_is_only_possible_comes_no_sooner_than_if_the_group_stopped() -> None:
    """30 behind, 10 a second: 250 are unread 22 s after it stops, before its unevenness leads there."""
    deadline = Forecast(past(10, 10, behind=30, uneven=(0, -10, 0, 10))).slo_records(250)
    assert deadline.outlook is Outlook.POSSIBLE
    low, likely, high = ahead(deadline)
    assert low == pytest.approx(22, abs=0.2)
    assert (likely, high) == (None, None)


def test_where_nothing_is_written_any_more_an_uneven_past_is_no_threat() -> None:
    quiet = past(10, 5, behind=200, quiet_s=12, silent_s=1, uneven=(0, -90, 0, -60))
    assert Forecast(quiet).slo_records(quiet.end - quiet.position + 1).outlook is Outlook.NOT_IN_SIGHT


def test_that_it_stands_still_is_said() -> None:
    assert Forecast(past(10, 10, silent_s=20)).slo_records(500).note is DeadlineNote.STANDS_STILL
    assert Forecast(past(10, 5, behind=200)).slo_records(500).note is None


@pytest.mark.parametrize(("commits", "every_s"), [(3, 60), (30, 0)])
def test_too_few_commits_are_no_pace(commits: int, every_s: int) -> None:
    deadline = Forecast(past(10, 5, behind=200, commits=commits, every_s=every_s)).slo_records(500)
    assert (deadline.outlook, deadline.note) == (Outlook.UNKNOWN, DeadlineNote.TOO_FEW_COMMITS)


def test_without_the_size_of_records_bytes_say_nothing() -> None:
    deadline = Forecast(past(10, 5, bytes_per_record=None)).retention_bytes(1 << 30)
    assert deadline.kind is DeadlineKind.RETENTION_BYTES
    assert (deadline.outlook, deadline.note) == (Outlook.UNKNOWN, DeadlineNote.NO_DATA_LOG)
