"""Who waits for whom in a consumer group, by hand and in a broker's log."""

from pathlib import Path

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.history.timeline.handovers import Handovers
from kgroup.history.timeline.model import Partition, Wait

LIVES = Path(__file__).parents[3] / "fixtures" / "4.3.1" / "lives"
P0, P1, P2 = (Partition("t", number) for number in range(3))


def a_has_all() -> Handovers:
    handovers = Handovers()
    assert handovers.target({"a": {P0, P1, P2}}, 1_000) == []
    handovers.has("a", frozenset({P0, P1, P2}), 1_000)
    return handovers


def test_a_wait_goes_from_the_target_until_the_last_partition_is_given_up():
    handovers = a_has_all()
    (wait,) = handovers.target({"a": {P0}, "b": {P1, P2}}, 2_000)
    assert wait == Wait(member_id="b", holder_id="a", partitions=(P1, P2), since_ms=2_000)
    handovers.has("b", frozenset(), 2_000)
    handovers.has("a", frozenset({P0, P2}), 3_000)
    assert wait.until_ms is None
    handovers.has("a", frozenset({P0}), 4_000)
    assert (wait.until_ms, wait.released) == (4_000, True)


def test_who_is_gone_keeps_nobody_waiting():
    handovers = a_has_all()
    (wait,) = handovers.target({"a": {P0, P1}, "b": {P2}}, 2_000)
    handovers.has("a", frozenset(), 5_000)
    assert (wait.until_ms, wait.released) == (5_000, True)


def test_what_is_free_or_its_own_is_not_waited_for():
    handovers = a_has_all()
    handovers.has("a", frozenset({P0}), 2_000)
    assert handovers.target({"a": {P0}, "b": {P1, P2}}, 3_000) == []


def test_a_wait_goes_on_under_the_next_target_and_ends_with_one_that_does_not_want_it():
    handovers = a_has_all()
    (first,) = handovers.target({"a": {P0}, "b": {P1, P2}}, 2_000)
    (second,) = handovers.target({"a": {P0}, "b": {P1}, "c": {P2}}, 3_000)
    assert (second.member_id, second.partitions, second.since_ms) == ("c", (P2,), 3_000)
    assert first.until_ms is None
    assert handovers.target({"a": {P0, P1}, "c": {P2}}, 4_000) == []
    assert (first.until_ms, first.released) == (4_000, False)
    assert second.until_ms is None


def test_a_brokers_log_tells_who_gave_up_what_and_when():
    """The times are those of its target and assignment records: `kgroup decode` shows them."""
    timeline = replay(open_logs(LIVES), ["trades-848"])["trades-848"]
    clients = {m.member_id: m.client_id for g in timeline.generations for m in g.roster.members}
    waits = [wait for generation in timeline.generations for wait in generation.waits]
    # kip-2 had all. Target 4 is record 40; kip-2's answer is record 52, which leaves it what it keeps.
    assert [
        (clients[wait.member_id], clients[wait.holder_id], wait.since_ms, wait.until_ms) for wait in waits[:2]
    ] == [
        ("kip-3", "kip-2", 1_795_178_778_896, 1_795_178_779_697),
        ("kip-1", "kip-2", 1_795_178_778_896, 1_795_178_779_697),
    ]
    assert timeline.generations[2].waits == waits[:2]
    assert all(wait.released for wait in waits)
