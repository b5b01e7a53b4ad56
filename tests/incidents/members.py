"""A consumer process: it polls, processes, commits and heartbeats, as long as nothing keeps it from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.incidents.groups import Group, TopicPartition


class Member:
    """Settings have Kafka's names and, where a life does not care, about its defaults; times are seconds.

    `speed` is how many records a second it processes, `commit_s` enable.auto.commit's interval (None:
    never), `reset` auto.offset.reset. A Java client commits what it owns whether it moved or not, librdkafka
    only what did. What goes wrong: `busy` blocks the handler while heartbeats go on, `deaf` are partitions
    that it owns and never fetches, `frozen` is a stopped process, `commits_back` is added to what it commits.
    With `parallel` handlers one that does not return keeps its partition alone.
    """

    def __init__(
        self,
        group: Group,
        name: str,
        *,
        topics: tuple[str, ...] | None = None,
        instance: str | None = None,
        client_id: str | None = None,
        host: str | None = None,
        library: str = "librdkafka",
        session_s: float = 45,
        heartbeat_s: float = 3,
        poll_interval_s: float = 300,
        commit_s: float | None = 5,
        speed: float = 1000,
        reset: str = "earliest",
        committed_only: bool = False,
        commits_back: int = 0,
        leaves_when_late: bool = True,
        parallel: bool = False,
        subscription: bytes | None = None,
        assignment: bytes | None = None,
    ) -> None:
        self.group, self.world, self.name = group, group.world, name
        self.topics = topics or group.topics
        self.instance, self.library = instance, library
        self.client_id = client_id or name
        self.host = host or f"/10.0.{len(group.clients) // 200}.{len(group.clients) % 200 + 1}"
        self.session_ms, self.heartbeat_ms = round(session_s * 1000), round(heartbeat_s * 1000)
        self.poll_interval_ms = round(poll_interval_s * 1000)
        self.commit_ms = None if commit_s is None else round(commit_s * 1000)
        self.speed, self.reset, self.committed_only = speed, reset, committed_only
        self.commits_back, self.leaves_when_late = commits_back, leaves_when_late
        self.parallel = parallel
        self.failing_since_ms: int | None = None
        self.subscription, self.assignment = subscription, assignment
        self.member_id = ""
        self.owned: list[TopicPartition] = []
        self.positions: dict[TopicPartition, int] = {}
        self.read: set[TopicPartition] = set()
        self.sent: dict[TopicPartition, int] = {}
        """What it committed last."""
        self.rejoined = False
        self.is_up, self.frozen, self.is_fenced = True, False, False
        self.deaf: set[TopicPartition] = set()
        self.is_deaf = False
        self.is_stuck = False
        self.up_again_ms: int | None = None
        self.busy_until_ms = 0
        self.heard_ms = self.polled_ms = self.world.now_ms
        self.rejoin_ms = 0
        self.commit_at_ms = 0
        self.owing = 0.0

    def __repr__(self) -> str:
        return self.name

    def join(self) -> None:
        """As a member that the coordinator does not know, with a new id."""
        world = self.world
        self.group.leave_behind(self)
        stem = f"consumer-{self.group.name}-1" if self.library == "java" else self.client_id
        self.member_id = f"{self.instance or stem}-{world.new_id()}"
        self.heard_ms = self.polled_ms = world.now_ms
        self.is_up, self.is_fenced = True, False
        self.positions, self.owned, self.sent, self.read = {}, [], {}, set()
        self.failing_since_ms = None
        self.up_again_ms = None
        self.group.add(self)

    def kill(self) -> None:
        """End the process without a word."""
        self.is_up = False
        self.world.happened("kill-member", self.group.name, handle=self.name)

    def close(self) -> None:
        """End it in order: it commits, and leaves unless it is static."""
        if self in self.group.members:
            self._commit()
            if self.instance is None:
                self.group.remove(self)
        self.is_up = False
        self.world.happened("stop-member", self.group.name, handle=self.name)

    def leave(self) -> None:
        """Leave the group and go on living."""
        self.group.remove(self)
        self.world.happened("leave", self.group.name, handle=self.name)

    def restart(self, seconds: float, **how: object) -> None:
        """Close, and start again as a new process after so long; time goes by."""
        self.close()
        self.world.run(seconds)
        self.join()
        self.world.happened("start-member", self.group.name, handle=self.name)

    def busy(self, seconds: float) -> None:
        """The handler does not return; the heartbeat thread goes on."""
        self.busy_until_ms = self.world.now_ms + round(seconds * 1000)
        self.world.happened("do", self.group.name, handle=self.name, action=["block", str(seconds)])

    def fenced(self) -> None:
        """Another process has its instance id: fatal for the client."""
        self.is_up, self.is_fenced, self.owned = False, True, []
        self.world.happened("fenced", self.group.name, handle=self.name)

    def called_back(self) -> None:
        """A rebalance began; the member hears of it with its next heartbeat."""
        self.rejoined = False
        self.rejoin_ms = self.world.now_ms + self.world.rng.randrange(100, self.heartbeat_ms)

    def resume(self) -> None:
        """Take up what it owns where the group's offsets are."""
        self.assigned(self.owned)

    def assigned(self, share: list[TopicPartition]) -> None:
        kept = self.owned if self.group.is_cooperative else []
        self.positions = {
            p: self.positions[p] if p in kept and p in self.positions else self._first_position(p)
            for p in share
        }
        self.owned = list(share)
        self.commit_at_ms = self.world.now_ms + (self.commit_ms or 0)
        self.is_stuck, self.failing_since_ms = False, None
        self.polled_ms = max(self.polled_ms, self.world.now_ms if not self._is_busy else 0)

    @property
    def _is_busy(self) -> bool:
        return self.is_stuck or self.world.now_ms < self.busy_until_ms

    def _first_position(self, partition: TopicPartition) -> int:
        log = self.world.log(partition)
        committed = self.group.committed.get(partition)
        if committed is not None and log.start <= committed <= log.end:
            return committed
        return log.start if self.reset == "earliest" else log.end

    def tick(self, seconds: float) -> None:
        now_ms = self.world.now_ms
        if self.up_again_ms is not None and now_ms >= self.up_again_ms:
            self.join()
        if not self.is_up or self.frozen:
            return
        known = self in self.group.members
        if now_ms - self.heard_ms >= self.heartbeat_ms:
            self.heard_ms = now_ms
        if self._is_busy:
            if known and self.leaves_when_late and now_ms - self.polled_ms > self.poll_interval_ms:
                self.world.happened("poll-interval-exceeded", self.group.name, handle=self.name)
                self.is_stuck, late_by_ms = False, self.busy_until_ms
                self.group.remove(self)
                self.busy_until_ms = max(late_by_ms, now_ms + 1000)
            return
        if self.failing_since_ms is not None and now_ms - self.failing_since_ms > self.poll_interval_ms:
            self.world.happened("poll-interval-exceeded", self.group.name, handle=self.name)
            self.group.remove(self)
            self.failing_since_ms, self.busy_until_ms = None, now_ms + 10_000
            return
        self.polled_ms = now_ms
        if not known:
            self.join()
            return
        if self.group.preparing_since_ms is not None and not self.rejoined:
            if now_ms >= self.rejoin_ms:
                self._commit()
                self.rejoined = True
            return
        if self.group.preparing_since_ms is None or self.group.is_cooperative:
            self._process(seconds)
            if self.commit_ms is not None and now_ms >= self.commit_at_ms:
                self.commit_at_ms = now_ms + self.commit_ms
                self._commit()

    def _process(self, seconds: float) -> None:
        self.owing = min(self.owing + self.speed * seconds, max(self.speed, 1.0))
        ready = [p for p in self.owned if not self.is_deaf and p not in self.deaf]
        is_short = self.owing < len(ready)
        for left in range(len(ready), 0, -1):
            # A poll takes of all partitions in turn; what one does not need is for the others. Who has not
            # the time for all of them takes where most waits, so that none of them starves.
            waiting = {p: self.world.log(p).end - self.positions[p] for p in ready}
            partition = min(ready, key=lambda p: (-waiting[p] if is_short else waiting[p], p))
            ready.remove(partition)
            self._process_partition(partition, int(self.owing / left) or int(self.owing))
            if self.is_stuck or not self.is_up:
                return

    def _process_partition(self, partition: TopicPartition, records: int) -> None:
        log, position = self.world.log(partition), self.positions[partition]
        if not log.start <= position <= log.end:
            self.positions[partition] = position = log.start if self.reset == "earliest" else log.end
            self.world.happened("offset-out-of-range", self.group.name, handle=self.name)
        limit = log.last_stable if self.committed_only else log.end
        bad = self.group.stops_at.get(partition)
        if bad is not None and position <= bad:
            limit = min(limit, bad)
        after, count = log.read(position, records, limit)
        if after > position:
            self.owing -= count
            self.positions[partition] = after
            self.read.add(partition)
            self.group.hand(partition, position, after)
        if bad is not None and after == bad < log.end:
            self._meet_poison()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from elsewhere."""
        self.positions[partition] = offset

    def _meet_poison(self) -> None:
        if self.parallel:
            self.failing_since_ms = self.failing_since_ms or self.world.now_ms
            return
        if self.group.crash_s is None:
            self.is_stuck = True
            return
        self.kill()
        self.up_again_ms = self.world.now_ms + round(self.group.crash_s * 1000)

    def _commit(self) -> None:
        if self.commit_ms is None or self.is_fenced:
            return
        positions = {
            p: max(0, at + self.commits_back)
            for p, at in self.positions.items()
            if p not in self.deaf or self.library == "java"
        }
        if self.library != "java":
            positions = {p: at for p, at in positions.items() if p in self.read and self.sent.get(p) != at}
        self.sent |= positions
        if positions:
            self.group.commit(positions)
            self.heard_ms = self.world.now_ms  # a commit is a sign of life
