"""Topics with nearly all lag on one partition: more is written there, or its member is slow.

What tells the two apart is how much is written to each partition. Keys are to blame only where one gets more
than the others; where all get as much, it is who reads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.window_evidence import COMMITS_BEHIND

SHARE: Final = 0.8
PARTITIONS: Final = 3
TIMES_OTHERS: Final = 10
WRITTEN_MORE: Final = 1.5
"""Partitions of a topic that is written evenly differ by less: round robin, sticky batches, many keys."""
FALLS_BEHIND: Final = 0.9
GAP_TIMES_USUAL: Final = 3
_WINDOW_MS: Final = 5_000  # shorter windows give no rate worth the name

_TRY_HOT: Final = (
    "More members do not help a single partition. Look at the keys: a very frequent one, null keys with a"
    " sticky partitioner, or a custom partitioner. Salt the key, or process by key in several threads."
)
_TRY_SLOW: Final = (
    "The keys are not to blame, and more members do not help. Look at this member's host: CPU, garbage"
    " collection, disk, a noisy neighbour, a slow dependency or an older version; compare its time per record"
    " with the others'. If you restart it elsewhere, the others take its partitions meanwhile."
)


def unevenly_behind(facts: GroupFacts, of_topic: Sequence[PartitionFacts]) -> Iterator[Finding]:
    """The hot partition of a topic, or its slow members; all partitions have commits and move on."""
    with_lag = [partition for partition in of_topic if partition.row.lag is not None]
    total = sum(map(_lag, with_lag))
    if len(with_lag) < PARTITIONS or not total:
        return
    hottest = max(with_lag, key=_lag)
    if _is_apart(facts, [hottest], with_lag) and _written_more([hottest], with_lag) is True:
        yield _hot(facts, hottest, with_lag)
        return
    for member_id in sorted({partition.row.member_id or "" for partition in with_lag} - {""}):
        own = [partition for partition in with_lag if partition.row.member_id == member_id]
        others = [partition for partition in with_lag if partition.row.member_id != member_id]
        speeds = _speeds(own, others)
        is_slow = speeds is not None and _is_apart(facts, own, with_lag)
        if speeds is not None and is_slow and _written_more(own, with_lag) is False:
            yield _slow(facts, member_id, own, with_lag, speeds)


@dataclass(frozen=True, slots=True)
class _Speeds:
    """Records a second, of a member's partitions together, and of what is written to each of the others."""

    read_per_s: float
    written_per_s: float
    others_written_per_s: float | None


def _is_apart(
    facts: GroupFacts, behind: Sequence[PartitionFacts], with_lag: Sequence[PartitionFacts]
) -> bool:
    """Whether these have nearly all of the lag, each far more than the others, and are read as lately.

    What comes in between two commits is unread wherever nothing is wrong: much of it, where much is written.
    """
    others = [_lag(partition) for partition in with_lag if partition not in behind]
    lags = [_lag(partition) for partition in behind]
    if not others or sum(lags) < SHARE * (sum(lags) + sum(others)):
        return False
    least = max(TIMES_OTHERS * max(median(others), 1), COMMITS_BEHIND * facts.usual_step)
    newest_ms = max(partition.last_ms for partition in with_lag)
    return all(
        partition.longest_interval_ms is not None
        and _lag(partition) >= least
        and _lag(partition) > (_written_per_s(partition) or 0) * partition.longest_interval_ms / 1000
        and newest_ms - partition.last_ms <= 2 * partition.longest_interval_ms
        for partition in behind
    )


def _written_more(behind: Sequence[PartitionFacts], of_topic: Sequence[PartitionFacts]) -> bool | None:
    """Whether more is written to these than to the others, lately or in all that is kept; None is unknown."""
    others = [partition for partition in of_topic if partition not in behind]
    ratios = [
        ratio
        for measured in (_written_per_s, _kept)
        if (ratio := _ratio([measured(one) for one in behind], [measured(one) for one in others])) is not None
    ]
    return any(ratio >= WRITTEN_MORE for ratio in ratios) if ratios else None


def _ratio(behind: Sequence[float | None], others: Sequence[float | None]) -> float | None:
    known = [number for number in others if number is not None]
    these = [number for number in behind if number is not None]
    if not known or len(these) < len(behind) or (median(known) <= 0 and max(these) <= 0):
        return None
    return max(these) / median(known) if median(known) > 0 else float("inf")


def _kept(partition: PartitionFacts) -> float | None:
    """Offsets from the log's start to its end: retention makes them comparable."""
    row = partition.row
    if row.log_end_offset is None or row.log_start_offset is None:
        return None
    return row.log_end_offset - row.log_start_offset


def _written_per_s(partition: PartitionFacts) -> float | None:
    """The rate by proof; without a lag, by the commits, as nobody reads faster than records are written."""
    if partition.written_per_s is not None:
        return partition.written_per_s
    return _read_per_s(partition) if not _lag(partition) else None


def _has_gap(partition: PartitionFacts) -> bool:
    """Whether its commits once ceased, as while nobody owned it: what has come meanwhile is no slowness."""
    usual_ms = (partition.last_ms - partition.first_ms) / max(partition.commits - 1, 1)
    return (partition.longest_interval_ms or 0) > GAP_TIMES_USUAL * usual_ms


def _read_per_s(partition: PartitionFacts) -> float | None:
    span_ms = partition.last_ms - partition.first_ms
    if span_ms < _WINDOW_MS:
        return None
    return max(partition.last_offset - partition.first_offset, 0) * 1000 / span_ms


def _speeds(own: Sequence[PartitionFacts], others: Sequence[PartitionFacts]) -> _Speeds | None:
    """The pace of a member that falls behind; None if it does not, or if that is unknown."""
    if any(map(_has_gap, own)):
        return None
    of_others = [rate for partition in others if (rate := _written_per_s(partition)) is not None]
    usual = median(of_others) if of_others else None
    read = [_read_per_s(partition) for partition in own]
    # Of a topic that is written evenly, what is written to the others is written here, too.
    written = [usual if (rate := _written_per_s(partition)) is None else rate for partition in own]
    known_read = [rate for rate in read if rate is not None]
    known_written = [rate for rate in written if rate is not None]
    if len(known_read) < len(own) or len(known_written) < len(own):
        return None
    speeds = _Speeds(sum(known_read), sum(known_written), usual)
    is_slow = 0 < speeds.read_per_s < FALLS_BEHIND * speeds.written_per_s
    return speeds if is_slow else None


def _hot(facts: GroupFacts, hottest: PartitionFacts, with_lag: Sequence[PartitionFacts]) -> Finding:
    lag, total = _lag(hottest), sum(map(_lag, with_lag))
    others = [partition for partition in with_lag if partition is not hottest]
    usual_lag = median(map(_lag, others))
    return Finding(
        kind=FindingKind.HOT_PARTITION,
        group=facts.group.group_id,
        topic=hottest.row.topic,
        partition=hottest.row.partition,
        member_id=hottest.row.member_id,
        grade=Grade.INFERRED,
        evidence=f"{lag:,} of the topic's {total:,} unread are in one of {len(with_lag)} partitions, the"
        f" others have {usual_lag:g} each; {_more(hottest, others)}",
        numbers={"lag": lag, "total_lag": total, "share": round(lag / total, 3), "partitions": len(with_lag)},
        try_this=_TRY_HOT,
    )


def _more(hottest: PartitionFacts, others: Sequence[PartitionFacts]) -> str:
    rates = _written_per_s(hottest), [_written_per_s(partition) for partition in others]
    ratio = _ratio([rates[0]], rates[1])
    known = [rate for rate in rates[1] if rate is not None]
    if rates[0] is not None and ratio is not None and ratio >= WRITTEN_MORE:
        return f"{rates[0]:.1f}/s are written there, {median(known):.1f}/s to each of the others"
    kept = [number for partition in others if (number := _kept(partition)) is not None]
    return f"its log holds {_kept(hottest):,.0f} offsets, each of the others {median(kept):,.0f}"


def _slow(
    facts: GroupFacts,
    member_id: str,
    own: Sequence[PartitionFacts],
    with_lag: Sequence[PartitionFacts],
    speeds: _Speeds,
) -> Finding:
    row, lag, total = own[0].row, sum(map(_lag, own)), sum(map(_lag, with_lag))
    member = next((one for one in facts.group.members if one.member_id == member_id), None)
    host = (member.client_host if member is not None else row.host) or "unknown"
    others = speeds.others_written_per_s
    usual = f", as to the others ({others:.1f}/s each)" if others is not None else ""
    places = listed([f"{partition.row.topic}-{partition.row.partition}" for partition in own])
    return Finding(
        kind=FindingKind.SLOW_MEMBER,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition if len(own) == 1 else None,
        member_id=member_id,
        grade=Grade.INFERRED,
        evidence=f"{lag:,} of the topic's {total:,} unread are on {counted(len(own), 'partition')} ({places})"
        f" of this member on {host}: it reads {speeds.read_per_s:.1f}/s of {speeds.written_per_s:.1f}/s that"
        f" are written there{usual}; the other members keep up",
        numbers={
            "lag": lag,
            "total_lag": total,
            "share": round(lag / total, 3),
            "partitions": len(own),
            "read_per_s": round(speeds.read_per_s, 3),
            "written_per_s": round(speeds.written_per_s, 3),
            "host": host,
        },
        try_this=_TRY_SLOW,
    )


def _lag(partition: PartitionFacts) -> int:
    return max(partition.row.lag or 0, 0)
