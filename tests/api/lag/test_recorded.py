"""Lag by a recording: its newest sample says where logs end; later commits say that they were longer."""

from pathlib import Path
from uuid import UUID

import pytest

from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.log.files.recording import Sample, TopicSample
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.recorder.fetched import whole_batches_from
from kgroup.log.recorder.folder import RecordingFolder
from kgroup.log.recorder.retention import Retention
from tests.log.offsets_log import commit

SAMPLED_MS = 1000


@pytest.mark.parametrize(
    ("offset", "end", "lag"),
    [
        (700, 900, 200),  # committed at 701, before the sample
        (1500, 1500, 0),  # at 1501, so the log had got there since
        (950, 900, -50),  # before the sample, and beyond the end: as Kafka's tool has it
    ],
)
def test_a_log_is_no_shorter_than_what_was_committed_since(
    tmp_path: Path, offset: int, end: int, lag: int
) -> None:
    folder = RecordingFolder(tmp_path / "rec", Retention(retain_ms=None, bytes_max=None), print)
    folder.begin(0, UUID(int=3), (0, 0), 1)
    key, value = commit("billing", "orders", 0, offset)
    batch = encode_batch([LogRecord(0, offset + 1, key, value)], leader_epoch=0)
    folder.add(0, whole_batches_from(0, batch), 1)
    topic = TopicSample(topic_id=None, partitions=1, starts={0: 0}, ends={0: 900})
    folder.add_sample(
        Sample(
            at_ms=SAMPLED_MS, every_ms=10_000, is_full=True, topics={"orders": topic}, brokers={}, leaders={}
        )
    )
    folder.close()
    (row,) = lag_report(open_logs(tmp_path / "rec")).rows()
    assert (row.log_end_offset, row.lag) == (end, lag)
