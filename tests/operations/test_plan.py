"""Plans: ranges, what readers will notice, sums."""

import pytest

from kgroup.errors import RefusedError
from kgroup.operations.model import Change, GroupOffsets, PartitionLimits, PlanRow, Position, Target
from kgroup.operations.plan import Outside, clamped, effect, kafka_warning, make_plan, totals

PLACE = ("orders", 2)
LOG = PartitionLimits(log_start=10, log_end=300)
HOUR_MS = 3_600_000


def row(
    old: int | None, new: int | None, time_ms: int | None = None, log: PartitionLimits | None = LOG
) -> PlanRow:
    positions = [None if offset is None else Position(offset) for offset in (old, new)]
    change = Change(group="g", topic="orders", partition=2, old=positions[0], new=positions[1])
    return PlanRow(change=change, limits=log, time_ms=time_ms)


def planned(old: int | None, new: int | None, outside: Outside = Outside.REFUSED) -> PlanRow:
    commits = {} if old is None else {PLACE: Position(old)}
    target = Target(position=None if new is None else Position(new))
    [made] = make_plan(
        GroupOffsets(group="g", commits=commits), {PLACE: target}, {PLACE: LOG}, outside=outside
    )
    return made


@pytest.mark.parametrize("new", [10, 11, 299, 300])
def test_an_offset_within_the_log_is_taken(new: int) -> None:
    assert planned(50, new).change.new == Position(new)
    assert kafka_warning(PLACE, new, LOG) is None


@pytest.mark.parametrize(("new", "nearest"), [(9, 10), (-950, 10), (301, 300), (9999, 300)])
def test_an_offset_outside_the_log_is_refused_or_clamped_or_kept(new: int, nearest: int) -> None:
    with pytest.raises(RefusedError, match=f"orders-2 has 10 to 300, not {new}; --clamp"):
        planned(50, new)
    clamped = planned(50, new, Outside.CLAMPED)
    assert (clamped.change.new, clamped.notes) == (Position(nearest), (f"clamped from {new}",))
    kept = planned(50, new, Outside.KEPT)
    assert (kept.change.new, kept.notes) == (Position(new), ("outside the log, 10 to 300",))


def test_kafkas_own_words_for_what_it_clamps() -> None:
    """`OffsetsUtils.checkOffsetsRange` of Kafka 4.3.1."""
    assert kafka_warning(PLACE, 9999, LOG) == (
        "New offset (9999) is higher than latest offset for topic partition orders-2."
        " Value will be set to 300."
    )
    assert kafka_warning(PLACE, -800, LOG) == (
        "New offset (-800) is lower than earliest offset for topic partition orders-2."
        " Value will be set to 10."
    )


def test_of_many_that_are_clamped_the_first_are_named() -> None:
    targets = {("orders", number): Target(position=Position(number * 100)) for number in range(9)}
    said = list(clamped(targets, dict.fromkeys(targets, LOG)))
    first = [f"New offset ({each})" for each in (0, 400, 500)]
    assert [line.partition(" is ")[0] for line in said[:3]] == first
    assert said[3:] == ["3 more partitions with new offsets outside their logs"]


def test_many_partitions_out_of_range_are_one_line() -> None:
    targets = {("orders", number): Target(position=Position(9999)) for number in range(5)}
    limits = dict.fromkeys(targets, LOG)
    with pytest.raises(RefusedError, match=r"orders-2 has 10 to 300, not 9999 \(and 2 more\); --clamp"):
        make_plan(GroupOffsets(group="g"), targets, limits)


def test_rows_are_sorted_and_know_the_old_commits() -> None:
    places = [("orders", 10), ("audit", 0), ("orders", 9)]
    offsets = GroupOffsets(
        group="g",
        commits={("orders", 9): Position(20, 4, "m")},
        unstable=frozenset({("audit", 0)}),
    )
    rows = make_plan(
        offsets,
        {place: Target(position=Position(30), why="because") for place in places},
        dict.fromkeys(places, LOG),
    )
    assert [each.change.place for each in rows] == [("audit", 0), ("orders", 9), ("orders", 10)]
    assert [each.change.old for each in rows] == [None, Position(20, 4, "m"), None]
    assert [each.notes for each in rows] == [
        ("because", "an open transaction is about to commit here"),
        ("because",),
        ("because",),
    ]


@pytest.mark.parametrize(
    ("old", "note"),
    [
        (5, "the old offset 5 is deleted: the log begins at 10"),
        (400, "the old offset 400 is past the log's end, 300"),
    ],
)
def test_an_old_offset_that_the_log_does_not_have_is_noted(old: int, note: str) -> None:
    assert planned(old, 100).notes == (note,)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (row(200, 100, -14 * HOUR_MS), "reads 100 records again (14h 0m)"),
        (row(101, 100), "reads 1 record again"),
        (row(100, 1100, 5000, None), "skips 1,000 records (5s)"),
        (row(100, 100), "stays"),
        (row(None, 100), "sets a first offset"),
        (row(100, None), "deletes the offset"),
        (row(None, None), "nothing to delete"),
        (row(0, 10), "moves past nothing"),
        (row(0, 20), "skips 10 records"),
        (row(500, 290), "reads 10 records again"),
        (row(500, 300), "moves past nothing"),
        (row(20, 0), "reads 10 records again"),
        (row(10, 0), "moves past nothing"),
        (row(290, 500), "skips 10 records"),
        (row(300, 500), "moves past nothing"),
    ],
)
def test_the_effect_counts_only_records_that_the_log_has(change: PlanRow, says: str) -> None:
    assert effect(change) == says


def test_the_difference_is_that_of_the_offsets() -> None:
    assert [row(200, 150).change.records, row(None, 1).change.records, row(1, None).change.records] == [
        -50,
        None,
        None,
    ]
    assert [row(1, 100).lag, row(1, 400).lag, row(1, None).lag, row(1, 2, log=None).lag] == [
        200,
        0,
        None,
        None,
    ]


def test_the_sums_of_a_plan() -> None:
    rows = [
        row(200, 100, -2 * HOUR_MS),
        row(200, 150, -HOUR_MS),
        row(200, 260, 60_000),
        row(200, 210),
        row(None, 5),
        row(7, None),
        row(20, 20),
    ]
    assert totals(rows).sentence() == (
        "150 records will be read again, up to 2h 0m of them; 70 unread records will be skipped, up to 1m 0s"
        " of them; 1 partition without an offset will get one; 1 offset will be deleted; 1 partition will not"
        " move"
    )
    assert totals([]).sentence() == "no partition is concerned"
