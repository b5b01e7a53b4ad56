"""What speaks against a client's properties: refused by the broker or by itself, or of harm to the group."""

from dataclasses import replace

import pytest

from kgroup.errors import InputError
from kgroup.history.advise.gate import client_properties, objections
from kgroup.history.advise.model import Objection, Pause, Pauses, Verdict
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Generation,
    Grade,
    Roster,
    Timeline,
    TimelineMember,
)

PACKAGE = "org.apache.kafka.clients.consumer."
ONE = TimelineMember(
    member_id="m-1", client_id="app-1", client_host="/h", instance_id="till-1", rebalance_timeout_ms=60_000
)


def timeline(
    *, kind=GroupKind.CLASSIC, members=(ONE,), protocol="range", protocol_type="consumer", causes=()
):
    roster = Roster(
        kind=kind,
        generation=3,
        at_ms=0,
        offset=1,
        offsets_partition=0,
        leader_epoch=None,
        protocol_type=protocol_type,
        protocol=protocol if members else None,
        members=members,
    )
    return Timeline(group_id="g", generations=[Generation(roster=roster, causes=causes)])


def objected(properties, group=None, pauses=None) -> list[Objection]:
    return objections(client_properties(properties), group or timeline(), pauses)


def pauses(*lengths_ms, worked=None, usual_ms=1_000):
    return Pauses(
        longest=tuple(
            Pause(
                from_ms=0,
                to_ms=length_ms,
                topic="t",
                partition=0,
                offset=1,
                client_id="app-1",
                rebalance_timeout_ms=300_000,
                worked_ms=worked,
            )
            for length_ms in lengths_ms
        ),
        count=len(lengths_ms),
        usual_ms=usual_ms,
    )


STREAMS = timeline(protocol="stream")
CONNECT = timeline(protocol_type="connect", protocol="sessioned")
OWN = timeline(protocol="mine")
CONSUMER = timeline(kind=GroupKind.CONSUMER, protocol=None)
SHARE = timeline(kind=GroupKind.SHARE, protocol=None)
EMPTY = timeline(members=())
COOPERATIVE = timeline(protocol="cooperative-sticky")


@pytest.mark.parametrize(
    ("properties", "group", "name", "verdict", "grade"),
    [
        # The coordinator wants an assignor that all members share.
        (
            {"partition.assignment.strategy": f"{PACKAGE}CooperativeStickyAssignor"},
            timeline(),
            "partition.assignment.strategy",
            Verdict.REFUSED,
            Grade.INFERRED,
        ),
        (
            {"partition.assignment.strategy": "range,roundrobin"},
            COOPERATIVE,
            "partition.assignment.strategy",
            Verdict.REFUSED,
            Grade.INFERRED,
        ),
        ({}, CONNECT, "group.id", Verdict.REFUSED, Grade.RECORDED),
        ({}, SHARE, "group.protocol", Verdict.REFUSED, Grade.RECORDED),
        # Sessions and heartbeats.
        (
            {"session.timeout.ms": "5999", "heartbeat.interval.ms": "1000"},
            None,
            "session.timeout.ms",
            Verdict.REFUSED,
            Grade.INFERRED,
        ),
        ({"session.timeout.ms": "1800001"}, None, "session.timeout.ms", Verdict.REFUSED, Grade.INFERRED),
        ({"heartbeat.interval.ms": "45000"}, None, "heartbeat.interval.ms", Verdict.REFUSED, Grade.RECORDED),
        ({"heartbeat.interval.ms": "15001"}, None, "heartbeat.interval.ms", Verdict.HARMS, Grade.INFERRED),
        # The other protocol's settings.
        (
            {"group.remote.assignor": "uniform"},
            None,
            "group.remote.assignor",
            Verdict.REFUSED,
            Grade.RECORDED,
        ),
        (
            {"group.protocol": "consumer", "session.timeout.ms": "45000"},
            CONSUMER,
            "session.timeout.ms",
            Verdict.REFUSED,
            Grade.RECORDED,
        ),
        (  # once: brokers and intervals of the classic protocol are no matter of its
            {"group.protocol": "consumer", "heartbeat.interval.ms": "50000"},
            CONSUMER,
            "heartbeat.interval.ms",
            Verdict.REFUSED,
            Grade.RECORDED,
        ),
        (
            {"group.protocol": "CONSUMER", "group.remote.assignor": "mine"},
            CONSUMER,
            "group.remote.assignor",
            Verdict.REFUSED,
            Grade.INFERRED,
        ),
        ({"group.protocol": "consumer"}, STREAMS, "group.protocol", Verdict.REFUSED, Grade.INFERRED),
        ({"group.protocol": "consumer"}, CONNECT, "group.protocol", Verdict.REFUSED, Grade.INFERRED),
        ({"group.protocol": "consumer"}, OWN, "group.protocol", Verdict.REFUSED, Grade.UNKNOWN),
        ({"group.protocol": "consumer"}, SHARE, "group.protocol", Verdict.REFUSED, Grade.RECORDED),
        # An instance id that is in use.
        ({"group.instance.id": "till-1"}, None, "group.instance.id", Verdict.HARMS, Grade.RECORDED),
        (
            {"group.protocol": "consumer", "group.instance.id": "till-1"},
            CONSUMER,
            "group.instance.id",
            Verdict.REFUSED,
            Grade.RECORDED,
        ),
    ],
)
def test_what_is_objected_to(properties, group, name, verdict, grade):
    (objection,) = objected(properties, group)
    assert (objection.name, objection.verdict, objection.grade) == (name, verdict, grade)
    assert objection.fails is (grade is not Grade.UNKNOWN)


@pytest.mark.parametrize(
    ("properties", "group"),
    [
        ({}, None),
        ({}, COOPERATIVE),  # Java's default offers both
        ({}, EMPTY),
        ({"partition.assignment.strategy": "roundrobin"}, EMPTY),
        ({"partition.assignment.strategy": f"{PACKAGE}RoundRobinAssignor, {PACKAGE}RangeAssignor"}, None),
        ({"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"}, None),
        ({"session.timeout.ms": "1800000"}, None),
        ({"group.instance.id": "till-2"}, None),
        ({"group.protocol": "consumer"}, None),  # the group becomes a consumer group
        ({"group.protocol": "consumer", "group.remote.assignor": "range"}, CONSUMER),
        ({}, CONSUMER),  # a classic member joins a consumer group (KIP-848)
        ({"max.poll.interval.ms": "1000", "bootstrap.servers": "b:9092", "my.own": "x"}, None),
    ],
)
def test_what_is_not(properties, group):
    assert objected(properties, group) == []


class TestPauses:
    def grades(self, seen, group=None):
        return [objection.grade for objection in objected({"max.poll.interval.ms": "60000"}, group, seen)]

    def test_a_member_that_had_records_to_read_for_longer(self):
        assert self.grades(pauses(70_000, worked=60_001)) == [Grade.INFERRED]

    def test_a_night_without_records_is_no_pause(self):
        assert self.grades(pauses(70_000, worked=60_000)) == []
        assert self.grades(pauses(60_000)) == []

    def test_where_no_log_tells_what_there_was_to_read_only_a_rhythm_counts(self):
        assert self.grades(pauses(70_000)) == [Grade.UNKNOWN]
        assert self.grades(pauses(70_000, usual_ms=60_001)) == [Grade.INFERRED]

    def test_members_that_had_no_less_time_and_were_late(self):
        late = Cause(
            kind=CauseKind.REBALANCE_TIMEOUT, grade=Grade.INFERRED, evidence="late", member_ids=("m-1",)
        )
        assert self.grades(None, timeline(causes=(late,))) == [Grade.INFERRED]
        quicker = timeline(causes=(late,), members=(replace(ONE, rebalance_timeout_ms=59_999),))
        assert self.grades(None, quicker) == []
        assert self.grades(None, timeline(causes=(replace(late, grade=Grade.UNKNOWN),))) == []

    def test_of_several_that_were_late_the_one_with_the_least_time_counts(self):
        late = Cause(
            kind=CauseKind.REBALANCE_TIMEOUT, grade=Grade.INFERRED, evidence="late", member_ids=("m-1", "m-2")
        )
        hasty = replace(ONE, member_id="m-2", instance_id=None, rebalance_timeout_ms=30_000)
        assert self.grades(None, timeline(causes=(late,), members=(ONE, hasty))) == []


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"session.timeout.ms": "ten"}, "session.timeout.ms=ten: a whole number from 1 to 2147483647"),
        ({"session.timeout.ms": "0"}, "session.timeout.ms=0: a whole number"),
        ({"max.poll.interval.ms": "2147483648"}, "max.poll.interval.ms=2147483648: a whole number"),
        ({"group.protocol": "share"}, "group.protocol=share: classic or consumer"),
        ({"partition.assignment.strategy": " , "}, "partition.assignment.strategy: at least one assignor"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(properties, why):
    with pytest.raises(InputError, match=why):
        client_properties(properties)
