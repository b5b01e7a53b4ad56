"""Whole runs of the old design: the herd, the split brain, and the same measures as the new one has."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from kgroup.group.member.step import CallbackKind
from kgroup.sim.scenario.actions import FORMS, Target
from kgroup.sim.scenario.file import load_shipped
from kgroup.sim.scenario.scenario import CommitMode, Fault, FaultKind, Scenario, SimMember, SimTopic
from kgroup.sim.watch.trace import MemberStopped, PartitionsChanged, RecordsProcessed
from kgroup.sim.zookeeper.trace import (
    ConsumerRegistered,
    RebalanceAttempted,
    RebalanceGivenUp,
    SessionExpired,
    WatchFired,
    WatchTriggered,
    ZnodeChanged,
    ZnodeOperation,
)
from kgroup.sim.zookeeper.world import run_zookeeper

K = FaultKind


def scenario(members=3, partitions=6, rate=60.0, **fields):
    made = tuple(SimMember(name=f"c{n}", topics=("t",)) for n in range(1, members + 1))
    return Scenario(
        **{
            "name": "test",
            "duration_ms": 60_000,
            "settle_ms": 20_000,
            "topics": (SimTopic(name="t", partitions=partitions, records_per_s=rate),),
            "members": made,
            **fields,
        }
    )


def played(staged, seed=1):
    events = []
    return run_zookeeper(staged, seed, on_event=events.append), events


def fault(at_s, kind, target, **fields):
    return Fault(at_ms=at_s * 1000, kind=kind, target=target, **fields)


def of(events, kind, *, after_s=0):
    start_ms = scenario().epoch_ms
    return [each for each in events if isinstance(each, kind) and each.at_ms >= start_ms + after_s * 1000]


def test_all_partitions_get_one_reader_and_every_record_is_processed_once():
    run, events = played(scenario())
    assert run.settled_ms is not None
    assert run.tally.duplicates == 0
    done = {}
    for each in of(events, RecordsProcessed):
        assert each.first == done.get(each.partition, 0), "records come in order, none twice, none left out"
        done[each.partition] = each.last + 1
    # 10 records a second for 80 s; those of the last second may be on their way.
    assert len(done) == 6 and all(790 <= count <= 800 for count in done.values())
    assert run.tally.processed == sum(done.values())


def test_the_same_seed_gives_the_same_run_and_another_seed_another_one():
    staged = scenario(faults=(fault(20, K.PAUSE, "c2", duration_ms=15_000),))
    assert played(staged, 7) == played(staged, 7)
    assert played(staged, 7)[1] != played(staged, 8)[1]


@pytest.mark.parametrize("members", [5, 20])
def test_the_herd_everybody_is_told_of_every_change(members):
    late = SimMember(name="late", topics=("t",), start_ms=None)
    base = scenario(members=members, rate=0)
    staged = replace(base, members=(*base.members, late), faults=(fault(30, K.START, "late"),))
    run, events = played(staged)
    fired = of(events, WatchFired, after_s=30)
    assert {each.member for each in fired} == {f"c{n}" for n in range(1, members + 1)}
    assert {each.path for each in fired} == {"/consumers/g/ids"}
    rebalanced = {each.member for each in of(events, RebalanceAttempted, after_s=30)}
    assert rebalanced == {member.name for member in staged.members}
    assert run.tally.notifications == len(of(events, WatchFired))
    assert run.settled_ms is not None


def test_a_broker_that_dies_wakes_the_consumers_of_every_group():
    members = tuple(
        SimMember(name=name, group=group, topics=("t",)) for name, group in (("a", "g"), ("b", "h"))
    )
    staged = scenario(rate=0, faults=(fault(30, K.KILL, "node-2", duration_ms=15_000),))
    _, events = played(replace(staged, members=members))
    fired = [(each.member, each.path) for each in of(events, WatchFired, after_s=30)]
    assert sorted(fired) == [(name, "/brokers/ids") for name in ("a", "a", "b", "b")]


def test_a_member_that_leaves_commits_and_is_missed_at_once_and_a_dead_one_after_its_session():
    left, events = played(scenario(faults=(fault(30, K.LEAVE, "c1"),)))
    fired = of(events, WatchFired, after_s=30)
    assert fired[0].at_ms - scenario().epoch_ms < 31_000
    assert left.tally.duplicates == 0
    assert [each.why for each in of(events, MemberStopped)] == ["closed"]
    killed, events = played(scenario(faults=(fault(30, K.KILL, "c1"),)))
    fired = of(events, WatchFired, after_s=30)
    assert 34_000 <= fired[0].at_ms - scenario().epoch_ms <= 36_100
    assert killed.tally.duplicates > 0  # what it had done since its last commit
    assert killed.tally.unavailable_partition_s > left.tally.unavailable_partition_s


def test_split_brain_a_member_cut_off_from_zookeeper_reads_on_what_others_own():
    staged = scenario(faults=(fault(20, K.CUT, "c1", other="coordinator", duration_ms=20_000),))
    run, events = played(staged)
    expired = of(events, SessionExpired)
    assert [each.member for each in expired] == ["c1"]
    zombie = [each for each in of(events, RecordsProcessed) if each.member == "c1"]
    assert any(expired[0].at_ms < each.at_ms < staged.epoch_ms + 40_000 for each in zombie)
    # Two partitions, from the end of its session (20 s and at most 6 s) to the end of the cut.
    assert 2 * 13 < run.tally.two_owner_partition_s < 2 * 16.5
    assert run.tally.duplicates > 0
    assert run.settled_ms is not None


def test_a_paused_process_wakes_up_as_a_zombie_until_it_hears_of_its_expired_session():
    staged = scenario(faults=(fault(20, K.PAUSE, "c1", duration_ms=15_000),))
    run, events = played(staged)
    registered = [each for each in of(events, ConsumerRegistered, after_s=20) if each.member == "c1"]
    assert [each.at_ms - staged.epoch_ms > 35_000 for each in registered] == [True]
    assert 0 < run.tally.two_owner_partition_s < 1
    assert run.settled_ms is not None


def test_a_pause_shorter_than_the_session_goes_unnoticed():
    run, events = played(scenario(faults=(fault(20, K.PAUSE, "c1", duration_ms=3_000),)))
    assert of(events, SessionExpired) == []
    assert of(events, RebalanceAttempted, after_s=20) == []
    assert run.tally.two_owner_partition_s == 0


def test_views_that_differ_leave_partitions_without_an_owner_for_a_backoff():
    staged = scenario(members=1, rate=0)
    late = SimMember(name="late", topics=("t",), start_ms=30_000)
    run, events = played(replace(staged, members=(*staged.members, late)))
    retried = [each for each in of(events, RebalanceAttempted, after_s=30) if each.attempt]
    assert retried, "one of them found an owner that had not let go"
    lost = [each for each in of(events, PartitionsChanged, after_s=30) if each.kind is CallbackKind.REVOKED]
    assert lost
    assert run.tally.unavailable_partition_s >= 3 * 2.0


def test_a_consumer_gives_up_after_its_retries_and_a_later_change_saves_it():
    staged = scenario(rate=0)
    settings = replace(staged.zookeeper, rebalance_max_retries=1, rebalance_backoff_ms=100)
    late = SimMember(name="late", topics=("t",), start_ms=20_000)
    later = SimMember(name="later", topics=("t",), start_ms=40_000)
    everybody = (*staged.members, late, later)
    given_up = 0
    for seed in range(20):
        run, events = played(replace(staged, members=everybody, zookeeper=settings), seed)
        given_up += len(of(events, RebalanceGivenUp))
        assert run.end_ms == staged.epoch_ms + 80_000
    assert given_up > 0


def test_a_topic_that_grows_is_seen_at_once_by_everybody():
    run, events = played(scenario(faults=(fault(30, K.GROW, "t", amount=9),)))
    fired = of(events, WatchFired, after_s=30)
    assert sorted(each.member for each in fired) == ["c1", "c2", "c3"]
    last = {}
    for each in of(events, PartitionsChanged):
        if each.kind is CallbackKind.ASSIGNED:
            last[each.member] = len(each.partitions)
    assert last == {"c1": 3, "c2": 3, "c3": 3}
    assert run.settled_ms is not None


def test_consumers_that_commit_after_processing_repeat_less_after_a_crash():
    crash = (fault(30, K.KILL, "c1"),)
    auto, _ = played(scenario(faults=crash))
    base = scenario(faults=crash)
    members = tuple(
        replace(each, commit_mode=CommitMode.AFTER_PROCESSING, max_poll_records=10) for each in base.members
    )
    careful, _ = played(replace(base, members=members))
    assert careful.tally.duplicates < auto.tally.duplicates


def test_consumer_ids_are_group_host_time_and_a_part_of_a_uuid():
    staged = scenario(members=1)
    _, events = played(staged)
    (registered,) = of(events, ConsumerRegistered)
    group, host, time_ms, uuid_part = registered.consumer_id.replace("_", "-").split("-")
    assert (group, host, int(time_ms), len(uuid_part)) == ("g", "c1", staged.epoch_ms, 8)


@pytest.mark.parametrize("seed", range(5))
def test_under_chaos_nobody_is_left_behind_once_it_is_over_and_work_goes_on(seed):
    run, _ = played(load_shipped("chaos"), seed)
    assert run.tally.processed > 0
    assert run.violations == ()


def test_a_run_does_not_depend_on_pythons_hashes():
    program = (
        "from kgroup.sim.scenario.file import load_shipped\n"
        "from kgroup.sim.zookeeper.world import run_zookeeper\n"
        "told = []\n"
        "run_zookeeper(load_shipped('chaos'), 2, on_event=lambda event: told.append(repr(event)))\n"
        "print('\\n'.join(told))\n"
    )
    traces = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert traces[0].count("\n") > 500
    assert traces[0] == traces[1]


def test_every_change_of_the_tree_is_told_so_that_its_fold_names_who_owns_what():
    _, events = played(scenario(faults=(fault(30, K.KILL, "c1"),)))
    tree = {}
    for each in of(events, ZnodeChanged):
        if each.data is None:
            del tree[each.path]  # it was there
        else:
            tree[each.path] = each
    ids = [path for path in tree if path.startswith("/consumers/g/ids/")]
    registered = {each.consumer_id: each.member for each in of(events, ConsumerRegistered)}
    assert sorted(registered[path.rsplit("/", 1)[1]] for path in ids) == ["c2", "c3"]
    read = {}
    for each in of(events, PartitionsChanged):
        if each.kind is CallbackKind.ASSIGNED:
            read.update(dict.fromkeys(each.partitions, each.member))
    owners = {path: each for path, each in tree.items() if path.startswith("/consumers/g/owners/t/")}
    assert {int(path.rsplit("/", 1)[1]): registered[each.data] for path, each in owners.items()} == {
        partition: member for (_, partition), member in read.items()
    }
    assert all(each.session is not None for each in owners.values())  # ephemeral
    assert tree["/brokers/topics/t"].session is None


def test_a_watch_is_asked_for_is_triggered_once_and_then_heard():
    _, events = played(scenario(faults=(fault(30, K.LEAVE, "c1"),)))
    operations = of(events, ZnodeOperation)
    asked, triggered, heard = {}, [], of(events, WatchFired)
    for each in events:
        if isinstance(each, ZnodeOperation) and each.watch and each.error is None:
            asked[each.session, each.path] = each.member
        elif isinstance(each, WatchTriggered):
            triggered.append((asked.pop((each.session, each.path)), each.path))
    # What was on its way to a consumer that closed is heard by nobody.
    assert len(triggered) - 1 <= len(heard) <= len(triggered)
    assert {(each.member, each.path) for each in heard} <= set(triggered)
    kinds = {each.operation for each in operations}
    assert kinds == {"getChildren", "getData", "setData", "create", "delete"}
    committed = [each for each in operations if each.operation == "setData"]
    assert all(each.path.startswith("/consumers/g/offsets/") and each.data.isdigit() for each in committed)


def test_the_requests_of_a_herd_wait_for_each_other_and_so_do_those_of_others():
    def longest_wait(members, operation_ms):
        others = tuple(SimMember(name=f"o{n}", group="other", topics=("t",)) for n in (1, 2))
        base = scenario(members=members, rate=0, faults=(fault(30, K.LEAVE, "c1"),))
        settings = replace(base.zookeeper, operation_ms=operation_ms)
        staged = replace(base, members=(*base.members, *others), zookeeper=settings)
        _, events = played(staged)
        operations = of(events, ZnodeOperation)
        assert [each.at_ms for each in operations] == sorted(each.at_ms for each in operations)
        herd = [each for each in operations if each.at_ms < base.epoch_ms + 29_000 and each.group == "other"]
        return max(each.waited_ms for each in herd)

    assert longest_wait(20, 0) == 0
    few, many = longest_wait(3, 5), longest_wait(20, 5)
    assert many > 5 * max(few, 5)


PLAYED_BY_NAME = {
    Target.NONE: "",
    Target.PROCESS: "c1",
    Target.MEMBER: "c1",
    Target.NODE: "node-1",
    Target.TOPIC: "t",
    Target.GROUP: "g",
}


@pytest.mark.parametrize("verb", FORMS)
def test_every_fault_can_be_played_also_what_has_no_counterpart(verb):
    form = FORMS[verb]
    struck = fault(10, form.kind, PLAYED_BY_NAME[form.target], duration_ms=5_000, amount=7)
    run, _ = played(scenario(faults=(struck, fault(20, K.START, "c1"))))
    assert run.settled_ms is not None
