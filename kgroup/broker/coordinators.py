"""The group coordinators of a cluster: which node hosts which, their requests, deadlines and answers."""

from collections.abc import Callable
from typing import Final

from kgroup.broker.hosted_coordinator import HostedCoordinator, damage
from kgroup.broker.partition import NO_LEADER, Partition
from kgroup.errors import DecodeError, SourceError, fault_line
from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.settings import GroupSettings, SettingsOf
from kgroup.group.coordinator.step import Reply, Request
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import EndTransaction, ReplyBody, RequestBody

NEVER_MS: Final = 1 << 63
ReplyTo = Callable[[ReplyBody], None]
_LOAD_AGAIN_MS: Final = 1_000
OnRequest = Callable[[HostedCoordinator, Request, int, ReplyTo], ReplyTo]
_LOAD_BATCHES: Final = 500  # of a coordinator's log at a time, so that other requests are not kept waiting


class Coordinators:
    """One for each partition of the offsets topic that has a leader, on the node that leads it.

    `new_uuid` makes member ids; `warn` is called, with a sentence, for a log that cannot be read or written.
    With `survive_faults`, a fault of kgroup's own in one of them is reported, too: it begins again from what
    its log says, after a second, and the others continue. Tests and simulations want to see it raised.
    """

    survive_faults = False

    def __init__(
        self,
        settings: GroupSettings,
        new_uuid: Callable[[], str],
        warn: Callable[[str], None],
        image: MetadataImage,
        settings_of: SettingsOf,
    ) -> None:
        self._settings = settings
        self._settings_of = settings_of
        self._new_uuid = new_uuid
        self._warn = warn
        self._image = image
        self.hosted: dict[int, HostedCoordinator] = {}
        """By the number of the partition."""
        self.on_event: Callable[[HostedCoordinator, GroupEvent], None] = lambda hosted, event: None
        self.on_loaded: Callable[[HostedCoordinator], None] = lambda hosted: None
        self.on_request: OnRequest = lambda hosted, request, now_ms, reply_to: reply_to
        """Sees every request before it is decided on, and gives back whom its answer goes to."""
        self._reply_to: dict[int, ReplyTo] = {}
        self._next_request_id = 0
        self._busy: dict[int, HostedCoordinator] = {}  # by partition: something to flush
        self._loading: dict[int, HostedCoordinator] = {}
        self._load_from_ms: dict[int, int] = {}  # by partition: when to try again what has failed
        self._deadlines: dict[int, int] = {}  # by node
        self._now_ms = 0  # when something was last done

    # ---- who hosts ----------------------------------------------------------------------------

    def lead(self, partition: Partition, now_ms: int) -> None:
        """A partition has another leader: what was parked with the last one hears NOT_COORDINATOR."""
        self._now_ms = now_ms
        before = self.hosted.pop(partition.index, None)
        self._loading.pop(partition.index, None)
        self._load_from_ms.pop(partition.index, None)
        if before is not None:
            self.flush_one(before)
            self._deliver(before.unload(now_ms))
        if partition.leader == NO_LEADER:
            return
        hosted = self._host(partition)
        if partition.log.end_offset:
            self._loading[partition.index] = hosted
        else:
            hosted.load(1, now_ms)
            self._watch_deadline(hosted)

    def topics_changed(self, names: frozenset[str], made: bool) -> None:
        """Topics came (`made`), went, or have more partitions: groups that read them look again."""
        for hosted in self.hosted.values():
            hosted.coordinator.topics_changed(names, made)

    def hang_up(self, node_id: int) -> None:
        """A node died with its connections: what its clients wait for is not answered."""
        for hosted in list(self.hosted.values()):
            if hosted.node_id == node_id:
                for reply in hosted.fail(ErrorCode.NOT_COORDINATOR):
                    self._reply_to.pop(reply.request_id, None)

    def _host(self, partition: Partition) -> HostedCoordinator:
        hosted = HostedCoordinator(
            partition,
            self._settings,
            self._new_uuid,
            self._image,
            self._settings_of,
            lambda event: self.on_event(hosted, event),
        )
        self.hosted[partition.index] = hosted
        return hosted

    # ---- requests and time --------------------------------------------------------------------

    def submit(
        self,
        hosted: HostedCoordinator,
        body: RequestBody,
        now_ms: int,
        client: tuple[str, str] = ("", ""),
        reply_to: ReplyTo = lambda body: None,
    ) -> int:
        """Hand a request to a coordinator; `reply_to` is called by the flush that brings the answer."""
        self._now_ms = now_ms
        self._next_request_id += 1
        request_id = self._next_request_id
        request = Request(request_id, body, *client)
        self._reply_to[request_id] = self.on_request(hosted, request, now_ms, reply_to)
        try:
            hosted.handle(request, now_ms)
            self._busy[hosted.partition.index] = hosted
            # Heartbeats only move deadlines away, and the node's is no later than any of its coordinators'.
            if hosted.has_new_deadline() or self._deadlines.get(hosted.node_id, NEVER_MS) <= now_ms:
                self._act_at_once(hosted, body, now_ms)
        except Exception as error:
            self._begin_again(hosted, error, now_ms, culprit=request_id)
        return request_id

    def _act_at_once(self, hosted: HostedCoordinator, body: RequestBody, now_ms: int) -> None:
        # A marker comes at the time of the transaction's coordinator, which may be on another node.
        if self._watch_deadline(hosted) <= now_ms and not isinstance(body, EndTransaction):
            hosted.expire(now_ms)  # an initial delay of 0 is over at once
            self._watch_deadline(hosted)

    def _begin_again(
        self, hosted: HostedCoordinator, error: Exception, now_ms: int, culprit: int | None = None
    ) -> None:
        """Go back to what the log says after a fault: whatever was decided since may be half done.

        The request that led to it hears UNKNOWN_SERVER_ERROR, the others may come again.
        """
        if not self.survive_faults:
            raise error
        self._warn(f"{hosted.partition.topic}-{hosted.partition.index}: {fault_line(error)}")
        index = hosted.partition.index
        self._busy.pop(index, None)
        refused = hosted.fail(ErrorCode.COORDINATOR_NOT_AVAILABLE, culprit)
        self._reload(hosted)
        self._load_from_ms[index] = now_ms + _LOAD_AGAIN_MS
        self._deliver(refused)

    def _watch_deadline(self, hosted: HostedCoordinator) -> int:
        deadline_ms = hosted.next_deadline_ms()
        if deadline_ms is None:
            return NEVER_MS
        if deadline_ms < self._deadlines.get(hosted.node_id, NEVER_MS):
            self._deadlines[hosted.node_id] = deadline_ms
        return deadline_ms

    def tick(self, now_ms: int, node_id: int | None = None) -> None:
        """Load a bit, and act on every deadline that has passed: on one node, or on all of them."""
        self._now_ms = now_ms
        for index, hosted in list(self._loading.items()):
            if node_id in (None, hosted.node_id) and self._load_from_ms.get(index, 0) <= now_ms:
                self._load(index, hosted, now_ms)
        for id_, deadline_ms in list(self._deadlines.items()):
            if deadline_ms <= now_ms and node_id in (None, id_):
                self._expire(id_, now_ms)

    def _load(self, index: int, hosted: HostedCoordinator, now_ms: int) -> None:
        try:
            hosted.load(_LOAD_BATCHES, now_ms)
            if not hosted.is_loading:
                del self._loading[index]
                self._load_from_ms.pop(index, None)
                self._busy[index] = hosted
                self._watch_deadline(hosted)
                self.on_loaded(hosted)
        except DecodeError as error:
            self._warn(damage(hosted.partition, error))
            del self._loading[index]
        except (SourceError, OSError) as error:
            # Not what the log says but that it cannot be read now, for want of file descriptors perhaps.
            self._warn(f"{hosted.partition.topic}-{index}: {error}")
            self._reload(hosted)
            self._load_from_ms[index] = now_ms + _LOAD_AGAIN_MS
        except Exception as error:
            self._begin_again(hosted, error, now_ms)

    def _expire(self, node_id: int, now_ms: int) -> None:
        del self._deadlines[node_id]
        for index, hosted in list(self.hosted.items()):
            if hosted.node_id != node_id:
                continue
            try:
                hosted.expire(now_ms)
                if not hosted.is_idle:
                    self._busy[index] = hosted
                self._watch_deadline(hosted)
            except Exception as error:
                self._begin_again(hosted, error, now_ms)

    def next_deadline_ms(self, node_id: int | None = None) -> int:
        """The next time `tick` is due, for one node or for all; 0 while coordinators load, or NEVER_MS."""
        load_ms = NEVER_MS
        if self._loading:
            starts_ms = [
                self._load_from_ms.get(index, 0)
                for index, hosted in self._loading.items()
                if node_id in (None, hosted.node_id)
            ]
            load_ms = min(starts_ms, default=NEVER_MS)
        if node_id is None:
            return min(min(self._deadlines.values(), default=NEVER_MS), load_ms)
        return min(self._deadlines.get(node_id, NEVER_MS), load_ms)

    # ---- answers ------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what was decided, then give the answers to those that asked."""
        while self._busy:
            _, hosted = self._busy.popitem()
            self.flush_one(hosted)

    def flush_one(self, hosted: HostedCoordinator) -> bool:
        """The same for one of them; when its log cannot be written, all that waits is refused: False."""
        self._busy.pop(hosted.partition.index, None)
        try:
            replies = hosted.flush()
        except SourceError as error:
            self._warn(str(error))
            self._deliver(hosted.fail(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            self._reload(hosted)
            return False
        except Exception as error:
            self._begin_again(hosted, error, self._now_ms)
            return False
        self._deliver(replies)
        return True

    def reload(self, partition: Partition) -> None:
        """A log was taken back to where it was synced: what was decided since is void."""
        hosted = self.hosted.get(partition.index)
        if hosted is not None:
            self._busy.pop(partition.index, None)
            self._deliver(hosted.fail(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            self._reload(hosted)

    def _reload(self, failed: HostedCoordinator) -> None:
        """The decisions of a failed append are void: begin again from what the log says."""
        if self.hosted.get(failed.partition.index) is failed:
            self._loading[failed.partition.index] = self._host(failed.partition)

    def _deliver(self, replies: list[Reply]) -> None:
        for reply in replies:
            reply_to = self._reply_to.pop(reply.request_id, None)
            if reply_to is not None:
                reply_to(reply.body)
