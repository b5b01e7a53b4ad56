"""Records a cluster: its offsets topic as it is written, and samples of all log ends."""

import threading
from collections.abc import Callable
from pathlib import Path

from kgroup.log.recorder.folder import RecordingFolder
from kgroup.log.recorder.retention import Retention
from kgroup.net.admin.cluster import Cluster
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.net.record.recorder import Recorder
from kgroup.report.recording import RecorderState


def open_recorder(
    connection: ConnectionOptions,
    folder: Path,
    *,
    retention: Retention,
    sample_ms: int,
    say: Callable[[str], None],
    stop: threading.Event,
) -> Recorder:
    """A recorder of a cluster into a folder, which it holds; its `run` ends when `stop` is set.

    Raises SourceError for a folder that cannot be written, that another process records into, or that has
    logs of somebody else; and as reading the connection's options does.
    """
    Cluster(connection)  # before a folder is made for what cannot be
    return Recorder(
        connection, RecordingFolder(folder, retention, say), sample_ms=sample_ms, say=say, stop=stop
    )


def state_of(recorder: Recorder) -> RecorderState:
    """The state of a recorder at this moment."""
    health, tally = recorder.health, recorder.folder.tally
    return RecorderState(
        up=health.up,
        failures=health.failures,
        fetched_ms=health.fetched_ms,
        sampled_ms=health.sampled_ms,
        behind=dict(health.behind),
        batches=tally.batches,
        bytes=tally.bytes,
        samples=tally.samples,
        holes=tally.holes,
        missing_offsets=tally.missing_offsets,
        folded_bytes=tally.folded_bytes,
        dropped_bytes=tally.dropped_bytes,
        size_bytes=health.size_bytes,
    )
