"""A what-if as rows: one per side of a group, or one per rebalance on both sides."""

from collections.abc import Iterable, Iterator
from typing import Final

from kgroup.history.what_if.outcome import Outcome, PlayedRound
from kgroup.history.what_if.what_if import Comparison
from kgroup.protocol.topic_partition import group_by_topic
from kgroup.report.emit import Column, Kind, Row

SUMMARY_COLUMNS: Final = (
    Column(name="group"),
    Column(name="case"),
    Column(name="assignors", kind=Kind.NESTED),
    Column(name="rebalances", kind=Kind.INTEGER),
    Column(name="partitions_moved", kind=Kind.INTEGER),
    Column(name="members_stopped", kind=Kind.INTEGER),
    Column(name="unread_partition_ms", kind=Kind.DURATION_MS),
    Column(name="absent_partition_ms", kind=Kind.DURATION_MS),
    Column(name="partitions_min", kind=Kind.INTEGER),
    Column(name="partitions_max", kind=Kind.INTEGER),
    Column(name="spread_max", kind=Kind.INTEGER),
    Column(name="assumptions", kind=Kind.NESTED),
)
ROUND_COLUMNS: Final = (
    Column(name="group"),
    Column(name="case"),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="generation", kind=Kind.INTEGER),
    Column(name="follow_up", kind=Kind.BOOLEAN),
    Column(name="what"),
    Column(name="assignor"),
    Column(name="members", kind=Kind.INTEGER),
    Column(name="partitions_min", kind=Kind.INTEGER),
    Column(name="partitions_max", kind=Kind.INTEGER),
    Column(name="kept", kind=Kind.INTEGER),
    Column(name="partitions_moved", kind=Kind.INTEGER),
    Column(name="withheld", kind=Kind.INTEGER),
    Column(name="unassigned", kind=Kind.INTEGER),
    Column(name="members_stopped", kind=Kind.NESTED),
    Column(name="pause_ms", kind=Kind.DURATION_MS),
    Column(name="unread_partition_ms", kind=Kind.DURATION_MS),
    Column(name="error"),
    Column(name="assignment", kind=Kind.NESTED),
    Column(name="moves", kind=Kind.NESTED),
)
RECORDED: Final = "recorded"
SUPPOSED: Final = "what-if"


def summary_table(several: bool) -> tuple[Column, ...]:
    """The columns of a table of sides; the group only where there are several."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="case"),
        Column(name="assignor"),
        Column(name="rebalances", kind=Kind.INTEGER),
        Column(name="partitions_moved", header="MOVED", kind=Kind.INTEGER),
        Column(name="members_stopped", header="STOPPED", kind=Kind.INTEGER),
        Column(name="unread_partition_ms", header="UNREAD", kind=Kind.DURATION_MS),
        Column(name="each", spare=1),
        Column(name="spread_max", header="SPREAD", kind=Kind.INTEGER, spare=2),
    )


def round_table(several: bool) -> tuple[Column, ...]:
    """The columns of a table of rebalances."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="time", kind=Kind.TIME_MS),
        Column(name="case"),
        Column(name="members", header="N", kind=Kind.INTEGER, spare=2),
        Column(name="partitions_moved", header="MOVED", kind=Kind.INTEGER),
        Column(name="stopped", kind=Kind.INTEGER, spare=1),
        Column(name="unread_partition_ms", header="UNREAD", kind=Kind.DURATION_MS),
        Column(name="what"),
    )


def summary_rows(compared: Iterable[Comparison]) -> Iterator[Row]:
    """Two rows for each group: as recorded and as supposed."""
    for comparison in compared:
        yield _summary(comparison.group_id, RECORDED, comparison.recorded, ())
        yield _summary(comparison.group_id, SUPPOSED, comparison.supposed, comparison.assumptions)


def round_rows(compared: Iterable[Comparison]) -> Iterator[Row]:
    """The rebalances of both sides by time, the recorded one first; those without a time stay in order."""
    for comparison in compared:
        rows: list[tuple[int, Row]] = []
        for case, outcome in ((RECORDED, comparison.recorded), (SUPPOSED, comparison.supposed)):
            at_ms = 0
            for played in outcome.rounds:
                at_ms = max(at_ms, played.at_ms or 0)
                rows.append((at_ms, _round(comparison.group_id, case, played)))
        yield from (row for _, row in sorted(rows, key=lambda timed: timed[0]))


def _summary(group_id: str, case: str, outcome: Outcome, assumptions: tuple[str, ...]) -> Row:
    assignors = list(dict.fromkeys(played.assignor for played in outcome.rounds if played.assignor))
    return {
        "group": group_id,
        "case": case,
        "assignors": assignors,
        "assignor": ", ".join(assignors) or None,
        "rebalances": outcome.rebalances,
        "partitions_moved": outcome.moved,
        "members_stopped": outcome.members_stopped,
        "unread_partition_ms": outcome.unread_ms,
        "absent_partition_ms": outcome.absent_ms,
        "partitions_min": outcome.partitions_min,
        "partitions_max": outcome.partitions_max,
        "each": _range(outcome.partitions_min, outcome.partitions_max),
        "spread_max": outcome.spread,
        "assumptions": list(assumptions),
    }


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}-{most}"


def _round(group_id: str, case: str, played: PlayedRound) -> Row:
    score = played.score
    return {
        "group": group_id,
        "case": case,
        "time": played.at_ms,
        "generation": played.generation,
        "follow_up": played.follow_up,
        "what": f"{played.what}: {played.error}" if played.error else played.what,
        "assignor": played.assignor,
        "members": played.members,
        "partitions_min": score.partitions_min,
        "partitions_max": score.partitions_max,
        "kept": score.kept,
        "partitions_moved": score.moved,
        "withheld": score.withheld,
        "unassigned": score.unassigned - score.withheld,
        "members_stopped": list(played.stopped),
        "stopped": len(played.stopped),
        "pause_ms": played.pause_ms,
        "unread_partition_ms": played.unread_ms,
        "error": played.error,
        "assignment": {
            member_id: group_by_topic(sorted(owned)) for member_id, owned in sorted(played.assignment.items())
        },
        "moves": [
            {"topic": topic, "partition": number, "from": before, "to": after}
            for (topic, number), before, after in played.moves
        ],
    }
