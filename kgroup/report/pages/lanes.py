"""A timeline as lanes on a time axis: one per member, with what it owned and how long."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.history.timeline.model import Cause, Generation, Partition, Timeline, TimelineMember

_SPAN_MIN_MS: Final = 1000
_ID_LETTERS: Final = 8  # of a member id, at its end: they differ there
_PIECES: Final = re.compile(r"([0-9]{1,18})|([^0-9]+)")


@dataclass(slots=True)
class Lane:
    """A member, or several one after another with the same client id and host (or instance id)."""

    label: str
    host: str
    member_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stay:
    """A time in which a member owned the same: generations `first` to `last` by their place, epoch ms."""

    lane: int
    member_id: str
    first: int
    last: int
    from_ms: int
    to_ms: int
    owned: frozenset[Partition]


@dataclass(frozen=True, slots=True)
class Pause:
    """A long time without a commit of a partition around a rebalance, in its owner's `lane`; epoch ms."""

    lane: int
    partition: Partition
    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class LaneWait:
    """A member in `lane` waits for partitions that the one in `holder` still has; epoch ms.

    One that is `open` lasts to the end of the log; `released` is that of `Wait`.
    """

    lane: int
    holder: int
    partitions: tuple[Partition, ...]
    from_ms: int
    to_ms: int
    open: bool
    released: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The lanes of a timeline from top to bottom, and what is in them.

    `told_ms` is the log's last time for the group. `starts_ms` are when generations begin on the axis: in
    log order, none before the one before it, though the clocks that stamped them may say so. `leaders` are
    their leaders' lanes, None where none is known.
    """

    from_ms: int
    to_ms: int
    told_ms: int
    lanes: tuple[Lane, ...]
    starts_ms: tuple[int, ...]
    stays: tuple[Stay, ...]
    leaders: tuple[int | None, ...]
    pauses: tuple[Pause, ...]
    waits: tuple[LaneWait, ...]
    most_owned: int

    def stays_by_lane(self) -> list[list[Stay]]:
        """The stays in each lane, in order of time."""
        by_lane: list[list[Stay]] = [[] for _ in self.lanes]
        for stay in self.stays:
            by_lane[stay.lane].append(stay)
        return by_lane


def picture_of(timeline: Timeline, until_ms: int | None = None) -> Picture:
    """Give each member a lane; one that comes back gets that of its last life, if that is free.

    The last generation lasts to `until_ms` (epoch ms), the end of the log; where that is unknown a little
    longer than the log tells of the group, to be seen.
    """
    starts = starts_of(timeline.generations)
    from_ms, to_ms = _extent(timeline, starts)
    told_ms = to_ms
    to_ms = to_ms + (to_ms - from_ms) // 20 if until_ms is None else max(to_ms, until_ms)
    if not any(generation.roster.at_ms is not None for generation in timeline.generations):
        starts = [from_ms] * len(starts)
    lanes = _Lanes()
    columns = [lanes.take(generation) for generation in timeline.generations]
    edges = [*starts, to_ms]
    stays = sorted(_stays(columns, edges), key=lambda stay: (stay.lane, stay.first))
    return Picture(
        from_ms=from_ms,
        to_ms=to_ms,
        told_ms=told_ms,
        lanes=tuple(lanes.lanes),
        starts_ms=tuple(starts),
        stays=tuple(stays),
        leaders=tuple(
            lanes.lane_of.get(generation.roster.leader or "") for generation in timeline.generations
        ),
        pauses=tuple(_pauses(timeline.generations, columns)),
        waits=tuple(_waits(timeline.generations, lanes.lane_of, to_ms)),
        most_owned=max((len(stay.owned) for stay in stays), default=0),
    )


def starts_of(generations: Sequence[Generation]) -> list[int]:
    """The start of each on the axis, epoch ms: its record's time, but never before the start before it."""
    known = [generation.roster.at_ms for generation in generations]
    latest = next((at_ms for at_ms in known if at_ms is not None), 0)
    starts = []
    for at_ms in known:
        latest = latest if at_ms is None else max(latest, at_ms)
        starts.append(latest)
    return starts


def lane_names(lanes: Sequence[Lane]) -> list[str]:
    """Names that say which is which: with the host where two are called the same, then with the member id."""
    names = [lane.label for lane in lanes]
    hosts = [lane.host.lstrip("/") for lane in lanes]
    ids = [lane.member_ids[-1][-_ID_LETTERS:] if lane.member_ids else "" for lane in lanes]
    for more in (hosts, ids):
        counts = Counter(names)
        names = [
            f"{name} {added}".rstrip() if counts[name] > 1 else name
            for name, added in zip(names, more, strict=True)
        ]
    return names


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


def _extent(timeline: Timeline, starts: Sequence[int]) -> tuple[int, int]:
    """The span from the first to the last known time, a second at least."""
    timed = any(generation.roster.at_ms is not None for generation in timeline.generations)
    times = [
        *((starts[0], starts[-1]) if timed else ()),
        *(one.at_ms for one in timeline.occurrences if one.at_ms is not None),
        *(one.to_ms for one in timeline.patterns if one.to_ms is not None),
        *(at for at in (timeline.first_commit_ms, timeline.last_commit_ms) if at is not None),
    ]
    from_ms = min(times, default=0)
    return from_ms, max(max(times, default=0), from_ms + _SPAN_MIN_MS)


@dataclass(slots=True)
class _Lanes:
    """Lanes as generations need them."""

    lanes: list[Lane] = field(default_factory=list)
    lane_of: dict[str, int] = field(default_factory=dict)
    _of_identity: defaultdict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))

    def take(self, generation: Generation) -> dict[int, TimelineMember]:
        """The members of a generation by lane."""
        members = generation.roster.members
        taken = {self.lane_of[member.member_id] for member in members if member.member_id in self.lane_of}
        for member in sorted(members, key=lambda one: _natural(_name(one))):
            if member.member_id not in self.lane_of:
                lane = self._free_lane(member, taken)
                self.lane_of[member.member_id] = lane
                self.lanes[lane].member_ids.append(member.member_id)
                taken.add(lane)
        return {self.lane_of[member.member_id]: member for member in members}

    def _free_lane(self, member: TimelineMember, taken: set[int]) -> int:
        for lane in self._of_identity[member.identity]:
            if lane not in taken:
                return lane
        self.lanes.append(Lane(_name(member), member.client_host))
        self._of_identity[member.identity].append(len(self.lanes) - 1)
        return len(self.lanes) - 1


def _name(member: TimelineMember) -> str:
    return member.instance_id or member.client_id or member.member_id


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which c-2 comes before c-10."""
    return [(int(digits), "") if digits else (-1, rest) for digits, rest in _PIECES.findall(name)]


def _stays(columns: Sequence[Mapping[int, TimelineMember]], edges: Sequence[int]) -> Iterator[Stay]:
    """Neighbouring generations in which a lane holds the same member with the same partitions are one."""
    begun: dict[int, tuple[int, TimelineMember]] = {}
    for number, column in enumerate([*columns, {}]):
        for lane, (first, member) in list(begun.items()):
            now = column.get(lane)
            if now is None or (now.member_id, now.owned) != (member.member_id, member.owned):
                ends = edges[number] if number < len(edges) else edges[-1]
                yield Stay(lane, member.member_id, first, number - 1, edges[first], ends, member.owned)
                del begun[lane]
        for lane, member in column.items():
            begun.setdefault(lane, (number, member))


def _pauses(
    generations: Sequence[Generation], columns: Sequence[Mapping[int, TimelineMember]]
) -> Iterator[Pause]:
    """Commit gaps of more than twice the usual, in the lane of who owns the partition afterwards."""
    for generation, column in zip(generations, columns, strict=True):
        usual = generation.usual_interval_ms
        long = [gap for gap in generation.gaps if usual and gap.length_ms > 2 * usual]
        if not long:
            continue
        owner = {partition: lane for lane, member in column.items() for partition in member.owned}
        for gap in long:
            if gap.partition in owner:
                yield Pause(owner[gap.partition], gap.partition, gap.last_before_ms, gap.first_after_ms)


def _waits(generations: Sequence[Generation], lane_of: Mapping[str, int], to_ms: int) -> Iterator[LaneWait]:
    """The waits whose two members both have a lane; one in no roster of the log has none."""
    for generation in generations:
        for wait in generation.waits:
            if wait.member_id in lane_of and wait.holder_id in lane_of:
                ends = to_ms if wait.until_ms is None else wait.until_ms
                yield LaneWait(
                    lane=lane_of[wait.member_id],
                    holder=lane_of[wait.holder_id],
                    partitions=wait.partitions,
                    from_ms=wait.since_ms,
                    to_ms=ends,
                    open=wait.until_ms is None,
                    released=wait.released,
                )


def longest_pauses(pauses: Sequence[Pause]) -> list[Pause]:
    """A lane's pauses, overlapping ones merged into one that names the partition of the longest."""
    longest: list[Pause] = []
    for pause in sorted(pauses, key=lambda one: (one.lane, one.from_ms, one.to_ms)):
        last = longest[-1] if longest else None
        if last is None or last.lane != pause.lane or pause.from_ms > last.to_ms:
            longest.append(pause)
        else:
            both = max(last, pause, key=lambda one: one.to_ms - one.from_ms)
            longest[-1] = Pause(last.lane, both.partition, last.from_ms, max(last.to_ms, pause.to_ms))
    return longest
