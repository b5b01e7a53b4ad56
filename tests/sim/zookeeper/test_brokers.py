import json
from random import Random

from kgroup.sim.scenario.scenario import FaultKind
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.zookeeper.brokers import Brokers
from kgroup.sim.zookeeper.ensemble import GetChildren, GetData, Zookeeper
from tests.sim.worlds import world

K = FaultKind


class Cluster:
    """Three brokers, and a look at what ZooKeeper says of them."""

    def __init__(self) -> None:
        self.scenario = world()
        self.schedule = Schedule(self.scenario.epoch_ms)
        self.zookeeper = Zookeeper(lambda session, path: None)
        self.brokers = Brokers(self.scenario, self.schedule, Random(1), self.zookeeper, lambda event: None)
        self.session = self.zookeeper.open_session()

    def advance(self, seconds: float) -> None:
        self.schedule.run(self.schedule.now_ms + int(seconds * 1000))

    def ids(self) -> tuple[str, ...]:
        return self.zookeeper.answer(self.session, GetChildren("/brokers/ids")).children

    def data(self, path: str) -> dict[str, object]:
        read = json.loads(self.zookeeper.answer(self.session, GetData(path)).data)
        assert isinstance(read, dict)
        return read

    def leaders(self) -> list[object]:
        states = [self.data(f"/brokers/topics/orders/partitions/{n}/state") for n in range(4)]
        return [state["leader"] for state in states]


def test_brokers_topics_and_leaders_stand_where_kafka_0_8_has_them():
    cluster = Cluster()
    assert cluster.ids() == ("1", "2", "3")
    # ZkUtils.registerBrokerInZk of 0.8.1.
    assert cluster.data("/brokers/ids/2") == {
        "version": 1,
        "host": "node-2",
        "port": 9092,
        "jmx_port": -1,
        "timestamp": str(cluster.scenario.epoch_ms),
    }
    assert cluster.data("/brokers/topics/orders")["partitions"] == {
        "0": [1, 2, 3],
        "1": [2, 3, 1],
        "2": [3, 1, 2],
        "3": [1, 2, 3],
    }
    assert cluster.leaders() == [1, 2, 3, 1]


def test_a_dead_broker_is_gone_after_its_session_and_others_lead():
    cluster = Cluster()
    undo = cluster.brokers.strike(K.KILL, "node-2")
    assert (cluster.ids(), cluster.brokers.leader(1)) == (("1", "2", "3"), None)
    cluster.advance(6.1)
    assert (cluster.ids(), cluster.leaders(), cluster.brokers.leader(1)) == (
        ("1", "3"),
        [1, 3, 3, 1],
        "node-3",
    )
    assert undo is not None
    undo()
    assert (cluster.ids(), cluster.leaders()) == (("1", "2", "3"), [1, 2, 3, 1])


def test_a_broker_that_shuts_down_is_gone_at_once():
    cluster = Cluster()
    cluster.brokers.strike(K.RESTART, "node-2")
    assert (cluster.ids(), cluster.leaders()) == (("1", "3"), [1, 3, 3, 1])


def test_a_broker_that_is_cut_off_or_stands_still_for_less_than_its_session_stays():
    cluster = Cluster()
    cluster.brokers.cut("node-2", True)
    undo = cluster.brokers.strike(K.PAUSE, "node-3")
    assert cluster.brokers.leader(2) is None
    cluster.advance(3.5)
    cluster.brokers.cut("node-2", False)
    assert undo is not None
    undo()
    cluster.advance(20)
    assert (cluster.ids(), cluster.brokers.leader(2)) == (("1", "2", "3"), "node-3")


def test_a_broker_that_is_cut_off_for_longer_is_gone_until_it_is_back():
    cluster = Cluster()
    cluster.brokers.cut("node-2", True)
    cluster.advance(10)
    assert cluster.ids() == ("1", "3")
    cluster.brokers.cut("node-2", False)
    assert cluster.ids() == ("1", "2", "3")


def test_records_come_in_evenly_and_go_on_over_more_partitions_when_the_topic_grows():
    cluster = Cluster()
    cluster.advance(10)  # 4 records a second on 4 partitions
    assert [cluster.brokers.high_watermark(("orders", n)) for n in range(4)] == [10] * 4
    cluster.brokers.grow("orders", 8)
    assert [cluster.brokers.high_watermark(("orders", n)) for n in range(8)] == [10] * 4 + [0] * 4
    cluster.advance(10)
    assert [cluster.brokers.high_watermark(("orders", n)) for n in range(8)] == [15] * 4 + [5] * 4
