"""Rights to committed offsets: to the group, and to each topic."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from kgroup.broker.apis.offset_apis import FetchedGroup, OffsetFetchResponse
from kgroup.broker.guards.rights import Guard, Rights, apart
from kgroup.broker.security.acls import Operation
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    FetchedOffset,
    FetchedTopic,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    PartitionResult,
    TopicResult,
)
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

E = ErrorCode


def _offset_commit(rights: Rights) -> Call | None:
    body, by_id = rights.call.body, rights.call.version >= 10
    if not rights.group(Operation.READ, text(body.group_id)):
        rights.refuse(_refused_commit(required(body.topics), E.GROUP_AUTHORIZATION_FAILED, by_id))
        return None
    return _readable_commits(rights, by_id)


def _txn_offset_commit(rights: Rights) -> Call | None:
    body = rights.call.body
    error = E.NONE
    if not rights.transactional_id(Operation.WRITE, text(body.transactional_id)):
        error = E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not rights.group(Operation.READ, text(body.group_id)):
        error = E.GROUP_AUTHORIZATION_FAILED
    if error:
        rights.refuse(_refused_commit(required(body.topics), error, by_id=False))
        return None
    return _readable_commits(rights, by_id=False)


def _readable_commits(rights: Rights, by_id: bool) -> Call:
    """Let through the commits for topics that the client may read."""
    body = rights.call.body
    body.topics, refused = _by_topic(rights, required(body.topics), Operation.READ, by_id)
    if not refused:
        return rights.call
    others = _refused_commit(refused, E.TOPIC_AUTHORIZATION_FAILED, by_id).topics
    return rights.amended(lambda answer: replace(answer, topics=[*answer.topics, *others]))


def _refused_commit(topics: Sequence[Any], error: ErrorCode, by_id: bool) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_refused_topic(topic, error, by_id) for topic in topics])


def _refused_topic(topic: Any, error: ErrorCode, by_id: bool) -> TopicResult:
    return TopicResult(
        name="" if by_id else text(topic.name),
        topic_id=topic.topic_id if by_id else None,
        partitions=[
            PartitionResult(partition_index=each.partition_index, error_code=error)
            for each in required(topic.partitions)
        ],
    )


def _by_topic(
    rights: Rights, topics: Sequence[Any], operation: Operation, by_id: bool
) -> tuple[list[Any], list[Any]]:
    """The topics that the client may do this to, and the others; ids of no topic are for the handler."""

    def may(topic: Any) -> bool:
        name = rights.topic_name(topic, by_id)
        return name is None or rights.topic(operation, name)

    return apart(topics, may)


def _offset_fetch(rights: Rights) -> Call | None:
    return _offset_fetch_of_groups(rights) if rights.call.version >= 8 else _offset_fetch_of_one(rights)


def _offset_fetch_of_one(rights: Rights) -> Call | None:
    body, version = rights.call.body, rights.call.version
    if not rights.group(Operation.DESCRIBE, text(body.group_id)):
        error = E.GROUP_AUTHORIZATION_FAILED
        # Version 1 has no place for a group's error: it stands with every partition.
        topics = [_unread(topic, error, by_id=False) for topic in body.topics or ()] if version < 2 else []
        rights.refuse(OffsetFetchResponse(topics=topics, error_code=error))
        return None
    asked_for_all = body.topics is None
    refused: list[Any] = []
    if not asked_for_all:
        body.topics, refused = _by_topic(rights, body.topics, Operation.DESCRIBE, by_id=False)

    def amend(answer: OffsetFetchResponse) -> OffsetFetchResponse:
        if answer.error_code:
            return answer
        return replace(answer, topics=_seen(rights, answer.topics, asked_for_all, refused, by_id=False))

    return rights.amended(amend)


def _offset_fetch_of_groups(rights: Rights) -> Call:
    body, by_id = rights.call.body, rights.call.version >= 10
    body.groups, refused_groups = apart(
        required(body.groups), lambda group: rights.group(Operation.DESCRIBE, text(group.group_id))
    )
    refused_topics: list[tuple[bool, list[Any]]] = []
    for group in body.groups:
        asked_for_all = group.topics is None
        refused: list[Any] = []
        if not asked_for_all:
            group.topics, refused = _by_topic(rights, group.topics, Operation.DESCRIBE, by_id)
        refused_topics.append((asked_for_all, refused))

    def amend(answer: OffsetFetchResponse) -> OffsetFetchResponse:
        groups = [
            group
            if group.error_code
            else replace(group, topics=_seen(rights, group.topics, asked_for_all, refused, by_id))
            for group, (asked_for_all, refused) in zip(answer.groups, refused_topics, strict=True)
        ]
        others = [
            FetchedGroup(group_id=group.group_id, error_code=E.GROUP_AUTHORIZATION_FAILED)
            for group in refused_groups
        ]
        return replace(answer, groups=groups + others)

    return rights.amended(amend)


def _seen(
    rights: Rights, topics: list[FetchedTopic], asked_for_all: bool, refused: list[Any], by_id: bool
) -> list[FetchedTopic]:
    """The fetched topics: of all, those that the client may see; of those named, the others with an error."""
    if asked_for_all:
        return [topic for topic in topics if rights.topic(Operation.DESCRIBE, topic.name)]
    return [*topics, *(_unread(topic, E.TOPIC_AUTHORIZATION_FAILED, by_id) for topic in refused)]


def _unread(topic: Any, error: ErrorCode, by_id: bool) -> FetchedTopic:
    return FetchedTopic(
        name="" if by_id else text(topic.name),
        topic_id=topic.topic_id if by_id else None,
        partitions=[
            FetchedOffset(partition_index=index, error_code=error)
            for index in required(topic.partition_indexes)
        ],
    )


def _offset_delete(rights: Rights) -> Call | None:
    body = rights.call.body
    if not rights.group(Operation.DELETE, text(body.group_id)):
        rights.refuse(OffsetDeleteResponse(error_code=E.GROUP_AUTHORIZATION_FAILED))
        return None
    body.topics, refused = _by_topic(rights, required(body.topics), Operation.READ, by_id=False)
    others = [_refused_topic(topic, E.TOPIC_AUTHORIZATION_FAILED, by_id=False) for topic in refused]

    def amend(answer: OffsetDeleteResponse) -> OffsetDeleteResponse:
        return answer if answer.error_code else replace(answer, topics=[*answer.topics, *others])

    return rights.amended(amend)


GUARDS: Final[dict[int, Guard]] = {
    api.OFFSET_COMMIT: _offset_commit,
    api.TXN_OFFSET_COMMIT: _txn_offset_commit,
    api.OFFSET_FETCH: _offset_fetch,
    api.OFFSET_DELETE: _offset_delete,
}
