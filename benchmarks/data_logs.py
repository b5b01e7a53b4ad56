"""The logs of data topics for an invented fleet: small, but they say where each log ended when.

A record a quarter of an hour, with an offset far beyond the one before it, as compaction leaves logs. So a
history of lag has past log ends to go by.
"""

from pathlib import Path
from typing import Final

import numpy as np

from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.scan.kernels.crc import crc32c

_BASE_OFFSET_AT: Final = 0
_CRC_AT: Final = 17
_FIRST_TIMESTAMP_AT: Final = 27
_LAST_TIMESTAMP_AT: Final = 35
_STEP_MS: Final = 15 * 60 * 1000
_NAME: Final = "00000000000000000000"
_STANDS_STILL: Final = 3  # so often no record is added, one time in as many


class DataLogWriter:
    """Writes logs that grow to their ends from `start_ms` on for `duration_ms` (epoch ms)."""

    def __init__(self, out: Path, start_ms: int, duration_ms: int, seed: int) -> None:
        self._out = out
        self._times = start_ms + np.arange(0, duration_ms, _STEP_MS, dtype=np.int64)
        self._draw = np.random.default_rng(seed)
        record = LogRecord(offset=0, timestamp_ms=start_ms, key=None, value=b"")
        self._batch = np.frombuffer(encode_batch([record], leader_epoch=5), np.uint8)

    def write(self, partition: TopicPartition, end: int) -> int:
        """Write the log of a topic partition with its indexes; returns its bytes."""
        steps = self._draw.exponential(size=len(self._times))
        steps *= self._draw.integers(0, _STANDS_STILL, len(steps)) > 0
        reached = np.cumsum(steps) / max(steps.sum(), 1e-9) * end
        ends, times = np.unique(reached.astype(np.int64), return_index=True)
        kept = ends > 0
        offsets, times = ends[kept] - 1, self._times[times[kept]]
        batches = np.tile(self._batch, (len(offsets), 1))
        for at, values in (
            (_BASE_OFFSET_AT, offsets),
            (_FIRST_TIMESTAMP_AT, times),
            (_LAST_TIMESTAMP_AT, times),
        ):
            batches[:, at : at + 8] = values.astype(">i8").view(np.uint8).reshape(-1, 8)
        padded = np.zeros(len(self._batch) + 16, np.uint8)
        for batch in batches:
            padded[: len(batch)] = batch
            crc = int(crc32c(padded, _CRC_AT + 4, len(batch)))
            batch[_CRC_AT : _CRC_AT + 4] = np.frombuffer(crc.to_bytes(4, "big"), np.uint8)
        folder = self._out / f"{partition[0]}-{partition[1]}"
        folder.mkdir(exist_ok=True)
        (folder / f"{_NAME}.log").write_bytes(batches.tobytes())
        return batches.size
