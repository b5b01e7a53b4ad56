"""Names and messages of Kafka's Java exceptions for errors of its protocol, as in `Errors`."""

from typing import Final

_PACKAGE: Final = "org.apache.kafka.common.errors."
_EXCEPTIONS: Final = {
    "GROUP_AUTHORIZATION_FAILED": ("GroupAuthorizationException", "Group authorization failed."),
    "GROUP_ID_NOT_FOUND": ("GroupIdNotFoundException", "The group id does not exist."),
    "GROUP_SUBSCRIBED_TO_TOPIC": (
        "GroupSubscribedToTopicException",
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
    ),
    "INVALID_GROUP_ID": ("InvalidGroupIdException", "The group id is invalid."),
    "NON_EMPTY_GROUP": ("GroupNotEmptyException", "The group is not empty."),
    "TOPIC_AUTHORIZATION_FAILED": ("TopicAuthorizationException", "Topic authorization failed."),
    "UNKNOWN_MEMBER_ID": ("UnknownMemberIdException", "The coordinator is not aware of this member."),
    "UNKNOWN_TOPIC_OR_PARTITION": (
        "UnknownTopicOrPartitionException",
        "This server does not host this topic-partition.",
    ),
}


def message(error: str) -> str:
    """Kafka's message for an error of the protocol, by its name; the name itself of others."""
    return _EXCEPTIONS.get(error, ("", error))[1]


def exception(error: str, text: str | None = None) -> str:
    """The exception as Java prints it, with this text or its usual message."""
    name, usual = _EXCEPTIONS.get(error, ("UnknownServerException", error))
    return f"{_PACKAGE}{name}: {usual if text is None else text}"
