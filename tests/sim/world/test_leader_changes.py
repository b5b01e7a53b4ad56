"""A new leader that has not all of the log: what goes, what never goes, and what readers are told."""

from dataclasses import replace

import pytest

from kgroup.broker.cluster import Cluster
from kgroup.broker.partition import Partition
from kgroup.group.member.settings import GroupProtocol, OffsetReset
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import ListOffsetsResponse
from kgroup.sim.scenario.protocols import with_consumer_protocol
from kgroup.sim.scenario.scenario import Scenario, SimTopic
from kgroup.sim.watch.trace import ResponseReceived
from kgroup.sim.world.replicas import Replicas
from kgroup.sim.world.replication import Replication
from tests.sim.worlds import Seen, members, play, world

ORDERS = SimTopic(name="orders", partitions=4, records_per_s=40)
LAG = ("10s", "lag-replicas orders by 5s for 40s")
LEADERS_GO = (("20s250ms", "kill node-1 for 12s"), ("35s", "kill node-2 for 12s"))


def lagging(*faults: tuple[str, str], **given: object) -> Scenario:
    return world(LAG, *faults, topics=(ORDERS,), **given)


def newcomers(**settings: object) -> Scenario:
    """Groups of one that begin at the end of the log, one each second around the first change of leaders."""
    late = tuple(
        replace(each, name=f"n{number}", group=f"g{number}", start_ms=26_000 + number * 400)
        for number, each in enumerate(members(20, auto_offset_reset=OffsetReset.LATEST, **settings))
    )
    return lagging(*LEADERS_GO, members=(*members(2), *late))


@pytest.fixture
def cuts(monkeypatch) -> list[int]:
    """How many records each new leader has not got."""
    seen: list[int] = []
    cut = Replication._cut

    def noted(replication, partition, records):
        seen.append(records)
        cut(replication, partition, records)

    monkeypatch.setattr(Replication, "_cut", noted)
    return seen


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_what_a_new_leader_has_not_got_goes_and_nobody_has_read_it(cuts, protocol) -> None:
    scenario = lagging(*LEADERS_GO)
    if protocol is GroupProtocol.CONSUMER:
        scenario = with_consumer_protocol(scenario)
    seen = play(scenario)
    assert cuts, "logs were cut"
    assert not seen.broken


def test_what_goes_is_sent_again_as_it_was_not_acknowledged() -> None:
    calm, changing = play(lagging()), play(lagging(*LEADERS_GO))
    assert not changing.broken
    assert calm.run.tally.processed == changing.run.tally.processed


def test_a_leader_that_is_not_in_sync_loses_what_could_be_read_and_is_noticed(monkeypatch, cuts) -> None:
    """The rule broken: any node may lead."""
    monkeypatch.setattr(Replicas, "may_lead", lambda replicas, node: True)
    faults = (("20s", "kill node-3 for 10s"), ("30s100ms", "kill node-1"), ("30s100ms", "kill node-2"))
    seen = play(lagging(*faults))
    assert "replicated" in seen.broken


def test_the_end_of_the_log_never_goes_back_for_who_asks_a_new_leader() -> None:
    seen = play(newcomers())
    assert not seen.broken
    assert told(seen) >= {ErrorCode.NONE, ErrorCode.OFFSET_NOT_AVAILABLE}


def test_a_leader_that_tells_an_end_before_it_knows_it_is_noticed(monkeypatch) -> None:
    """The rule of KIP-207 broken."""
    monkeypatch.setattr(Partition, "is_end_known", property(lambda partition: True))
    seen = play(newcomers())
    assert told(seen) == {ErrorCode.NONE}
    assert "replicated" in seen.broken


def told(seen: Seen) -> set[int]:
    return {
        each.error_code
        for event in seen.of(ResponseReceived)
        if isinstance(event.body, ListOffsetsResponse)
        for each in event.body.offsets
    } & {ErrorCode.NONE, ErrorCode.OFFSET_NOT_AVAILABLE}


def test_nobody_leads_while_all_that_are_in_sync_are_gone(monkeypatch) -> None:
    elected: list[int] = []
    lead = Cluster._lead

    def noted(cluster, partition, node_id, now_ms):
        if partition.topic == "orders":
            elected.append(node_id)
        lead(cluster, partition, node_id, now_ms)

    monkeypatch.setattr(Cluster, "_lead", noted)
    faults = (
        ("20s", "kill node-3 for 10s"),
        ("30s100ms", "kill node-1 for 9s500ms"),
        ("30s100ms", "kill node-2 for 9s500ms"),
    )
    seen = play(lagging(*faults))
    assert not seen.broken
    assert -1 in elected


# ---- the copies ---------------------------------------------------------------------------------


def log_of(records: int) -> MemoryLog:
    log = MemoryLog()
    more(log, records)
    return log


def more(log: MemoryLog, records: int) -> None:
    for _ in range(records):
        log.append(encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")]), 0)


@pytest.fixture
def cut() -> list[int]:
    return []


@pytest.fixture
def copies(cut) -> Replicas:
    """Node 1 leads at 10; 2 has 8 and has heard of 5 being everywhere, 3 has 6."""
    log = log_of(5)
    replicas = Replicas(log, (1, 2, 3), 1, cut.append)
    more(log, 5)
    replicas.came(2, 8)
    replicas.came(3, 6)
    return replicas


def test_the_high_watermark_is_what_all_in_sync_have(copies) -> None:
    assert copies.high_watermark == 6
    copies.left(3)
    assert copies.high_watermark == 8
    copies.came(3, 7)
    assert not copies.may_lead(3), "7 is below what could be read by then"
    copies.came(3, 8)
    assert copies.may_lead(3)


def test_the_log_of_a_new_leader_is_what_it_has_and_its_high_watermark_what_it_had_heard(copies, cut) -> None:
    assert copies.lead(2) == 5
    assert cut == [2]
    assert copies.ends == {1: 8, 2: 8, 3: 6}
    copies.came(3, 8)
    assert copies.high_watermark == 5, "node 1 is in sync, too, and has not fetched from the new leader"
    copies.left(1)
    assert (copies.high_watermark, copies.read_to) == (8, 8)


def test_the_slowest_leads_and_all_cut_their_logs_to_its(copies, cut) -> None:
    assert copies.lead(3) == 5
    assert cut == [4]
    assert set(copies.ends.values()) == {6}
    assert copies.read_to == 6


def test_the_last_in_sync_stays_so(copies) -> None:
    for node in (1, 2, 3):
        copies.left(node)
    assert copies.in_sync == {3}


def test_followers_lag_in_even_steps_behind_whoever_leads(copies) -> None:
    assert [copies.lag_ms(node, 6_000) for node in (2, 3)] == [3_000, 6_000]
    copies.lead(2)
    assert [copies.lag_ms(node, 6_000) for node in (1, 3)] == [3_000, 6_000]
