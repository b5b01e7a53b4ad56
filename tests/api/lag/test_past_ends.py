"""Past log ends as a cluster tells them by the first newer record."""

from collections.abc import Collection

import pytest

from kgroup.api.lag.past_ends import EndsInCluster
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.net.admin.timestamps import TimeInLog
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog


def ends(start: int, newer: dict[int, int | None], monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Of a log from `start` to 90: at each time, of which the cluster says where the next record is."""
    log = PartitionLog(
        topic="t", partition=0, source=LogEndSource.LIVE, log_start_offset=start, log_end_offset=90
    )
    listing = LogListing(logs=(log,), complete=True)

    def first_newer(cluster: object, times: Collection[TimeInLog]) -> dict[TimeInLog, int | None]:
        return {time: newer[time.time_ms] for time in times if time.time_ms in newer}

    monkeypatch.setattr("kgroup.net.admin.timestamps.first_newer", first_newer)
    asked = EndsInCluster(cluster=None, ends=LogEnds([listing]))  # type: ignore[arg-type]
    return asked.ends_at("t", 0, [1, 2, 3, 4])


def test_a_log_ended_before_its_next_record(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ends(0, {1: 0, 2: 7, 3: 50, 4: None}, monkeypatch) == [0, 7, 50, 90]


def test_before_the_first_record_that_is_left_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ends(7, {1: 7, 2: 8, 3: None, 4: None}, monkeypatch) == [None, 8, 90, 90]


def test_what_a_leader_refuses_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ends(0, {1: 3, 4: None}, monkeypatch) == [3, None, None, 90]
