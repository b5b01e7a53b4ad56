"""The table of a classic group's answers: it is complete, and a coordinator answers by it in every state."""

import pytest

from kgroup.group.coordinator.classic.answer_table import ANSWERS, CHECKS, MEANINGS, Action, Check, Trigger
from kgroup.group.coordinator.classic.rounds import JOIN, SESSION, SYNC
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.timers import TimerKey
from kgroup.protocol.error_codes import ErrorCode
from tests.group.coordinator.script import GROUP, ScriptWorld

S = GroupState
T = Trigger
A = Action


# ---- the table --------------------------------------------------------------------------------


def test_every_request_and_deadline_has_an_answer_in_every_state() -> None:
    assert set(ANSWERS) == set(Trigger)
    assert all(set(row) == set(GroupState) for row in ANSWERS.values())


def test_an_answer_is_refused_with_an_error_and_every_action_is_explained() -> None:
    answers = [answer for row in ANSWERS.values() for answer in row.values()]
    assert all(answer.error for answer in answers if answer.action is A.REFUSE)
    assert {answer.action for answer in answers} == set(Action)
    assert set(MEANINGS) == set(Action) - {A.REFUSE}


def test_a_request_of_a_member_is_checked_and_refused_where_there_are_no_members() -> None:
    assert {check for checks in CHECKS.values() for check in checks} == set(Check)
    for trigger in CHECKS:
        assert ANSWERS[trigger][S.EMPTY].error
        assert ANSWERS[trigger][S.DEAD].error


# ---- a coordinator against the table --------------------------------------------------------------

# m1 leads, m2 follows, s is static; their ids are m1-1, m2-2 and i-3. In Stable, s has not synced yet.
ROUND = ("join m1", "join m2", "join s instance=i", "advance 9000")
STABLE = (*ROUND, "sync m2 generation=1", "sync m1 generation=1 assign=m1:a")
WAYS = {
    S.EMPTY: ("commit - orders/0=1",),
    S.PREPARING_REBALANCE: (*STABLE, "join m2 topics=other"),
    S.COMPLETING_REBALANCE: (*ROUND, "sync m2 generation=1"),
    S.STABLE: STABLE,
    S.DEAD: (),
}
COMMANDS = {
    T.JOIN: "join new",
    T.STATIC_RETURN: "join back instance=i",
    T.REJOIN: "join m2 id=m2-2",
    T.LEADER_REJOIN: "join m1 id=m1-1",
    T.CHANGED_REJOIN: "join m1 id=m1-1 topics=other",
    T.SYNC: "sync m2 id=m2-2 generation=1",
    T.LEADER_SYNC: "sync m1 id=m1-1 generation=1 assign=m1:a",
    T.HEARTBEAT: "heartbeat m2 id=m2-2 generation=1",
    T.LEAVE: "leave m2 id=m2-2",
    T.LEAVE_PENDING: "leave pending id=pending-9",
    T.COMMIT: "commit m2 id=m2-2 generation=1 orders/0=2",
    T.OUTSIDE_COMMIT: "commit - orders/0=2",
    T.TXN_COMMIT: "txn-commit m2 id=m2-2 generation=1 producer=1 orders/0=2",
    T.OUTSIDE_TXN_COMMIT: "txn-commit - producer=1 orders/0=2",
    T.OFFSET_DELETE: "delete-offsets - orders",
    T.OTHERS_DELETE: "delete-offsets - orders",
    T.DELETE: "delete-group",
}
PARKING = {A.START_ROUND, A.WAIT, A.FOUND, A.AWAIT_LEADER}
BECOMES = {
    A.START_ROUND: S.PREPARING_REBALANCE,
    A.FOUND: S.PREPARING_REBALANCE,
    A.DROP_UNSYNCED: S.PREPARING_REBALANCE,
    A.END_ROUND: S.COMPLETING_REBALANCE,
    A.ASSIGN: S.STABLE,
    A.DELETE: S.DEAD,
}


def world_in(state: GroupState, protocol_type: str = "consumer") -> ScriptWorld:
    world = ScriptWorld()
    for command in WAYS[state]:
        world.run(f"{command} type={protocol_type}" if command.startswith("join") else command)
    assert state_of(world) == state
    return world


def with_pending_id(world: ScriptWorld, state: GroupState) -> ScriptWorld:
    """An id is given out, in a group that is there, that nobody has come back with."""
    if state is not S.DEAD:
        world._uuids = iter("9")  # type: ignore[assignment]
        world.run("join pending id= two-step")
    return world


def state_of(world: ScriptWorld) -> str:
    return world.coordinator.describe(GROUP).group_state


def error_in(lines: list[str], who: str) -> ErrorCode:
    """The innermost error of the answer; NONE where there is no answer yet."""
    words = [word for line in lines if line.startswith(f"reply {who} ") for word in line.split()]
    names = [word.rpartition(":")[2] for word in words]
    return ErrorCode[next((name for name in reversed(names) if name in ErrorCode.__members__), "NONE")]


@pytest.mark.parametrize(
    ("trigger", "state"),
    [
        (trigger, state)
        for trigger in COMMANDS
        for state in S
        if ANSWERS[trigger][state].action is not A.NOBODY
    ],
)
def test_a_request_is_answered_as_the_table_says(trigger: Trigger, state: GroupState) -> None:
    action, error = ANSWERS[trigger][state]
    world = world_in(state, "connect" if trigger is T.OTHERS_DELETE else "consumer")
    if trigger is T.LEAVE_PENDING:
        with_pending_id(world, state)
    lines = world.run(COMMANDS[trigger])
    if trigger is T.COMMIT and state is S.DEAD:
        error = ErrorCode.ILLEGAL_GENERATION  # as clients before version 9 hear it
    assert error_in(lines, COMMANDS[trigger].split()[1] if trigger is not T.DELETE else "-") is error
    assert lines[-1].startswith("parked") is (action in PARKING)
    if action is A.REMOVE:
        action = ANSWERS[T.LEFT][state].action
    founded = action is A.COMMIT and state is S.DEAD
    assert state_of(world) == (S.EMPTY if founded else BECOMES.get(action, state))


DEADLINES = {
    T.JOIN_DEADLINE: TimerKey(JOIN, GROUP),
    T.SYNC_DEADLINE: TimerKey(SYNC, GROUP),
    T.SESSION_DEADLINE: TimerKey(SESSION, GROUP, "m1-1"),
    T.PENDING_DEADLINE: TimerKey(SESSION, GROUP, "pending-9"),
}


@pytest.mark.parametrize("state", GroupState)
@pytest.mark.parametrize("trigger", DEADLINES, ids=lambda trigger: trigger.name)
def test_a_deadline_does_what_the_table_says(trigger: Trigger, state: GroupState) -> None:
    world = world_in(state)
    if trigger is T.PENDING_DEADLINE:
        with_pending_id(world, state)
    world.coordinator.classic.on_deadline(DEADLINES[trigger])
    # Not everybody has joined, so that a round that needs them all goes on.
    assert state_of(world) == BECOMES.get(ANSWERS[trigger][state].action, state)


@pytest.mark.parametrize("state", GroupState)
def test_a_group_is_described_as_the_table_says(state: GroupState) -> None:
    action, error = ANSWERS[T.DESCRIBE][state]
    group = world_in(state).coordinator.describe(GROUP)
    assert group.error_code is error
    assert (group.protocol_data == "range") is (action is A.SHOW_ALL)


@pytest.mark.parametrize("state", GroupState)
def test_a_group_is_full_as_the_table_says(state: GroupState) -> None:
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=3000, max_size=3))
    for command in WAYS[state]:
        world.run(command)
    full = error_in(world.run("join new"), "new") is ErrorCode.GROUP_MAX_SIZE_REACHED
    # In PreparingRebalance only the member that started the round has a seat.
    assert full is (ANSWERS[T.SEAT][state].action is A.COUNT_MEMBERS)
