"""The recorder's loop: fetch, write, sample, drop, until it is stopped.

One thread does it all, in rounds of half a second. A failure is reported once and retried, after pauses
that double up to half a minute: a broker that is away, a disk that is full. Only what is wrong at the start
ends it.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kgroup.errors import SourceError
from kgroup.log.recorder.fetched import whole_batches_from
from kgroup.log.recorder.folder import RecordingFolder
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.net.record.cluster_view import Answer, ClusterView
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.protocol.topic_id import TopicId

WAIT_MS: Final = 500
_SYNC_MS: Final = 1000
_KEEP_MS: Final = 10_000
_LAST_ROUNDS_MAX: Final = 20
_PAUSE_S: Final = 0.25
_PAUSE_MAX_S: Final = 30.0
_MOVING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)


@dataclass(slots=True)
class Health:
    """The state of the recording, for metrics. Times are epoch ms, 0 before the first time."""

    up: bool = False
    failures: int = 0
    fetched_ms: int = 0
    sampled_ms: int = 0
    size_bytes: int = 0
    behind: dict[int, int] = field(default_factory=dict)


class Recorder:
    """Records a cluster into a folder. `run` until `stop` is set; `say` takes what is worth a line.

    Leaders wait up to `wait_ms` for enough to send.
    """

    def __init__(
        self,
        connection: ConnectionOptions,
        folder: RecordingFolder,
        *,
        sample_ms: int,
        say: Callable[[str], None],
        stop: threading.Event,
        wait_ms: int = WAIT_MS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self.folder = folder
        self._sample_ms = sample_ms
        self._say = say
        self._stop = stop
        self._wait_ms = wait_ms
        self._clock = clock
        self.health = Health()
        self._view: ClusterView | None = None
        self._told: set[str] = set()
        self._told_of_keeping: set[str] = set()
        self._failed_at_ms: int | None = None
        self._pause_s = _PAUSE_S
        self._synced_ms = self._kept_ms = 0
        self._next_sample_ms = 0
        self._awaits_topic = False
        self._topic_id: TopicId = None

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Record until `stop`. Raises SourceError only for what is wrong before the first round."""
        try:
            self.start()
            ready()
            while not self._stop.is_set():
                self.turn()
            self._finish()
        finally:
            self._disconnect()
            self.folder.close()

    def start(self) -> None:
        """Connect and fetch for the first time. Raises SourceError for whatever goes wrong."""
        self._connect()
        self._begin()
        if self.folder.partitions:
            self._round(self._connected, wait_ms=0)
        self._went_well()

    def turn(self) -> None:
        """One round: a sample if it is time for one, what has been committed, what has to go."""
        try:
            self._live()
        except SourceError as error:
            self._failed(error)

    # ---- one round ----------------------------------------------------------------------------

    def _live(self) -> None:
        if self._view is None:
            self._connect()
            self._begin()
        view = self._connected
        self._sample_if_due(view)
        self._round(view)
        now_ms = self._now_ms()
        if now_ms - self._synced_ms >= _SYNC_MS or self._failed_at_ms is not None:
            self.folder.sync()
            self._synced_ms = now_ms
        self._went_well()
        if now_ms - self._kept_ms >= _KEEP_MS:
            self._kept_ms = now_ms
            self._keep_bounded(now_ms)

    def _keep_bounded(self, now_ms: int) -> None:
        """Drop what is beyond the bounds. Damage here is reported once and does not stop the recording."""
        try:
            for _ in self.folder.keep_bounded(now_ms):
                if self._stop.is_set():
                    break
            self.health.size_bytes = self.folder.size()
        except SourceError as error:
            if str(error) not in self._told_of_keeping:
                self._told_of_keeping.add(str(error))
                self._say(str(error))

    def _round(self, view: ClusterView, wait_ms: int | None = None) -> None:
        """Fetch from all leaders once, and write what they send."""
        positions = {partition: self.folder.position(partition) for partition in self.folder.partitions}
        if not positions:
            self._stop.wait(self._wait_ms / 1000)
            self._begin()
            return
        until_sample = max(self._next_sample_ms - self._now_ms(), 1)
        fetched = view.fetch(positions, min(self._wait_ms, until_sample) if wait_ms is None else wait_ms)
        moved = len(positions) < len(view.topic.leaders if view.topic is not None else ())
        for partition, answer in sorted(fetched.answers.items()):
            moved |= self._take(partition, answer)
        if fetched.failures:
            node, error = min(fetched.failures.items())
            view.refresh()  # others may lead by now
            raise SourceError(f"broker {node}: {error}")
        if moved:
            self._begin()
            self._stop.wait(_PAUSE_S)

    def _take(self, partition: int, answer: Answer) -> bool:
        """Write what a leader sent; True if it is worth asking who leads."""
        if answer.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(partition)
            return True
        if answer.error in _MOVING:
            return True
        if answer.error:
            where = f"{OFFSETS_TOPIC} partition {partition}"
            raise SourceError(f"{self._connection.bootstrap_servers}: {where}: {error_name(answer.error)}")
        if answer.records:
            fetched = whole_batches_from(self.folder.position(partition), answer.records)
            self.folder.add(partition, fetched, self._now_ms())
        return False

    def _out_of_range(self, partition: int) -> None:
        """The log starts behind where the recording ends, or ends before."""
        start, end = self._connected.spans().get(partition, (-1, -1))
        position = self.folder.position(partition)
        if start > position:
            self.folder.skip_deleted(partition, start, self._now_ms())
        elif 0 <= end < position:
            self.folder.retire(partition, f"the log ends at {end}, before {position}", self._now_ms())

    def _begin(self) -> None:
        """Ask who leads, and begin with the partitions that are not recorded yet."""
        view = self._connected
        topic = view.refresh()
        if topic is None:
            if not self._awaits_topic:
                self._say(f"{view.cluster.name}: there is no topic {OFFSETS_TOPIC} yet; waiting for it")
            self._awaits_topic = True
            return
        self._awaits_topic = False
        if None not in (self._topic_id, topic.topic_id) and self._topic_id != topic.topic_id:
            for partition in self.folder.partitions:
                self.folder.retire(partition, "the topic was made anew", self._now_ms())
        self._topic_id = topic.topic_id
        new = topic.leaders.keys() - set(self.folder.partitions)
        if new:
            for partition, span in sorted(view.spans().items()):
                if partition in new:
                    self.folder.begin(partition, topic.topic_id, span, self._now_ms())

    def _sample_if_due(self, view: ClusterView) -> None:
        now_ms = self._now_ms()
        if now_ms < self._next_sample_ms:
            return
        # At round times, so that windows of time end where samples are.
        self._next_sample_ms = (now_ms // self._sample_ms + 1) * self._sample_ms
        self._sample(view)

    def _sample(self, view: ClusterView) -> None:
        at_ms = self._now_ms()
        sample = view.sample(at_ms, self._sample_ms)
        self.folder.add_sample(sample)
        self.health.sampled_ms = at_ms
        own = sample.topics.get(OFFSETS_TOPIC)
        if own is not None:
            recorded = set(self.folder.partitions)
            self.health.behind = {
                partition: max(end - self.folder.position(partition), 0)
                for partition, end in own.ends.items()
                if partition in recorded
            }

    # ---- what fails ---------------------------------------------------------------------------

    def _failed(self, error: SourceError) -> None:
        """Report it once, wait a while, and start over with another connection."""
        self.health.up = False
        self.health.failures += 1
        if self._failed_at_ms is None:
            self._failed_at_ms = self._now_ms()
        why = str(error).rpartition(": ")[2]  # a full disk is one, whichever file meets it first
        if why not in self._told:
            self._told.add(why)
            self._say(f"{error}; trying on")
        self._disconnect()
        self._next_sample_ms = 0  # it records again when a sample can be written, too
        self._stop.wait(self._pause_s)
        self._pause_s = min(self._pause_s * 2, _PAUSE_MAX_S)

    def _went_well(self) -> None:
        now_ms = self._now_ms()
        self.health.up = True
        self.health.fetched_ms = now_ms
        if self._failed_at_ms is not None:
            self._say(f"recording again, after {(now_ms - self._failed_at_ms) / 1000:.0f} s")
        self._told.clear()
        self._failed_at_ms = None
        self._pause_s = _PAUSE_S

    # ---- the connection -----------------------------------------------------------------------

    @property
    def _connected(self) -> ClusterView:
        assert self._view is not None
        return self._view

    def _connect(self) -> None:
        cluster = Cluster(self._connection)
        cluster.__enter__()
        self._view = ClusterView(cluster)
        self.folder.require_cluster(cluster.cluster_id())

    def _disconnect(self) -> None:
        view, self._view = self._view, None
        if view is not None:
            view.cluster.__exit__(None, None, None)

    def _finish(self) -> None:
        """Record what has been committed until now, and take a last sample after it."""
        if self._view is None:
            return
        try:
            for _ in range(_LAST_ROUNDS_MAX):
                batches = self.folder.tally.batches
                self._round(self._view, wait_ms=0)
                if self.folder.tally.batches == batches:
                    break
            self._sample(self._view)
        except SourceError:
            return  # it is stopping, and the broker may be, too

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)
