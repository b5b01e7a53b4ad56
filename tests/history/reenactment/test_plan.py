"""What members do when a log is played again: how one goes of which the log does not say it."""

import pytest

from kgroup.history.reenactment.commits import CommitsSeen
from kgroup.history.reenactment.model import Act, Die, Leave, Plan
from kgroup.history.reenactment.plan import plan_of
from kgroup.protocol.records.entries import LoggedEntry
from tests.history.group_log import GROUP, SESSION_MS, GroupLog, member


def planned(log: GroupLog, partitions: dict[str, int] | None = None) -> Plan:
    timeline = log.timeline()
    for generation in timeline.generations:
        generation.causes = ()
    seen = CommitsSeen()
    for logged in log.entries:
        if isinstance(logged, LoggedEntry):
            seen.add(logged)
    return plan_of(timeline, seen.by_group.get(GROUP, []), partitions=partitions)


@pytest.mark.parametrize(
    ("silent_ms", "how"), [(0, Leave), (SESSION_MS + 299, Leave), (SESSION_MS + 300, Die)]
)
def test_who_was_silent_for_a_session_is_played_as_dead_and_any_other_leaves(
    silent_ms: int, how: type[Act]
) -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commit(60 - silent_ms / 1000, 1, 50)
    log.commit(59, 0, 50)
    log.generation(60, 2, member("a", 0, 1))
    went = [type(act) for act in planned(log).acts if isinstance(act, Leave | Die) and act.member == "b"]
    assert went == [how]


def test_who_never_committed_leaves() -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.generation(60, 2, member("a", 0, 1))
    assert [type(act) for act in planned(log).acts if isinstance(act, Leave | Die)] == [Leave]


@pytest.mark.parametrize(("given", "played"), [(None, 3), ({"t": 2}, 3), ({"t": 8}, 8)])
def test_a_topic_has_no_fewer_partitions_than_the_log_shows(
    given: dict[str, int] | None, played: int
) -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(10, 2, 50)
    assert [(topic.name, topic.partitions) for topic in planned(log, given).topics] == [("t", played)]
