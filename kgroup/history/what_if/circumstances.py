"""A group's surroundings as a timeline shows them: partition counts, lengths of rebalances."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Generation, Partition, Roster

_COOPERATIVE = "cooperative-sticky"
_DEFAULT_SERVER_ASSIGNOR = "uniform"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """One generation's circumstances: partitions of each topic, assignor, and how long members stood still.

    `assignor` is kgroup's name of Kafka's, None for another one, which `protocol` takes to be eager. A
    generation without members has that of the one before: under other timeouts some are still there.
    `pause_ms` is None where no commits tell; `estimated` where it is that of the group's other rebalances.
    """

    counts: dict[str, int]
    assignor: str | None
    protocol: Protocol
    pause_ms: int | None
    estimated: bool


def circumstances(generations: Sequence[Generation]) -> list[Circumstances]:
    """The circumstances of each generation."""
    pauses = list(_pauses_ms(generations))
    measured = [pause for pause in pauses if pause is not None]
    usual = int(median(measured)) if measured else None
    of_generations = []
    assignor: str | None = None
    for generation, counts, pause_ms in zip(generations, _counts(generations), pauses, strict=True):
        if generation.roster.members:
            assignor = _assignor(generation.roster)
        of_generations.append(
            Circumstances(
                counts=counts,
                assignor=assignor,
                protocol=ASSIGNORS[assignor].protocol if assignor else Protocol.EAGER,
                pause_ms=usual if pause_ms is None else pause_ms,
                estimated=pause_ms is None,
            )
        )
    return of_generations


def _assignor(roster: Roster) -> str | None:
    if roster.kind is GroupKind.CONSUMER:
        name = roster.protocol or _DEFAULT_SERVER_ASSIGNOR
        return {"range": "server-range", "uniform": "uniform"}.get(name)
    assignor = ASSIGNORS.get(roster.protocol or "")
    return roster.protocol if assignor is not None and assignor.client is not None else None


def _counts(generations: Sequence[Generation]) -> Iterator[dict[str, int]]:
    """Partitions by topic: up to the highest that is with anybody, as a leader hands out all that it sees.

    A cooperative leader may hold back some, or all of a topic, for one generation.
    """
    counts: dict[str, int] = {}
    seen_before: dict[str, int] = {}
    for generation in generations:
        roster = generation.roster
        if roster.members:
            seen: dict[str, int] = {}
            for member in roster.members:
                for topic, number in member.owned:
                    seen[topic] = max(seen.get(topic, 0), number + 1)
            held_back = {t: counts[t] for t in counts if t in seen or t in seen_before}
            if roster.protocol == _COOPERATIVE:
                counts = {t: max(held_back.get(t, 0), seen.get(t, 0)) for t in (*held_back, *seen)}
            else:
                counts = seen
            seen_before = seen
        yield counts


def _pauses_ms(generations: Sequence[Generation]) -> Iterator[int | None]:
    """The median time beyond the usual that the partitions that had to stop went without a commit."""
    usual = [g.usual_interval_ms for g in generations if g.usual_interval_ms is not None]
    usual_ms = median(usual) if usual else None
    previous: Generation | None = None
    for generation in generations:
        interval_ms = usual_ms if generation.usual_interval_ms is None else generation.usual_interval_ms
        stopped = _stopped(previous.roster, generation) if previous else set()
        over = [
            max(gap.length_ms - interval_ms, 0)
            for gap in generation.gaps
            if interval_ms is not None and gap.partition in stopped
        ]
        yield int(median(over)) if over else None
        previous = generation


def _stopped(previous: Roster, generation: Generation) -> set[Partition]:
    """Partitions that members who stayed stopped reading: under an eager assignor all that they had."""
    current = generation.roster
    renamed = dict(generation.replaced)
    now = {member.member_id: member.owned for member in current.members}
    stopped: set[Partition] = set()
    for member in previous.members:
        member_id = renamed.get(member.member_id, member.member_id)
        if member_id not in now:
            continue
        eager = current.kind is GroupKind.CLASSIC and current.protocol != _COOPERATIVE
        stopped |= member.owned if eager else member.owned - now[member_id]
    return stopped
