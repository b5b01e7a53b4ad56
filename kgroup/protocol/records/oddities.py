"""Oddities of decodable records: things that Kafka accepts and users should know about."""

from collections.abc import Callable, Iterator
from functools import lru_cache

from kgroup.errors import DecodeError
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.values import ConsumerGroupMemberMetadataValue, GroupMetadataValue
from kgroup.protocol.subscription import decode_assignment, decode_subscription

# Members send the same bytes at every rebalance.
_CACHED_BLOBS = 512


def oddities(entry: OffsetsEntry) -> list[str]:
    """The entry's own note, and each consumer subscription or assignment that cannot be read; mostly empty.

    Groups of other protocol types may put what they like into those bytes. No bytes at all are what a member
    has before its first assignment.
    """
    notes = [] if entry.note is None else [entry.note]
    match entry.value:
        case GroupMetadataValue(protocol_type="consumer"):
            notes += _odd_members(entry.value)
        case ConsumerGroupMemberMetadataValue(classic_member_metadata=classic) if classic is not None:
            blobs = (protocol.metadata for protocol in classic.supported_protocols)
            notes += filter(None, (_why_unreadable(blob, decode_subscription) for blob in blobs))
    return notes


def _odd_members(value: GroupMetadataValue) -> Iterator[str]:
    for member in value.members:
        reasons = (
            _why_unreadable(member.subscription, decode_subscription),
            _why_unreadable(member.assignment, decode_assignment),
        )
        if any(reasons):
            yield f"member {member.member_id}: {', '.join(filter(None, reasons))}"


@lru_cache(maxsize=_CACHED_BLOBS)
def _why_unreadable(blob: bytes, decode: Callable[[bytes], object]) -> str | None:
    if not blob:
        return None
    try:
        decode(blob)
    except DecodeError as error:
        return str(error)
    return None
