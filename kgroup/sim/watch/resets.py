"""The start of a consumer with `auto.offset.reset=latest`, and whether it is allowed."""

from collections.abc import Callable, Mapping

from kgroup.group.member.positions import Position
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    LATEST_TIMESTAMP,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    MemberRequest,
    MemberResponse,
    OffsetFetchResponse,
)
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.result import REPLICATED


class Resets:
    """One process whose positions are reset to the end of the log.

    It may go there for want of a committed offset, or because the log has no more what it would read next;
    what lies before is passed over then, and with any other reason it is a skip.
    """

    def __init__(
        self, group: str, member: str, checkers: Checkers, read_to: Callable[[TopicPartition], int]
    ) -> None:
        self._group = group
        self._member = member
        self._checkers = checkers
        self._may: set[TopicPartition] = set()
        self._read_to = read_to
        self._could_be_read: dict[TopicPartition, int] = {}
        self._listed: list[tuple[TopicPartition, int, int | None]] = []

    def asked(self, body: MemberRequest) -> None:
        """The process asks for the end of logs, which is not below what could be read by then (KIP-207)."""
        if isinstance(body, ListOffsets) and body.timestamp == LATEST_TIMESTAMP and not body.read_committed:
            self._could_be_read.update((each, self._read_to(each)) for each in body.partitions)

    def heard(self, body: MemberResponse, positions: Mapping[TopicPartition, Position]) -> None:
        """An answer reaches the process, which has these positions before it acts on it."""
        match body:
            case OffsetFetchResponse():
                for committed in body.offsets:
                    if committed.error_code is ErrorCode.NONE:
                        self._allow(committed.partition, committed.offset < 0)
            case FetchResponse():
                for fetched in body.partitions:
                    if fetched.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
                        self._may.add(fetched.partition)
            case ListOffsetsResponse():
                for listed in body.offsets:
                    if listed.error_code is ErrorCode.NONE:
                        self._ends(listed.partition, listed.offset)
                        before = _position(positions, listed.partition)
                        self._listed.append((listed.partition, listed.offset, before))
            case _:
                pass

    def acted(self, positions: Mapping[TopicPartition, Position]) -> None:
        """It has acted on it. An end of a log that is nobody's question any more is no position of its."""
        for partition, offset, before in self._listed:
            if before != offset == _position(positions, partition):
                self._began(partition, offset)
        self._listed.clear()

    def _allow(self, partition: TopicPartition, may: bool) -> None:
        if may:
            self._may.add(partition)
        else:
            self._may.discard(partition)

    def _ends(self, partition: TopicPartition, offset: int) -> None:
        could_be_read = self._could_be_read.pop(partition, 0)
        if offset < could_be_read:
            where = f"{self._group}: {partition[0]}-{partition[1]}"
            what = f"{where} ends at {offset} for {self._member}, and could be read to {could_be_read}"
            self._checkers.broken(REPLICATED, what)

    def _began(self, partition: TopicPartition, offset: int) -> None:
        if partition in self._may:
            self._may.remove(partition)
            self._checkers.begins_at_end((self._group, partition), offset)
        else:
            self._checkers.skips((self._group, partition), self._member)


def _position(positions: Mapping[TopicPartition, Position], partition: TopicPartition) -> int | None:
    position = positions.get(partition)
    return None if position is None else position.position
