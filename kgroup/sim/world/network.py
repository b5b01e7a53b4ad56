"""Packets between processes: latency, loss, partitions; and on top connections that behave like TCP's.

A message on a connection is never lost or overtaken while the connection lives. A lost packet shows as the
delay of TCP's retransmission, a cut as silence until the first retransmission after it; the ends notice
nothing but their own timeouts. A connection breaks only when the process at one end dies or hangs up. So what
nodes really see of a duplicate is a request that its sender repeated, and so it is here: the same request
twice, one after the other.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from kgroup.sim.scenario.scenario import NetworkSettings
from kgroup.sim.world.schedule import Action, Schedule

K = TypeVar("K")
_FIRST_RETRY_MS: Final = 200  # Linux: TCP_RTO_MIN
_RETRY_MAX_MS: Final = 120_000  # Linux: TCP_RTO_MAX
_RETRIES_MAX: Final = 15  # Linux: net.ipv4.tcp_retries2


@dataclass(eq=False, slots=True)
class Stream:
    """One direction of a connection. `clear_ms` is the arrival that nothing sent later may overtake."""

    source: str
    target: str
    clear_ms: int = 0
    held: list[tuple[int, Action]] = field(default_factory=list)  # (sent at, arrival), while the way is cut


class Network:
    """The ways between all processes. Faults add to `more_latency_ms`, `loss` and `duplicates` (0 to 1)."""

    def __init__(self, schedule: Schedule, random: Random, settings: NetworkSettings) -> None:
        self._schedule = schedule
        self._random = random
        self._settings = settings
        self._span_ms = settings.latency_max_ms - settings.latency_min_ms + 1
        self._isolated: dict[str, int] = {}
        self._cuts: dict[frozenset[str], int] = {}
        self._held: dict[Stream, None] = {}
        self.more_latency_ms = 0
        self.loss = settings.loss_percent / 100
        self.duplicates = settings.duplicate_percent / 100

    def send(self, stream: Stream, arrive: Action, round_trips: int = 0) -> None:
        """`arrive` happens when the message is there, after the round trips that it takes to open the way."""
        now_ms = self._schedule.now_ms
        if stream.held or ((self._isolated or self._cuts) and self.is_cut(stream.source, stream.target)):
            stream.held.append((now_ms, arrive))
            self._held[stream] = None
            return
        time_ms = now_ms + self._latency_ms()
        for _ in range(2 * round_trips):
            time_ms += self._latency_ms()
        self._arrive(stream, arrive, time_ms)

    def is_repeated(self) -> bool:
        """Whether chance has it that the next request is sent twice."""
        return self.duplicates > 0 and self._random.random() < self.duplicates

    def _arrive(self, stream: Stream, arrive: Action, time_ms: int) -> None:
        stream.clear_ms = max(stream.clear_ms, time_ms)
        self._schedule.at(stream.clear_ms, arrive)

    def _latency_ms(self) -> int:
        delay_ms = self._settings.latency_min_ms + self.more_latency_ms
        if self._span_ms > 1:
            delay_ms += int(self._random.random() * self._span_ms)
        if self.loss > 0:
            tries = 0
            while tries < _RETRIES_MAX and self._random.random() < self.loss:
                delay_ms += min(_FIRST_RETRY_MS << tries, _RETRY_MAX_MS)
                tries += 1
        return delay_ms

    # ---- cuts -------------------------------------------------------------------------------------

    def is_cut(self, name: str, other: str) -> bool:
        """Whether no packet passes between the two."""
        return name in self._isolated or other in self._isolated or frozenset((name, other)) in self._cuts

    def cut(self, target: str, other: str | None) -> None:
        """Stop all packets between `target` and `other`, or anyone; cuts of the same ways add up."""
        if other is None:
            self._isolated[target] = self._isolated.get(target, 0) + 1
        else:
            pair = frozenset((target, other))
            self._cuts[pair] = self._cuts.get(pair, 0) + 1

    def mend(self, target: str, other: str | None) -> None:
        """Take one cut back; what was held back is sent again when its sender tries next."""
        if other is None:
            _take_one(self._isolated, target)
        else:
            _take_one(self._cuts, frozenset((target, other)))
        for stream in list(self._held):
            if not self.is_cut(stream.source, stream.target):
                self._send_held(stream)

    def _send_held(self, stream: Stream) -> None:
        now_ms = self._schedule.now_ms
        held, stream.held = stream.held, []
        del self._held[stream]
        for sent_ms, arrive in held:
            retry_ms = sent_ms + _next_retry_ms(now_ms - sent_ms)
            self._arrive(stream, arrive, retry_ms + self._latency_ms())


def _next_retry_ms(waited_ms: int) -> int:
    """The next time TCP sends a lost packet again: after 0.2 s, 0.6 s, 1.4 s, ...; the first not yet past."""
    retry_ms, pause_ms = _FIRST_RETRY_MS, _FIRST_RETRY_MS
    while retry_ms < waited_ms:
        pause_ms = min(2 * pause_ms, _RETRY_MAX_MS)
        retry_ms += pause_ms
    return retry_ms


def _take_one(counts: dict[K, int], key: K) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
