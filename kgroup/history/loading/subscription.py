"""Whether a coordinator can read a classic member's subscription, as it does while it loads."""

from typing import Final

_VERSION_BYTES: Final = 2


def why_unreadable(raw: bytes) -> str | None:
    """The reason `ConsumerProtocol` fails on these bytes and the load with it; None if it does not.

    The coordinator reads every version as version 0: topics, then user data. Only bytes without a version are
    a fault that it expects (a SchemaException, which it logs); any other ends the load. 4.2.2 and 4.4 expect
    them all.
    """
    if len(raw) < _VERSION_BYTES:
        return None
    at = _VERSION_BYTES
    if len(raw) - at < 4:
        return None  # a BufferUnderflowException, which becomes a SchemaException
    count, at = int.from_bytes(raw[at : at + 4], signed=True), at + 4
    if count < 0:
        return "its topics are null"
    if count > len(raw) - at:
        return f"{count} topics in {len(raw) - at} bytes"
    for _ in range(count):
        if len(raw) - at < 2:
            return None
        size, at = int.from_bytes(raw[at : at + 2], signed=True), at + 2
        if size < 0:
            return "a topic is null"
        if size > len(raw) - at:
            return f"a topic of {size} bytes in {len(raw) - at}"
        at += size
    if len(raw) - at < 4:
        return None
    size, at = int.from_bytes(raw[at : at + 4], signed=True), at + 4
    return f"user data of {size} bytes in {len(raw) - at}" if size > len(raw) - at else None
