"""The small cluster that lives are played on does what Kafka's would, as far as lives need it."""

from pathlib import Path

import pytest

import kgroup
from tests.incidents.groups import sticky
from tests.incidents.topics import PartitionLog
from tests.incidents.world import World


@pytest.fixture
def world() -> World:
    made = World("test")
    made.topic("t", 4, 2)
    return made


def test_the_first_round_waits_three_seconds_for_others(world: World) -> None:
    group = world.group("g", "t")
    group.start_all("a", "b")
    world.run(2.5)
    assert group.generation == 0
    world.run(3)
    assert (group.generation, len(group.members)) == (1, 2)
    assert sorted(p for member in group.members for p in member.owned) == [("t", n) for n in range(4)]


def test_who_is_killed_is_gone_when_its_session_is_over_and_not_before(world: World) -> None:
    group = world.group("g", "t")
    a, b = group.start_all("a", "b", session_s=30)
    world.run(60)
    a.kill()
    world.run(26)
    assert group.members == [a, b]
    world.run(10)
    assert group.members == [b] and len(b.owned) == 4


def test_who_is_busy_for_longer_than_its_poll_interval_leaves_and_comes_back(world: World) -> None:
    group = world.group("g", "t")
    a, _ = group.start_all("a", "b", poll_interval_s=60)
    world.run(30)
    before = a.member_id
    a.busy(90)
    world.run(70)
    assert a not in group.members
    world.run(40)
    assert a in group.members and a.member_id != before


def test_a_round_waits_for_the_longest_poll_interval_and_leaves_out_who_did_not_come(world: World) -> None:
    group = world.group("g", "t")
    a, b = group.start_all("a", "b", poll_interval_s=60, leaves_when_late=False)
    world.run(30)
    a.busy(300)
    group.start("c", poll_interval_s=60)
    world.run(50)
    assert group.generation == 1
    world.run(20)
    assert a not in group.members and b in group.members and group.generation == 2


def test_an_instance_id_goes_to_its_next_process_without_a_generation(world: World) -> None:
    group = world.group("g", "t")
    old = group.start("a", instance="a")
    world.run(30)
    new = group.start("a", instance="a")
    world.run(30)
    assert (group.generation, group.members, old.is_fenced) == (1, [new], True)
    assert new.owned == [("t", number) for number in range(4)]
    assert group.doubled(("t", 0)) <= 10  # what the old one had not committed


def test_a_cooperative_member_gives_up_before_another_one_gets(world: World) -> None:
    group = world.group("g", "t", assignor="cooperative-sticky", assign=sticky)
    group.start("a")
    world.run(30)
    group.start("b")
    world.run(30)
    assert group.generation == 3
    assert sorted(len(member.owned) for member in group.members) == [2, 2]


def test_nothing_is_skipped_or_doubled_while_all_is_well(world: World) -> None:
    group = world.group("g", "t")
    group.start_all("a", "b")
    world.run(120)
    assert [group.skipped(("t", n)) + group.doubled(("t", n)) for n in range(4)] == [0] * 4
    assert group.lag(("t", 0)) < 20


def test_readers_of_committed_data_wait_for_open_transactions_and_pass_over_markers_and_holes() -> None:
    log = PartitionLog(0)
    log.append(0, 3)
    log.append(0, 2, producer_id=7)
    assert log.read(0, 100, log.last_stable) == (3, 3)
    log.end_transaction(0, 7, committed=True)
    log.append_compacted(0, 10, 4, 9)
    assert log.read(0, 100, log.last_stable) == (16, 7)
    assert log.read(0, 4, log.end) == (4, 4)
    assert log.read(5, 1, log.end) == (11, 1)


def test_what_it_leaves_is_a_log_without_damage(world: World, tmp_path: Path) -> None:
    group = world.group("g", "t")
    group.start_all("a", "b")
    world.run(60)
    world.move_coordinator("g")
    world.run(30)
    group.clients[0].close()
    world.run(30)
    world.write(tmp_path / "logs")
    logs = kgroup.open_logs(tmp_path / "logs")
    timeline = kgroup.replay(logs, "g")
    assert [(g.roster.generation, len(g.roster.members)) for g in timeline.generations] == [(1, 2), (2, 1)]
    rows = {row.partition: row for row in kgroup.lag_report(logs).rows()}
    assert {n: row.current_offset for n, row in rows.items()} == {
        n: group.committed["t", n] for n in range(4)
    }
    assert {n: row.log_end_offset for n, row in rows.items()} == {
        n: world.log(("t", n)).end for n in range(4)
    }
    assert kgroup.lag_report(logs).problems == ()
