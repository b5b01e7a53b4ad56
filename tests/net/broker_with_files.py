"""A cluster of one broker that has a real broker's files: answers as `net.admin.cluster.Cluster` would."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from kgroup.log.files.segment import read_segment
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.net.admin.cluster import Broker, ClassicState, Coordinator, Topic
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog

LIVES = Path(__file__).parents[2] / "fixtures/4.3.1/lives"
SEGMENTS = {
    int(folder.name.rpartition("-")[2]): folder / f"{0:020}.log"
    for folder in sorted(LIVES.glob("__consumer_offsets-*"))
}
OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER = 1, 3, 6


@dataclass
class BrokerWithFiles:
    """Holds these segments, sends `at_most` bytes a partition, and knows the topics that LIVES lists.

    `errors` are its next answers to fetches; `coordinator` is the broker that it names for every group;
    `states` are those that it says classic groups are in; `leaderless` are offsets partitions.
    """

    segments: dict[int, Path] = field(default_factory=SEGMENTS.copy)
    at_most: int = 1 << 20
    errors: list[int] = field(default_factory=list)
    name: str = "test:9092"
    cleaned_at_the_end: int = 0
    coordinator: int | None = 1
    states: dict[str, ClassicState] = field(default_factory=dict)
    leaderless: set[int] = field(default_factory=set)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def brokers(self):
        return {1: Broker(node_id=1, host="broker-1", port=9092, rack="a")}

    def group_ids(self):
        return ["a", "test-group"]

    def find_coordinators(self, groups):
        if self.coordinator is None:
            nobody = {"node_id": None, "host": None, "port": None, "error": "COORDINATOR_NOT_AVAILABLE"}
            return [Coordinator(group=group, **nobody) for group in groups]
        broker = {
            "node_id": self.coordinator,
            "host": f"broker-{self.coordinator}",
            "port": 9092,
            "error": None,
        }
        return [Coordinator(group=group, **broker) for group in groups]

    def classic_state(self, group):
        return self.states.get(group)

    def topics(self, names=None):
        offsets_topic = Topic(name=OFFSETS_TOPIC, topic_id=None, leaders=self._leaders())
        others = {log.topic: log.topic_id for log in self._listed().logs if log.topic != OFFSETS_TOPIC}
        topics = {name: Topic(name=name, topic_id=topic_id, leaders={}) for name, topic_id in others.items()}
        topics[OFFSETS_TOPIC] = offsets_topic
        return {name: topic for name, topic in topics.items() if names is None or name in names}

    def _leaders(self):
        return {partition: None if partition in self.leaderless else 1 for partition in range(50)}

    def leaders(self, topics):
        """None of data topics': it has no files of theirs, so it cannot be asked where they ended."""
        return {}

    def why_unlisted(self, names):
        return {name: 0 if name in self.topics() else UNKNOWN_TOPIC for name in names}

    def log_listing(self, names=None):
        if names is None:
            return self._listed()
        logs = [
            PartitionLog(
                topic=OFFSETS_TOPIC,
                partition=partition,
                source=LogEndSource.LIVE,
                log_start_offset=None if partition in self.leaderless else 0,
                log_end_offset=None
                if partition in self.leaderless
                else list(read_segment(path))[-1].last_offset + 1 + self.cleaned_at_the_end,
            )
            for partition, path in self.segments.items()
        ]
        return LogListing(logs=tuple(logs))

    def last_stable_offsets(self, names):
        """No transaction is open: readers of committed data get as far as the log goes."""
        logs = (log for log in self._listed().logs if log.topic in names)
        return {(log.topic, log.partition): log.log_end_offset for log in logs}

    def ask(self, request, node_id):
        (topic,) = request.topics
        answers = [self._answer(requested) for requested in topic.partitions]
        return SimpleNamespace(responses=[SimpleNamespace(partitions=answers)])

    def _listed(self):
        return read_log_ends_file(LIVES / "topics.json")

    def _answer(self, requested):
        error = self.errors.pop(0) if self.errors else 0
        sent = b""
        if not error:
            path = self.segments[requested.partition]
            batches = [batch for batch in read_segment(path) if batch.last_offset >= requested.fetch_offset]
            if batches:
                first = batches[0]
                # KIP-74: the first batch is sent whole, however large.
                sent = path.read_bytes()[first.position :][: max(first.size, self.at_most)]
        return SimpleNamespace(partition_index=requested.partition, error_code=error, records=sent)
