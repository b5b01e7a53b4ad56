"""Record batches of message format 2, and the values that every format decodes to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum


class Codec(IntEnum):
    """Compression codec: the low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TimestampType(IntEnum):
    """Who set the timestamps: attribute bit 3. Format 0 has no timestamps (`NO_TIMESTAMP_TYPE`)."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record; `offset` is absolute, `timestamp_ms` is -1 where the format has none."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch as it lies in a segment: a v2 batch, or one message (or wrapper) of format 0 or 1.

    `position` and `size` are bytes in the segment. For formats 0 and 1 `count` is None (a wrapper
    does not say how many messages it holds) and the v2-only fields are at their defaults.
    `records()` decodes what is inside; it raises DecodeError if the payload is not what the header says.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    count: int | None
    codec: Codec
    timestamp_type: TimestampType
    max_timestamp_ms: int
    crc: int
    transactional: bool = False
    control: bool = False
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    delete_horizon_ms: int | None = None
    records: Callable[[], list[LogRecord]] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Bytes of a segment that are no healthy batch: where, how many, and why.

    The scan goes on at `position + size`. `segment` is the path as the user gave it.
    """

    segment: str
    position: int
    size: int
    why: str
