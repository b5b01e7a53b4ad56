"""The block of rows that the kernel fills and the reductions read.

Every record of a batch becomes one row, in log order, whatever it is. A block is one array,
rows[COLUMN, row]: numba passes one array from function to function at a fraction of the cost of fourteen.
Rows point into the buffer they were read from, so a block is used up before the buffer is read into again.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

# Columns.
KIND: Final = 0
KEY_ID: Final = 1
LOG_OFFSET: Final = 2
RECORD_TIMESTAMP: Final = 3
PRODUCER_ID: Final = 4  # -1 outside transactions
BATCH_LEADER_EPOCH: Final = 5  # in the batch's header
OFFSET: Final = 6  # of a marker: the coordinator epoch
LEADER_EPOCH: Final = 7  # of a marker: the producer epoch
COMMIT_TIMESTAMP: Final = 8
EXPIRE_TIMESTAMP: Final = 9
VALUE_VERSION: Final = 10
TEXT_POSITION: Final = 11  # where the metadata of a commit is, or the value of any other record
TEXT_SIZE: Final = 12  # -1 for a null value
TOPIC_ID_POSITION: Final = 13  # -1 without a topic id
_COLUMNS: Final = 14

# Of an odd record the text is its value; these are the place of its key.
ODD_KEY_POSITION: Final = OFFSET
ODD_KEY_SIZE: Final = COMMIT_TIMESTAMP  # -1 for a null key

# What a row is: values of KIND. Their order makes for quick tests: commits and their tombstones, other
# records, markers.
COMMIT: Final = 0
TOMBSTONE: Final = 1  # of a commit
OTHER: Final = 2  # a record of another type
OTHER_TOMBSTONE: Final = 3
COMMITTED: Final = 4  # transaction marker
ABORTED: Final = 5  # transaction marker
ODD: Final = 6  # to be decoded by the plain path
DROPPED: Final = 7  # an odd record of which the plain path could make no commit


def new_rows(capacity: int) -> Rows:
    """A block for `capacity` rows or a few more, with undefined content."""
    # Columns a power of two apart would fall on the same lines of the CPU's cache.
    return np.empty((_COLUMNS, (capacity | 0x1F) + 9), np.int64)


def write_tombstone(rows: Rows, row: int) -> None:
    """Make the row a commit's tombstone. Kernels compile it; the place of the text stays as it is."""
    rows[KIND, row] = TOMBSTONE
    rows[OFFSET, row] = -1
    rows[LEADER_EPOCH, row] = -1
    rows[COMMIT_TIMESTAMP, row] = -1
    rows[EXPIRE_TIMESTAMP, row] = -1
    rows[VALUE_VERSION, row] = -1
    rows[TEXT_SIZE, row] = 0
    rows[TOPIC_ID_POSITION, row] = -1
