"""The output of `kgroup assign`: runs of partitions, each member's share, and assignors side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from kgroup.assignors.planning.rounds import Round
from kgroup.assignors.planning.score import Score
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic
from kgroup.report.emit import Column, Kind, OutputOptions, Row, emit
from kgroup.report.table import printable

_SCORE_FIELDS: Final = (
    "partitions_min",
    "partitions_max",
    "spread",
    "kept",
    "moved",
    "unassigned",
    "withheld",
    "revoked",
    "paused",
    "rack_matches",
    "rack_known",
    "rebalances",
)

MEMBER_COLUMNS: Final = (
    Column(name="round", kind=Kind.INTEGER),
    Column(name="what"),
    Column(name="follow_up", kind=Kind.BOOLEAN),
    Column(name="assignor"),
    Column(name="member_id"),
    Column(name="group_instance_id"),
    Column(name="count", kind=Kind.INTEGER),
    Column(name="gained", kind=Kind.INTEGER),
    Column(name="lost", kind=Kind.INTEGER),
    Column(name="partitions", kind=Kind.NESTED),
)
SCORE_COLUMNS: Final = (
    Column(name="round", kind=Kind.INTEGER),
    Column(name="what"),
    Column(name="follow_up", kind=Kind.BOOLEAN),
    Column(name="assignor"),
    *(Column(name=field, kind=Kind.INTEGER) for field in _SCORE_FIELDS),
    Column(name="flaws", kind=Kind.NESTED),
    Column(name="error"),
    Column(name="assignment", kind=Kind.NESTED),
)

MEMBER_TABLE: Final = (
    Column(name="member_id", header="MEMBER"),
    Column(name="count", kind=Kind.INTEGER),
    Column(name="change"),
    Column(name="runs", header="PARTITIONS"),
)
SCORE_TABLE: Final = (
    Column(name="assignor"),
    Column(name="each", header="EACH"),
    Column(name="kept", kind=Kind.INTEGER),
    Column(name="moved", kind=Kind.INTEGER),
    Column(name="paused", kind=Kind.INTEGER),
    Column(name="unassigned", kind=Kind.INTEGER),
    Column(name="racks", header="NEAR"),
    Column(name="notes"),
)


def runs(numbers: Iterable[int]) -> str:
    """`0-3,7` for 0 1 2 3 7."""
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ends)


def runs_by_topic(partitions: Sequence[TopicPartition]) -> str:
    """`orders:0-3,7 payments:1`, topics by name; empty for none."""
    by_topic = group_by_topic(partitions)
    return " ".join(f"{topic}:{runs(by_topic[topic])}" for topic in sorted(by_topic))


def member_rows(played: Round) -> Iterator[Row]:
    """A row for each member of a round, by member id; `lost` and `gained` are against what it owned."""
    for member in sorted(played.plan.members, key=lambda member: member.member_id):
        partitions = (played.assignment or {}).get(member.member_id, [])
        gained = len(set(partitions).difference(member.owned))
        lost = len(set(member.owned).difference(partitions))
        yield {
            "round": played.number,
            "what": played.what,
            "follow_up": played.follow_up,
            "assignor": played.assignor,
            "member_id": member.member_id,
            "group_instance_id": member.group_instance_id,
            "count": len(partitions),
            "gained": gained,
            "lost": lost,
            "partitions": group_by_topic(partitions),
            "change": f"+{gained} -{lost}" if member.owned else "new" if played.plan.previous else None,
            "runs": runs_by_topic(partitions) or "-",
        }


def json_member_rows(rounds: Iterable[Round]) -> Iterator[Row]:
    """`member_rows` of all rounds, with the fields of `MEMBER_COLUMNS` only."""
    names = [column.name for column in MEMBER_COLUMNS]
    return ({name: row[name] for name in names} for played in rounds for row in member_rows(played))


def score_rows(rounds: Iterable[Round]) -> Iterator[Row]:
    """A row for each round and assignor, with its scores and its whole assignment."""
    for played in rounds:
        scores = dict.fromkeys(_SCORE_FIELDS) if played.score is None else asdict(played.score)
        yield {
            "round": played.number,
            "what": played.what,
            "follow_up": played.follow_up,
            "assignor": played.assignor,
            **scores,
            "flaws": [flaw.value for flaw in played.flaws],
            "error": None if played.error is None else str(played.error),
            "assignment": None
            if played.assignment is None
            else {member_id: group_by_topic(p) for member_id, p in sorted(played.assignment.items())},
        }


def score_table_row(played: Round) -> Row:
    """One line of the table that compares assignors."""
    name = f"{played.assignor}, again" if played.follow_up else played.assignor
    if played.score is None:
        return {"assignor": name, "notes": str(played.error)}
    score = played.score
    had_owners = bool(played.plan.previous)
    return {
        "assignor": name,
        "each": _range(score.partitions_min, score.partitions_max),
        "kept": score.kept if had_owners else None,
        "moved": score.moved if had_owners else None,
        "paused": score.paused if had_owners else None,
        "unassigned": score.unassigned,
        "racks": f"{score.rack_matches} of {score.rack_known}" if score.rack_known else None,
        "notes": _notes(played, score),
    }


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}-{most}"


def _notes(played: Round, score: Score) -> str | None:
    notes = [flaw.value for flaw in played.flaws]
    if score.withheld:
        notes.append(f"{score.withheld} withheld")
    return ", ".join(notes) or None


def print_rounds(rounds: Sequence[Round], *, headers: bool) -> None:
    """A table of members for each round, under a line that sums it up."""
    for played in rounds:
        if played.number > 1:
            print()
        print(round_title(played))
        if played.assignment is not None:
            emit(member_rows(played), MEMBER_TABLE, OutputOptions(headers=headers))


def round_title(played: Round) -> str:
    """`round 1, range, start: each 2`."""
    return f"round {played.number}, {played.assignor}, {_event(played)}: {_summary(played)}"


def print_comparison(rounds: Sequence[Round], *, headers: bool) -> None:
    """For each event a table of scores, and one of members with the assignors side by side."""
    for event in sorted({played.event for played in rounds}):
        together = [played for played in rounds if played.event == event]
        if event:
            print()
        print(f"{printable(together[0].what)}:")
        emit(map(score_table_row, together), SCORE_TABLE, OutputOptions(headers=headers))
        last_of_each = {played.assignor: played for played in together if played.assignment is not None}
        columns, rows = side_by_side(list(last_of_each.values()))
        if rows:
            print()
            emit(rows, columns, OutputOptions(headers=headers))


def _event(played: Round) -> str:
    return "what was revoked is handed out" if played.follow_up else printable(played.what)


def _summary(played: Round) -> str:
    score = played.score
    if score is None:
        return "no answer"
    parts = [f"each {_range(score.partitions_min, score.partitions_max)}"]
    if played.plan.previous:
        parts.append(f"kept {score.kept}, moved {score.moved}, paused {score.paused}")
    if score.unassigned - score.withheld:
        parts.append(f"unassigned {score.unassigned - score.withheld}")
    if score.withheld:
        parts.append(f"withheld {score.withheld}")
    if score.rack_known:
        parts.append(f"near {score.rack_matches} of {score.rack_known}")
    return ", ".join(parts)


def side_by_side(rounds: Sequence[Round]) -> tuple[list[Column], list[Row]]:
    """Members down, assignors across. Cells are runs of partitions where there are few, else counts."""
    columns = [Column(name="member_id", header="MEMBER")]
    cells: dict[str, dict[str, object]] = {}
    topics = {topic for played in rounds for p in (played.assignment or {}).values() for topic, _ in p}
    texts: Mapping[str, Mapping[str, str]] = {
        played.assignor: {
            member_id: runs(n for _, n in p) if len(topics) == 1 else runs_by_topic(p)
            for member_id, p in (played.assignment or {}).items()
        }
        for played in rounds
    }
    widest = sum(max(map(len, by_member.values()), default=0) + 2 for by_member in texts.values())
    as_counts = widest > _SIDE_BY_SIDE_MAX
    for played in rounds:
        kind = Kind.INTEGER if as_counts else Kind.TEXT
        columns.append(Column(name=played.assignor, kind=kind))
        for member_id, partitions in (played.assignment or {}).items():
            text = texts[played.assignor][member_id] or None
            cells.setdefault(member_id, {})[played.assignor] = len(partitions) if as_counts else text
    return columns, [{"member_id": member_id, **cells[member_id]} for member_id in sorted(cells)]


_SIDE_BY_SIDE_MAX: Final = 68
"""Characters of partitions in a line, next to the member's name in a terminal of 80 columns."""
