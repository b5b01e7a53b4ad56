"""ZooKeeper at work: one request at a time, so that a herd's requests delay everybody else's."""

from collections.abc import Callable
from functools import partial

from kgroup.sim.scenario.scenario import SimMember
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.zookeeper.ensemble import (
    Answer,
    CreateEphemeral,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Operation,
    SetData,
    Zookeeper,
)
from kgroup.sim.zookeeper.trace import ZnodeOperation, ZookeeperEvent

Reply = Callable[[Answer], None]
_WORDS = {
    GetChildren: "getChildren",
    GetData: "getData",
    Exists: "exists",
    SetData: "setData",
    CreateEphemeral: "create",
    Delete: "delete",
}


class Service:
    """Requests of all consumers wait in one line, each served in `operation_ms`; 0: nobody waits.

    Sessions, pings and the brokers' own znodes cost nothing here: the herd is the consumers'.
    """

    def __init__(
        self,
        schedule: Schedule,
        zookeeper: Zookeeper,
        operation_ms: int,
        tell: Callable[[ZookeeperEvent], None],
    ) -> None:
        self._schedule = schedule
        self._zookeeper = zookeeper
        self._operation_ms = operation_ms
        self._tell = tell
        self._free_ms = 0

    def request(self, member: SimMember, session: int, operation: Operation, reply: Reply) -> None:
        """A consumer's request has come; `reply` is called when it is served."""
        now_ms = self._schedule.now_ms
        serve = partial(self._serve, member, session, operation, now_ms, reply)
        if not self._operation_ms:
            serve()
            return
        self._free_ms = max(self._free_ms, now_ms) + self._operation_ms
        self._schedule.at(self._free_ms, serve)

    def _serve(
        self, member: SimMember, session: int, operation: Operation, came_ms: int, reply: Reply
    ) -> None:
        answer = self._zookeeper.answer(session, operation)
        now_ms = self._schedule.now_ms
        self._tell(
            ZnodeOperation(
                at_ms=now_ms,
                member=member.name,
                group=member.group,
                session=session,
                operation=_WORDS[type(operation)],
                path=operation.path,
                watch=isinstance(operation, GetChildren | GetData | Exists) and operation.watch,
                data=operation.data if isinstance(operation, SetData | CreateEphemeral) else None,
                answer=_answered(operation, answer),
                error=answer.error,
                waited_ms=now_ms - came_ms - self._operation_ms,
            )
        )
        reply(answer)


def _answered(operation: Operation, answer: Answer) -> str | tuple[str, ...] | None:
    match operation:
        case GetChildren() if answer.error is None:
            return answer.children
        case GetData() if answer.error is None:
            return answer.data
        case _:
            return None
