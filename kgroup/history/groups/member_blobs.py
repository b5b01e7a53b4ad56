"""What a member of a classic group subscribes to and owns, by the bytes in its group's record.

A group as it is now and its history ask about the same members, often far apart, and reading one takes longer
than most else that is done with it.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from kgroup.history.groups.model import OwnedPartition
from kgroup.protocol.subscription import decode_member

_MEMBERS_KEPT: Final = 8192  # of some kilobyte each


class MemberTopics(NamedTuple):
    """The topics it subscribes to and the partitions that it owns, both sorted.

    `subscribed` is None where its error says why, and `owned` empty.
    """

    subscribed: tuple[str, ...] | None
    owned: tuple[OwnedPartition, ...]
    subscription_error: str | None
    assignment_error: str | None


@lru_cache(maxsize=_MEMBERS_KEPT)
def member_topics(subscription: bytes, assignment: bytes) -> MemberTopics:
    """Read a member's two blobs; one that cannot be read does not hide the other."""
    blobs = decode_member(subscription, assignment)
    return MemberTopics(
        subscribed=None if blobs.subscription is None else tuple(sorted(blobs.subscription.topics)),
        owned=tuple(sorted(OwnedPartition(*each) for each in blobs.owned)),
        subscription_error=None if blobs.subscription_error is None else str(blobs.subscription_error),
        assignment_error=None if blobs.assignment_error is None else str(blobs.assignment_error),
    )
