"""What holds for a coordinator whatever is asked of it, in any order."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kgroup.group.coordinator import GroupCoordinator
from kgroup.group.requests import Heartbeat, OffsetCommit, refusal
from kgroup.group.settings import GroupSettings
from kgroup.group.states import TRANSITIONS, GroupState
from kgroup.protocol.error_codes import ErrorCode
from tests.group.script import GROUP, ScriptWorld

NAMES = st.sampled_from(["m1", "m2", "m3"])
STATIC = st.sampled_from(["i1", "i2"])
OFFSETS = st.integers(0, 9)


class CoordinatorMachine(RuleBasedStateMachine):
    """Members of all kinds come and go; a coordinator built from the log knows what the live one logged."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1000, max_size=3))
        self.generation = 0

    def run(self, command: str) -> None:
        self.world.run(command)

    @rule(name=NAMES, topics=st.sampled_from(["orders", "orders,other"]), two_step=st.booleans())
    def join(self, name: str, topics: str, two_step: bool) -> None:
        self.run(f"join {name} topics={topics} rebalance=4000 session=6000{' two-step' if two_step else ''}")

    @rule(instance=STATIC, version=st.sampled_from(["", " v9"]), forgets_its_id=st.booleans())
    def join_static(self, instance: str, version: str, forgets_its_id: bool) -> None:
        memory = " id=" if forgets_its_id else ""
        self.run(f"join s{instance} instance={instance} rebalance=4000 session=6000{version}{memory}")

    @rule(name=NAMES, protocols=st.sampled_from(["roundrobin", "range,roundrobin"]))
    def join_with_other_protocols(self, name: str, protocols: str) -> None:
        self.run(f"join {name} protocols={protocols} rebalance=4000 session=6000")

    @rule(name=NAMES | STATIC.map("s{}".format))
    def sync(self, name: str) -> None:
        shares = ",".join(f"{each}:{each}s" for each in self.world.ids)
        self.run(f"sync {name} generation={self.live_generation()} assign={shares}")

    @rule(name=NAMES)
    def heartbeat(self, name: str) -> None:
        self.run(f"heartbeat {name} generation={self.live_generation()}")

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        self.run(f"leave {name}")

    @rule(instance=STATIC)
    def remove_static(self, instance: str) -> None:
        self.run(f"leave - instance={instance}")

    @rule(name=NAMES, offset=OFFSETS)
    def commit(self, name: str, offset: int) -> None:
        self.run(f"commit {name} generation={self.live_generation()} orders/0={offset} other/1={offset}")

    @rule(offset=OFFSETS)
    def commit_from_outside(self, offset: int) -> None:
        self.run(f"commit - orders/0={offset}")

    @rule(producer=st.integers(1, 2), offset=OFFSETS)
    def commit_in_transaction(self, producer: int, offset: int) -> None:
        self.run(f"txn-commit - producer={producer} orders/0={offset}")

    @rule(producer=st.integers(1, 2), outcome=st.sampled_from(["commit", "abort"]))
    def end_transaction(self, producer: int, outcome: str) -> None:
        self.run(f"end-txn - producer={producer} {outcome}")

    @rule(duration_ms=st.sampled_from([500, 1500, 7000]))
    def time_passes(self, duration_ms: int) -> None:
        self.run(f"advance {duration_ms}")

    @rule()
    def delete(self) -> None:
        self.run("delete-offsets - orders")
        self.run("delete-group")

    @rule()
    def reload(self) -> None:
        self.run("reload")
        self.generation = 0

    def live_generation(self) -> int:
        for record in reversed(self.world.log):
            value = getattr(record.entry, "value", None)
            if hasattr(value, "generation"):
                logged = value.generation
                break
        else:
            logged = 0
        # Between a join round and its sync the live generation is one ahead of the log's.
        state = self.world.coordinator.describe(GROUP).group_state
        return logged + (state == GroupState.COMPLETING_REBALANCE)

    @invariant()
    def the_log_says_what_the_live_one_logged(self) -> None:
        live = self.world.coordinator
        rebuilt = GroupCoordinator(0, self.world.settings, lambda: "unused")
        for record in self.world.log:
            rebuilt.apply(record)
        for stable in (False, True):
            assert rebuilt.fetch_offsets(GROUP, None, stable) == live.fetch_offsets(GROUP, None, stable)
        group = live.describe(GROUP)
        if group.group_state in (GroupState.STABLE, GroupState.EMPTY, GroupState.DEAD):
            assert rebuilt.describe(GROUP) == group

    def teardown(self) -> None:
        """Nobody waits for ever, but those whose request a newer one of the same member has replaced."""
        self.run("advance 60000")
        waiting = [body.member_id for _, body in self.world.asked.values()]  # type: ignore[union-attr]
        members = {each.member_id for each in self.world.coordinator.describe(GROUP).members}
        assert not members & set(waiting)


CoordinatorMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCoordinator = CoordinatorMachine.TestCase


def test_every_state_can_be_left_but_dead() -> None:
    assert set(TRANSITIONS) == set(GroupState)
    assert {state for state, targets in TRANSITIONS.items() if targets == {state}} == {GroupState.DEAD}


def test_a_refused_heartbeat_and_commit_carry_the_error_where_clients_look() -> None:
    heartbeat = Heartbeat(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    assert refusal(heartbeat, ErrorCode.NOT_COORDINATOR).error_code is ErrorCode.NOT_COORDINATOR  # type: ignore[union-attr]
    world = ScriptWorld()
    commit = world._body("commit", "-", [], {"orders/0": "5"})
    assert isinstance(commit, OffsetCommit)
    refused = refusal(commit, ErrorCode.NOT_COORDINATOR)
    assert [part.error_code for topic in refused.topics for part in topic.partitions] == [  # type: ignore[union-attr]
        ErrorCode.NOT_COORDINATOR
    ]
