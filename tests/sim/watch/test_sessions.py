"""What the checkers of sessions and rounds take for a fault, and what they do not."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.rounds import ClassicRounds
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.events import GenerationFormed, MemberAdded, MemberRemoved, RebalanceStarted
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.requests.coordinator import (
    JoinGroup,
    JoinGroupResponse,
    ReplyBody,
    RequestBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.coordinators import SLACK_MS, Scene, Ticket
from kgroup.sim.watch.log_model import LogModel
from kgroup.sim.watch.result import ALIVE_STAY, ROUNDS_END, SESSIONS_END
from kgroup.sim.watch.sessions import RoundsEnd, Sessions
from tests.sim.worlds import members, play, world

E = ErrorCode
_PROTOCOLS = (("range", b""),)
_COMES = ConsumerGroupHeartbeat(group_id="g", member_id="new", member_epoch=0)
_JOIN = JoinGroup(
    group_id="g",
    session_timeout_ms=10_000,
    rebalance_timeout_ms=20_000,
    member_id="m",
    group_instance_id=None,
    protocol_type="consumer",
    protocols=_PROTOCOLS,
)
_SYNC = SyncGroup(
    group_id="g",
    generation_id=1,
    member_id="m",
    group_instance_id=None,
    protocol_type=None,
    protocol_name=None,
    assignments=(),
)
_EXPIRED = MemberRemoved(group_id="g", member_id="m", why="session expired")


class NoGroups(dict[str, None]):
    """The coordinator's groups of the other kind."""

    def watched(self, group_id: str) -> None:
        """There is none."""


class Stage:
    """The checker of a coordinator with the group `g` of the member `m`, whose session is over."""

    def __init__(self) -> None:
        self.group = ClassicGroup("g", 0)
        self.group.state = GroupState.PREPARING_REBALANCE
        self.add("m", rebalance_timeout_ms=20_000)
        self.broken: list[str] = []
        no_others = NoGroups()
        coordinator = SimpleNamespace(classic=self, consumer=no_others, deadline_ms=lambda key: 13_000)
        self.hosted = SimpleNamespace(coordinator=coordinator, is_idle=True)
        self.scene = Scene(
            hosted=self.hosted,  # type: ignore[arg-type]
            settings=GroupSettings(),
            model=LogModel(),
            report=lambda checker, sentence: self.broken.append(checker),
        )
        self.checker = Sessions(self.scene)

    def add(self, member_id: str, rebalance_timeout_ms: int) -> None:
        member = Member(
            member_id=member_id,
            group_instance_id=None,
            client_id="c",
            client_host="/10.0.0.1",
            rebalance_timeout_ms=rebalance_timeout_ms,
            session_timeout_ms=10_000,
            protocols=_PROTOCOLS,
        )
        self.group.add(member, "consumer")

    def watched(self, group_id: str) -> ClassicGroup:
        return self.group

    def __iter__(self) -> Iterator[str]:
        return iter(("g",))

    def ask(self, body: RequestBody, request_id: int = 1) -> Ticket:
        ticket = Ticket(
            request_id=request_id,
            body=body,
            client_id="c",
            asked_ms=10_000,
            process=1,
            state=self.group.state,
            generation=1,
        )
        self.scene.tickets[request_id] = ticket
        self.checker.asked(ticket)
        return ticket

    def expire(self) -> None:
        """The member is out; a flush tells it before it gives answers out."""
        self.group.remove("m")
        self.checker.heard(_EXPIRED, 10_000)

    def answer(self, ticket: Ticket, reply: ReplyBody) -> None:
        del self.scene.tickets[1]
        self.checker.answered(ticket, reply, 10_000)


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (_SYNC, SyncGroupResponse(error_code=E.REBALANCE_IN_PROGRESS)),
        (_SYNC, SyncGroupResponse()),
        (_JOIN, JoinGroupResponse(error_code=E.GROUP_MAX_SIZE_REACHED)),
        (_JOIN, JoinGroupResponse(member_id="m", generation_id=1)),
    ],
    ids=["not the time to sync", "share given again", "no room", "generation told again"],
)
def test_a_request_that_is_answered_at_once_keeps_no_session(
    body: JoinGroup | SyncGroup, reply: ReplyBody
) -> None:
    """It is decided in the last moment of the session, and its answer goes out with the word of its end."""
    stage = Stage()
    ticket = stage.ask(body)
    stage.expire()
    stage.answer(ticket, reply)
    stage.checker.look(10_000, True)
    assert stage.broken == []


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (_SYNC, SyncGroupResponse(error_code=E.UNKNOWN_MEMBER_ID)),
        (_JOIN, JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID, member_id="m")),
    ],
    ids=["sync", "join"],
)
def test_a_request_that_comes_after_the_end_waited_for_nothing(
    body: JoinGroup | SyncGroup, reply: ReplyBody
) -> None:
    """The deadline and the request are of one batch."""
    stage = Stage()
    stage.group.remove("m")
    ticket = stage.ask(body)
    stage.checker.heard(_EXPIRED, 10_000)
    stage.answer(ticket, reply)
    stage.checker.look(10_000, True)
    assert stage.broken == []


def test_who_waits_in_a_join_and_hears_that_it_is_out_is_put_out_alive() -> None:
    stage = Stage()
    ticket = stage.ask(_JOIN)
    stage.expire()
    stage.answer(ticket, JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
    assert stage.broken == [ALIVE_STAY]


@pytest.mark.parametrize("body", [_SYNC, _JOIN], ids=["sync", "join"])
def test_who_waits_and_hears_nothing_more_is_put_out_alive(body: JoinGroup | SyncGroup) -> None:
    stage = Stage()
    stage.ask(body)
    stage.expire()
    stage.checker.look(11_000, True)
    stage.checker.look(12_000, True)
    assert stage.broken == [ALIVE_STAY]


def test_waiting_members_that_lose_their_sessions_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """c2 joins again for c3, and waits for a session and more for c1, which processes for long."""
    monkeypatch.setattr(Member, "keeps_session_by_waiting", False)
    slow = replace(members(1)[0], processing_ms=2_000, max_poll_records=10, max_poll_interval_ms=40_000)
    _, second, third = members(3, max_poll_interval_ms=40_000)
    scenario = world(members=(slow, second, replace(third, start_ms=30_000)))
    assert any(each.what.endswith("is out while it waits") for each in play(scenario).run.violations)


def clock_that_leaps() -> Scenario:
    """The initial delay is over late, by a leap of 20 s; c2 has come, and extends it from then on."""
    both = members(2, max_poll_interval_ms=10_000)
    properties = {"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "5000"}
    second = replace(both[1], start_ms=1_000)
    return world(("2s", "skew coordinator by 20s"), members=(both[0], second), properties=properties)


def test_the_first_round_counts_its_waits_and_not_the_leaps_between_them() -> None:
    """As in Kafka's tryCompleteInitialRebalanceElseSchedule a wait begins when the one before has ended."""
    assert not play(clock_that_leaps()).broken


def test_a_first_round_that_does_not_end_is_caught_in_spite_of_a_leap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ClassicRounds, "join_deadline", lambda self, group: None)
    assert ROUNDS_END in play(clock_that_leaps()).broken


@pytest.mark.parametrize(("late_ms", "broken"), [(2_500, []), (2_501, [ROUNDS_END])])
def test_a_round_has_the_time_of_who_is_out_in_the_batch_that_began_it(
    late_ms: int, broken: list[str]
) -> None:
    """The sessions of two members end together: the first begins the round, with the second's timeout."""
    stage = Stage()
    stage.add("patient", rebalance_timeout_ms=40_000)
    stage.add("stays", rebalance_timeout_ms=5_000)
    stage.group.park_join(stage.group.members["stays"], 7)
    stage.group.pending_joins["given-out"] = None
    rounds = RoundsEnd(stage.scene)
    rounds.loaded(0)
    rounds.asked(stage.ask(_SYNC))
    stage.group.remove("m")
    stage.group.remove("patient")
    rounds.heard(_EXPIRED, 10_000)
    rounds.heard(RebalanceStarted(group_id="g", generation_id=1, why="session of m expired"), 10_000)
    rounds.heard(MemberRemoved(group_id="g", member_id="patient", why="session expired"), 10_000)
    rounds.look(10_000 + 40_000 + late_ms, True)
    assert stage.broken == broken


@pytest.mark.parametrize(("is_idle", "broken"), [(False, []), (True, [ROUNDS_END])])
def test_a_generation_may_be_formed_in_the_batch_that_upgrades_its_group(
    is_idle: bool, broken: list[str]
) -> None:
    """The word of it comes with the flush, after the next request; a consumer group forms none."""
    stage = Stage()
    rounds = RoundsEnd(stage.scene)
    rounds.heard(RebalanceStarted(group_id="g", generation_id=0, why="m joined"), 10_000)
    stage.hosted.is_idle = is_idle
    ticket = stage.ask(_COMES)
    ticket.of_consumer = True
    rounds.asked(ticket)
    formed = GenerationFormed(group_id="g", generation_id=1, protocol="range", leader="m", members=1)
    rounds.heard(formed, 13_000)
    assert stage.broken == broken


def test_a_node_that_stood_still_ends_a_round_and_upgrades_its_group_at_once() -> None:
    assert run_seed(10204, Swarm.MIGRATION).violations == ()


_WAITS = GroupState.PREPARING_REBALANCE
_BACK = JoinGroupResponse(error_code=E.REBALANCE_IN_PROGRESS, member_id="m")
_NOT_BACK = MemberRemoved(group_id="g", member_id="m", why="did not rejoin")


def first_round(*, of_first: bool = True, may_end: bool = False) -> tuple[Stage, RoundsEnd]:
    """A round that `m` waits in since 10,000; its rebalance timeout is 20 s, and the initial delay 3 s."""
    stage = Stage()
    rounds = RoundsEnd(stage.scene)
    if not of_first:
        rounds.loaded(0)
    rounds.heard(RebalanceStarted(group_id="g", generation_id=0, why="m joined"), 10_000)
    if may_end:
        rounds.heard(replace(_EXPIRED, member_id="n"), 10_000)
    return stage, rounds


def begin_to_wait(stage: Stage, rounds: RoundsEnd, member_id: str, at_ms: int) -> None:
    """This member joins, and waits for one that was given an id and has not come."""
    join = stage.ask(replace(_JOIN, member_id=member_id), 3)
    join.asked_ms = at_ms
    rounds.asked(join)
    stage.group.park_join(stage.group.members[member_id], join.request_id)
    stage.group.pending_joins["given-out"] = None  # or all have joined


@pytest.mark.parametrize(
    ("of_first", "may_end", "waited_ms", "broken"),
    [
        pytest.param(True, False, 3_000, [], id="the initial delay is over"),
        pytest.param(True, False, 2_999, [ALIVE_STAY], id="it is not"),
        pytest.param(True, True, 1, [], id="the round ends early"),
        pytest.param(False, False, 3_000, [ALIVE_STAY], id="a later round"),
        pytest.param(False, False, 20_000, [], id="a later round is over"),
    ],
)
def test_who_is_sent_back_in_the_first_round_has_to_be_there_at_its_end(
    of_first: bool, may_end: bool, waited_ms: int, broken: list[str]
) -> None:
    stage, rounds = first_round(of_first=of_first, may_end=may_end)
    rounds.answered(stage.ask(_JOIN), _BACK, 10_000)
    rounds.heard(_NOT_BACK, 10_000 + waited_ms)
    assert stage.broken == broken


@pytest.mark.parametrize(
    "reply",
    [None, replace(_BACK, error_code=E.NOT_COORDINATOR), replace(_BACK, member_id="n")],
    ids=["waits", "another answer", "another member"],
)
def test_who_was_not_sent_back_has_its_rebalance_timeout(reply: JoinGroupResponse | None) -> None:
    stage, rounds = first_round()
    ticket = stage.ask(_JOIN)
    if reply is not None:
        rounds.answered(ticket, reply, 10_000)
    rounds.heard(_NOT_BACK, 13_000)
    assert stage.broken == [ALIVE_STAY]


@pytest.mark.parametrize(
    ("newcomer", "waits", "out_ms", "broken"),
    [
        pytest.param(_COMES, True, 13_000, [], id="sent back"),
        pytest.param(_COMES, True, 12_999, [ALIVE_STAY], id="within the initial delay"),
        pytest.param(_COMES, False, 13_000, [ALIVE_STAY], id="nobody waits"),
        pytest.param(_COMES._replace(member_epoch=1), True, 13_000, [ALIVE_STAY], id="no newcomer"),
        pytest.param(_COMES._replace(group_id="h"), True, 13_000, [ALIVE_STAY], id="of another group"),
    ],
)
@pytest.mark.parametrize("member_id", ["m", ""], ids=["known", "named by the answer"])
def test_who_waits_may_be_out_before_it_hears_that_a_newcomer_sent_it_back(
    newcomer: ConsumerGroupHeartbeat, waits: bool, out_ms: int, broken: list[str], member_id: str
) -> None:
    stage, rounds = first_round()
    join = stage.ask(replace(_JOIN, member_id=member_id))
    rounds.asked(join)
    stage.group.members["m"].join_request = join.request_id if waits else None
    rounds.asked(stage.ask(newcomer, 2))
    rounds.heard(_NOT_BACK, out_ms)
    assert stage.broken == broken


def test_a_node_that_stood_still_ends_a_first_round_whose_members_a_newcomer_sent_back() -> None:
    assert run_seed(27422, Swarm.MIGRATION).violations == ()
    assert run_seed(407382, Swarm.CONSUMER).violations == ()  # its member's first request has no id


@pytest.mark.parametrize(
    ("newcomer", "waits", "look_ms", "broken"),
    [
        pytest.param(_COMES, True, 50_000, [], id="another rebalance timeout"),
        pytest.param(_COMES, True, 50_001, [ROUNDS_END], id="and no longer"),
        pytest.param(_COMES, False, 30_001, [ROUNDS_END], id="nobody waited"),
        pytest.param(_COMES._replace(member_epoch=1), True, 30_001, [ROUNDS_END], id="no newcomer"),
    ],
)
def test_a_wait_may_end_before_who_was_sent_back_hears_of_it(
    newcomer: ConsumerGroupHeartbeat, waits: bool, look_ms: int, broken: list[str]
) -> None:
    """A newcomer sends all back in a later round, whose wait ends at 30,000 and goes on before the answer."""
    stage, rounds = first_round(of_first=False)
    join = stage.ask(_JOIN)
    rounds.asked(join)
    deadline_ms = 30_000
    stage.hosted.coordinator.deadline_ms = lambda key: deadline_ms
    if waits:
        stage.group.park_join(stage.group.members["m"], join.request_id)
    asked = stage.ask(newcomer, 2)
    rounds.asked(asked)
    if waits:
        stage.group.unpark_join(stage.group.members["m"])
    deadline_ms = 50_000
    rounds.answered(join, _BACK, 30_002)
    begin_to_wait(stage, rounds, "m", 30_100)
    rounds.look(look_ms + SLACK_MS, True)
    assert stage.broken == broken


def test_a_round_whose_wait_ends_as_all_are_sent_back() -> None:
    assert run_seed(709397, Swarm.MIGRATION).violations == ()


@pytest.mark.parametrize(
    ("state", "is_static", "others_wait", "look_ms", "broken"),
    [
        pytest.param(_WAITS, True, False, 60_000, [], id="a whole timeout from then on"),
        pytest.param(_WAITS, True, False, 60_001, [ROUNDS_END], id="and no longer"),
        pytest.param(_WAITS, False, False, 50_000, [ROUNDS_END], id="kept by nobody"),
        pytest.param(_WAITS, True, True, 50_000, [ROUNDS_END], id="others wait"),
        pytest.param(GroupState.COMPLETING_REBALANCE, True, False, 50_000, [ROUNDS_END], id="the other half"),
    ],
)
def test_a_wait_with_nobody_there_may_have_ended_just_before_the_first_comes(
    state: GroupState, is_static: bool, others_wait: bool, look_ms: int, broken: list[str]
) -> None:
    """A node that stood still ends it late, and begins another one, if static members keep the group."""
    stage, rounds = first_round(of_first=False)
    stage.group.state = state
    if is_static:
        stage.group.static_members["one"] = "m"
    stage.add("n", rebalance_timeout_ms=20_000)
    if others_wait:
        stage.group.park_join(stage.group.members["m"], 1)
    begin_to_wait(stage, rounds, "n", 40_000)
    rounds.look(look_ms + SLACK_MS, True)
    assert stage.broken == broken


@pytest.mark.parametrize("swarm", [Swarm.CLASSIC, Swarm.MIGRATION])
def test_a_node_that_stands_still_while_nobody_waits(swarm: Swarm) -> None:
    assert run_seed(924007, swarm).violations == ()


def test_who_was_sent_back_and_waits_again_is_not_to_be_put_out() -> None:
    stage, rounds = first_round()
    ticket = stage.ask(_JOIN)
    rounds.answered(ticket, _BACK, 10_000)
    rounds.asked(ticket)
    rounds.heard(_NOT_BACK, 13_000)
    assert stage.broken == [ALIVE_STAY]


@pytest.mark.parametrize(
    ("formed_ms", "out_ms", "broken"),
    [
        pytest.param(20_000, 30_000, [], id="its session is over"),
        pytest.param(20_000, 29_999, [ALIVE_STAY], id="it is not"),
        pytest.param(None, 309_999, [ALIVE_STAY], id="no generation was formed"),
        pytest.param(None, 310_000, [], id="a newcomer's time is over"),
    ],
)
def test_a_newcomer_that_is_in_a_generation_has_a_session_from_then_on(
    formed_ms: int | None, out_ms: int, broken: list[str]
) -> None:
    """Also a static one that does not wait for it."""
    stage = Stage()
    stage.checker.heard(MemberAdded(group_id="g", member_id="m", group_instance_id="i"), 10_000)
    if formed_ms is not None:
        formed = GenerationFormed(group_id="g", generation_id=1, protocol="range", leader="n", members=2)
        stage.checker.heard(formed, formed_ms)
    stage.checker.heard(_EXPIRED, out_ms)
    assert stage.broken == broken


@pytest.mark.parametrize(
    ("newcomer", "reply", "out_ms", "broken"),
    [
        pytest.param(_COMES, E.REBALANCE_IN_PROGRESS, 15_000, [], id="sent back: the old session"),
        pytest.param(_COMES, E.REBALANCE_IN_PROGRESS, 14_999, [ALIVE_STAY], id="it is not over"),
        pytest.param(_COMES, E.NONE, 19_999, [ALIVE_STAY], id="the leader has synced"),
        pytest.param(
            _COMES._replace(member_epoch=1), E.REBALANCE_IN_PROGRESS, 19_999, [ALIVE_STAY], id="no newcomer"
        ),
        pytest.param(_COMES._replace(group_id="h"), E.NONE, 19_999, [ALIVE_STAY], id="another group's"),
        pytest.param(None, E.REBALANCE_IN_PROGRESS, 19_999, [ALIVE_STAY], id="a rebalance began"),
        pytest.param(None, E.REBALANCE_IN_PROGRESS, 20_000, [], id="its session is over"),
    ],
)
def test_who_waits_to_sync_has_no_new_session_of_an_upgrade_that_fails(
    newcomer: ConsumerGroupHeartbeat | None, reply: ErrorCode, out_ms: int, broken: list[str]
) -> None:
    """`m` is in a generation since 5,000 and waits to sync; it is answered at 10,000."""
    stage = Stage()
    formed = GenerationFormed(group_id="g", generation_id=1, protocol="range", leader="n", members=2)
    stage.checker.heard(MemberAdded(group_id="g", member_id="m", group_instance_id=None), 4_000)
    stage.checker.heard(formed, 5_000)
    stage.group.state = GroupState.COMPLETING_REBALANCE
    ticket = stage.ask(_SYNC)
    if newcomer is not None:
        stage.ask(newcomer, request_id=2)
    stage.answer(ticket, SyncGroupResponse(error_code=reply))
    stage.checker.heard(_EXPIRED, out_ms)
    assert stage.broken == broken


@pytest.mark.parametrize("seed", [940199, 940541])
def test_a_session_that_ends_after_an_upgrade_was_refused_for_the_size_is_no_fault(seed: int) -> None:
    """Its member hears REBALANCE_IN_PROGRESS to its SyncGroup, and does not come again."""
    assert run_seed(seed, Swarm.MIGRATION).violations == ()


@pytest.mark.parametrize(("now_ms", "broken"), [(22_500, []), (22_501, [SESSIONS_END])])
def test_a_static_member_that_is_sent_back_may_have_the_session_of_the_one_before(
    now_ms: int, broken: list[str]
) -> None:
    """Kafka's is the seat's: 10 s, though the newcomer asks for 6 s. It is sent back at 10,000 (116014)."""
    stage = Stage()
    stage.group.static_members["i"] = "m"
    ticket = stage.ask(replace(_JOIN, member_id="", group_instance_id="i", session_timeout_ms=6_000))
    stage.group.remove("m")
    stage.add("n", rebalance_timeout_ms=20_000)
    stage.group.members["n"].session_timeout_ms = 6_000
    stage.answer(ticket, JoinGroupResponse(error_code=E.REBALANCE_IN_PROGRESS, member_id="n"))
    stage.checker.look(now_ms, True)
    assert stage.broken == broken
