"""A timeline as a picture: a lane for each member, a column for each generation, a cell where they meet."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from kgroup.history.timeline.model import Cause, Generation, Partition, Timeline, TimelineMember


@dataclass(frozen=True, slots=True)
class Cell:
    """A member in a generation. `gap_ms` is the longest time that one of its partitions had no commit."""

    lane: int
    owned: int
    gained: int
    lost: int
    gap_ms: int
    leads: bool


@dataclass(slots=True)
class Lane:
    """A member, or several one after another with the same client id and host (or instance id)."""

    label: str
    host: str
    member_ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Picture:
    """The lanes of a timeline from top to bottom, and for each generation its cells."""

    lanes: list[Lane]
    columns: list[list[Cell]]
    most_owned: int


def picture_of(timeline: Timeline) -> Picture:
    """Give each member a lane; one that comes back gets that of its last life, if that is free."""
    lanes: list[Lane] = []
    lane_of: dict[str, int] = {}
    of_identity: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    columns: list[list[Cell]] = []
    most = 0
    for generation in timeline.generations:
        taken = {lane_of[m.member_id] for m in generation.roster.members if m.member_id in lane_of}
        gaps = {gap.partition: gap.length_ms for gap in generation.gaps}
        cells = []
        for member in generation.roster.members:
            if member.member_id not in lane_of:
                lane = _free_lane(member, lanes, of_identity, taken)
                lane_of[member.member_id] = lane
                lanes[lane].member_ids.append(member.member_id)
                taken.add(lane)
            cells.append(_cell(lane_of[member.member_id], member, generation, gaps))
            most = max(most, len(member.owned))
        columns.append(cells)
    return Picture(lanes, columns, most)


def cause_class(cause: Cause) -> str:
    """The way a cause is drawn: come, go, lost, static, change or open."""
    match cause.kind.value:
        case "join" | "first-join":
            return "come"
        case "leave" | "group-deleted" | "offsets-deleted":
            return "go"
        case "session-expired" | "rebalance-timeout" | "poll-interval-exceeded":
            return "lost"
        case "static-restart":
            return "static"
        case "member-gone" | "unexplained" | "history-cut" | "group-removed" | "offsets-removed":
            return "open"
        case _:
            return "change"


def _free_lane(
    member: TimelineMember,
    lanes: list[Lane],
    of_identity: dict[tuple[str, str], list[int]],
    taken: set[int],
) -> int:
    for lane in of_identity[member.identity]:
        if lane not in taken:
            return lane
    lanes.append(Lane(member.instance_id or member.client_id or member.member_id, member.client_host))
    of_identity[member.identity].append(len(lanes) - 1)
    return len(lanes) - 1


def _cell(lane: int, member: TimelineMember, generation: Generation, gaps: dict[Partition, int]) -> Cell:
    moved = generation.moved
    return Cell(
        lane=lane,
        owned=len(member.owned),
        gained=len(_of(moved.gained, member)),
        lost=len(_of(moved.lost, member)),
        gap_ms=max((gaps[partition] for partition in member.owned if partition in gaps), default=0),
        leads=generation.roster.leader == member.member_id,
    )


def _of(changes: dict[str, tuple[Partition, ...]], member: TimelineMember) -> Sequence[Partition]:
    return changes.get(member.member_id, ())
