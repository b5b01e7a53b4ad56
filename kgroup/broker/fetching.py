"""Fetches that wait for enough bytes, and the appends that wake them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kgroup.broker.partition import Partition
from kgroup.errors import KgroupError
from kgroup.group.coordinator.timers import Timers

if TYPE_CHECKING:
    from kgroup.wire.frames import Call


class FetchPart(NamedTuple):
    """One partition's part of a fetch request; `partition` is None if there is no such."""

    topic: str
    topic_id: object
    partition_index: int
    partition: Partition | None
    offset: int
    max_bytes: int
    leader_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFetch:
    """A fetch in the making. `finish` answers with whatever there is."""

    call: "Call"
    parts: tuple[FetchPart, ...]
    read_committed: bool
    min_bytes: int
    max_bytes: int
    batches_max: int
    finish: Callable[["WaitingFetch"], None]
    has_room: Callable[[], bool] = lambda: True

    def available_bytes(self) -> int:
        """Roughly what an answer would hold now: enough to decide whether to wait.

        Nothing while there is no room for answers: that of a fetch whose time is over has no records then.
        """
        if not self.has_room():
            return 0
        try:
            return self._available_bytes()
        except (KgroupError, OSError):
            return self.min_bytes  # the log cannot be read, which is answered at once

    def _available_bytes(self) -> int:
        total, batches = 0, self.batches_max
        for part in self.parts:
            if part.partition is None:
                return self.min_bytes
            log = part.partition.log
            end = part.partition.last_stable_offset if self.read_committed else part.partition.high_watermark
            if not log.start_offset <= part.offset <= log.end_offset:
                return self.min_bytes  # an error is answered at once
            if end > part.offset:
                stretch = log.stretch(part.offset, min(part.max_bytes, self.max_bytes), end, batches)
                total += stretch.size
                batches -= stretch.batches
                if total >= self.min_bytes:
                    break
                if batches <= 0:
                    return self.min_bytes  # an answer has no more batches
        return total


class FetchWaits:
    """All fetches of a node's clients that wait, by partition and by deadline.

    `on_fault` is handed a fetch whose answer fails by a fault of kgroup's own; the node sets it.
    """

    on_fault: Callable[["Call", Exception], None]

    def __init__(self) -> None:
        self._timers: Timers[int] = Timers()
        self._waiting: dict[int, WaitingFetch] = {}
        self._by_partition: dict[tuple[str, int], set[int]] = {}
        self._touched: dict[int, None] = {}

    def park(self, fetch: WaitingFetch, deadline_ms: int) -> None:
        """Hold a fetch back until an append or the deadline."""
        token = fetch.call.token
        self._waiting[token] = fetch
        self._timers.schedule(token, deadline_ms)
        for part in fetch.parts:
            self._by_partition.setdefault((part.topic, part.partition_index), set()).add(token)

    def appended(self, partition: Partition) -> None:
        """Look again at those who wait for this partition, at the next `wake`."""
        waiting = self._by_partition.get((partition.topic, partition.index))
        if waiting:
            self._touched |= dict.fromkeys(sorted(waiting))

    def wake(self, now_ms: int) -> None:
        """Answer every fetch that has enough by now, or has waited long enough."""
        if not self._waiting:
            return
        touched, self._touched = self._touched, {}
        for token in touched:
            fetch = self._waiting.get(token)
            if fetch is not None and self._is_due(fetch):
                self._finish(token)
        while (due := self._timers.pop_due(now_ms)) is not None:
            self._finish(due)

    def next_deadline_ms(self) -> int | None:
        """The next time `wake` is due; 0 if an append has touched a waiting fetch."""
        return 0 if self._touched else self._timers.next_deadline_ms()

    def forget(self, token: int) -> None:
        """The client is gone."""
        self._take(token)

    def wake_all(self) -> None:
        """Answer everybody: leaders have changed."""
        for token in list(self._waiting):
            self._finish(token)

    def _is_due(self, fetch: WaitingFetch) -> bool:
        try:
            return fetch.available_bytes() >= fetch.min_bytes
        except Exception as error:  # as in `_finish`
            self._take(fetch.call.token)
            self.on_fault(fetch.call, error)
            return False

    def _finish(self, token: int) -> None:
        fetch = self._take(token)
        if fetch is not None:
            try:
                fetch.finish(fetch)
            except Exception as error:  # whatever it is, the others wait for their answers, too
                self.on_fault(fetch.call, error)

    def _take(self, token: int) -> WaitingFetch | None:
        fetch = self._waiting.pop(token, None)
        if fetch is None:
            return None
        self._timers.cancel(token)
        for part in fetch.parts:
            topic_partition = (part.topic, part.partition_index)
            waiting = self._by_partition.get(topic_partition)
            if waiting is not None:
                waiting.discard(token)
                if not waiting:
                    del self._by_partition[topic_partition]
        return fetch
