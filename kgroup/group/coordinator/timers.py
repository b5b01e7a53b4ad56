"""Deadlines by key, on a clock that is passed in."""

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class TimerKey(NamedTuple):
    """The deadline of a group, or of one of its members; `kind` is for the group's kind to read."""

    kind: str
    group_id: str
    member_id: str = ""


class Timers(Generic[K]):
    """Deadlines, at most one per key, in epoch ms; due keys come out oldest deadline first.

    Moving a deadline later, which every heartbeat does, costs one dict write: its heap entry stays
    and goes back in with the new deadline when it surfaces.
    """

    def __init__(self) -> None:
        self._deadlines: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._queued: dict[K, int] = {}  # the earliest heap entry of each key
        self._order = count()  # ties come out in the order they were scheduled
        self.set_earlier = 0
        """How often a key got a deadline that is earlier than what it had, or its first."""

    def schedule(self, key: K, deadline_ms: int) -> None:
        """Set or move the deadline of `key`."""
        self._deadlines[key] = deadline_ms
        queued = self._queued.get(key)
        if queued is None or deadline_ms < queued:
            self.set_earlier += 1
            self._push(key, deadline_ms)

    def cancel(self, key: K) -> None:
        """Forget `key`; nothing happens if it has no deadline."""
        self._deadlines.pop(key, None)

    def deadline_ms(self, key: K) -> int | None:
        """The deadline of `key`, or None if it has none."""
        return self._deadlines.get(key)

    def next_deadline_ms(self) -> int | None:
        """The earliest deadline, or None when there is none."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> K | None:
        """Take out the key with the oldest deadline at or before `now_ms`, or None."""
        self._settle()
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        self._queued.pop(key, None)
        del self._deadlines[key]
        return key

    def _settle(self) -> None:
        """Bring the heap's top in line with the deadlines: each turn drops or moves one entry."""
        while self._heap:
            queued, _, key = self._heap[0]
            deadline = self._deadlines.get(key)
            if deadline == queued and self._queued.get(key) == queued:
                return
            heapq.heappop(self._heap)
            if self._queued.get(key) != queued:
                continue  # an entry overtaken by an earlier one
            del self._queued[key]
            if deadline is not None:
                self._push(key, deadline)

    def _push(self, key: K, deadline_ms: int) -> None:
        self._queued[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, next(self._order), key))
