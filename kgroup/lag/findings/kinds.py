"""The meaning of the numbers of share groups (KIP-932) and streams groups (KIP-1071)."""

from collections.abc import Iterator, Sequence

from kgroup.history.groups.model import Group
from kgroup.lag.findings.text import listed
from kgroup.lag.measures.log_ends import LogEnds, TopicState

SHARE_WITHOUT_ROWS = (
    "a share group has no committed offsets and so no lag; its start offsets and deliveries are"
    " in __share_group_state, and describe shows them"
)


def kind_notes(group: Group, ends: LogEnds) -> Iterator[str]:
    """Notes on known obstacles: for a streams group's tasks, and for a share group's partitions."""
    topology = group.topology
    if group.members and topology is not None and topology.validated_epoch not in (None, topology.epoch):
        yield f"the topics of its topology {topology.epoch} were not all found, so no task is assigned"
    if topology is not None:
        for use in ("source", "repartition", "changelog"):
            missing = [
                topic
                for topic, used_as in sorted(topology.topics.items())
                if used_as == use and ends.topic_state(topic, 0) is TopicState.DELETED
            ]
            if missing:
                yield f"missing {use} topic{'s' if len(missing) > 1 else ''}: {listed(missing)}"
    if group.share_waiting:
        waiting = [f"{each.topic}-{each.partition}" for each in group.share_waiting]
        yield f"not shared yet, their state is being set up: {listed(waiting)}"


def remarks_on_shares(group_ids: Sequence[str]) -> Iterator[str]:
    """One line for all share groups that have rows: what their offsets and their lag are."""
    if group_ids:
        yield (
            f"share group{'s' if len(group_ids) > 1 else ''} {listed(group_ids)}: the current offset is where"
            " it begins to read, and lag is what from there on is not done with"
        )


def remarks_on_streams(group_ids: Sequence[str]) -> Iterator[str]:
    """One line for all streams groups that have rows: what their lag is of."""
    if group_ids:
        yield (
            f"streams group{'s' if len(group_ids) > 1 else ''} {listed(group_ids)}: lag is of source and"
            " repartition topics; state that is still to be restored from changelogs is not in it"
        )
