"""Tells what a member of a cooperative group read on with from one generation to the next."""

from typing import Final

from kgroup.errors import DecodeError
from kgroup.history.timeline.model import Partition
from kgroup.protocol.records.values import MemberMetadata
from kgroup.protocol.subscription import decode_subscription, partitions_of

KEEPS_WHAT_IT_HAS: Final = "cooperative-sticky"
"""The classic assignor under which a member keeps reading what it keeps (KIP-429). Under all others it
gives everything up in each round, and continues at the committed offsets."""


def kept_at_join(member: MemberMetadata) -> frozenset[Partition]:
    """The partitions that the member said it had when it joined the round (`owned_partitions`, KIP-429).

    One that was told that its generation or its session was over has let everything go
    (`onPartitionsLost`), and joins with nothing under the same id: it begins again at the committed offsets,
    even with what it is given back. Nothing where the subscription cannot be read.
    """
    try:
        subscription = decode_subscription(member.subscription)
    except DecodeError:
        return frozenset()
    return frozenset(Partition(*each) for each in partitions_of(subscription.owned_partitions))
