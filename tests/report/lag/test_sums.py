"""Sums of a report's rows, each added up by hand."""

from typing import Any

import pytest

from kgroup.report.lag.sums import By, sum_columns, sum_rows


def row(
    group: str, topic: str, partition: int, lag: int | None, member: str | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "group": group,
        "group_kind": "classic",
        "group_state": "Stable",
        "topic": topic,
        "partition": partition,
        "lag": lag,
        "member_id": member,
        "group_instance_id": None,
        "host": "/10.0.0.1" if member else None,
        "client_id": member and member.upper(),
        **more,
    }


PARTS = (
    "unread_records",
    "aborted_records",
    "undecided_records",
    "transaction_markers",
    "missing_offsets",
    "beyond_last_stable",
    "lost_offsets",
)
ROWS = [
    row("b", "orders", 0, 5, "m1"),
    row("b", "orders", 1, None, "m2"),
    row("b", "audit", 0, -26),
    row("a", "orders", 0, 0, "m1"),
    row("a", "orders", 1, 7, "m1"),
]


def test_a_group_counts_what_is_unknown_and_does_not_sum_it() -> None:
    a, b = sum_rows(ROWS, By.GROUP)
    assert a == {
        "group": "a",
        "group_kind": "classic",
        "group_state": "Stable",
        "partitions": 2,
        "lagging": 1,
        "lag": 7,
        "lag_max": 7,
        "lag_unknown": 0,
    }
    # 26 too many in audit do not make up for 5 too few in orders.
    assert (b["partitions"], b["lagging"], b["lag"], b["lag_max"], b["lag_unknown"]) == (3, 1, 5, 5, 1)


def test_a_topic_is_that_of_all_groups() -> None:
    sums = [
        (each["topic"], each["groups"], each["partitions"], each["lag"]) for each in sum_rows(ROWS, By.TOPIC)
    ]
    assert sums == [("audit", 1, 1, 0), ("orders", 2, 4, 12)]


def test_members_of_two_groups_are_two_and_those_that_nobody_owns_come_last() -> None:
    sums = [
        (each["group"], each["member_id"], each["client_id"], each["lag"], each["lag_unknown"])
        for each in sum_rows(ROWS, By.MEMBER)
    ]
    assert sums == [
        ("a", "m1", "M1", 7, 0),
        ("b", "m1", "M1", 5, 0),
        ("b", "m2", "M2", None, 1),
        ("b", None, None, 0, 0),
    ]


def test_a_lag_that_nobody_knows_is_not_0() -> None:
    (only,) = sum_rows([row("a", "t", 0, None), row("a", "t", 1, None)], By.GROUP)
    assert (only["lag"], only["lag_max"], only["lag_unknown"]) == (None, None, 2)


def test_the_longest_time_lag_the_sum_of_rates_and_the_worst_status() -> None:
    rows = [
        row("a", "t", 0, 1, time_lag_ms=500, time_lag_method="bisect", growth_per_s=1.5, status="OK"),
        row("a", "t", 1, 2, time_lag_ms=9000, time_lag_method="bisect", growth_per_s=-0.5, status="STALL"),
        row("a", "t", 2, None, time_lag_ms=None, time_lag_method="bisect", growth_per_s=None, status=None),
    ]
    (only,) = sum_rows(rows, By.GROUP)
    assert (only["time_lag_ms"], only["time_lag_unknown"], only["time_lag_method"]) == (9000, 1, "bisect")
    assert (only["growth_per_s"], only["growth_unknown"]) == (1.0, 1)
    assert (only["status"], only["statuses"]) == ("ERR", {"OK": 1, "STALL": 1})


def test_a_group_without_any_status_has_none() -> None:
    (only,) = sum_rows([row("a", "t", 0, None, status=None)], By.GROUP)
    assert (only["status"], only["statuses"]) == (None, {})


def parts(*counts: int | None, expires: int | None) -> dict[str, int | None]:
    return dict(zip(PARTS, counts, strict=True)) | {"expires": expires}


def test_parts_of_lags_are_added_up_and_partitions_that_lack_one_are_counted() -> None:
    """Of the second partition only what was lost is known, of the third nothing."""
    rows = [
        row("a", "t", 0, 9, **parts(4, 1, 1, 2, 1, 3, 0, expires=9000)),
        row("a", "t", 1, 5, **parts(None, None, None, None, None, None, 7, expires=8000)),
        row("a", "t", 2, None, **dict.fromkeys([*PARTS, "expires"])),
        row("a", "t", 3, 6, **parts(2, 2, 0, 2, 0, 0, 0, expires=9500)),
    ]
    (only,) = sum_rows(rows, By.GROUP)
    assert [only[name] for name in PARTS] == [6, 3, 1, 4, 1, 3, 7]
    assert (only["parts_unknown"], only["expires"]) == (2, 8000)
    (nothing,) = sum_rows(rows[2:3], By.GROUP)
    assert {nothing[name] for name in (*PARTS, "expires")} == {None}
    (none_lost,) = sum_rows(rows[3:], By.GROUP)
    assert (none_lost["lost_offsets"], none_lost["parts_unknown"]) == (0, 0)


def test_no_rows_have_no_sums() -> None:
    assert list(sum_rows([], By.GROUP)) == []


@pytest.mark.parametrize("by", By)
@pytest.mark.parametrize("has", [False, True])
def test_columns_are_the_fields(by: By, has: bool) -> None:
    extra: dict[str, Any] = {}
    if has:
        extra = {"time_lag_ms": 0, "time_lag_method": "bisect", "growth_per_s": 0, "status": "OK"}
        extra |= parts(*range(7), expires=0)
    (summed,) = sum_rows([row("a", "t", 0, 1, **extra)], by)
    columns = sum_columns(by, is_table=False, times=has, rates=has, status=has, breakdown=has)
    assert [column.name for column in columns] == list(summed)
    shown = sum_columns(by, is_table=True, times=has, rates=has, status=has, breakdown=has)
    assert {column.name for column in shown} <= set(summed)
