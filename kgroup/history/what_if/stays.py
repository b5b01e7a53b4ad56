"""Members' stays in a group, across its generations: a what-if changes them and plays them again.

Places count the generations of a timeline from 0.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.history.timeline.causes import member_changes
from kgroup.history.timeline.model import CauseKind, Generation, Grade, TimelineMember

DEPARTURES = frozenset(
    {
        CauseKind.LEAVE,
        CauseKind.SESSION_EXPIRED,
        CauseKind.POLL_INTERVAL_EXCEEDED,
        CauseKind.REBALANCE_TIMEOUT,
        CauseKind.MEMBER_GONE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """One member, from the generation at index `first` until the one at index `end`, which is without it.

    `process` names who it was, the same for a process that comes back. `end` is None for one who stayed to
    the last; `departure` says why it went, MEMBER_GONE where the log leaves that open. `seen` is the member
    as each generation has it: a static one gets a new id when it comes back (KIP-345).
    """

    process: str
    first: int
    end: int | None
    departure: CauseKind | None
    seen: tuple[TimelineMember, ...]

    def member(self, index: int) -> TimelineMember:
        """The member at an index, or as it was last seen before."""
        return self.seen[min(index - self.first, len(self.seen) - 1)]


def stays_of(generations: Sequence[Generation]) -> list[Stay]:
    """All stays, by index and name of who came."""
    names = _Names(generations)
    stays: list[Stay] = []
    present: dict[str, tuple[int, list[TimelineMember]]] = {}

    def ends(member_id: str, index: int | None) -> None:
        first, seen = present.pop(member_id)
        stays.append(
            Stay(
                process=names.of(seen[0]),
                first=first,
                end=index,
                departure=None if index is None else _departure(generations[index], member_id),
                seen=tuple(seen),
            )
        )

    for index, generation in enumerate(generations):
        if index:
            _, left, replaced = member_changes(generations[index - 1].roster, generation.roster)
            for old, new in replaced:
                present[new] = present.pop(old)
            for member in left:
                ends(member.member_id, index)
        for member in generation.roster.members:
            present.setdefault(member.member_id, (index, []))[1].append(member)
    for member_id in list(present):
        ends(member_id, None)
    return sorted(stays, key=lambda stay: (stay.first, stay.process, stay.seen[0].member_id))


def _departure(generation: Generation, member_id: str) -> CauseKind:
    for cause in generation.causes:
        if cause.kind in DEPARTURES and member_id in cause.member_ids and cause.grade is not Grade.UNKNOWN:
            return cause.kind
    return CauseKind.MEMBER_GONE


class _Names:
    """The name of a process: its instance id, else its client id, with the host where several share that."""

    def __init__(self, generations: Sequence[Generation]) -> None:
        self._shared = {
            client_id
            for generation in generations
            for client_id, count in Counter(m.client_id for m in generation.roster.members).items()
            if count > 1
        }

    def of(self, member: TimelineMember) -> str:
        if member.instance_id:
            return member.instance_id
        if member.client_id in self._shared:
            return f"{member.client_id}@{member.client_host.lstrip('/')}"
        return member.client_id
