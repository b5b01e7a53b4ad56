"""Turns the readings of a partition into the entries of the ledger.

Each reading has offsets that its reader was certainly handed, by its own commits, and those that it may have
been handed: up to where the log ended when it lost the partition. Handed out twice for certain is what two
readings certainly had, and possibly what two of them possibly had; skipped for certain is what lies in a gap
and no reading can have had.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.history.ledger import outside, ranges
from kgroup.history.ledger.leaps import leap_of
from kgroup.history.ledger.model import LedgerCause, LedgerEntry, LedgerKind, LogBounds
from kgroup.history.ledger.ranges import NOTHING, OPEN, Ranges
from kgroup.history.ledger.readings import LoggedCommit, LoggedStep, PartitionReadings, Reading, ReadingKind
from kgroup.history.timeline.model import Grade

CLOCKS_MS: Final = 5_000
"""So far may the clock that stamps a topic's records be from the one that stamps the group's."""
SESSION_MS: Final = 45_000
"""session.timeout.ms by default, where no record has it."""
REPLICAS_MS: Final = 30_000
"""replica.lag.time.max.ms by default: the high watermark, at which `latest` begins, may lag by this long
the log's end, until the replicas that are behind no longer count."""


@dataclass(slots=True)
class _Stretch:
    """A reading with what it had: `certain` is part of `possible`, and that of `at_most`.

    `at_most` is what it may have had of what was written before it learned that it had lost the partition.
    `set_over` is what tools may have set the offset over, if it was none of a consumer's.
    """

    reading: Reading
    is_set: bool
    set_over: Ranges
    out_of_range_to: int | None
    leap: LoggedStep | None
    certain: Ranges
    possible: Ranges
    at_most: Ranges


@dataclass(frozen=True, slots=True)
class _Gap:
    """Offsets that a reading passed over: in `sure` by what is known of it alone, in `range` at most.

    `signs` are the commits before and after them, `at_ms` when it passed over them: None, when it began.
    """

    cause: LedgerCause
    range: Ranges
    sure: Ranges
    evidence: str
    signs: tuple[LoggedCommit | None, LoggedCommit | None] | None = None
    at_ms: int | None = None


def entries_of(
    of_partition: PartitionReadings, bounds: LogBounds, *, has_had_members: bool
) -> list[LedgerEntry]:
    """The entries of one partition, in the order in which they happened."""
    stretches = _stretches(of_partition, bounds, has_had_members=has_had_members)
    entries: list[LedgerEntry] = []
    after_certain, after_at_most = _unions_after(stretches)
    before_certain = before_possible = before_at_most = NOTHING
    for number, stretch in enumerate(stretches):
        before = stretches[:number]
        begun_over = _gap(stretch, before, before_certain, of_partition, bounds)
        for gap in filter(None, (begun_over, _leap(stretch), _perhaps_set(stretch))):
            others = ranges.union([before_at_most, after_at_most[number + 1]])
            read = ranges.union([before_certain, after_certain[number + 1]])
            sure = ranges.without(gap.sure, others)
            maybe = ranges.without(ranges.without(gap.range, read), sure)
            entries += _skipped(of_partition, before, stretch, gap, sure, maybe)
        twice = ranges.both(stretch.certain, before_certain)
        maybe_twice = ranges.without(ranges.both(stretch.possible, before_possible), twice)
        entries += _doubled(of_partition, before, stretch, twice, maybe_twice)
        before_certain = ranges.union([before_certain, stretch.certain])
        before_possible = ranges.union([before_possible, stretch.possible])
        before_at_most = ranges.union([before_at_most, stretch.at_most])
    return entries


def _unions_after(stretches: Sequence[_Stretch]) -> tuple[list[Ranges], list[Ranges]]:
    """For each index, the union of all stretches from it on: certain, and at most."""
    certain, at_most = [NOTHING], [NOTHING]
    for stretch in reversed(stretches):
        certain.append(ranges.union([certain[-1], stretch.certain]))
        at_most.append(ranges.union([at_most[-1], stretch.at_most]))
    return certain[::-1], at_most[::-1]


# ---- what each had ------------------------------------------------------------------------------------


def _stretches(
    of_partition: PartitionReadings, bounds: LogBounds, *, has_had_members: bool
) -> list[_Stretch]:
    readings = of_partition.readings
    ended = {each.ended_ms for each in readings if each.ended_ms is not None}
    learnt = {_learns_ms(each) for each in readings}
    times = sorted(ended | {at_ms for at_ms in learnt if at_ms is not None})
    ends = dict(zip(times, bounds.ends_at(of_partition.partition, times), strict=True))
    end_now = bounds.end(of_partition.partition)
    log_start = bounds.start(of_partition.partition) or 0
    steps = [each.step_max for each in readings]
    leap = leap_of(of_partition, bounds)
    stretches = []
    for reading in readings:
        is_set = has_had_members and outside.is_set(reading)
        set_over = outside.perhaps_set_over(reading) if has_had_members and not is_set else NOTHING
        lost_to = None if is_set else _out_of_range_to(reading, bounds, max(steps, default=0))
        certain = possible = at_most = NOTHING
        if not is_set:
            end = end_now if reading.ended_ms is None else ends[reading.ended_ms]
            learns_ms = _learns_ms(reading)
            late_end = end_now if learns_ms is None else ends[learns_ms]
            certain = ranges.without(_certain(reading, lost_to), set_over)
            possible = _possible(reading, OPEN if end is None else end, log_start, lost_to)
            at_most = _possible(reading, OPEN if late_end is None else late_end, log_start, lost_to)
        has_leap = leap in reading.longest and lost_to is None and not is_set
        possible = ranges.union([certain, possible])
        at_most = ranges.union([possible, at_most])
        if leap is not None and has_leap:
            certain = ranges.without(certain, ranges.of(leap.begun.offset, leap.ended.offset))
        stretches.append(
            _Stretch(
                reading, is_set, set_over, lost_to, leap if has_leap else None, certain, possible, at_most
            )
        )
    return stretches


def _learns_ms(reading: Reading) -> int | None:
    """The latest time at which the reader knew that it had lost the partition; None if it has not.

    It learns of it with its next heartbeat, and if that does not come through when its session is over.
    """
    return None if reading.ended_ms is None else reading.ended_ms + (reading.session_ms or SESSION_MS)


def _out_of_range_to(reading: Reading, bounds: LogBounds, longest_step: int) -> int | None:
    """The log's start, if the reader found an offset below it, as far as that is still known.

    Every group has passed the log's present start at some time, and most while it was there. So it must have
    passed it in its first step after nobody was in the group, in a longer one than any reader took here. And
    deletion must explain it: somebody deleted records by request (`DeleteRecords`), or as much was waiting
    for the reader as retention, by size or at this rate of writing by time, leaves of the whole log.
    """
    first, start, partition = reading.first, reading.start, reading.partition
    log_start, end = bounds.start(partition), bounds.end(partition)
    if first is None or start is None or log_start is None or reading.kind is not ReadingKind.ASSIGNED:
        return None
    step = first.offset - start
    if not (start < log_start <= first.offset and reading.after_empty and step > longest_step > 0):
        return None
    is_too_old = end is not None and step >= end - log_start
    return log_start if is_too_old or bounds.was_cut_by_request(partition) else None


def _certain(reading: Reading, lost_to: int | None) -> Ranges:
    first = reading.first
    if first is None:
        return NOTHING
    if lost_to is not None or reading.start is None:
        return ranges.of(first.offset, reading.highest)
    if reading.kind is ReadingKind.REWIND and reading.reread_to < 0:
        # A late commit looks like this, too: only who commits on the way up again has read it again.
        return ranges.of(max(reading.start, reading.went_back_from), reading.highest)
    return ranges.of(reading.start, reading.highest)


def _possible(reading: Reading, end: int, log_start: int, lost_to: int | None) -> Ranges:
    if reading.kind is ReadingKind.CUT and reading.first is not None:
        return ranges.of(reading.first.offset, max(end, reading.highest))
    begun = log_start if reading.start is None else reading.start
    if reading.kind is ReadingKind.OUTSIDE and reading.first is not None:
        begun = min(begun, reading.first.offset)
    begun = begun if lost_to is None else lost_to
    return ranges.of(begun, max(end, reading.highest))


# ---- skipped ------------------------------------------------------------------------------------------


def _gap(
    stretch: _Stretch,
    before: Sequence[_Stretch],
    before_certain: Ranges,
    of_partition: PartitionReadings,
    bounds: LogBounds,
) -> _Gap | None:
    reading, first = stretch.reading, stretch.reading.first
    if first is None or reading.kind in (ReadingKind.CUT, ReadingKind.REWIND):
        return None
    if stretch.is_set:
        return _set_forward(reading, bounds.start(of_partition.partition))
    if stretch.out_of_range_to is not None and reading.start is not None:
        return _Gap(
            LedgerCause.OUT_OF_RANGE,
            ranges.of(reading.start, first.offset),
            ranges.of(reading.start, stretch.out_of_range_to),
            f"the group had no members after it committed {reading.start}; the log begins at"
            f" {stretch.out_of_range_to} now, and its next reader's first commit is {first.offset}",
        )
    if reading.start is not None:
        return None
    if reading.was_removed and before_certain:
        return _Gap(
            LedgerCause.OFFSETS_REMOVED,
            ranges.of(before_certain[-1].end, first.offset),
            NOTHING,
            f"the committed offset was deleted after {before_certain[-1].end}, and the next reader's first"
            f" commit is {first.offset}",
        )
    log_start = bounds.start(of_partition.partition)
    if log_start is None or before_certain or _began_below_the_end(reading, bounds):
        return None
    return _Gap(
        LedgerCause.FIRST_COMMIT,
        ranges.of(log_start, first.offset),
        NOTHING,
        f"there was no committed offset, the log begins at {log_start}, and the first commit is"
        f" {first.offset}: with auto.offset.reset=latest the reader began at the log's end",
    )


def _leap(stretch: _Stretch) -> _Gap | None:
    if stretch.leap is None:
        return None
    begun, ended = stretch.leap
    return _Gap(
        LedgerCause.LEAP,
        ranges.of(begun.offset, ended.offset),
        NOTHING,
        f"{begun.offset} was committed with more to read, and {ended.at_ms - begun.at_ms} ms later"
        f" {ended.offset}, where the log ended: further and faster than in any other step",
        signs=(begun, ended),
        at_ms=begun.at_ms,
    )


def _perhaps_set(stretch: _Stretch) -> _Gap | None:
    if not stretch.set_over:
        return None
    reading, (over,) = stretch.reading, stretch.set_over
    end = reading.first if reading.first is not None and reading.first.offset == over.end else reading.last
    return _Gap(
        LedgerCause.ADMIN_RESET,
        stretch.set_over,
        NOTHING,
        f"{over.end} was committed after {over.first} while the group had no members: by a consumer without"
        " membership, which has read what lies between, or by a tool that set the offset",
        signs=(reading.before, end),
    )


def _set_forward(reading: Reading, log_start: int | None) -> _Gap | None:
    assert reading.first is not None
    start = log_start if reading.start is None else reading.start
    if start is None:
        return None
    passed = ranges.of(start, reading.first.offset)
    before = "nothing" if reading.start is None else str(reading.start)
    return _Gap(
        LedgerCause.ADMIN_RESET,
        passed,
        passed,
        f"the offset was set from {before} to {reading.first.offset} while the group had no members",
    )


def _began_below_the_end(reading: Reading, bounds: LogBounds) -> bool:
    """Whether its first commit is below where the log ended before it began: it did not begin at the end."""
    (end,) = bounds.ends_at(reading.partition, [reading.begun_ms - CLOCKS_MS - REPLICAS_MS])
    return end is not None and reading.first is not None and reading.first.offset < end


def _skipped(
    of_partition: PartitionReadings,
    before: Sequence[_Stretch],
    stretch: _Stretch,
    gap: _Gap,
    sure: Ranges,
    maybe: Ranges,
) -> Iterator[LedgerEntry]:
    for skipped, is_certain in ((sure, True), (maybe, False)):
        for each in skipped:
            yield _entry(
                LedgerKind.SKIPPED,
                of_partition,
                before,
                stretch,
                each,
                is_certain=is_certain,
                cause=gap.cause,
                grade=Grade.INFERRED if is_certain else Grade.UNKNOWN,
                evidence=gap.evidence,
                signs=gap.signs,
                at_ms=gap.at_ms,
            )


# ---- doubled ------------------------------------------------------------------------------------------


def _doubled(
    of_partition: PartitionReadings,
    before: Sequence[_Stretch],
    stretch: _Stretch,
    twice: Ranges,
    maybe: Ranges,
) -> Iterator[LedgerEntry]:
    if not before:
        return
    cause = _why_again(before, stretch.reading)
    evidence = _evidence_of_again(before, stretch.reading, cause)
    for doubled, is_certain in ((twice, True), (maybe, False)):
        for each in doubled:
            if each.end == OPEN:
                continue  # how far is anybody's guess
            yield _entry(
                LedgerKind.DOUBLED,
                of_partition,
                before,
                stretch,
                each,
                is_certain=is_certain,
                cause=cause,
                grade=Grade.RECORDED if is_certain else Grade.UNKNOWN,
                evidence=evidence,
            )


def _why_again(before: Sequence[_Stretch], reading: Reading) -> LedgerCause:
    last = before[-1]
    if reading.kind is ReadingKind.REWIND:
        return LedgerCause.REWIND
    if last.is_set:
        return LedgerCause.ADMIN_RESET
    if reading.start is None and reading.was_removed:
        return LedgerCause.OFFSETS_REMOVED
    if last.reading.owner is not None and last.reading.owner == reading.owner:
        return LedgerCause.REJOIN
    return LedgerCause.HAND_OVER


def _evidence_of_again(before: Sequence[_Stretch], reading: Reading, cause: LedgerCause) -> str:
    start = "without a committed offset" if reading.start is None else f"at {reading.start}"
    match cause:
        case LedgerCause.REWIND:
            return f"its own commits went back from {reading.went_back_from} to {reading.start}"
        case LedgerCause.ADMIN_RESET:
            found = before[-1].reading.start
            set_from = "nothing" if found is None else str(found)
            return f"the offset was set from {set_from} to {reading.start} while the group had no members"
        case LedgerCause.OFFSETS_REMOVED:
            return "the committed offset was deleted, and the next reader began without one"
        case _:
            last = before[-1].reading
            who = "the same member" if cause is LedgerCause.REJOIN else "another member"
            generation = "" if reading.generation is None else f" by generation {reading.generation}"
            until = "" if last.last is None else f"; committed before: {last.last.offset}"
            return f"{who} began {start}{generation}{until}, and may have been behind what was handed out"


def _entry(
    kind: LedgerKind,
    of_partition: PartitionReadings,
    before: Sequence[_Stretch],
    stretch: _Stretch,
    of: ranges.Range,
    *,
    is_certain: bool,
    cause: LedgerCause,
    grade: Grade,
    evidence: str,
    signs: tuple[LoggedCommit | None, LoggedCommit | None] | None = None,
    at_ms: int | None = None,
) -> LedgerEntry:
    reading = stretch.reading
    owners = [each.reading.owner for each in before[-1:] if kind is LedgerKind.DOUBLED]
    last_before, first_after = signs or (reading.before, reading.first)
    signed = [each for each in (last_before, first_after) if each is not None]
    places = {reading.begun_at, *(each.log_offset for each in signed)}
    return LedgerEntry(
        kind=kind,
        partition=of_partition.partition,
        from_offset=of.first,
        to_offset=None if of.end == OPEN else of.end,
        is_certain=is_certain,
        cause=cause,
        grade=grade,
        evidence=evidence,
        owners=tuple(dict.fromkeys(owner for owner in (*owners, reading.owner) if owner is not None)),
        generation=reading.generation,
        at_ms=reading.begun_ms if at_ms is None else at_ms,
        from_ms=last_before.at_ms if last_before is not None else None,
        to_ms=first_after.at_ms if first_after is not None else None,
        group_was_known=reading.group_was_known,
        offsets_partition=of_partition.offsets_partition,
        records=tuple(sorted(places)),
    )
