"""When the first unread records of a live cluster were written, by `ListOffsets` alone (KIP-79)."""

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


_Place = TypeVar("_Place", UnreadPlace, "TimeInLog")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswers:
    """The finished search of each place; one that a broker refused is left out, and `problems` says why."""

    searches: Mapping[UnreadPlace, TimestampSearch]
    problems: tuple[str, ...]


def search_timestamps(cluster: Cluster, places: Collection[UnreadPlace]) -> SearchAnswers:
    """Halve the time of every place, all partitions at once: some 41 requests to each broker.

    Many places of one partition take turns. Raises SourceError if the cluster does not answer.
    """
    leaders = cluster.leaders({place.topic for place in places})
    searches = {place: TimestampSearch(place.offset, until_ms=_LATEST_MS) for place in sorted(set(places))}
    problems: dict[UnreadPlace, str] = {
        place: "no leader, or it may not be seen"
        for place in searches
        if (place.topic, place.partition) not in leaders
    }
    by_leader: dict[int, list[UnreadPlace]] = {}
    for place in searches:
        if place not in problems:
            by_leader.setdefault(leaders[place.topic, place.partition], []).append(place)
    for leader, of_leader in sorted(by_leader.items()):
        for together in _one_of_each_partition(of_leader):
            problems |= _search(cluster, leader, {place: searches[place] for place in together})
    return SearchAnswers(
        searches={place: search for place, search in searches.items() if place not in problems},
        problems=tuple(
            f"{cluster.name}: {place.topic} partition {place.partition}: {why}"
            for place, why in sorted(problems.items())
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
    found: dict[TimeInLog, int | None] = {}
    for leader, of_leader in sorted(by_leader.items()):
        for together in _one_of_each_partition(of_leader):
            asked = {(time.topic, time.partition): time for time in together}
            request = _request([(time.topic, time.partition, time.time_ms + 1) for time in together])
            for topic in cluster.ask(request, leader).topics:
                for answer in topic.partitions:
                    if not answer.error_code:
                        offset = None if answer.offset == _NO_RECORD else answer.offset
                        found[asked[topic.name, answer.partition_index]] = offset
    return found


def _one_of_each_partition(places: Sequence[_Place]) -> Iterator[list[_Place]]:
    """The places in lists that name each partition once, as a request must."""
    queues: dict[tuple[str, int], list[_Place]] = {}
    for place in places:
        queues.setdefault((place.topic, place.partition), []).append(place)
    for number in range(max(map(len, queues.values()))):
        yield [queue[number] for queue in queues.values() if number < len(queue)]


def _search(
    cluster: Cluster, leader: int, searches: Mapping[UnreadPlace, TimestampSearch]
) -> dict[UnreadPlace, str]:
    """Ask until no search has a question; returns those that the broker refused, and why."""
    problems: dict[UnreadPlace, str] = {}
    while True:
        asked = {
            (place.topic, place.partition): (place, question)
            for place, search in searches.items()
            if place not in problems and (question := search.question_ms) is not None
        }
        if not asked:
            return problems
        questions = [(place.topic, place.partition, time_ms) for place, time_ms in asked.values()]
        for topic in cluster.ask(_request(questions), leader).topics:
            for answer in topic.partitions:
                place, _ = asked.pop((topic.name, answer.partition_index))
                if answer.error_code:
                    problems[place] = error_name(answer.error_code)
                    continue
                found = FirstUnread(offset=answer.offset, timestamp_ms=answer.timestamp)
                searches[place].tell(None if answer.offset == _NO_RECORD else found)
        problems |= dict.fromkeys((place for place, _ in asked.values()), "its leader does not answer")


def _request(asked: Iterable[tuple[str, int, int]]) -> Any:
    """Ask for the first record from a time on, for each topic, partition and time (epoch ms)."""
    listed = ListOffsetsRequest.ListOffsetsTopic
    by_topic: dict[str, list[Any]] = {}
    for name, index, timestamp_ms in asked:
        partition = listed.ListOffsetsPartition(partition_index=index, timestamp=timestamp_ms)
        by_topic.setdefault(name, []).append(partition)
    topics = [listed(name=topic, partitions=partitions) for topic, partitions in sorted(by_topic.items())]
    return ListOffsetsRequest(isolation_level=0, topics=topics, min_version=1)
