"""A group coordinator on its node: loads its log, appends before it answers, fails as a whole."""

from collections.abc import Callable, Iterator

from kgroup.broker.offsets_log import decode_records, encode_records
from kgroup.broker.partition import Partition
from kgroup.errors import DecodeError
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.settings import GroupSettings, SettingsOf
from kgroup.group.coordinator.step import CommitRun, OffsetsRecord, Reply, Request, Step
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import RequestBody, refusal


class HostedCoordinator:
    """The coordinator of one offsets partition on the node that leads it.

    Steps are held until `flush` has written their records: batches of many requests' records are
    written at once, and no answer goes out before its records are in the log.
    """

    def __init__(
        self,
        partition: Partition,
        settings: GroupSettings,
        new_uuid: Callable[[], str],
        image: MetadataImage,
        settings_of: SettingsOf,
        tell: Callable[[GroupEvent], None] = lambda event: None,
    ) -> None:
        self.partition = partition
        self.node_id = partition.leader
        self.coordinator = GroupCoordinator(partition.index, settings, new_uuid, image, settings_of)
        self._log: Iterator[bytes] | None = partition.batches()
        self._records: list[OffsetsRecord | CommitRun] = []
        self._replies: list[Reply] = []
        self._outstanding: dict[int, RequestBody] = {}
        self._events: list[GroupEvent] = []
        self._tell = tell
        self._deadlines_set = 0

    # ---- loading ------------------------------------------------------------------------------

    @property
    def is_loading(self) -> bool:
        """The log has not been read to its end yet: requests must wait or be refused."""
        return self._log is not None

    def load(self, batches_max: int, now_ms: int) -> None:
        """Apply the next batches of the log; at its end the coordinator opens for requests.

        Raises DecodeError if the log is damaged.
        """
        if self._log is None:
            return
        for _ in range(batches_max):
            raw = next(self._log, None)
            if raw is None:
                self._log = None
                self.coordinator.end_offset = self.partition.log.end_offset
                self._take(self.coordinator.loaded(now_ms))
                return
            for record in decode_records(raw, self.partition.index):
                self.coordinator.apply(record)

    # ---- requests and time --------------------------------------------------------------------

    def handle(self, request: Request, now_ms: int) -> None:
        """Decide on a request that has passed `precheck`; its answer comes out of a later `flush`."""
        self._outstanding[request.id] = request.body
        self._take(self.coordinator.decide(request, now_ms))

    def expire(self, now_ms: int) -> None:
        """Act on deadlines that have passed."""
        if not self.is_loading:
            self._take(self.coordinator.expire(now_ms))

    def has_new_deadline(self) -> bool:
        """Whether `next_deadline_ms` may be earlier than when this was asked last."""
        before, self._deadlines_set = self._deadlines_set, self.coordinator.deadlines_set
        return before != self._deadlines_set

    def next_deadline_ms(self) -> int | None:
        """The next time `expire` is due."""
        return None if self.is_loading else self.coordinator.next_deadline_ms()

    # ---- answers ------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to flush."""
        return not (self._records or self._replies or self._events)

    def flush(self) -> list[Reply]:
        """Write the records of all steps since the last flush, then give out their answers and events.

        Raises SourceError when the log cannot take them: then call `fail` and drop this object.
        """
        for batch in encode_records(self._records):
            self.partition.append(batch)
        for reply in self._replies:
            self._outstanding.pop(reply.request_id, None)
        return self._give_out()

    def fail(self, error: ErrorCode, culprit: int | None = None) -> list[Reply]:
        """Refuse everything that has not been answered; what was decided since the last flush is void.

        The request with the id `culprit`, which a fault of kgroup's own met, hears UNKNOWN_SERVER_ERROR.
        """
        replies = [
            Reply(
                request_id=id_,
                body=refusal(body, ErrorCode.UNKNOWN_SERVER_ERROR if id_ == culprit else error),
            )
            for id_, body in self._outstanding.items()
        ]
        self._outstanding = {}
        self._records, self._replies, self._events = [], [], []
        return replies

    def unload(self, now_ms: int) -> list[Reply]:
        """Another node leads now: what is parked is answered NOT_COORDINATOR. Flush before."""
        if not self.is_loading:
            self._take(self.coordinator.unload(ErrorCode.NOT_COORDINATOR, now_ms))
        return self._give_out()

    def _take(self, step: Step) -> None:
        self._records += step.append
        self._replies += step.replies
        self._events += step.events

    def _give_out(self) -> list[Reply]:
        replies, events = self._replies, self._events
        self._records, self._replies, self._events = [], [], []
        for event in events:
            self._tell(event)
        return replies


def damage(partition: Partition, error: DecodeError) -> str:
    """The message for the operator about a log that cannot be loaded."""
    return f"{partition.topic}-{partition.index}: {error}"
