"""All nodes of a cluster and their shared state: topics, leaders, coordinators, transactions."""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from uuid import UUID

from kgroup.broker.coordinators import NEVER_MS, Coordinators
from kgroup.broker.group_configs import effective
from kgroup.broker.hosted_coordinator import HostedCoordinator, damage
from kgroup.broker.partition import NO_LEADER, Partition
from kgroup.broker.security.authorizer import Authorizer
from kgroup.broker.settings import BrokerSettings
from kgroup.broker.storage import ClusterSpec, Storage, TopicSpec
from kgroup.broker.topics_image import TopicsImage
from kgroup.broker.transactions import Transactions
from kgroup.broker.work import Slices, WorkInSlices, finished
from kgroup.errors import DecodeError, KgroupError, SourceError
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from kgroup.log.store.cleaner import is_dirty
from kgroup.log.store.segment_log import Segment, SegmentLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.records.entries import TransactionMarker
from kgroup.protocol.records.transaction_state import (
    TransactionEntry,
    TransactionStatus,
    decode_transaction,
    encode_transaction,
)
from kgroup.protocol.requests.coordinator import EndTransaction, PartitionsDeleted
from kgroup.protocol.topic_name import is_topic_name

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
PARTITIONS_PER_SLICE: Final = 25  # made on a disk in some ten milliseconds

_DECIDED: Final = (TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT)
_ENDED: Final = (TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT)


@dataclass(slots=True)
class NodeSpec:
    """One node of the cluster, and where clients reach it: `others` are listeners besides the first."""

    node_id: int
    host: str
    port: int
    alive: bool = True
    others: dict[str, tuple[str, int]] = field(default_factory=dict)

    def address(self, listener: str) -> tuple[str, int]:
        """The node's address for clients of a listener: on the same listener."""
        return self.others.get(listener, (self.host, self.port))


@dataclass(slots=True)
class Topic:
    """A topic and its partitions."""

    spec: TopicSpec
    partitions: list[Partition] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        """Clients must not write to it."""
        return self.spec.name in INTERNAL_TOPICS


class Cluster:
    """The state that a set of nodes shares.

    Nodes share one copy of every partition: whatever a leader acknowledged, its successor has. Every
    method that changes logs may raise SourceError when the storage fails. With `syncs_decisions` the decision
    on a transaction is on the disk before its markers are written, and they are before its end is: for those
    who acknowledge nothing before it is synced.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        nodes: list[NodeSpec],
        storage: Storage,
        new_uuid: Callable[[], UUID],
        now_ms: int,
        warn: Callable[[str], None] = lambda text: None,
        *,
        syncs_decisions: bool = False,
    ) -> None:
        self.settings = settings
        self.nodes = {node.node_id: node for node in nodes}
        self.warn = warn
        self._storage = storage
        self._new_uuid = new_uuid
        self.topics: dict[str, Topic] = {}
        self.topic_names: dict[UUID, str] = {}
        self.image = TopicsImage(self.topics, self.topic_names, now_ms)
        self.coordinators = Coordinators(
            settings.group, lambda: str(new_uuid()), warn, self.image, self.group_settings
        )
        self.on_append: Callable[[Partition], None] = lambda partition: None
        self.work = WorkInSlices()
        self.authorizer: Authorizer | None = None  # without one, everybody may do everything
        self.forced_error: ErrorCode | None = None  # a fault: what every coordinator answers
        self._syncs_decisions = syncs_decisions
        self._marked: list[Partition] = []
        self._removing: set[str] = set()
        self.transactions = Transactions(
            settings.transaction_max_timeout_ms, self._new_producer_id, self._log_transaction, self._mark
        )
        spec = storage.load()
        self.spec = spec or ClusterSpec(cluster_id=_short_id(new_uuid()))
        if spec is None:
            storage.save(self.spec)
        self._group_settings = {
            group_id: effective(configs, settings) for group_id, configs in self.spec.group_configs.items()
        }
        self._is_loading = True
        self._load(now_ms)
        self._is_loading = False

    def _load(self, now_ms: int) -> None:
        for spec in self.spec.topics.values():
            self._open(spec, range(spec.partitions), now_ms)
        if TRANSACTIONS_TOPIC not in self.topics:
            return
        for partition in self.topics[TRANSACTIONS_TOPIC].partitions:
            try:
                self._restore_transactions(partition)
            except DecodeError as error:
                raise SourceError(damage(partition, error)) from error
        self.transactions.finish_decided(now_ms)

    def _restore_transactions(self, partition: Partition) -> None:
        for raw in partition.batches():
            for record in decode_batch(raw).records():
                entry = decode_transaction(record.key or b"", record.value)
                if entry is not None:
                    self.transactions.restore(entry)

    # ---- nodes --------------------------------------------------------------------------------

    @property
    def alive(self) -> list[NodeSpec]:
        """Nodes that answer, by id."""
        return [node for _, node in sorted(self.nodes.items()) if node.alive]

    @property
    def controller_id(self) -> int:
        """The node that clients send administrative requests to."""
        return self.alive[0].node_id if self.alive else NO_LEADER

    def kill(self, node_id: int, now_ms: int) -> None:
        """A node is gone: what it led is led by others, and its coordinators load there again.

        What its clients wait for is not answered: their connections died with the node.
        """
        self.coordinators.flush()
        self.coordinators.hang_up(node_id)
        self.fence(node_id, now_ms)

    def fence(self, node_id: int, now_ms: int) -> None:
        """The others lost sight of a node: it leads nothing now, and its clients hear NOT_COORDINATOR."""
        self.nodes[node_id].alive = False
        for partition in self._partitions():
            if partition.leader == node_id:
                self._elect(partition, now_ms)
        self._keep_epochs()

    def start(self, node_id: int, now_ms: int) -> None:
        """A node is back: it leads what nobody led, and follows elsewhere."""
        self.nodes[node_id].alive = True
        for partition in self._partitions():
            if partition.leader == NO_LEADER:
                self._elect(partition, now_ms)
        self._keep_epochs()

    def move_coordinator(self, partition_index: int, node_id: int, now_ms: int) -> None:
        """Make a node the leader of one offsets partition, as a reassignment would."""
        partition = self.internal_topic(OFFSETS_TOPIC, now_ms).partitions[partition_index]
        if node_id not in partition.replicas:
            partition.replicas = (*partition.replicas[1:], node_id)
        self._lead(partition, node_id, now_ms)
        self._keep_epochs()

    def _keep_epochs(self) -> None:
        """Have the next start begin after every leader epoch that clients may have heard of.

        Kafka keeps each partition's in its metadata log. One number for all does: an epoch may leap.
        """
        highest = max((partition.leader_epoch for partition in self._partitions()), default=-1)
        if highest > self.spec.leader_epoch:
            self.spec.leader_epoch = highest
            try:
                self._storage.save(self.spec, ())
            except SourceError as error:  # the next change brings it along
                self.warn(str(error))

    def _elect(self, partition: Partition, now_ms: int) -> None:
        alive = [id_ for id_ in partition.replicas if self.nodes[id_].alive and partition.may_lead(id_)]
        self._lead(partition, alive[0] if alive else NO_LEADER, now_ms)

    def _lead(self, partition: Partition, node_id: int, now_ms: int) -> None:
        partition.lead(node_id)
        if partition.topic == OFFSETS_TOPIC:
            self.coordinators.lead(partition, now_ms)

    # ---- topics -------------------------------------------------------------------------------

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: dict[str, str], now_ms: int
    ) -> ErrorCode:
        """Make a topic; -1 partitions or replicas: as many as the broker's settings say."""
        return finished(self.topic_in_slices(name, partitions, replication_factor, configs, now_ms))

    def topic_in_slices(
        self, name: str, partitions: int, replication_factor: int, configs: dict[str, str], now_ms: int
    ) -> Slices[ErrorCode]:
        """`create_topic`, some partitions at a time; nobody sees the topic before it has all of them."""
        error = self.check_new_topic(name, partitions, replication_factor)
        if error:
            return error
        partitions, replication_factor = self.size_of_new_topic(partitions, replication_factor)
        spec = TopicSpec(
            name=name,
            topic_id=self._new_uuid(),
            partitions=partitions,
            replication_factor=replication_factor,
            configs=configs,
        )
        # The facts come first: a crash before the logs are there is made good by the next start.
        self.spec.topics[name] = spec
        try:
            self._storage.save(self.spec, [name])
        except SourceError:
            del self.spec.topics[name]
            raise
        made = yield from self._open_in_slices(spec, range(spec.partitions), now_ms)
        self._show(spec, made, now_ms)
        return ErrorCode.NONE

    def check_new_topic(self, name: str, partitions: int, replication_factor: int) -> ErrorCode:
        """The error that keeps a topic from being created, or NONE."""
        if not is_topic_name(name):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        # Only in `spec` while it is made; its folders are there while it is removed.
        if name in self.topics or name in self.spec.topics or name in self._removing:
            return ErrorCode.TOPIC_ALREADY_EXISTS
        if replication_factor < 1 and replication_factor != -1:
            return ErrorCode.INVALID_REPLICATION_FACTOR
        if partitions < 1 and partitions != -1:
            return ErrorCode.INVALID_PARTITIONS
        if replication_factor > len(self.alive):
            return ErrorCode.INVALID_REPLICATION_FACTOR
        return ErrorCode.NONE

    def size_of_new_topic(self, partitions: int, replication_factor: int) -> tuple[int, int]:
        """Its partitions and replicas, of which -1 is left to the broker."""
        return (
            self.settings.num_partitions if partitions == -1 else partitions,
            self._default_replicas() if replication_factor == -1 else replication_factor,
        )

    def create_partitions(self, name: str, count: int, now_ms: int) -> ErrorCode:
        """Grow a topic to `count` partitions."""
        return finished(self.partitions_in_slices(name, count, now_ms))

    def partitions_in_slices(self, name: str, count: int, now_ms: int) -> Slices[ErrorCode]:
        """`create_partitions`, some at a time; nobody sees them before they are all there."""
        topic = self.topics.get(name)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if count <= topic.spec.partitions:  # which counts those in the making
            return ErrorCode.INVALID_PARTITIONS
        first = topic.spec.partitions
        topic.spec.partitions = count
        try:
            self._storage.save(self.spec, [name])
        except SourceError:
            topic.spec.partitions = first
            raise
        made = yield from self._open_in_slices(topic.spec, range(first, count), now_ms)
        if self.topics.get(name) is topic:  # and not deleted meanwhile
            self._show(topic.spec, made, now_ms)
        return ErrorCode.NONE

    def delete_topic(self, name: str, now_ms: int) -> ErrorCode:
        """Remove a topic with its records and the offsets that groups committed for it."""
        return finished(self.deletion_in_slices(name, now_ms))

    def deletion_in_slices(self, name: str, now_ms: int) -> Slices[ErrorCode]:
        """`delete_topic`, some partitions at a time; nobody sees the topic from the first on.

        Until all of it is removed there is no other topic by that name.
        """
        topic = self.topics.get(name)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic.is_internal:
            return ErrorCode.INVALID_REQUEST
        del self.spec.topics[name]
        try:
            self._storage.save(self.spec, [name])
        except SourceError:
            self.spec.topics[name] = topic.spec
            raise
        del self.topics[name], self.topic_names[topic.spec.topic_id]
        self.coordinators.topics_changed(frozenset((name,)), False)
        self._removing.add(name)
        try:
            for number, partition in enumerate(topic.partitions, start=1):
                partition.log.delete()
                if number % PARTITIONS_PER_SLICE == 0 and number < len(topic.partitions):
                    yield
        finally:
            self._removing.discard(name)
        for hosted in self.coordinators.hosted.values():
            if not hosted.is_loading:
                self.coordinators.submit(hosted, PartitionsDeleted(topics=(name,)), now_ms)
        return ErrorCode.NONE

    def internal_topic(self, name: str, now_ms: int) -> Topic:
        """An internal topic, which is made when it is first needed."""
        if name not in self.topics:
            sizes = {
                OFFSETS_TOPIC: self.settings.offsets_topic_partitions,
                TRANSACTIONS_TOPIC: self.settings.transaction_state_partitions,
            }
            replicas = -1
            if name == OFFSETS_TOPIC:
                # Kafka refuses to make it with fewer brokers than that; one node alone shall serve groups.
                replicas = min(self.settings.offsets_topic_replication_factor, len(self.alive))
            error = self.create_topic(name, sizes[name], replicas, {"cleanup.policy": "compact"}, now_ms)
            assert error is ErrorCode.NONE
        return self.topics[name]

    def partition(self, topic: str, index: int) -> Partition | None:
        """A partition, or None if there is no such."""
        of_topic = self.topics.get(topic)
        return of_topic.partitions[index] if of_topic and 0 <= index < len(of_topic.partitions) else None

    def _open(self, spec: TopicSpec, indexes: range, now_ms: int) -> None:
        self._show(spec, finished(self._open_in_slices(spec, indexes, now_ms)), now_ms)

    def _show(self, spec: TopicSpec, partitions: list[Partition], now_ms: int) -> None:
        """Let clients have these partitions of a topic."""
        made = spec.name not in self.topics
        topic = self.topics.setdefault(spec.name, Topic(spec))
        self.topic_names[spec.topic_id] = spec.name
        for partition in partitions:
            topic.partitions.append(partition)
            self._elect(partition, now_ms)
        if made:
            self.image.has_more()
        self.coordinators.topics_changed(frozenset((spec.name,)), made)

    def _open_in_slices(self, spec: TopicSpec, indexes: range, now_ms: int) -> Slices[list[Partition]]:
        partitions: list[Partition] = []
        internal = spec.name == OFFSETS_TOPIC
        segment_bytes = self.settings.offsets_segment_bytes if internal else self.settings.segment_bytes
        ids = [node.node_id for node in self.alive]
        for index in indexes:
            replicas = tuple(
                ids[(index + n) % len(ids)] for n in range(min(spec.replication_factor, len(ids)))
            )
            log = self._storage.open_log(spec, index, segment_bytes)
            partition = Partition(spec.name, index, replicas, log)
            if self._is_loading:
                partition.leader_epoch = max(partition.leader_epoch, self.spec.leader_epoch)
            partition.on_append = self._appended
            partitions.append(partition)
            if len(partitions) % PARTITIONS_PER_SLICE == 0 and len(partitions) < len(indexes):
                yield
        return partitions

    def _default_replicas(self) -> int:
        return min(max(self.settings.default_replication_factor, 3), len(self.alive))

    def _partitions(self) -> Iterator[Partition]:
        for topic in list(self.topics.values()):
            yield from topic.partitions

    def _appended(self, partition: Partition) -> None:
        self.on_append(partition)

    # ---- group coordinators -------------------------------------------------------------------

    def group_settings(self, group_id: str) -> GroupSettings:
        """The settings in force for a group: the nodes' settings, overridden by its own."""
        return self._group_settings.get(group_id, self.settings.group)

    def configure_groups(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Give groups these settings, by id, in place of all that each has set; valid ones, saved together.

        Raises SourceError if they cannot be saved; then all is as it was.
        """
        before = self.spec.group_configs
        merged = before | {group_id: dict(each) for group_id, each in configs.items()}
        self.spec.group_configs = {group_id: each for group_id, each in merged.items() if each}
        try:
            self._storage.save(self.spec)
        except SourceError:
            self.spec.group_configs = before
            raise
        for group_id in configs:
            self._group_settings.pop(group_id, None)
            if group_id in self.spec.group_configs:
                own = self.spec.group_configs[group_id]
                self._group_settings[group_id] = effective(own, self.settings)

    def offsets_partition(self, group_id: str) -> int:
        """The offsets partition that a group lives in."""
        topic = self.topics.get(OFFSETS_TOPIC)
        count = len(topic.partitions) if topic is not None else self.settings.offsets_topic_partitions
        return _partition_of(group_id, count)

    def coordinator(self, group_id: str, node_id: int, now_ms: int) -> HostedCoordinator | ErrorCode:
        """The group's coordinator on this node, or why it cannot be asked here and now."""
        if self.forced_error is not None:
            return self.forced_error
        if OFFSETS_TOPIC not in self.topics:
            self.internal_topic(OFFSETS_TOPIC, now_ms)
        hosted = self.coordinators.hosted.get(self.offsets_partition(group_id))
        if hosted is None or hosted.node_id != node_id:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if hosted.is_loading else hosted

    # ---- time and answers ---------------------------------------------------------------------

    def tick(self, now_ms: int, node_id: int | None = None) -> None:
        """Load a bit, and act on every deadline that has passed: on one node, or on all of them."""
        self.coordinators.tick(now_ms, node_id)
        self.work.go_on()
        self.transactions.expire(now_ms)

    def next_deadline_ms(self, node_id: int | None = None) -> int | None:
        """The next time `tick` is due, for one node or for all; 0 while coordinators load or work is left."""
        if self.work.is_left:
            return 0
        own_ms = self.coordinators.next_deadline_ms(node_id)
        end_of_transaction_ms = self.transactions.next_deadline_ms()
        if end_of_transaction_ms is not None and end_of_transaction_ms < own_ms:
            return end_of_transaction_ms
        return None if own_ms == NEVER_MS else own_ms

    def dirty_logs(self) -> list[SegmentLog]:
        """Logs of the offsets topic that are worth cleaning."""
        topic = self.topics.get(OFFSETS_TOPIC)
        logs = [partition.log for partition in topic.partitions] if topic else []
        return [log for log in logs if isinstance(log, SegmentLog) and is_dirty(log)]

    def closed_unsynced(self) -> list[tuple[SegmentLog, Segment]]:
        """Segments that are not written any more and not on the disk: Kafka flushes them when it rolls."""
        logs = [partition.log for partition in self._partitions()]
        return [
            (log, segment) for log in logs if isinstance(log, SegmentLog) for segment in log.closed_unsynced()
        ]

    def checkpoint(self) -> None:
        """Write down the end of every log, for those who read the files."""
        ends = {
            (partition.topic, partition.index): partition.log.end_offset for partition in self._partitions()
        }
        self._storage.checkpoint(ends)

    def delete_records(self, partition: Partition, offset: int) -> None:
        """Remove what lies before `offset`. Raises SourceError, and then all of it is still there."""
        log = partition.log
        before, log.start_offset = log.start_offset, max(log.start_offset, offset)
        try:
            self.checkpoint()  # first: a missing segment is one that somebody took
        except SourceError:
            log.start_offset = before
            raise
        log.delete_before(offset)

    def sync(self, partition: Partition) -> None:
        """Bring to the disk what was appended to a partition.

        Raises SourceError when the disk refuses; the partition is then as it was when it was last synced, and
        so is its coordinator: for those who acknowledge nothing before it is synced.
        """
        try:
            partition.log.sync()
        except SourceError:
            partition.revert()
            if partition.topic == OFFSETS_TOPIC:
                self.coordinators.reload(partition)
            elif partition.topic == TRANSACTIONS_TOPIC:
                self.transactions.forget_all()
                for each in self.topics[TRANSACTIONS_TOPIC].partitions:
                    self._restore_transactions(each)
            raise

    def close(self) -> None:
        """Sync every log and let go of it. Raises SourceError for the first that cannot be synced."""
        failures: list[KgroupError] = []
        while self.work.is_left:  # what was begun with is not left half done
            try:
                self.work.go_on()
            except SourceError as error:
                failures.append(error)
        for partition in self._partitions():
            try:
                partition.log.note_aborted(partition.producers.aborted)
                partition.log.sync()
            except SourceError as error:
                failures.append(error)
            partition.log.close()
        try:
            self.checkpoint()
        finally:
            self._storage.close()
        if failures:
            raise failures[0]

    # ---- transactions -------------------------------------------------------------------------

    def transaction_partition(self, transactional_id: str) -> int:
        """The partition of the transaction topic that a transactional id lives in."""
        topic = self.topics.get(TRANSACTIONS_TOPIC)
        count = len(topic.partitions) if topic is not None else self.settings.transaction_state_partitions
        return partition_for(transactional_id, count)

    def _new_producer_id(self) -> int:
        producer_id = self.spec.next_producer_id
        self.spec.next_producer_id += 1  # stays so if it is not saved: a number more does no harm
        self._storage.save(self.spec, ())
        return producer_id

    def _log_transaction(self, entry: TransactionEntry, now_ms: int) -> None:
        topic = self.internal_topic(TRANSACTIONS_TOPIC, now_ms)
        key, value = encode_transaction(entry)
        record = LogRecord(offset=0, timestamp_ms=now_ms, key=key, value=value)
        partition = topic.partitions[self.transaction_partition(entry.transactional_id)]
        if self._syncs_decisions and entry.status in _ENDED:
            while self._marked:  # complete is what has all its markers on the disk
                self.sync(self._marked.pop())
        partition.append(encode_batch([record]))
        if self._syncs_decisions and entry.status in _DECIDED:
            self.sync(partition)  # else a marker could outlive a loss of power that the decision does not

    def _mark(self, topic_partition: tuple[str, int], marker: TransactionMarker, now_ms: int) -> None:
        partition = self.partition(*topic_partition)
        if partition is None:
            return  # the topic was deleted meanwhile
        if self._syncs_decisions:
            self._marked.append(partition)
        hosted = self.coordinators.hosted.get(partition.index) if partition.topic == OFFSETS_TOPIC else None
        if hosted is None or hosted.is_loading:
            # A coordinator that is still loading will come across it in the log.
            try:
                partition.append_marker(marker, now_ms)
            except SourceError as error:
                self.warn(str(error))
                raise
            return
        end = EndTransaction(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            committed=marker.committed,
            coordinator_epoch=marker.coordinator_epoch,
        )
        self.coordinators.submit(hosted, end, now_ms)
        if not self.coordinators.flush_one(hosted):
            raise SourceError(f"{partition.topic}-{partition.index}: the end of a transaction is not written")


@lru_cache(maxsize=1 << 14)
def _partition_of(group_id: str, partitions: int) -> int:
    """`partition_for`, remembered: a live group asks with every heartbeat."""
    return partition_for(group_id, partitions)


def _short_id(uuid: UUID) -> str:
    """A UUID the way Kafka prints ids: 22 letters of URL-safe base 64."""
    return base64.urlsafe_b64encode(uuid.bytes).rstrip(b"=").decode()
