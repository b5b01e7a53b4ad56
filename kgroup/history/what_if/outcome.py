"""One side of a comparison: its rebalances, the moves in each, and the totals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgroup.assignors.model import Assignment
from kgroup.assignors.planning.plan import PlanMember
from kgroup.assignors.planning.score import Score
from kgroup.protocol.topic_partition import TopicPartition


class Move(NamedTuple):
    """A partition that goes to another member than the one that read it last; both by member id.

    They are one and the same where a member was out of the group and takes it up again.
    """

    partition: TopicPartition
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRound:
    """One rebalance, recorded or supposed.

    `generation` is the recorded one, None where the log has none at that time. `stopped` are the members
    that stay and had to stop reading something. `pause_ms` is how long what stopped was not read,
    `unread_ms` the sum over all partitions, with what nobody read before the group took a member out; both
    None if unknown. `moves` are the partitions that `score` counts as moved. `error` is what Kafka's
    assignor throws; the group then keeps what it had.
    """

    generation: int | None
    at_ms: int | None
    follow_up: bool
    what: str
    assignor: str | None
    members: int
    stopped: tuple[str, ...]
    score: Score
    pause_ms: int | None
    unread_ms: int | None
    assignment: Assignment
    moves: tuple[Move, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One side. Sums over its rounds; `absent_ms` is what nobody read while a member was away that kept it.

    `unread_ms` is a sum over partitions, None if it is not known of every round.
    `partitions_min` and `_max` are of one member at the end, `spread` is the greatest difference there was.
    """

    rounds: tuple[PlayedRound, ...]
    rebalances: int
    moved: int
    members_stopped: int
    absent_ms: int
    unread_ms: int | None
    partitions_min: int
    partitions_max: int
    spread: int


def moves_of(
    members: Iterable[PlanMember], readers: Mapping[TopicPartition, str], assignment: Assignment
) -> Iterator[Move]:
    """The moves from what `members` own, by partition; `readers` had each partition last."""
    owned = {partition: member.member_id for member in members for partition in member.owned}
    taken = {partition: member_id for member_id, given in assignment.items() for partition in given}
    for partition, after in sorted(taken.items()):
        if partition in readers and owned.get(partition) != after:
            yield Move(partition, readers[partition], after)


def outcome_of(rounds: Sequence[PlayedRound], absent_ms: int) -> Outcome:
    """The sums over rounds in order; `absent_ms` is a sum over partitions."""
    pauses_ms = [played.unread_ms for played in rounds if played.unread_ms is not None]
    whole = [played.score for played in rounds if not played.score.withheld] or [p.score for p in rounds]
    last = rounds[-1].score if rounds else None
    return Outcome(
        rounds=tuple(rounds),
        rebalances=len(rounds),
        moved=sum(played.score.moved for played in rounds),
        members_stopped=sum(len(played.stopped) for played in rounds),
        absent_ms=absent_ms,
        unread_ms=sum(pauses_ms) + absent_ms if len(pauses_ms) == len(rounds) else None,
        partitions_min=last.partitions_min if last else 0,
        partitions_max=last.partitions_max if last else 0,
        spread=max((each.spread for each in whole), default=0),
    )
