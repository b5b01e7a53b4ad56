"""Members' requests and their answers, a sentence each, for the story of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests import client as calls
from kgroup.protocol.requests import consumer_group, coordinator
from kgroup.protocol.subscription import assigned_partitions
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.assignments import runs_by_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """`subject`: the lecture that goes with it. `routine`: a subject told only once for each member."""

    text: str
    subject: str | None = None
    routine: str | None = None


def request_text(body: calls.MemberRequest) -> Sentence | None:
    """A member's request in words; None where it is not worth a line."""
    match body:
        case calls.FindCoordinator(key=group):
            return Sentence(text=f"FIND_COORDINATOR: who coordinates {group}?", subject="find-coordinator")
        case coordinator.JoinGroup():
            return _join(body)
        case coordinator.SyncGroup(assignments=()):
            return Sentence(text=f"SYNC_GROUP of generation {body.generation_id}", subject="sync")
        case coordinator.SyncGroup():
            shares = f"with {len(body.assignments)} shares"
            return Sentence(
                text=f"SYNC_GROUP of generation {body.generation_id} {shares}", subject="sync-leader"
            )
        case coordinator.Heartbeat():
            return Sentence(text="HEARTBEAT", subject="heartbeat", routine="heartbeat")
        case consumer_group.ConsumerGroupHeartbeat():
            return _consumer_heartbeat(body)
        case coordinator.LeaveGroup(members=members):
            reason = members[0].reason if members else None
            return Sentence(text=f"LEAVE_GROUP{f': {reason}' if reason else ''}", subject="leave")
        case coordinator.OffsetCommit():
            offsets = [
                f"{topic.name}-{each.partition_index}@{each.committed_offset}"
                for topic in body.topics
                for each in topic.partitions
            ]
            return Sentence(text=f"OFFSET_COMMIT {_few(offsets)}", subject="commit", routine="commit")
        case calls.OffsetFetch(topics=topics):
            partitions = [(topic, number) for topic, numbers in topics for number in numbers]
            return Sentence(
                text=f"OFFSET_FETCH: what is committed for {_runs(partitions)}?", subject="offset-fetch"
            )
        case calls.ListOffsets(partitions=partitions, timestamp=timestamp):
            positions = {calls.EARLIEST_TIMESTAMP: "start", calls.LATEST_TIMESTAMP: "end"}
            position = positions.get(timestamp, "place")
            return Sentence(text=f"LIST_OFFSETS: where is the {position} of {_runs(partitions)}?")
        case calls.Fetch(offsets=offsets):
            read = [partition for partition, _ in offsets]
            return Sentence(text=f"FETCH {_runs(read)}", subject="fetch", routine="fetch")
        case calls.Metadata():
            return None


def _consumer_heartbeat(body: consumer_group.ConsumerGroupHeartbeat) -> Sentence:
    at = f"CONSUMER_GROUP_HEARTBEAT at epoch {body.member_epoch}"
    if body.member_epoch < 0:
        return Sentence(text=f"{at}: leaves", subject="consumer-leave")
    if body.member_epoch == 0:
        return Sentence(text=f"{at}: joins", subject="consumer-join")
    if body.topic_partitions is not None:
        count = sum(len(numbers) for _, numbers in body.topic_partitions)
        owned = f"{count} partition{'' if count == 1 else 's'}"
        return Sentence(text=f"{at}: has {owned}", subject="consumer-acknowledge")
    return Sentence(text=at, subject="consumer-heartbeat", routine="heartbeat")


def _join(body: coordinator.JoinGroup) -> Sentence:
    offers = ", ".join(name for name, _ in body.protocols)
    who = f"as {body.member_id}" if body.member_id else "without a member id"
    if body.group_instance_id is not None:
        who += f", static {body.group_instance_id}"
    reason = f": {body.reason}" if body.reason else ""
    return Sentence(text=f"JOIN_GROUP {who}, offers {offers}{reason}", subject="join")


def response_text(body: calls.MemberResponse) -> Sentence | None:
    """The answer to a member in words; None where it is not worth a line."""
    match body:
        case calls.FindCoordinatorResponse(node=node, error_code=error):
            answer = error.name if node is None else f"{node.host} does"
            return Sentence(text=answer, subject="coordinator-found" if node else None)
        case coordinator.JoinGroupResponse():
            return _joined(body)
        case coordinator.SyncGroupResponse(error_code=ErrorCode.NONE, assignment=assignment):
            return Sentence(text=f"its share: {_runs(assigned_partitions(assignment))}", subject="synced")
        case coordinator.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS):
            return Sentence(text="REBALANCE_IN_PROGRESS", subject="rebalance-in-progress")
        case (
            coordinator.SyncGroupResponse(error_code=error) | coordinator.HeartbeatResponse(error_code=error)
        ):
            return Sentence(text=error.name) if error is not ErrorCode.NONE else None
        case consumer_group.ConsumerGroupHeartbeatResponse():
            return _consumer_heartbeat_answer(body)
        case calls.OffsetFetchResponse(offsets=offsets, error_code=error):
            if error is not ErrorCode.NONE:
                return Sentence(text=error.name)
            known = [_at(each.partition, each.offset) for each in offsets if each.offset >= 0]
            return Sentence(
                text=f"committed: {_few(known)}",
                subject=None if len(known) == len(offsets) else "nothing-committed",
            )
        case calls.ListOffsetsResponse(offsets=listed):
            return Sentence(text=_few([_at(each.partition, each.offset) for each in listed]))
        case _:
            return None


def _consumer_heartbeat_answer(body: consumer_group.ConsumerGroupHeartbeatResponse) -> Sentence | None:
    if body.error_code is not ErrorCode.NONE:
        return Sentence(text=body.error_code.name)
    if body.assignment is None:
        return None
    count = sum(len(topic.partitions) for topic in body.assignment.topic_partitions)
    shares = f"{count} partition{'' if count == 1 else 's'}"
    return Sentence(text=f"epoch {body.member_epoch}: it shall have {shares}", subject="consumer-assigned")


def _joined(body: coordinator.JoinGroupResponse) -> Sentence:
    if body.error_code is ErrorCode.MEMBER_ID_REQUIRED:
        return Sentence(text="MEMBER_ID_REQUIRED: come back with the id", subject="member-id-required")
    if body.error_code is not ErrorCode.NONE:
        return Sentence(text=body.error_code.name)
    round_ = f"generation {body.generation_id}, {body.protocol_name}"
    if body.leader == body.member_id:
        return Sentence(
            text=f"{round_}: it leads, and gets {len(body.members)} subscriptions", subject="joined-leader"
        )
    return Sentence(text=f"{round_}, led by {body.leader}", subject="joined")


def _at(partition: TopicPartition, offset: int) -> str:
    return f"{partition[0]}-{partition[1]}@{offset}"


def _runs(partitions: Sequence[TopicPartition]) -> str:
    return runs_by_topic(partitions) or "nothing"


def _few(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    shown = " ".join(texts[:8]) or "nothing"
    return shown if len(texts) <= 8 else f"{shown} and {len(texts) - 8} more"
