"""Times of first unread records in a live cluster, by `ListOffsets` alone (KIP-79)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from kafka.protocol.consumer import ListOffsetsRequest

from kgroup.lag.measures.timestamp_search import TimestampSearch
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.admin.unread import UnreadPlace
from kgroup.protocol.log_listing import FirstUnread

_NO_RECORD: Final = -1
# As many halvings as lead to the year 2039, the next power of two of the epoch's milliseconds.
_LATEST_MS: Final = 2**41 - 3


_Question = TypeVar("_Question", UnreadPlace, "TimeInLog")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswers:
    """The finished search of each start; one that a broker refused is left out, and `problems` says why."""

    searches: Mapping[UnreadPlace, TimestampSearch]
    problems: tuple[str, ...]


def search_timestamps(cluster: Cluster, starts: Collection[UnreadPlace]) -> SearchAnswers:
    """Halve the time of every start, all partitions at once: some 41 requests to each broker.

    Many starts in one partition take turns. Raises SourceError if the cluster does not answer.
    """
    leaders = cluster.leaders({start.topic for start in starts})
    searches = {start: TimestampSearch(start.offset, until_ms=_LATEST_MS) for start in sorted(set(starts))}
    problems: dict[UnreadPlace, str] = {
        start: "no leader, or it may not be seen"
        for start in searches
        if (start.topic, start.partition) not in leaders
    }
    by_leader: dict[int, list[UnreadPlace]] = {}
    for start in searches:
        if start not in problems:
            by_leader.setdefault(leaders[start.topic, start.partition], []).append(start)
    for leader, of_leader in sorted(by_leader.items()):
        for together in _one_of_each_partition(of_leader):
            problems |= _search(cluster, leader, {start: searches[start] for start in together})
    return SearchAnswers(
        searches={start: search for start, search in searches.items() if start not in problems},
        problems=tuple(
            f"{cluster.name}: {start.topic} partition {start.partition}: {why}"
            for start, why in sorted(problems.items())
        ),
    )


class TimeInLog(NamedTuple):
    """A time (epoch ms) at which a partition's log is asked about."""

    topic: str
    partition: int
    time_ms: int


def first_newer(cluster: Cluster, times: Collection[TimeInLog]) -> dict[TimeInLog, int | None]:
    """The offset of the first record newer than each time: where the log ended then. None if there is none.

    One question each; times of one partition take turns. A partition that has no leader, or whose broker
    refuses, is left out. Raises SourceError if the cluster does not answer.
    """
    leaders = cluster.leaders({time.topic for time in times})
    by_leader: dict[int, list[TimeInLog]] = {}
    for time in sorted(set(times)):
        leader = leaders.get((time.topic, time.partition))
        if leader is not None:
            by_leader.setdefault(leader, []).append(time)
    offsets: dict[TimeInLog, int | None] = {}
    for leader, of_leader in sorted(by_leader.items()):
        for together in _one_of_each_partition(of_leader):
            by_partition = {(time.topic, time.partition): time for time in together}
            request = _request([(time.topic, time.partition, time.time_ms + 1) for time in together])
            for topic in cluster.ask(request, leader).topics:
                for answer in topic.partitions:
                    if not answer.error_code:
                        offset = None if answer.offset == _NO_RECORD else answer.offset
                        offsets[by_partition[topic.name, answer.partition_index]] = offset
    return offsets


def _one_of_each_partition(questions: Sequence[_Question]) -> Iterator[list[_Question]]:
    """The questions in lists that name each partition once, as a request must."""
    queues: dict[tuple[str, int], list[_Question]] = {}
    for question in questions:
        queues.setdefault((question.topic, question.partition), []).append(question)
    for number in range(max(map(len, queues.values()))):
        yield [queue[number] for queue in queues.values() if number < len(queue)]


def _search(
    cluster: Cluster, leader: int, searches: Mapping[UnreadPlace, TimestampSearch]
) -> dict[UnreadPlace, str]:
    """Ask until no search has a question; returns those that the broker refused, and why."""
    problems: dict[UnreadPlace, str] = {}
    while True:
        waiting = {
            (start.topic, start.partition): (start, question)
            for start, search in searches.items()
            if start not in problems and (question := search.question_ms) is not None
        }
        if not waiting:
            return problems
        questions = [(start.topic, start.partition, time_ms) for start, time_ms in waiting.values()]
        for topic in cluster.ask(_request(questions), leader).topics:
            for answer in topic.partitions:
                start, _ = waiting.pop((topic.name, answer.partition_index))
                if answer.error_code:
                    problems[start] = error_name(answer.error_code)
                    continue
                record = FirstUnread(offset=answer.offset, timestamp_ms=answer.timestamp)
                searches[start].tell(None if answer.offset == _NO_RECORD else record)
        problems |= dict.fromkeys((start for start, _ in waiting.values()), "its leader does not answer")


def _request(questions: Iterable[tuple[str, int, int]]) -> Any:
    """Ask for the first record from a time on, for each topic, partition and time (epoch ms)."""
    listed = ListOffsetsRequest.ListOffsetsTopic
    by_topic: dict[str, list[Any]] = {}
    for name, index, timestamp_ms in questions:
        partition = listed.ListOffsetsPartition(partition_index=index, timestamp=timestamp_ms)
        by_topic.setdefault(name, []).append(partition)
    topics = [listed(name=topic, partitions=partitions) for topic, partitions in sorted(by_topic.items())]
    return ListOffsetsRequest(isolation_level=0, topics=topics, min_version=1)
