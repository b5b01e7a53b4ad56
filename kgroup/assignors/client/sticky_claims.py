"""The claims of a sticky group (which member owned which partition), and how conflicts are settled.

Source: AbstractStickyAssignor.allSubscriptionsEqual of Kafka 4.3.1 (KAFKA-12984 and its follow-ups).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kgroup.assignors.client.leader_view import LeaderView
from kgroup.assignors.model import NO_GENERATION
from kgroup.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The partitions a member says it owned, and the generation; None where it does not say."""

    partitions: Sequence[TopicPartition]
    generation: int | None


@dataclass(slots=True, kw_only=True)
class Ownership:
    """Claims after conflicts are settled.

    `owned` has a list for every member, in the order of the leader's map; `contested` are partitions
    that two members claimed in one generation, which nobody keeps; `previous` maps a partition to
    the owner of its newest stale claim (a claim older than `max_generation`).
    """

    owned: dict[str, list[TopicPartition]]
    contested: set[TopicPartition] = field(default_factory=set)
    previous: dict[TopicPartition, str] = field(default_factory=dict)
    max_generation: int = NO_GENERATION


def settle(view: LeaderView, claims: dict[str, Claim]) -> Ownership:
    """Decide who owned what.

    Of two claimers the newer generation wins, and in one generation neither. The *first* claimer's
    generation is read from its subscription's own field, which counts as -1 where it was not sent,
    even if the user data names a generation: so an older claim can win. Kafka does that.
    """
    ownership = Ownership(owned={})
    owner: dict[TopicPartition, str] = {}
    field_generation = {member.member_id: max(member.generation, NO_GENERATION) for member in view.members}
    for member in view.members:
        claim = claims[member.member_id]
        generation = NO_GENERATION if claim.generation is None else claim.generation
        ownership.max_generation = max(ownership.max_generation, generation)
        mine: list[TopicPartition] = []
        ownership.owned[member.member_id] = mine
        for partition in claim.partitions:
            if partition[0] not in view.topics:
                continue
            other = owner.get(partition)
            if other is None:
                mine.append(partition)
                owner[partition] = member.member_id
                continue
            other_generation = field_generation[other]
            if generation < other_generation:
                continue
            _remove_first(ownership.owned[other], partition)
            owner[partition] = member.member_id
            if generation == other_generation:
                ownership.contested.add(partition)
            else:
                mine.append(partition)
    ownership.previous = _stale_owners(claims, ownership.max_generation)
    return ownership


def _remove_first(partitions: list[TopicPartition], partition: TopicPartition) -> None:
    if partition in partitions:
        partitions.remove(partition)


def _stale_owners(claims: dict[str, Claim], max_generation: int) -> dict[TopicPartition, str]:
    """Owners by claims older than the newest; of one generation the first claim counts."""
    newest: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, claim in claims.items():
        generation = NO_GENERATION if claim.generation is None else claim.generation
        if generation >= max_generation:
            continue
        for partition in claim.partitions:
            if partition not in newest or generation > newest[partition][0]:
                newest[partition] = generation, member_id
    return {partition: member_id for partition, (_, member_id) in newest.items()}


def left_over(
    everything: list[TopicPartition],
    kept: Iterable[TopicPartition],
    sort_key: Callable[[TopicPartition], object],
) -> list[TopicPartition]:
    """`everything` without what is kept, both taken in the order of `sort_key`.

    Kafka walks both lists side by side. A kept partition that does not exist, or is kept twice, is
    never met, and stops the walk: all that stands behind it counts as left over, kept or not.
    """
    listed = list(kept)
    met = set(listed)
    left = [partition for partition in everything if partition not in met]
    if len(everything) - len(left) == len(listed):
        return left
    existing = set(everything)
    met = set()
    for partition in sorted(listed, key=sort_key):  # type: ignore[arg-type]  # keys of one call compare
        if partition not in existing or partition in met:
            break
        met.add(partition)
    return [partition for partition in everything if partition not in met]
