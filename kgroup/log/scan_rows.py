"""The block of rows that the kernel fills and the reductions read: one numpy array per column.

Every record of a batch becomes one row, in log order, whatever it is; `kind` says what. Rows point into
the buffer they were read from, so a block is used up before the buffer is read into again.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Kind(IntEnum):
    """What a row is. The kernels use the plain integers."""

    COMMIT = 0
    TOMBSTONE = 1  # of a commit
    COMMITTED = 2  # transaction marker
    ABORTED = 3  # transaction marker
    OTHER = 4  # a record of another type; text is its value
    OTHER_TOMBSTONE = 5
    ODD = 6  # to be decoded by the plain path: see `Rows`
    DROPPED = 7  # an odd record, after the plain path could make no commit of it


class Rows(NamedTuple):
    """Columns of a block.

    `text_position` and `text_size` are the metadata of a commit, or the value of any other record (size -1:
    null). `topic_id_position` is -1 without a topic id. Of a marker, `leader_epoch` is the producer epoch
    and `offset` the coordinator epoch. Of an odd record, `offset` and `commit_timestamp` are its key's
    position and size (-1: null). `batch_leader_epoch` is the partition leader's epoch in the batch header.
    """

    kind: NDArray[np.int8]
    key_id: NDArray[np.int32]
    log_offset: NDArray[np.int64]
    record_timestamp: NDArray[np.int64]
    producer_id: NDArray[np.int64]
    batch_leader_epoch: NDArray[np.int32]
    offset: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    commit_timestamp: NDArray[np.int64]
    expire_timestamp: NDArray[np.int64]
    value_version: NDArray[np.int16]
    text_position: NDArray[np.int64]
    text_size: NDArray[np.int32]
    topic_id_position: NDArray[np.int64]


def new_rows(capacity: int) -> Rows:
    """A block for `capacity` rows, with undefined content."""
    return Rows(
        kind=np.empty(capacity, np.int8),
        key_id=np.empty(capacity, np.int32),
        log_offset=np.empty(capacity, np.int64),
        record_timestamp=np.empty(capacity, np.int64),
        producer_id=np.empty(capacity, np.int64),
        batch_leader_epoch=np.empty(capacity, np.int32),
        offset=np.empty(capacity, np.int64),
        leader_epoch=np.empty(capacity, np.int32),
        commit_timestamp=np.empty(capacity, np.int64),
        expire_timestamp=np.empty(capacity, np.int64),
        value_version=np.empty(capacity, np.int16),
        text_position=np.empty(capacity, np.int64),
        text_size=np.empty(capacity, np.int32),
        topic_id_position=np.empty(capacity, np.int64),
    )
