"""The groups that kgroup reads out of each capture's log against what the real broker said of them."""

import pytest

from kgroup.history.groups.model import GroupKind, GroupState, simple_group
from tests.compat.captures import NAMES, described, groups_json, report

# Brokers from 3.9 on never answer a join with such metadata: the round is in their memory and not in the log.
NEVER_LOGGED = {
    "3.9.1/lives": {"hand-rolled"},
    "4.3.1/lives": {"hand-rolled"},
    "4.3.1/odd-members": {"hand-rolled"},
}
# What brokers before 4.x do not list because it is not of protocol type "consumer".
NOT_LISTED = {
    "0.10.1.1/lives": {"connect-sink", "registry-primary", "registry-primary-left"},
    "1.1.1/lives": {"connect-sink", "registry-primary"},
    "2.4.1/lives": {"connect-sink", "connect-workers", "registry-primary"},
    "3.9.1/lives": {"connect-sink", "connect-workers", "registry-primary"},
    "3.9.1/compacted": {"connect-workers-26"},
}
# A rebalance fell between Kafka's tool and the stop of the broker; groups.json, taken later, has its outcome.
REBALANCED_SINCE = {"1.1.1/lives": {"mixed-clients"}}
# Members whose assignment nobody can read, not even Kafka.
UNREADABLE = {"hand-rolled", "hand-rolled-cut"}


def group_of(name, group_id):
    return report(name).inputs.groups.get(group_id) or simple_group(group_id)


def owned_by(member):
    return sorted((owned.topic, owned.partition) for owned in member.owned)


def described_groups(name):
    """What the broker's describe said, by group, of those it could describe."""
    return {
        group: said["described"]
        for group, said in groups_json(name).items()
        if "described" in said and group not in NEVER_LOGGED.get(name, ())
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_groups_are_those_the_broker_listed(name):
    ours = set(report(name).inputs.groups) | {row.group for row in report(name).rows}
    never_logged = {group for group in NEVER_LOGGED.get(name, ()) if group not in ours}
    assert ours - NOT_LISTED.get(name, set()) == set(groups_json(name)) - never_logged
    assert NOT_LISTED.get(name, set()) <= ours


@pytest.mark.parametrize("name", NAMES)
def test_states_are_the_brokers(name):
    answered = {
        group: said.get("groupState") or said["state"] for group, said in described_groups(name).items()
    }
    assert answered
    assert {group: group_of(name, group).state.value for group in answered} == answered


@pytest.mark.parametrize("name", sorted(NEVER_LOGGED))
def test_a_round_that_never_ended_is_not_in_the_log(name):
    for group in NEVER_LOGGED[name]:
        assert groups_json(name)[group]["described"]["state"] == "PreparingRebalance"
        assert group_of(name, group).state is GroupState.EMPTY
        assert not group_of(name, group).members


@pytest.mark.parametrize("name", NAMES)
def test_members_are_the_brokers(name):
    answered = {
        group: sorted(
            (
                member.get("consumerId") or member["memberId"],
                member["clientId"],
                member.get("host") or member["clientHost"],
                member.get("groupInstanceId") or member.get("instanceId"),
            )
            for member in said["members"]
        )
        for group, said in described_groups(name).items()
    }
    assert {
        group: sorted(
            (member.member_id, member.client_id, member.client_host, member.instance_id)
            for member in group_of(name, group).members
        )
        for group in answered
    } == answered


@pytest.mark.parametrize("name", NAMES)
def test_members_own_what_the_broker_says(name):
    answered = {
        (group, member["consumerId"]): sorted(
            (assigned["topic"], partition)
            for assigned in member["assignment"]
            for partition in assigned["partitions"]
        )
        for group, said in described_groups(name).items()
        for member in said["members"]
        if isinstance(member.get("assignment"), list)
    }
    assert {
        (group, member.member_id): owned_by(member)
        for group in {group for group, _ in answered}
        for member in group_of(name, group).members
    } == answered


@pytest.mark.parametrize("name", NAMES)
def test_member_and_group_epochs_are_the_brokers(name):
    answered = {
        group: (said["groupEpoch"], sorted(member["memberEpoch"] for member in said["members"]))
        for group, said in described_groups(name).items()
        if said.get("groupEpoch") is not None
    }
    assert {
        group: (snapshot.epoch, sorted(member.epoch for member in snapshot.members))
        for group, snapshot in ((group, group_of(name, group)) for group in answered)
    } == answered


@pytest.mark.parametrize("name", NAMES)
def test_assignors_of_classic_groups_are_those_that_kafkas_tool_printed(name):
    printed = {
        line.group: line.assignment_strategy
        for line in described(name).states
        if group_of(name, line.group).kind is GroupKind.CLASSIC
    }
    assert {group: group_of(name, group).protocol for group in printed} == printed


@pytest.mark.parametrize("name", ["3.9.1/new-coordinator", "4.3.1/lives"])
def test_the_assignor_of_a_consumer_group_is_in_the_log_only_if_a_member_asks_for_one(name):
    printed = {
        line.group: line.assignment_strategy
        for line in described(name).states
        if group_of(name, line.group).kind is GroupKind.CONSUMER
    }
    ours = {group: group_of(name, group).protocol for group in printed}
    assert printed
    assert {group: strategy or "uniform" for group, strategy in ours.items()} == printed


@pytest.mark.parametrize("name", NAMES)
def test_member_counts_are_those_that_kafkas_tool_printed(name):
    printed = {
        line.group: line.members
        for line in described(name).states
        if line.group not in NEVER_LOGGED.get(name, set()) | REBALANCED_SINCE.get(name, set())
    }
    assert {group: len(group_of(name, group).members) for group in printed} == printed


@pytest.mark.parametrize("name", ["4.3.1/lives", "4.3.1/odd-members"])
def test_kinds_and_protocol_types_are_those_that_kafkas_tool_printed(name):
    def as_kafka(kind):
        return "Classic" if kind is GroupKind.SIMPLE else kind.value.capitalize()

    printed = {
        group: said for group, said in described(name).types.items() if group not in NEVER_LOGGED[name]
    }
    ours = {group: group_of(name, group) for group in printed}
    assert {
        group: (as_kafka(snapshot.kind), snapshot.protocol_type) for group, snapshot in ours.items()
    } == printed


@pytest.mark.parametrize("name", NAMES)
def test_groups_without_members_protocol_are_simple(name):
    answered = {
        group
        for group, said in groups_json(name).items()
        if said["listing"]["isSimpleConsumerGroup"] == "true"
    }
    assert {
        group for group in groups_json(name) if group_of(name, group).kind is GroupKind.SIMPLE
    } - NEVER_LOGGED.get(name, set()) == answered


def test_groups_that_changed_their_protocol_are_of_the_one_they_speak_now():
    kinds = {group: group_of("4.3.1/lives", group).kind for group in ("migrate-online", "migrate-back")}
    assert kinds == {"migrate-online": GroupKind.CONSUMER, "migrate-back": GroupKind.CLASSIC}


@pytest.mark.parametrize("name", NAMES)
def test_only_what_nobody_can_read_is_noted_of_members(name):
    noted = {
        group_id
        for group_id, group in report(name).inputs.groups.items()
        if any(member.notes for member in group.members)
    }
    there = set(report(name).inputs.groups) - NEVER_LOGGED.get(name, set())
    assert noted == UNREADABLE & there


def test_members_of_other_protocol_types_own_no_partitions_and_it_is_said():
    sink = group_of("4.3.1/lives", "connect-sink")
    assert sink.notes == ("protocol type 'connect': its members' assignments are not partitions",)
    assert [member.owned for member in sink.members] == [()]


def test_members_of_share_groups_are_there_with_their_partitions():
    shared = group_of("4.3.1/lives", "share-queue")
    assert sorted(owned for member in shared.members for owned in owned_by(member)) == [
        ("clicks.web", 0),
        ("clicks.web", 1),
    ]
    assert not report("4.3.1/lives").of("share-queue")
    assert shared in report("4.3.1/lives").inputs.groups_without_rows


def test_streams_members_own_the_source_partitions_of_their_tasks():
    members = {member.client_id: owned_by(member) for member in group_of("4.3.1/lives", "flow-tally").members}
    assert members == {
        # activeTasks=0_1,1_0,1_2 and 0_0,0_2,1_1; subtopology 0 reads payments, 1 the repartition topic.
        "flow-StreamThread-1-consumer": [
            ("flow-tally-tally-repartition", 0),
            ("flow-tally-tally-repartition", 2),
            ("payments", 1),
        ],
        "flow-StreamThread-2-consumer": [
            ("flow-tally-tally-repartition", 1),
            ("payments", 0),
            ("payments", 2),
        ],
    }


def test_targets_and_their_epochs_are_the_brokers():
    """Of groups of the consumer protocol, the only ones of which a broker says them."""
    compared = 0
    for name in NAMES:
        for group_id, said in described_groups(name).items():
            group = group_of(name, group_id)
            if said.get("targetAssignmentEpoch") is None or group.kind is not GroupKind.CONSUMER:
                continue
            assert (group.epoch, group.target_epoch) == (said["groupEpoch"], said["targetAssignmentEpoch"])
            targets = {
                member["consumerId"]: sorted(
                    (each["topic"], number)
                    for each in member["targetAssignment"]
                    for number in each["partitions"]
                )
                for member in said["members"]
            }
            ours = {
                member.member_id: sorted((each.topic, each.partition) for each in member.target or ())
                for member in group.members
            }
            assert ours == targets, (name, group_id)
            compared += len(targets)
    assert compared > 5
