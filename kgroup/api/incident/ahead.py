"""Deadlines as claims: when retention deletes unread records, or when lag exceeds a bound.

The forecast of `kgroup deadlines`, made of cited records alone: the group's last commits, and the batches
that prove where the topics' logs ended then and at times between. Where segments begin no record says, so
here a record may be deleted as soon as it is old enough.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kgroup.api.deadlines import KnownEnds
from kgroup.api.incident.evidence import DataBatch, Evidence, EvidenceReader
from kgroup.api.incident.past import batches_of_ends, commit_history, end_at
from kgroup.api.replay import Item
from kgroup.errors import DecodeError
from kgroup.lag.deadlines.deadlines import Forecast
from kgroup.lag.deadlines.model import Deadline, DeadlineKind, Outlook, PartitionPast, Seen
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.incident.claims import Claim, ClaimKind, Says

_COMMITS: Final = 64
_TIMES: Final = 120
_IN_SIGHT: Final = (Outlook.PASSED, Outlook.EXPECTED)
_OF_TIME: Final = (DeadlineKind.SLO_TIME, DeadlineKind.RETENTION_TIME)


@dataclass(frozen=True, slots=True)
class AskedDeadline:
    """A bound that a report is asked about: in ms, or in records."""

    kind: DeadlineKind
    bound: int


def deadline_says(group: str, question: Says, evidence: Evidence) -> dict[str, Any] | None:
    """The partitions with a deadline in sight: how many, how much is unread there, and when the first is due.

    Times are those of the partition whose deadline comes first. None if no deadline is in sight.
    """
    kind, bound = DeadlineKind(question["deadline"]), int(question["bound"])
    now_ms = int(question["now_ms"])
    places = [(str(topic), int(partition)) for topic, partition in question["partitions"]]
    if kind is DeadlineKind.RETENTION_BYTES or bound < 1:
        raise ValueError(f"no deadline of a report: {kind} {bound}")
    by_place: dict[TopicPartition, list[DataBatch]] = {place: [] for place in places}
    for each in evidence.batches:
        by_place.setdefault((each.topic, each.partition), []).append(each)
    found: list[tuple[Deadline, TopicPartition, int]] = []
    for place, commits in _commits(group, evidence.items, places, now_ms).items():
        past = _past(commits, by_place[place], kind, bound, now_ms)
        if past is None:
            continue
        deadline = _deadline(Forecast(past), kind, bound)
        if deadline.outlook in _IN_SIGHT:
            found.append((deadline, place, past.end - past.position))
    if not found:
        return None
    first, place, _ = min(found, key=lambda each: (each[0].low_ms or 0, each[1]))
    return {
        "deadline": kind.value,
        "bound": bound,
        "outlook": first.outlook.value,
        "partitions": len(found),
        "unread": sum(unread for _, _, unread in found),
        "first": list(place),
        "low_ms": first.low_ms,
        "likely_ms": first.likely_ms,
        "high_ms": first.high_ms,
        "stands_still": first.note is not None,
    }


def deadline_claims(
    reader: EvidenceReader,
    group: str,
    items: Sequence[Item],
    places: Sequence[TopicPartition],
    asked: Iterable[AskedDeadline],
    now_ms: int,
) -> Iterator[Claim]:
    """A claim for each bound that is in sight on some partition, with what it is derived from."""
    history = _commits(group, items, places, now_ms)
    for each in asked:
        needed: dict[tuple[int, int], Item] = {}
        batches: dict[tuple[str, int, int], DataBatch] = {}
        if reader.live is not None:
            times = {
                place: _times(commits, each.kind, each.bound, now_ms)
                for place, commits in history.items()
                if commits
            }
            reader.live.look(times)
        for place, commits in history.items():
            if not commits:
                continue
            for commit in commits:
                needed |= {(logged.partition, logged.offset): logged for logged in commit.log}
            times_ms = _times(commits, each.kind, each.bound, now_ms)
            proof = [*batches_of_ends(reader, place, times_ms)]
            unread = reader.batch(place, commits[-1].offset)
            for batch in (*proof, *([unread] if unread is not None else [])):
                key = (batch.topic, batch.partition, batch.batch.base_offset)
                if key not in batches or batch.is_end:
                    batches[key] = batch
        question: dict[str, object] = {
            "deadline": each.kind.value,
            "bound": each.bound,
            "now_ms": now_ms,
            "partitions": [list(place) for place in history],
        }
        evidence = Evidence(
            items=tuple(needed[key] for key in sorted(needed)),
            batches=tuple(batches[key] for key in sorted(batches)),
            topic_names=reader.topic_names,
        )
        if (says := deadline_says(group, question, evidence)) is not None:
            yield Claim(
                kind=ClaimKind.DEADLINE, group=group, question=question, says=says, cited=evidence.cited()
            )


@dataclass(frozen=True, slots=True)
class _Commit:
    at_ms: int
    offset: int
    log: tuple[LoggedEntry, ...]


def _commits(
    group: str, items: Iterable[object], places: Sequence[TopicPartition], now_ms: int
) -> Mapping[TopicPartition, Sequence[_Commit]]:
    """The last commits of each partition; none where the last of all is a deletion."""
    made: dict[TopicPartition, Sequence[_Commit]] = {}
    for place, history in commit_history(group, items, places).items():
        until = [(at_ms, commit) for at_ms, commit in history if at_ms <= now_ms]
        is_gone = not until or until[-1][1] is None
        known = [_Commit(_made_ms(c.log[0]), c.offset, c.log) for _, c in until if c is not None]
        made[place] = () if is_gone else known[-_COMMITS:]
    return made


def _made_ms(commit: LoggedEntry) -> int:
    """The commit's own time; it may count only later, when its transaction ends."""
    assert isinstance(commit.entry, OffsetsEntry)
    assert isinstance(commit.entry.value, OffsetCommitValue)
    return commit.entry.value.commit_timestamp


def _times(commits: Sequence[_Commit], kind: DeadlineKind, bound: int, now_ms: int) -> list[int]:
    """Times at which to look up log ends: at each commit and in between, as far back as the bound reaches."""
    length_ms = max(bound if kind in _OF_TIME else 0, now_ms - commits[0].at_ms)
    grid = {now_ms - length_ms * number // _TIMES for number in range(_TIMES + 1)}
    return sorted(grid | {commit.at_ms for commit in commits})


def _past(
    commits: Sequence[_Commit], batches: Sequence[DataBatch], kind: DeadlineKind, bound: int, now_ms: int
) -> PartitionPast | None:
    """None if the batches do not say where the log ended, or if nothing that can be read is left."""
    if not commits:
        return None
    ordered = sorted(batches, key=lambda each: each.batch.base_offset)
    times_ms = _times(commits, kind, bound, now_ms)
    known = KnownEnds(times_ms, [end_at(ordered, time_ms) for time_ms in times_ms])
    end, position = known.at(now_ms), commits[-1].offset
    if end is None or not _has_unread(ordered, position):
        return None
    return PartitionPast(
        seen=tuple(Seen(commit.at_ms, commit.offset, known.at(commit.at_ms) or 0) for commit in commits),
        position=position,
        end=end,
        now_ms=now_ms,
        ended_at=known.at,
    )


def _has_unread(batches: Sequence[DataBatch], position: int) -> bool:
    """Whether a data record at or behind the position is among the batches; markers do not count."""
    bases = [each.batch.base_offset for each in batches]
    for each in batches[max(bisect_right(bases, position) - 1, 0) :]:
        if each.batch.control or each.batch.last_offset < position:
            continue
        try:
            if any(record.offset >= position for record in each.batch.records()):
                return True
        except DecodeError:
            continue
    return False


def _deadline(forecast: Forecast, kind: DeadlineKind, bound: int) -> Deadline:
    match kind:
        case DeadlineKind.SLO_RECORDS:
            return forecast.slo_records(bound)
        case DeadlineKind.SLO_TIME:
            return forecast.slo_time(bound)
        case _:
            return forecast.retention_time(bound)
