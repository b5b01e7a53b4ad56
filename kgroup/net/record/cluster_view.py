"""The recorder's queries to a cluster: batches of the offsets topic, and a sample of all log ends."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kgroup.errors import SourceError
from kgroup.log.files.recording import Sample, TopicSample
from kgroup.net.admin.cluster import Cluster, OffsetSpec, Topic
from kgroup.net.admin.raw_logs import fetch_request
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import OFFSETS_TOPIC

FETCH_BYTES: Final = 8 << 20
_PARTITION_BYTES: Final = 1 << 20
_MIN_BYTES: Final = 64 << 10  # a leader waits for so much, or for as long as it may: fewer and larger answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A leader's answer on one partition: batches, or an error; `log_start_offset` is -1 if not given."""

    error: int
    records: bytes
    log_start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The answers of all leaders; `failures` are of the brokers that gave none, by node id."""

    answers: Mapping[int, Answer] = field(default_factory=dict)
    failures: Mapping[int, SourceError] = field(default_factory=dict)


class ClusterView:
    """A connection, and what is known of the offsets topic. Methods raise SourceError as Cluster's do."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.topic: Topic | None = None
        self._turn = 0

    def refresh(self) -> Topic | None:
        """Ask who leads; None while there is no offsets topic. Raises SourceError for no right to it."""
        self.topic = self.cluster.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
        if self.topic is None:
            code = self.cluster.why_unlisted([OFFSETS_TOPIC])[OFFSETS_TOPIC]
            if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                raise SourceError(
                    f"{self.cluster.name}: no right to describe {OFFSETS_TOPIC}: TOPIC_AUTHORIZATION_FAILED"
                )
        return self.topic

    def spans(self) -> dict[int, tuple[int, int]]:
        """Log start and high watermark of each partition that has a leader."""
        if self.topic is None:
            return {}
        starts = self.cluster.list_offsets([self.topic], OffsetSpec.EARLIEST)
        ends = self.cluster.list_offsets([self.topic], OffsetSpec.LATEST)
        return {
            partition: (starts[name, partition], end)
            for (name, partition), end in ends.items()
            if (name, partition) in starts
        }

    def fetch(self, positions: Mapping[int, int], wait_ms: int) -> Round:
        """Ask all leaders at once for what they have from these offsets on.

        A leader fills its answer in the order of the request, so another partition is the first each time.
        """
        if self.topic is None:
            return Round()
        by_leader: dict[int, list[int]] = {}
        for partition in sorted(positions):
            leader = self.topic.leaders.get(partition)
            if leader is not None:
                by_leader.setdefault(leader, []).append(partition)
        self._turn += 1
        requests = {
            leader: self._request(
                {each: positions[each] for each in _turned(partitions, self._turn)}, wait_ms
            )
            for leader, partitions in sorted(by_leader.items())
        }
        answers: dict[int, Answer] = {}
        failures: dict[int, SourceError] = {}
        for leader, answer in self.cluster.ask_each(requests).items():
            if isinstance(answer, SourceError):
                failures[leader] = answer
                continue
            answers |= _answers(answer, by_leader[leader])
        return Round(answers=answers, failures=failures)

    def _request(self, positions: Mapping[int, int], wait_ms: int) -> Any:
        assert self.topic is not None
        return fetch_request(
            OFFSETS_TOPIC,
            positions,
            _PARTITION_BYTES,
            topic_id=self.topic.topic_id,
            min_bytes=_MIN_BYTES,
            wait_ms=wait_ms,
            answer_bytes=FETCH_BYTES,
        )

    def sample(self, at_ms: int, every_ms: int) -> Sample:
        """The log ends of all topics that the user may see, asked for first; then the rest."""
        topics = self.cluster.topics()
        ends = self.cluster.list_offsets(topics.values(), OffsetSpec.LATEST)
        starts = self.cluster.list_offsets(topics.values(), OffsetSpec.EARLIEST)
        stable: dict[tuple[str, int], int] = {}
        with suppress(SourceError):  # brokers of before 0.11 have none
            stable = self.cluster.list_offsets(topics.values(), OffsetSpec.STABLE)
        brokers = self.cluster.brokers()
        own = topics.get(OFFSETS_TOPIC)
        return Sample(
            at_ms=at_ms,
            every_ms=every_ms,
            is_full=True,
            topics={topic.name: _sampled(topic, starts, ends, stable) for topic in topics.values()},
            brokers={node: f"{broker.host}:{broker.port}" for node, broker in brokers.items()},
            leaders={
                partition: leader
                for partition, leader in (own.leaders if own is not None else {}).items()
                if leader is not None
            },
        )


def _answers(response: Any, partitions: Iterable[int]) -> dict[int, Answer]:
    if response.error_code:  # of a fetch session, or of the whole request
        return {
            each: Answer(error=response.error_code, records=b"", log_start_offset=-1) for each in partitions
        }
    return {
        answer.partition_index: Answer(
            error=answer.error_code,
            records=bytes(answer.records or b""),
            log_start_offset=getattr(answer, "log_start_offset", -1),
        )
        for topic in response.responses
        for answer in topic.partitions
    }


def _turned(partitions: list[int], turn: int) -> list[int]:
    first = turn % len(partitions)
    return partitions[first:] + partitions[:first]


def _sampled(
    topic: Topic,
    starts: Mapping[tuple[str, int], int],
    ends: Mapping[tuple[str, int], int],
    stable: Mapping[tuple[str, int], int],
) -> TopicSample:
    numbers = sorted(topic.leaders)
    of_topic = {
        name: {each: offsets[topic.name, each] for each in numbers if (topic.name, each) in offsets}
        for name, offsets in (("starts", starts), ("ends", ends), ("stable", stable))
    }
    of_topic["stable"] = {
        each: offset for each, offset in of_topic["stable"].items() if offset < of_topic["ends"].get(each, 0)
    }
    return TopicSample(
        topic_id=topic.topic_id,
        partitions=len(numbers),
        unknown=frozenset(each for each in numbers if each not in of_topic["ends"]),
        **of_topic,
    )
