"""The logs of a real broker, loaded: the groups have to come out as that broker described them."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgroup.broker.metadata_log import read_metadata_log
from kgroup.group.coordinator.consumer.metadata_hash import group_hash
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.metadata_image import FixedImage, TopicImage
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.log.files.entries import read_entries
from kgroup.log.files.log_dir import read_partition_folder
from kgroup.log.format.batch import Damage
from kgroup.protocol.group_hash import partition_for

LIVES = Path(__file__).parents[4] / "fixtures" / "4.3.1" / "lives"
SAID = json.loads((LIVES / "groups.json").read_text())["groups"]
OF_CONSUMERS = sorted(name for name, group in SAID.items() if group["listing"]["type"] == "Consumer")


def image() -> FixedImage:
    topics = read_metadata_log(LIVES / "__cluster_metadata-0")
    return FixedImage(
        TopicImage(name=name, topic_id=topic_id, partitions=topics.partitions[topic_id])
        for topic_id, name in topics.names.items()
    )


def loaded(group_id: str) -> GroupCoordinator:
    partition = partition_for(group_id, 50)
    coordinator = GroupCoordinator(partition, GroupSettings(), lambda: "unused", image())
    folder = read_partition_folder(LIVES / f"__consumer_offsets-{partition}")
    assert folder is not None
    for record in read_entries(folder.segments):
        assert not isinstance(record, Damage)
        coordinator.apply(record)
    coordinator.loaded(0)
    return coordinator


@pytest.mark.parametrize("group_id", OF_CONSUMERS)
def test_a_group_is_described_as_its_own_broker_described_it(group_id: str) -> None:
    said: dict[str, Any] = SAID[group_id]["described"]
    group = loaded(group_id).describe_consumer_group(group_id)
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == (
        said["groupState"],
        said["groupEpoch"],
        said["targetAssignmentEpoch"],
    )
    members = {
        member.member_id: (
            member.client_id,
            member.instance_id,
            member.rack_id,
            member.member_epoch,
            sorted((each.topic_name, *each.partitions) for each in member.assignment.topic_partitions),
        )
        for member in group.members
    }
    assert members == {
        member["consumerId"]: (
            member["clientId"],
            member["groupInstanceId"],
            member["rackId"],
            member["memberEpoch"],
            sorted((each["topic"], *each["partitions"]) for each in member["assignment"]),
        )
        for member in said["members"]
    }


@pytest.mark.parametrize("group_id", OF_CONSUMERS)
def test_the_hash_of_its_topics_is_the_one_in_its_log(group_id: str) -> None:
    group = loaded(group_id).consumer.watched(group_id)
    assert group is not None
    topics = [image().topic(name) for name in group.subscribed_names()]
    assert group_hash(topic for topic in topics if topic is not None) == group.metadata_hash != 0
