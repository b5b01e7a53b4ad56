"""One member of a plan over TCP, through all its processes."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from kgroup.errors import KgroupError
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.group.member.step import Callback, CommitOutcome
from kgroup.history.reenactment.model import CommitOffsets, Join, Plan
from kgroup.net.member.client import GroupMember
from kgroup.net.member.connection import Exchange
from kgroup.protocol.requests.client import Node

SESSION_MIN_MS: Final = 1_000
"""Shorter sessions would end by the hiccups of one busy machine."""
HEARTBEAT_MIN_MS: Final = 50
_POLL_S: Final = 0.02
_COMMIT_S: Final = 5.0


def scaled_settings(plan: Plan, act: Join, speed: float) -> tuple[MemberSettings, str | None]:
    """The settings of a new process at this speed, and what is not as short as it would have to be."""
    member = plan.member(act.member)
    session_ms = round(act.session_timeout_ms / speed)
    poll_ms = round(act.max_poll_interval_ms / speed)
    clamped = [
        f"{name} is {SESSION_MIN_MS / 1000:g} s instead of {wanted_ms / 1000:g} s"
        for name, wanted_ms in (("session timeout", session_ms), ("poll interval", poll_ms))
        if wanted_ms < SESSION_MIN_MS
    ]
    session_ms, poll_ms = max(session_ms, SESSION_MIN_MS), max(poll_ms, SESSION_MIN_MS)
    settings = MemberSettings(
        group_id=plan.group_id,
        client_id=member.client_id,
        group_instance_id=member.instance_id,
        partition_assignment_strategy=act.assignors,
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=min(max(round(plan.heartbeat_ms / speed), HEARTBEAT_MIN_MS), session_ms // 3),
        max_poll_interval_ms=poll_ms,
        auto_offset_reset=OffsetReset.EARLIEST,
        enable_auto_commit=False,
        metadata_max_age_ms=max(round(plan.metadata_max_age_ms / speed), HEARTBEAT_MIN_MS),
    )
    return settings, " and ".join(clamped) or None


class Actor:
    """The member of one name. `tell` gets what goes wrong with it."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        self.name = name
        self._tell = tell
        self._member: GroupMember | None = None
        self._user: asyncio.Task[None] | None = None
        self._orders: asyncio.Queue[Callable[[GroupMember], None] | CommitOffsets] = asyncio.Queue()
        self._stalled_until = 0.0
        self._closing = False

    async def join(self, settings: MemberSettings, topics: tuple[str, ...], broker: Node) -> None:
        """A new process; one that is still there ends first, in order if it is about to."""
        await (self.end() if self._closing or self._stalled_until else self.die())
        self._orders, self._stalled_until, self._closing = asyncio.Queue(), 0.0, False
        self._member = GroupMember(settings, [broker], _Unwatched())
        self._member.subscribe(topics)
        self._user = asyncio.create_task(self._live(self._member))

    def leave(self) -> None:
        """Close when what is in hand is done."""
        self._closing = True

    async def die(self) -> None:
        """Be gone without a word."""
        self._closing = False
        # Once more as long as it lives: a request that ends in the same moment may take a cancellation away.
        while self._user is not None and not self._user.done():
            self._user.cancel()
            await asyncio.wait([self._user], timeout=_POLL_S)
        await self.end()

    async def end(self) -> None:
        """Wait until the process has ended."""
        if self._user is not None:
            with suppress(asyncio.CancelledError):
                await self._user
        if self._member is not None:
            await self._member.abandon()
        self._user = self._member = None

    def stall(self, duration_s: float) -> None:
        """Do not poll for this long, then be gone."""
        self._stalled_until = asyncio.get_running_loop().time() + duration_s

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Share other topics."""
        self._orders.put_nowait(lambda member: member.subscribe(topics))

    def rejoin(self) -> None:
        """Enforce a round."""
        self._orders.put_nowait(GroupMember.enforce_rebalance)

    def commit(self, act: CommitOffsets) -> None:
        """Commit what the act says, between two polls."""
        self._orders.put_nowait(act)

    async def _live(self, member: GroupMember) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                while not self._orders.empty():
                    await self._obey(member, self._orders.get_nowait())
                if self._closing:
                    await member.close(leave_group=True)
                    return
                if self._stalled_until:
                    await asyncio.sleep(max(self._stalled_until - loop.time(), 0))
                    return
                await member.poll(_POLL_S)
        except KgroupError as error:
            self._tell(f"{self.name} ends: {error}")

    async def _obey(self, member: GroupMember, order: Callable[[GroupMember], None] | CommitOffsets) -> None:
        if not isinstance(order, CommitOffsets):
            order(member)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_COMMIT_S):
                await member.commit(tuple(((name, number), at) for (name, number), at in order.offsets))


class _Unwatched:
    """A watcher that ignores single requests."""

    def exchange(self, exchange: Exchange) -> None:
        pass

    def callback(self, callback: Callback) -> None:
        pass

    def committed(self, outcome: CommitOutcome) -> None:
        pass

    def failed(self, why: str) -> None:
        pass

    def stepped(self) -> None:
        pass
