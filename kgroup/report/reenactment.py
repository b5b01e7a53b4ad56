"""A re-enactment's acts as rows and lines, and its score in words."""

from collections.abc import Iterator
from typing import Final, assert_never

from kgroup.durations import lasting
from kgroup.history.reenactment.model import (
    Act,
    CommitOffsets,
    Die,
    Grow,
    Join,
    Leave,
    MoveCoordinator,
    Plan,
    Produce,
    Rejoin,
    Resubscribe,
    Stall,
)
from kgroup.history.reenactment.score import Score
from kgroup.report.emit import Column, Kind, Row

ACT_COLUMNS: Final = (
    Column(name="group"),
    Column(name="at_ms", kind=Kind.INTEGER),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="act"),
    Column(name="member"),
    Column(name="client_id"),
    Column(name="instance_id"),
    Column(name="detail"),
)
ACT_TABLE: Final = (
    Column(name="at"),
    Column(name="act"),
    Column(name="member"),
    Column(name="detail"),
)
_WORDS: Final[dict[type[Act], str]] = {
    Join: "join",
    Leave: "leave",
    Die: "die",
    Stall: "stall",
    Resubscribe: "subscribe",
    Rejoin: "rejoin",
    CommitOffsets: "commit",
    Produce: "produce",
    Grow: "grow",
    MoveCoordinator: "move",
}


def act_rows(plan: Plan, *, table: bool) -> Iterator[Row]:
    """A row for each act, commits and records only outside of tables."""
    for act in plan.acts:
        if table and isinstance(act, CommitOffsets | Produce):
            continue
        name = _member_of(act)
        member = None if name is None else plan.member(name)
        yield {
            "group": plan.group_id,
            "at": lasting(act.at_ms),
            "at_ms": act.at_ms,
            "time": plan.start_ms + act.at_ms,
            "act": _WORDS[type(act)],
            "member": name,
            "client_id": None if member is None else member.client_id,
            "instance_id": None if member is None else member.instance_id,
            "detail": _detail(act),
        }


def act_line(act: Act) -> str:
    """`12.3s  orders-1 joins: orders, range, session 6s`."""
    name = _member_of(act)
    return " ".join(
        word for word in (f"{lasting(act.at_ms):>9} ", _WORDS[type(act)], name, _detail(act)) if word
    )


def score_line(group_id: str, made: Score) -> str:
    """The result of the comparison."""
    return (
        f"group {group_id}: {made.agreeing} of {made.longer} generations agree in who joined, who left and"
        f" why ({made.share:.0%}); {made.moved} of these moved as many partitions"
    )


def _member_of(act: Act) -> str | None:
    return None if isinstance(act, Produce | Grow | MoveCoordinator) else act.member


def _detail(act: Act) -> str:
    match act:
        case Join():
            session, interval = lasting(act.session_timeout_ms), lasting(act.max_poll_interval_ms)
            topics, assignors = ", ".join(act.topics), ", ".join(act.assignors)
            return f"{topics} by {assignors}; session {session}, polls within {interval}"
        case Leave():
            return "closes"
        case Die():
            return "without a word"
        case Stall():
            return f"does not poll for {lasting(act.duration_ms)}"
        case Rejoin():
            return "without a change"
        case Resubscribe():
            return ", ".join(act.topics)
        case CommitOffsets():
            return ", ".join(f"{partition} at {offset}" for partition, offset in act.offsets)
        case Produce():
            return f"{act.records} to {act.partition}"
        case Grow():
            return f"{act.topic} to {act.partitions} partitions"
        case MoveCoordinator():
            return "the coordinator to another broker"
        case _:
            assert_never(act)
