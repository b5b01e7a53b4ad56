"""Where a consumer with `auto.offset.reset=latest` begins, and whether it may."""

from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    FetchResponse,
    ListOffsetsResponse,
    MemberResponse,
    OffsetFetchResponse,
)
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.checkers import Checkers


class Resets:
    """Of one process whose positions are reset to the end of the log.

    It may go there for want of a committed offset, or because the log has no more what it would read next;
    what lies before is passed over then, and with any other reason it is a skip.
    """

    def __init__(self, group: str, member: str, checkers: Checkers) -> None:
        self._group = group
        self._member = member
        self._checkers = checkers
        self._may: set[TopicPartition] = set()

    def heard(self, body: MemberResponse) -> None:
        """An answer reaches the process, before it acts on it."""
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
                        self._began(listed.partition, listed.offset)
            case _:
                pass

    def _allow(self, partition: TopicPartition, may: bool) -> None:
        if may:
            self._may.add(partition)
        else:
            self._may.discard(partition)

    def _began(self, partition: TopicPartition, offset: int) -> None:
        if partition in self._may:
            self._may.remove(partition)
            self._checkers.begins_at_end((self._group, partition), offset)
        else:
            self._checkers.skips((self._group, partition), self._member)
