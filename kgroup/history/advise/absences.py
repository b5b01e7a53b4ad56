"""Members that went away and came back: the basis of advice on sessions and static membership."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.history.timeline.model import CauseKind, Generation, TimelineMember
from kgroup.history.what_if.stays import stays_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """One departure. `away_ms` is until the same process was in the group again, None if it never was.

    `member` is as it was last seen; `at_ms` when the group was without it, None where no time was logged.
    """

    process: str
    member: TimelineMember
    kind: CauseKind
    at_ms: int | None
    away_ms: int | None


def absences(generations: Sequence[Generation]) -> list[Absence]:
    """All departures, in the order in which the members had come."""
    stays = stays_of(generations)
    gone = []
    for stay in stays:
        if stay.end is None or stay.departure is None:
            continue
        back = min(
            (other.first for other in stays if other.process == stay.process and other.first >= stay.end),
            default=None,
        )
        left_ms = generations[stay.end].roster.at_ms
        back_ms = generations[back].roster.at_ms if back is not None else None
        gone.append(
            Absence(
                process=stay.process,
                member=stay.seen[-1],
                kind=stay.departure,
                at_ms=left_ms,
                away_ms=max(back_ms - left_ms, 0) if back_ms is not None and left_ms is not None else None,
            )
        )
    return gone
