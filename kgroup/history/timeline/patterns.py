"""Patterns over many generations: storms, flapping members, ping-pong, churn, members that never commit."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack
from kgroup.history.timeline.connect_workers import find_connect_behind
from kgroup.history.timeline.model import CauseKind, Generation, Partition, Pattern, Timeline
from kgroup.history.timeline.oscillation import find_oscillation
from kgroup.history.timeline.pattern_runs import pattern_over, process_name

# A storm: this many rounds in a row, none longer than this after the one before.
_STORM_ROUNDS_MIN = 8
_STORM_PAUSE_MAX_MS = 30_000
_FLAPS_MIN = 3
_PING_PONG_MIN = 4
_LEADER_CHANGES_MIN = 5
_IDLE_ROUNDS_MIN = 5
_NAMED_MAX = 3

Run = Sequence[Generation]


def find_patterns(timeline: Timeline, tracks: dict[Partition, CommitTrack]) -> tuple[Pattern, ...]:
    """All patterns of a timeline, in the order of their kind and time."""
    generations = timeline.generations
    return (
        # First, as it says why there is a storm.
        *find_connect_behind(generations),
        *_storms(generations),
        *_flapping(generations),
        *find_oscillation(generations),
        *_ping_pong(generations),
        *_leader_churn(generations),
        *_growth_without_change(generations),
        *_never_commits(timeline, tracks),
    )


def _storms(generations: Run) -> Iterator[Pattern]:
    """Round upon round, by members that come back or by none at all; new ones in a row are a deployment."""
    for run in _dense_runs(generations):
        rounds = sum(1 + generation.unfinished for generation in run[1:])
        if rounds < _STORM_ROUNDS_MIN:
            continue
        returning = _returning(run)
        unchanged = sum(not generation.joined and not generation.left for generation in run[1:])
        if not returning and unchanged < _STORM_ROUNDS_MIN:
            continue
        lasted_ms = (run[-1].roster.at_ms or 0) - (run[0].roster.at_ms or 0)
        evidence = f"{rounds:,} rebalances in {lasting(lasted_ms)}, one every {lasting(lasted_ms // rounds)}"
        baseline = _baseline_ms(generations, run)
        evidence += f"; otherwise one every {lasting(baseline)}" if baseline is not None else ""
        if returning:
            were = "was" if len(returning) == 1 else "were"
            evidence += f"; {_listed([process_name(who) for who in returning])} joined and {were} gone again"
        yield pattern_over(
            "rebalance-storm",
            run,
            member_ids=_ids_of(run, returning),
            evidence=evidence,
            remedy="Find out why these members do not stay (crash loop, autoscaler, "
            "max.poll.interval.ms); until then"
            " stop them. group.instance.id and cooperative assignment make each round cheaper.",
        )


def _dense_runs(generations: Run) -> Iterator[list[Generation]]:
    """Runs of rounds that each came soon after the one before."""
    run: list[Generation] = []
    for generation in generations:
        since = generation.since_previous_ms
        if run and since is not None and 0 <= since <= _STORM_PAUSE_MAX_MS * (1 + generation.unfinished):
            run.append(generation)
            continue
        if run:
            yield run
        run = [generation]
    if run:
        yield run


def _baseline_ms(generations: Run, run: Run) -> int | None:
    within = {id(generation) for generation in run[1:]}
    others = [
        generation.since_previous_ms
        for generation in generations
        if id(generation) not in within and generation.since_previous_ms is not None
    ]
    return int(median(others)) if others else None


def _returning(run: Run) -> list[tuple[str, str]]:
    """Identities (client and host, or instance) that joined again and again, and left in between."""
    joined = Counter(member.identity for generation in run[1:] for member in generation.joined)
    left = Counter(member.identity for generation in run[1:] for member in generation.left)
    return sorted(who for who, times in joined.items() if times >= _FLAPS_MIN and left[who] >= _FLAPS_MIN - 1)


def _flapping(generations: Run) -> Iterator[Pattern]:
    """The same client on the same host comes and goes, in a storm or not."""
    comings: Counter[tuple[str, str]] = Counter()
    for who in _returning(generations):
        joined = sum(member.identity == who for generation in generations[1:] for member in generation.joined)
        together = max(
            sum(member.identity == who for member in generation.roster.members) for generation in generations
        )
        # Several members may share a client id and a host: a few restarts each are no flapping.
        if joined > _FLAPS_MIN * together:
            comings[who] = joined
    if not comings:
        return
    hits = [
        generation
        for generation in generations[1:]
        if any(member.identity in comings for member in (*generation.joined, *generation.left))
    ]
    most = sorted(comings, key=lambda who: (-comings[who], who))
    yield pattern_over(
        "flapping-member",
        hits,
        member_ids=_ids_of(hits, comings),
        evidence=_listed([f"{process_name(who)} joined {comings[who]} times" for who in most]),
        remedy="Look at that process: does it crash, is it restarted, does it exceed max.poll.interval.ms?",
    )


def _ping_pong(generations: Run) -> Iterator[Pattern]:
    """Two versions of a client that want different things and take turns."""
    for name, values in (
        ("assignor", [generation.roster.protocol for generation in generations]),
        ("subscription", [_subscriptions(generation) for generation in generations]),
    ):
        kinds: list[tuple[object, Generation]] = []
        for value, generation in zip(values, generations, strict=True):
            if value and (not kinds or kinds[-1][0] != value):
                kinds.append((value, generation))
        turns = [
            (first, third)
            for first, second, third in zip(kinds, kinds[1:], kinds[2:], strict=False)
            if first[0] == third[0] and second[0] != first[0]
        ]
        stayed = [third for first, third in turns if _common_member(first[1], third[1])]
        if len(stayed) >= _PING_PONG_MIN:
            hits = [generation for _, generation in kinds]
            yield pattern_over(
                "ping-pong",
                hits,
                member_ids=(),
                evidence=f"the {name} went back and forth {len(stayed)} times",
                remedy="Deploy one version: members with different settings take turns.",
            )


def _subscriptions(generation: Generation) -> object:
    return frozenset(
        member.subscribed for member in generation.roster.members if member.subscribed is not None
    )


def _common_member(first: Generation, second: Generation) -> bool:
    return bool(
        {member.member_id for member in first.roster.members}
        & {member.member_id for member in second.roster.members}
    )


def _leader_churn(generations: Run) -> Iterator[Pattern]:
    """The leader changes though the old one is still there."""
    hits = []
    for previous, generation in pairwise(generations):
        old = previous.roster.leader
        if old and generation.leader_changed and any(m.member_id == old for m in generation.roster.members):
            hits.append(generation)
    if len(hits) >= _LEADER_CHANGES_MIN and 2 * len(hits) >= len(generations):
        yield pattern_over(
            "leader-churn",
            hits,
            member_ids=tuple(dict.fromkeys(hit.roster.leader or "" for hit in hits)),
            evidence=f"another leader in {len(hits)} of {len(generations)} generations, the old one "
            "still a member",
            remedy=None,
        )


def _growth_without_change(generations: Run) -> Iterator[Pattern]:
    """Generations that nothing in the records explains."""
    run: list[Generation] = []
    for generation in [*generations, None]:
        idle = generation is not None and all(
            cause.kind is CauseKind.UNEXPLAINED for cause in generation.causes
        )
        if idle and generation is not None:
            run.append(generation)
            continue
        if len(run) >= _IDLE_ROUNDS_MIN:
            yield pattern_over(
                "generations-without-change",
                run,
                member_ids=tuple(member.member_id for member in run[-1].roster.members),
                evidence=f"{len(run)} generations in a row with the same members and subscriptions",
                remedy="A member rejoins again and again: look for metadata changes, and for members "
                "that come and go"
                " before a round ends.",
            )
        run = []


def _never_commits(timeline: Timeline, tracks: dict[Partition, CommitTrack]) -> Iterator[Pattern]:
    """A member of the last generation that has not committed any of its partitions while others did."""
    if not timeline.generations or timeline.last_commit_ms is None:
        return
    roster = timeline.generations[-1].roster
    if roster.kind in (GroupKind.SHARE, GroupKind.STREAMS):
        return  # a share group commits elsewhere, and the tasks of a streams group are no partitions
    usual = [gap for track in tracks.values() for gap in track.intervals_ms]
    if roster.at_ms is None or not usual:
        return
    since_ms = timeline.last_commit_ms - roster.at_ms
    if since_ms < max(60_000, 10 * median(usual)):
        return
    for member in roster.members:
        own = [tracks[partition] for partition in member.owned if partition in tracks]
        if member.owned and all(track.log_offset < roster.offset for track in own):
            yield Pattern(
                name="never-commits",
                from_ms=roster.at_ms,
                to_ms=timeline.last_commit_ms,
                first_generation=roster.generation,
                last_generation=roster.generation,
                member_ids=(member.member_id,),
                evidence=f"{member.client_id} has owned {len(member.owned)} partitions for "
                f"{lasting(since_ms)} and"
                " committed none of them, while others commit",
                remedy="Either nothing is produced to them, or this member is stuck or does not "
                "commit: see lag-report.",
            )


def _ids_of(run: Iterable[Generation], identities: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    chosen = set(identities)
    member_ids: defaultdict[str, None] = defaultdict()
    for generation in run:
        for member in (*generation.joined, *generation.left):
            if member.identity in chosen:
                member_ids[member.member_id] = None
    return tuple(member_ids)


def _listed(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - _NAMED_MAX} more"] if len(texts) > _NAMED_MAX else []
    return ", ".join([*texts[:_NAMED_MAX], *more])
