"""What the live screen is fed: a cluster that goes away and comes back, and pages about groups."""

import gc
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kgroup.testing
from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.repeated import RepeatedReports
from kgroup.cli.top.feed import Feed
from kgroup.errors import SourceError
from kgroup.lag.status.rule_set import RuleSet
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.top.model import Lost, PageKind, PageRequest, Refreshed, TopModel
from kgroup.report.top.screen import render

OPTIONS = LagOptions(rules=RuleSet.KGROUP, findings=True)
PATIENCE_S = 30


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(nodes=2, topics={"orders": 1}) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for _ in range(100):
            producer.produce("orders", b"v", partition=0)
        producer.flush(PATIENCE_S)
        commit(running, 10)
        yield running


def commit(kafka: kgroup.testing.Cluster, offset: int) -> None:
    group = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
    group.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    group.close()


class Clock:
    """Ten seconds pass from look to look."""

    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0

    def __call__(self) -> float:
        self.now_s += 10
        return self.now_s


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # kafka-python's lost sockets
def test_a_cluster_that_is_lost_is_said_and_found_again(kafka: kgroup.testing.Cluster) -> None:
    address = kafka.bootstrap
    reports = RepeatedReports(OPTIONS, (), ConnectionOptions(bootstrap_servers=address), Clock())
    feed = Feed(reports)
    model = TopModel(source=address, every_s=10, width=160)
    model = model.after(feed.refresh())
    commit(kafka, 70)
    model = model.after(feed.refresh())
    (line,) = model.shown
    assert (line.group, line.lag, line.drain_ms) == ("g", 30, 5000)  # 60 read in 10 s
    assert model.trends["g"] == (90, 30)

    for node in (1, 2):
        kafka.kill_node(node)
    lost = feed.refresh()
    assert isinstance(lost, Lost)
    model = model.after(lost)
    texts = [each.text for each in render(model)]
    assert texts[2].startswith("LOST; shown is ") and "is it still?" in texts[2]
    assert [line.lag for line in model.shown] == [30]
    page = feed.page(PageRequest(PageKind.EXPLAIN, "g"), 160).lines
    assert page[0].startswith("Group g (") and "no broker answers" in page[-1]
    assert not any(line.startswith("Reset now") for line in page)

    for node in (1, 2):
        kafka.start_node(node)
    back = feed.refresh()
    assert isinstance(back, Refreshed)
    model = model.after(back)
    assert (model.lost, model.trends["g"]) == (None, (90, 30, 30))
    reports.close()
    gc.collect()


def test_pages_of_a_cluster(kafka: kgroup.testing.Cluster) -> None:
    commit(kafka, 70)
    reports = RepeatedReports(OPTIONS, (), ConnectionOptions(bootstrap_servers=kafka.bootstrap), Clock())
    feed = Feed(reports)
    feed.refresh()
    pages = {kind: feed.page(PageRequest(kind, "g"), 100).lines for kind in PageKind}
    assert pages[PageKind.EXPLAIN][0].startswith("Group g (")
    offsets = [line.split()[2:4] for line in pages[PageKind.COMMITS][1:]]
    assert offsets == [["10", "-"], ["70", "60"]]
    assert pages[PageKind.REPLAY][0] == "group g: no generations: 2 commits without membership"
    gone = feed.page(PageRequest(PageKind.EXPLAIN, "nobody"), 100).lines
    assert gone == ("the group is not in the newest report",)
    (why,) = feed.page(PageRequest(PageKind.REPLAY, "nobody"), 100).lines
    assert why.startswith("no group here matches nobody")
    reports.close()


def test_a_first_look_that_fails_is_raised() -> None:
    connection = ConnectionOptions(bootstrap_servers="127.0.0.1:1")
    with pytest.raises(SourceError, match="no broker answers"):
        Feed(RepeatedReports(OPTIONS, (), connection, Clock())).refresh()
