"""What holds of every what-if, whatever a group's history: partitions have one reader, and time goes on."""

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from kgroup.assignors.registry import Protocol
from kgroup.history.timeline.model import Timeline
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.what_if import what_if
from tests.history.group_log import GroupLog, member

PARTITIONS = 6
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range")
crowds = st.sets(st.sampled_from("abcd"), max_size=4).map(sorted)
histories = st.lists(st.tuples(st.integers(1, 40), crowds), min_size=1, max_size=8)
changes = st.builds(
    Changes,
    assignor=st.sampled_from(
        ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range"]
    ),
    static=st.booleans(),
    session_timeout_ms=st.none() | st.integers(1_000, 60_000),
    more_members=st.integers(0, 2),
    partitions=st.sampled_from([{}, {"t": 9}, {"t": 3}]),
    pause_ms=st.just(1_000),
)


def played(history: list[tuple[int, list[str]]]) -> Timeline:
    """A group that deals its partitions out in turn; who is there commits each second until the next one."""
    log = GroupLog()
    times = list(accumulate(seconds for seconds, _ in history))
    for number, (at, (_, crowd)) in enumerate(zip(times, history, strict=True), start=1):
        owned = {name: range(index, PARTITIONS, len(crowd)) for index, name in enumerate(crowd)}
        log.generation(at, number, *(member(name, *owned[name]) for name in crowd), protocol="roundrobin")
        until = times[number] if number < len(times) else at + 5
        if crowd:
            log.commits(at + 0.5, until - 1, 1, *range(PARTITIONS))
    return log.timeline()


@given(history=histories.filter(lambda history: any(crowd for _, crowd in history)), changed=changes)
def test_each_partition_has_one_reader_and_time_goes_on(history, changed):
    compared = what_if(played(history), changed)
    count = changed.partitions.get("t", PARTITIONS)
    rounds = compared.supposed.rounds
    for number, played_round in enumerate(rounds):
        read = [partition for owned in played_round.assignment.values() for partition in owned]
        waits = played_round.score.unassigned
        assert len(read) == len(set(read)) == count - waits
        if waits > played_round.score.withheld:  # the one who came first is ahead of the others
            assert rounds[number + 1].at_ms == played_round.at_ms
        assert len(played_round.moves) == played_round.score.moved
        assert played_round.members == len(played_round.assignment) > changed.more_members
    times = [played_round.at_ms for played_round in compared.supposed.rounds]
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert compared.supposed.unread_ms >= compared.supposed.absent_ms >= 0


@given(history=histories.filter(lambda history: any(crowd for _, crowd in history)))
def test_an_eager_assignor_never_stops_fewer_than_the_cooperative_one_moves(history):
    timeline = played(history)
    eager = what_if(timeline, Changes(assignor="sticky", pause_ms=1_000)).supposed
    cooperative = what_if(timeline, Changes(protocol=Protocol.COOPERATIVE, pause_ms=1_000)).supposed
    assert cooperative.members_stopped <= eager.members_stopped
    assert cooperative.unread_ms <= eager.unread_ms


@given(history=histories.filter(lambda history: any(crowd for _, crowd in history)))
def test_the_recorded_settings_give_the_recorded_rebalances(history):
    compared = what_if(played(history), Changes(pause_ms=1_000))
    recorded, supposed = compared.recorded.rounds, compared.supposed.rounds
    assert [one.assignment for one in supposed] == [one.assignment for one in recorded]
    assert compared.supposed.unread_ms == compared.recorded.unread_ms
