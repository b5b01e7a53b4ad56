"""Single batches of a live cluster's topics, each by an offset that it holds."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafka.protocol.consumer import FetchRequest

from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.raw_logs import first_batch_bytes
from kgroup.protocol.requests.client import READ_UNCOMMITTED

_PARTITIONS_AT_ONCE: Final = 100
_PARTITION_BYTES: Final = 16 * 1024  # the first batch of an answer is sent whole, however large (KIP-74)
_ANSWER_BYTES: Final = 16 * 1024 * 1024
_NOT_LEADER: Final = 6
_TRIES: Final = 4
_PAUSE_S: Final = 0.25


class BatchAt(NamedTuple):
    """The batch of a partition that holds an offset, or if compaction took that, the next one."""

    topic: str
    partition: int
    offset: int


def fetch_batches(
    cluster: Cluster, wanted: Collection[BatchAt], sleep: Callable[[float], None] = time.sleep
) -> Iterator[tuple[BatchAt, bytes]]:
    """The bytes of each batch as they come, many partitions to a request.

    What its leader refuses, or no longer has, is left out. Raises SourceError if the cluster does not answer.
    """
    rounds: list[list[BatchAt]] = []
    seen: dict[tuple[str, int], int] = {}
    for each in sorted(set(wanted)):
        number = seen.get(each[:2], 0)
        seen[each[:2]] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(each)
    for of_round in rounds:  # each names a partition once, as a request must
        for first in range(0, len(of_round), _PARTITIONS_AT_ONCE):
            yield from _fetch(cluster, of_round[first : first + _PARTITIONS_AT_ONCE], sleep)


def _fetch(
    cluster: Cluster, wanted: Sequence[BatchAt], sleep: Callable[[float], None]
) -> Iterator[tuple[BatchAt, bytes]]:
    together, alone = list(wanted), list[BatchAt]()
    for _ in range(_TRIES):
        again: list[BatchAt] = []
        leaders = cluster.leaders({each.topic for each in (*together, *alone)})
        requests = [[each for each in together if leaders.get(each[:2]) == node] for node in _nodes(leaders)]
        for asked in [*filter(None, requests), *([each] for each in alone if each[:2] in leaders)]:
            answered = cluster.ask(_request(asked), leaders[asked[0][:2]])
            for each, error, sent in _answers(asked, answered):
                if error:
                    again += [each] if error == _NOT_LEADER else []
                elif size := first_batch_bytes(sent):
                    yield each, sent[:size]
                elif len(asked) > 1:
                    again.append(each)  # it was cut, or others have taken all of the answer's bytes
        if not again:
            return
        if any(each in alone for each in again):
            sleep(_PAUSE_S)
        together, alone = [], again


def _nodes(leaders: dict[tuple[str, int], int]) -> list[int]:
    return sorted(set(leaders.values()))


def _answers(asked: Sequence[BatchAt], answered: Any) -> Iterator[tuple[BatchAt, int, bytes]]:
    by_partition = {each[:2]: each for each in asked}
    for topic in answered.responses:
        for answer in topic.partitions:
            each = by_partition.get((topic.topic, answer.partition_index))
            if each is not None:
                yield each, answer.error_code, bytes(answer.records or b"")


def _request(asked: Sequence[BatchAt]) -> Any:
    fetched = FetchRequest.FetchTopic
    by_topic: dict[str, list[BatchAt]] = {}
    for each in asked:
        by_topic.setdefault(each.topic, []).append(each)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_ANSWER_BYTES,
        isolation_level=READ_UNCOMMITTED,
        topics=[
            fetched(
                topic=topic,
                partitions=[
                    fetched.FetchPartition(
                        partition=each.partition,
                        fetch_offset=each.offset,
                        partition_max_bytes=_PARTITION_BYTES,
                    )
                    for each in of_topic
                ],
            )
            for topic, of_topic in sorted(by_topic.items())
        ],
        max_version=12,  # from 13 on topics go by id
    )
