"""The old consumer's rules, run step by step against a ZooKeeper without any delay."""

import json

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.sim.scenario.interest import Interest
from kgroup.sim.zookeeper.consumer import (
    Script,
    Sleep,
    WaitForWatch,
    ZookeeperConsumer,
    topic_data,
    topic_path,
)
from kgroup.sim.zookeeper.ensemble import Answer, CreateEphemeral, Delete, GetData, SetData, Zookeeper


class Desk:
    """A consumer with its session, stopped at whatever its script wants next."""

    def __init__(self, zookeeper: Zookeeper, name: str, retries_max: int = 4) -> None:
        self.zookeeper = zookeeper
        self.session = zookeeper.open_session()
        self.reads: dict[tuple[str, int], int] | None = None
        self.positions: dict[tuple[str, int], int] = {}
        self.operations: list[object] = []
        self.attempts: list[int] = []
        self.outcomes: list[bool] = []
        self.consumer = ZookeeperConsumer(
            consumer_id=name,
            group="g",
            interest=Interest(topics=("t",)),
            assignor=CLIENT_ASSIGNORS["range"],
            retries_max=retries_max,
            backoff_ms=2_000,
            auto_commit=True,
            fetchers=self,
            on_attempt=self.attempts.append,
            on_outcome=self.outcomes.append,
        )
        self.script: Script = self.consumer.live()
        self.wants = next(self.script)

    def start(self, positions):
        self.reads = dict(positions)
        self.positions = dict(positions)

    def stop(self):
        self.reads = None
        positions, self.positions = self.positions, {}
        return positions

    def step(self):
        """Give it the answer it waits for."""
        self.operations.append(self.wants)
        answer = Answer()
        if not isinstance(self.wants, Sleep | WaitForWatch):
            answer = self.zookeeper.answer(self.session, self.wants)
        self.wants = self.script.send(answer)

    def until(self, *kinds):
        """Go on until it wants something of these kinds."""
        while not isinstance(self.wants, kinds):
            self.step()

    def rebalance(self):
        """Go on from a wait to the next one."""
        self.step()
        self.until(WaitForWatch)


def cluster(partitions: int = 4) -> Zookeeper:
    zookeeper = Zookeeper(lambda session, path: None)
    zookeeper.write("/brokers/ids/1", "node-1:9092")
    zookeeper.write(topic_path("t"), topic_data(partitions, lambda partition: [1]))
    return zookeeper


def owners(zookeeper: Zookeeper) -> dict[str, str]:
    session = zookeeper.open_session()
    return {str(n): zookeeper.answer(session, GetData(f"/consumers/g/owners/t/{n}")).data for n in range(4)}


def test_a_lone_consumer_registers_owns_everything_and_waits_for_a_watch():
    zookeeper = cluster()
    desk = Desk(zookeeper, "g_host-1-aa")
    assert desk.wants == CreateEphemeral(
        "/consumers/g/ids/g_host-1-aa", json.dumps({"version": 1, "subscription": {"t": 1}})
    )
    desk.until(WaitForWatch)
    assert owners(zookeeper) == dict.fromkeys("0123", "g_host-1-aa")
    assert desk.reads == {("t", n): 0 for n in range(4)}
    assert (desk.attempts, desk.outcomes) == ([0], [True])


def test_two_consumers_share_by_the_order_of_their_ids_once_both_have_rebalanced():
    zookeeper = cluster()
    first, second = Desk(zookeeper, "g_b"), Desk(zookeeper, "g_a")
    first.until(WaitForWatch)
    second.until(Sleep)  # g_b owns everything still: a conflict
    assert (second.attempts, second.reads) == ([0], None)
    first.rebalance()
    second.step()
    second.until(WaitForWatch)
    assert owners(zookeeper) == {"0": "g_a", "1": "g_a", "2": "g_b", "3": "g_b"}
    assert second.attempts == [0, 1]


def test_nothing_is_read_from_the_moment_partitions_are_released_until_they_are_claimed():
    zookeeper = cluster()
    desk = Desk(zookeeper, "g_a")
    desk.until(WaitForWatch)
    desk.step()
    desk.until(Delete)
    assert desk.reads is None
    desk.until(CreateEphemeral)
    assert desk.reads is None
    desk.until(WaitForWatch)
    assert desk.reads is not None


def test_offsets_are_committed_before_partitions_are_released_and_read_by_who_gets_them():
    zookeeper = cluster()
    desk = Desk(zookeeper, "g_a")
    desk.until(WaitForWatch)
    desk.positions = {("t", n): 10 + n for n in range(4)}
    desk.rebalance()
    kinds = [type(operation) for operation in desk.operations]
    assert kinds.index(SetData) < kinds.index(Delete)
    assert desk.reads == {("t", n): 10 + n for n in range(4)}


def test_a_claim_that_fails_gives_back_what_it_had_claimed_and_tries_again_after_the_backoff():
    zookeeper = cluster()
    other = zookeeper.open_session()
    zookeeper.answer(other, CreateEphemeral("/consumers/g/owners/t/2", "somebody"))
    desk = Desk(zookeeper, "g_a")
    desk.until(Sleep)
    assert desk.wants == Sleep(2_000)
    assert owners(zookeeper) == {"0": "", "1": "", "2": "somebody", "3": ""}
    zookeeper.expire(other)
    desk.step()
    desk.until(WaitForWatch)
    assert owners(zookeeper) == dict.fromkeys("0123", "g_a")


def test_after_the_last_attempt_it_has_nothing_until_a_watch_fires():
    zookeeper = cluster()
    other = zookeeper.open_session()
    zookeeper.answer(other, CreateEphemeral("/consumers/g/owners/t/2", "somebody"))
    desk = Desk(zookeeper, "g_a", retries_max=4)
    desk.until(WaitForWatch)
    assert (desk.attempts, desk.outcomes, desk.reads) == ([0, 1, 2, 3], [False], None)
    zookeeper.expire(other)
    desk.rebalance()
    assert (desk.outcomes, set(owners(zookeeper).values())) == ([False, True], {"g_a"})


def test_a_consumer_that_goes_while_its_subscription_is_read_fails_the_attempt():
    zookeeper = cluster()
    other = zookeeper.open_session()
    zookeeper.answer(other, CreateEphemeral("/consumers/g/ids/g_b", '{"subscription": {"t": 1}}'))
    desk = Desk(zookeeper, "g_a")
    desk.until(GetData)  # the watch on its topic
    desk.step()
    desk.step()
    desk.until(GetData)  # its own subscription
    zookeeper.expire(other)
    desk.until(Sleep)
    assert desk.attempts == [0]


def test_without_a_broker_it_waits_with_nothing():
    zookeeper = cluster()
    zookeeper.delete("/brokers/ids/1")
    desk = Desk(zookeeper, "g_a")
    desk.until(WaitForWatch)
    assert (desk.reads, set(owners(zookeeper).values())) == (None, {""})


def test_after_an_expired_session_it_reads_on_until_it_rebalances_though_others_own_what_it_reads():
    zookeeper = cluster()
    desk = Desk(zookeeper, "g_a")
    desk.until(WaitForWatch)
    zookeeper.expire(desk.session)
    other = Desk(zookeeper, "g_b")
    other.until(WaitForWatch)
    assert desk.reads == other.reads  # two owners: split brain
    desk.session = zookeeper.open_session()
    desk.script = desk.consumer.live()
    desk.wants = next(desk.script)
    desk.until(SetData)
    assert desk.reads is None
    # It does not release what is not its own any more.
    desk.until(Sleep)
    assert owners(zookeeper) == dict.fromkeys("0123", "g_b")
