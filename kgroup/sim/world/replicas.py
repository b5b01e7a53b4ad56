"""Progress of each replica of a partition, where followers lag: what a new leader has and knows.

Source of the rules: KIP-101 (a follower cuts its log to its leader's), KIP-207 (the high watermark of a new
leader may be behind), KIP-497 (who is in sync is known to the controller, which elects nobody else).
"""

from collections.abc import Callable
from typing import Final

from kgroup.log.store.record_log import MemoryLog


class Replicas:
    """The copies of one partition. They begin level; the one that leads appends, the others follow.

    There is one log, the leader's. `ends`: where each copy ends. `read_to`: the highest high watermark that
    any leader has had, so that readers may have what lies below. `on_cut` is called with the number of
    records cut.
    """

    def __init__(
        self, log: MemoryLog, nodes: tuple[int, ...], leader: int, on_cut: Callable[[int], None]
    ) -> None:
        self._log: Final = log
        self._on_cut = on_cut
        self.leader = leader
        """The one that has led last, if nobody leads."""
        self.ends = dict.fromkeys(nodes, log.end_offset)
        self._knows = dict.fromkeys(nodes, log.end_offset)
        self._heard: set[int] = set(nodes)
        self.in_sync: set[int] = set(nodes)
        self.high_watermark = self.read_to = log.end_offset

    @property
    def are_level(self) -> bool:
        """Whether everything is everywhere, as far as copies are in sync."""
        return self.high_watermark == self._log.end_offset

    def lag_ms(self, node: int, slowest_ms: int) -> int:
        """A follower's lag: the last has every record `slowest_ms` late, the others sooner in even steps."""
        followers = [each for each in self.ends if each != self.leader]
        return slowest_ms * (followers.index(node) + 1) // len(followers)

    def may_lead(self, node_id: int) -> bool:
        """Whether it is in sync."""
        return node_id in self.in_sync

    def lead(self, node_id: int) -> int:
        """Make this copy the log, and return the high watermark it has heard of."""
        self.ends[self.leader] = self._log.end_offset
        end = self.ends[node_id]
        if end < self._log.end_offset:
            self._on_cut(self._log.end_offset - end)
            self._log.cut(end)
        self.ends = {node: min(each, end) for node, each in self.ends.items()}
        self.leader, self._heard = node_id, {node_id}
        self.high_watermark = self._knows[node_id]
        self._advance()
        return self.high_watermark

    def came(self, node: int, offset: int) -> None:
        """A follower has the records below `offset`, and its next fetch tells the leader.

        With them it has heard of the high watermark as that was before.
        """
        self.ends[node] = max(self.ends[node], min(offset, self._log.end_offset))
        self._knows[node] = max(self._knows[node], min(self.high_watermark, self.ends[node]))
        self._heard.add(node)
        if self.ends[node] >= self.high_watermark:
            self.in_sync.add(node)
        self._advance()

    def left(self, node: int) -> None:
        """The controller counts it out, unless it is the last that is in sync."""
        if len(self.in_sync) > 1:
            self.in_sync.discard(node)
            self._advance()

    def _advance(self) -> None:
        if self.in_sync <= self._heard:
            everywhere = min(
                self._log.end_offset if node == self.leader else self.ends[node] for node in self.in_sync
            )
            self.high_watermark = max(self.high_watermark, everywhere)
        self.read_to = max(self.read_to, self.high_watermark)
