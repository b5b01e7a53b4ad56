"""The lines of the live screen, from captures whose truth is known and from facts made for it."""

from pathlib import Path

import pytest

from kgroup.api.lag.chunks import LagChunk, row_columns
from kgroup.api.lag.groups_now import groups_now
from kgroup.api.lag.report import LagReport, lag_report
from kgroup.api.opened import open_logs
from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import Commit, LagRow, lag_rows
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog
from kgroup.report.top.group_line import GroupLine
from tests.log.truth import FIXTURES

T_MS = 1_000_000


class Report:
    """One group's chunk in place of a whole report."""

    def __init__(self, chunk: LagChunk, of_cluster: tuple[Finding, ...] = ()) -> None:
        self._chunk = chunk
        self._of_cluster = of_cluster

    def chunks(self) -> list[LagChunk]:
        return [self._chunk]

    def cluster_findings(self) -> tuple[Finding, ...]:
        return self._of_cluster


def member(name: str, *partitions: int) -> Member:
    return Member(
        member_id=f"{name}-id",
        instance_id=None,
        client_id=name,
        client_host=f"/10.0.0.{name[-1]}",
        owned=tuple(OwnedPartition("orders", partition) for partition in partitions),
    )


def group_of(*members: Member, state: GroupState = GroupState.STABLE) -> Group:
    return Group(
        group_id="g", kind=GroupKind.CLASSIC, state=state, epoch=4, members=members, since_ms=T_MS - 500
    )


def rows_of(group: Group, **lags: int) -> list[LagRow]:
    """Rows of partitions p0, p1, ... with these lags, committed at T_MS - 1000 and at T_MS - 999 the last."""
    commits = [
        Commit(
            group="g", topic="orders", partition=int(name[1:]), offset=100, commit_timestamp=T_MS - 1000 + at
        )
        for at, name in enumerate(lags)
    ]
    logs = tuple(
        PartitionLog(
            topic="orders",
            partition=int(name[1:]),
            log_start_offset=0,
            log_end_offset=100 + lag,
            source=LogEndSource.SEGMENTS,
        )
        for name, lag in lags.items()
    )
    return list(lag_rows({"g": group}, commits, LogEnds([LogListing(logs=logs)])))


def line_of(
    group: Group,
    rows: list[LagRow],
    *findings: Finding,
    growth: list[float | None] | None = None,
    drain: list[int | None] | None = None,
) -> GroupLine:
    columns = dict(row_columns(rows))
    columns["growth_per_s"] = growth or [None] * len(rows)
    columns["drain_ms"] = drain or [None] * len(rows)
    facts = GroupFacts(group=group, partitions=tuple(PartitionFacts(row=row) for row in rows), now_ms=T_MS)
    reported = ((facts, [None] * len(rows)), findings)
    chunk = LagChunk(rows=rows, columns=columns, all_rows=rows, groups=[reported])
    (line,) = groups_now(Report(chunk)).lines  # type: ignore[arg-type]
    return line


def finding(
    kind: FindingKind,
    *,
    partition: int | None = None,
    member_id: str | None = None,
    grade: Grade = Grade.INFERRED,
) -> Finding:
    topic = "orders" if partition is not None else None
    return Finding(
        kind=kind,
        group="g",
        topic=topic,
        partition=partition,
        member_id=member_id,
        grade=grade,
        evidence="why",
        try_this="what",
    )


@pytest.mark.parametrize(
    ("lags", "growth", "drain", "shown"),
    [
        ((10, 5), [-1.0, -1.0], [10_000, 5_000], (10_000, False, False)),
        ((10, 0), [-1.0, None], [10_000, 0], (10_000, False, False)),
        ((10, 5), [-1.0, None], [10_000, None], (None, False, False)),  # one is unknown
        ((10, 5), [-1.0, 0.5], [10_000, None], (None, True, False)),
        ((10, 5), [-1.0, 0.0], [10_000, None], (None, False, True)),
        ((10, 5), [2.0, 0.0], [None, None], (None, True, False)),
        ((0, 0), [3.0, 0.0], [0, 0], (0, False, False)),  # nothing lags, so nothing is left to drain
        ((0, 0), [None, None], [None, None], (None, False, False)),
        ((-3, 0), [None, None], [None, 0], (0, False, False)),
    ],
)
def test_a_group_is_drained_when_its_last_partition_is(
    lags: tuple[int, int],
    growth: list[float | None],
    drain: list[int | None],
    shown: tuple[int | None, bool, bool],
) -> None:
    group = group_of(member("app1", 0, 1))
    line = line_of(group, rows_of(group, p0=lags[0], p1=lags[1]), growth=growth, drain=drain)
    assert (line.drain_ms, line.grows, line.steady) == shown
    assert (line.lag, line.partitions) == (sum(max(lag, 0) for lag in lags), 2)


def test_it_is_blocked_by_the_member_the_partition_or_all_that_a_finding_is_about() -> None:
    group = group_of(member("app1", 0), member("app2", 1))
    rows = rows_of(group, p0=3, p1=9, p2=1)
    kinds = FindingKind
    cases = [
        (finding(kinds.STALLED_MEMBER, member_id="app1-id"), "app1 on 10.0.0.1"),
        (finding(kinds.STALLED_PARTITION, partition=1, member_id="app2-id"), "orders-1 app2 on 10.0.0.2"),
        (finding(kinds.STALLED_PARTITION, partition=0), "orders-0 app1 on 10.0.0.1"),
        (finding(kinds.STALLED_PARTITION, partition=2), "orders-2"),
        (finding(kinds.UNOWNED_PARTITION, partition=8), "orders-8"),
        (finding(kinds.STOPPED_GROUP), "all 2 members"),
        (finding(kinds.LAG_GROWING), "mostly orders-1 app2 on 10.0.0.2"),
        (finding(kinds.LAG_GROWING, member_id="gone-id"), "mostly orders-1 app2 on 10.0.0.2"),
    ]
    for found, blocked_by in cases:
        assert line_of(group, rows, found).blocked_by == blocked_by
    assert (
        line_of(group_of(state=GroupState.EMPTY), rows, finding(kinds.DEAD_WITH_LAG)).blocked_by
        == "no members"
    )
    assert line_of(group_of(member("app1", 0)), rows, finding(kinds.STOPPED_GROUP)).blocked_by == "its member"
    assert line_of(group, rows_of(group, p0=0), finding(kinds.REBALANCE_STORM)).blocked_by is None
    assert line_of(group, rows).blocked_by is None


def test_the_first_finding_is_the_worst_and_doubt_is_marked() -> None:
    group = group_of(member("app1", 0))
    doubtful = finding(FindingKind.REBALANCE_STORM, grade=Grade.UNKNOWN)
    line = line_of(group, rows_of(group, p0=1), doubtful, finding(FindingKind.LAG_GROWING))
    assert (line.finding, line.stuck, line.findings) == ("rebalance-storm?", False, 2)
    stuck = line_of(group, rows_of(group, p0=1), finding(FindingKind.STOPPED_GROUP))
    assert (stuck.finding, stuck.stuck) == ("stopped-group", True)


def test_the_last_event_is_the_later_of_the_last_commit_and_the_last_change() -> None:
    group = group_of(member("app1", 0))
    line = line_of(group, rows_of(group, p0=1))
    assert (line.event, line.event_ms) == ("generation 4 began", T_MS - 500)
    empty = group_of(state=GroupState.EMPTY)
    assert line_of(empty, rows_of(empty, p0=1)).event == "became empty"
    older = Group(
        group_id="g", kind=GroupKind.CONSUMER, state=GroupState.STABLE, epoch=9, since_ms=T_MS - 5000
    )
    line = line_of(older, rows_of(older, p0=1, p1=1))
    assert (line.event, line.event_ms) == ("commit", T_MS - 999)
    assert line_of(older, []).event == "epoch 9 began"


def test_groups_of_an_offsets_partition_that_is_down_have_a_line() -> None:
    group = group_of(member("app1", 0))
    rows = rows_of(group, p0=1)
    down = Finding(
        kind=FindingKind.OFFSETS_PARTITION_DOWN,
        group="*",
        topic="__consumer_offsets",
        partition=7,
        grade=Grade.RECORDED,
        evidence="no broker leads it",
        try_this="",
    )
    facts = GroupFacts(group=group, partitions=(), now_ms=T_MS)
    chunk = LagChunk(rows=rows, columns=row_columns(rows), all_rows=rows, groups=[((facts, []), ())])
    _, line = groups_now(Report(chunk, (down,))).lines  # type: ignore[arg-type]
    assert (line.group, line.state, line.stuck, line.blocked_by) == ("*", None, True, "__consumer_offsets-7")


@pytest.mark.parametrize("capture", ["2.4.1/lives", "4.3.1/lives"])
def test_every_group_of_a_capture_has_a_line_with_the_state_that_its_broker_said(capture: str) -> None:
    report = report_of(FIXTURES / capture)
    lines = {line.group: line for line in groups_now(report).lines}
    assert set(lines) == report.inputs.group_ids()
    for group_id, group in report.inputs.groups.items():
        line = lines[group_id]
        assert (line.state, line.epoch, line.members) == (group.state, group.epoch, len(group.members))


def report_of(path: Path) -> LagReport:
    return lag_report(open_logs(path), status=True, findings=True)
