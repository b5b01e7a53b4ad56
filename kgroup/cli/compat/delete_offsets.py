"""`--delete-offsets`: a group's offsets for topics."""

from typing import TYPE_CHECKING, Final

from kgroup.cli.compat.carried_out import carried_out
from kgroup.cli.compat.exceptions import exception, message
from kgroup.cli.compat.failure import print_error
from kgroup.cli.compat.given import Given

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster
    from kgroup.protocol.topic_partition import TopicPartition

_WHOLE_TOPIC: Final = -1
_NOT_THERE: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_OF_PARTITIONS: Final = ("GROUP_SUBSCRIBED_TO_TOPIC", "TOPIC_AUTHORIZATION_FAILED", _NOT_THERE)
_OF_GROUPS: Final = (
    "INVALID_GROUP_ID",
    "GROUP_ID_NOT_FOUND",
    "GROUP_AUTHORIZATION_FAILED",
    "NON_EMPTY_GROUP",
)


def run(given: Given, cluster: "Cluster") -> None:
    """Delete them in one request, and print what became of each partition."""
    from kgroup.report.compat.changes import deleted_offset_lines

    group = given.all("group")[0]
    places, unknown = _partitions(given.all("topic"), cluster)
    refused = _delete(cluster, group, places)
    if isinstance(refused, str):
        results: dict[TopicPartition, str | None] = dict.fromkeys(places, exception(refused))
        first: str | None = refused
    else:
        results = {place: exception(refused[place]) if place in refused else None for place in places}
        first = next((refused[place] for place in places if place in refused), None)
    if first is None:
        print(f"Request succeeded for deleting offsets from group {group}.")
    elif first in _OF_GROUPS:
        print_error(message(first))
    elif first in _OF_PARTITIONS:
        print_error("Encountered some partition-level error, see the follow-up details.")
    else:
        print_error(f"Encountered some unknown error: {first}")
    results |= {(topic, _WHOLE_TOPIC): exception(_NOT_THERE) for topic in unknown}
    for line in deleted_offset_lines(results):
        print(line)


def _partitions(topics: list[str], cluster: "Cluster") -> "tuple[list[TopicPartition], list[str]]":
    """The partitions to delete, and the topics that there are not."""
    from kgroup.cli.compat.reset_offsets import named_partitions

    whole = [topic for topic in topics if ":" not in topic]
    known = cluster.topics(whole) if whole else {}
    there = [topic for topic in topics if ":" in topic or topic in known]
    return list(dict.fromkeys(named_partitions(there, cluster))), [
        topic for topic in whole if topic not in known
    ]


def _delete(
    cluster: "Cluster", group: str, places: "list[TopicPartition]"
) -> "str | dict[TopicPartition, str]":
    from kgroup.api.operations.deletions import offset_deletion_of
    from kgroup.net.admin.cluster import error_name
    from kgroup.net.admin.coordinated import CoordinatorError

    try:
        return carried_out(
            cluster, offset_deletion_of(cluster, group, places, command="compat-delete-offsets")
        )
    except CoordinatorError as error:
        return error_name(error.code)
