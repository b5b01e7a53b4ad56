"""The log end and the high watermark apart, appends that fail, and readers that begin at the end."""

from dataclasses import replace

import pytest

from kgroup.broker.partition import Partition
from kgroup.broker.storage import FolderStorage
from kgroup.errors import InputError
from kgroup.group.member.settings import GroupProtocol, OffsetReset
from kgroup.protocol.requests.client import Fetch, FetchResponse
from kgroup.sim.scenario.protocols import with_consumer_protocol
from kgroup.sim.scenario.scenario import CommitMode, Scenario, SimTopic
from kgroup.sim.watch.trace import RecordsProcessed, RequestSent, ResponseReceived
from kgroup.sim.world.arrivals import Producers
from tests.sim.worlds import Seen, members, play, world

ORDERS = SimTopic(name="orders", partitions=4, records_per_s=8)
LAG = ("20s", "lag-replicas orders by 6s for 24s")


def lagging(*faults: tuple[str, str], **given: object) -> Scenario:
    return world(*faults, topics=(ORDERS,), **given)


def processed(seen: Seen, *, before_s: float = 1_000) -> int:
    return sum(
        event.last + 1 - event.first for event in seen.of(RecordsProcessed) if seen.s(event) < before_s
    )


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_what_followers_do_not_have_is_read_by_nobody_until_they_do(protocol) -> None:
    scenario = lagging(LAG)
    if protocol is GroupProtocol.CONSUMER:
        scenario = with_consumer_protocol(scenario)
    seen = play(scenario)
    assert not seen.broken
    # 8 records a second: what came by 20 s, then nothing for 6 s, then each record 6 s late.
    by_20_s = processed(seen, before_s=20.5)
    assert processed(seen, before_s=25.9) - by_20_s <= 8
    assert 20.5 * 8 < processed(seen, before_s=40) <= (40 - 6) * 8 + 8
    assert processed(seen, before_s=46) >= 44 * 8, "and at once when they have caught up"


def test_a_fetch_names_the_high_watermark_and_waits_below_the_log_end() -> None:
    seen = play(lagging(LAG))
    marks = [
        (seen.s(event), each.high_watermark)
        for event in seen.of(ResponseReceived)
        if isinstance(event.body, FetchResponse)
        for each in event.body.partitions
        if each.partition == ("orders", 0) and each.high_watermark >= 0
    ]
    assert [mark for _, mark in marks] == sorted(mark for _, mark in marks), "it never goes back"
    assert max(mark for at_s, mark in marks if at_s < 26) <= 2 * 20
    waits = [
        event.body.max_wait_ms
        for event in seen.of(RequestSent)
        if isinstance(event.body, Fetch) and 21 < seen.s(event) < 25
    ]
    assert waits, "members ask on"


@pytest.mark.parametrize("end", ["2s", "5s"])
def test_a_high_watermark_does_not_go_back_when_power_goes_or_nodes_die(end) -> None:
    for other in ("cut-power", "kill node-1 for 10s", "kill node-2 for 10s", "move g"):
        seen = play(lagging(("20s", f"lag-replicas orders by {end} for 24s"), ("30s", other)))
        assert not seen.broken


def test_a_broker_that_gives_out_what_is_not_everywhere_is_noticed(monkeypatch) -> None:
    """The rule broken: readers get what lies in the log."""
    monkeypatch.setattr("kgroup.broker.apis.data_apis._read_log", _reads_to_the_end)
    monkeypatch.setattr("kgroup.broker.fetching.WaitingFetch.available_bytes", lambda fetch: fetch.min_bytes)
    assert play(lagging(LAG)).broken == {"replicated"}


def _reads_to_the_end(node, fetch, part, limit, by_id):
    from kgroup.broker.apis.data_apis import ReadPart

    log = part.partition.log
    records = log.stretch(part.offset, limit.bytes_max, log.end_offset, limit.batches_max)
    return ReadPart(part, 0, log.end_offset, log.end_offset, log.start_offset, records)


def test_a_follower_that_is_out_of_sync_holds_nothing_back() -> None:
    from kgroup.sim.scenario.check import check_scenario

    with pytest.raises(InputError, match="a follower that is 30s behind is out of sync"):
        check_scenario(lagging(("20s", "lag-replicas orders by 31s for 20s")))


# ---- appends ------------------------------------------------------------------------------------


def test_appends_that_fail_are_tried_again_and_nothing_is_lost() -> None:
    calm, failing = (
        play(lagging(*faults)) for faults in ([], [("20s", "fail-appends orders by 50% for 20s")])
    )
    assert not failing.broken
    assert processed(failing) == processed(calm)
    late = processed(calm, before_s=30) - processed(failing, before_s=30)
    assert late > 0, "producers had to wait"


def test_an_append_that_fails_and_is_in_the_log_all_the_same_is_noticed(monkeypatch) -> None:
    """The rule broken: half of a failed append stays."""
    append = Partition.append

    def garbled(partition, batch):
        if partition.topic == "orders" and partition.log.end_offset == 6:
            append(partition, batch)
        return append(partition, batch)

    monkeypatch.setattr(Partition, "append", garbled)
    assert "log-agrees" in play(lagging()).broken
    assert Producers  # whose count it is


def test_appends_fail_only_in_memory(tmp_path) -> None:
    with pytest.raises(InputError, match="fail-appends: only for logs in memory"):
        play(lagging(("20s", "fail-appends orders by 50% for 5s")), storage=FolderStorage(tmp_path, print))


# ---- latest -------------------------------------------------------------------------------------


def latest(*faults: tuple[str, str], **settings: object) -> Scenario:
    return lagging(*faults, members=members(2, auto_offset_reset=OffsetReset.LATEST, **settings))


@pytest.mark.parametrize("mode", CommitMode)
def test_latest_passes_over_what_came_before_the_group_and_nothing_else(mode) -> None:
    seen = play(latest(("30s", "kill c1 for 5s"), ("40s", "leave c2"), commit_mode=mode))
    assert not seen.broken
    first = min(seen.s(event) for event in seen.of(RecordsProcessed))
    passed = seen.run.tally.passed_over
    assert 0 < passed <= 8 * first
    seen_offsets = {
        (event.partition, offset)
        for event in seen.of(RecordsProcessed)
        for offset in range(event.first, event.last + 1)
    }
    assert len(seen_offsets) + passed == sum(
        1 + max(offset for of, offset in seen_offsets if of == ("orders", index)) for index in range(4)
    )


def test_latest_passes_over_what_a_new_partition_has_before_anybody_reads_it() -> None:
    """Its first records come before the group's metadata are new: Kafka's own trap."""
    earliest = play(replace(latest(("30s", "grow orders to 8")), members=members(2)))
    grown = play(latest(("30s", "grow orders to 8")))
    assert not grown.broken
    assert earliest.run.tally.passed_over == 0
    assert grown.run.tally.passed_over > play(latest()).run.tally.passed_over


def test_going_to_the_end_although_there_is_a_commit_is_a_skip(monkeypatch) -> None:
    """The rule broken: committed offsets are not read."""
    from kgroup.group.member.fetcher import Fetcher

    take = Fetcher.take_committed

    def forget(fetcher, answer, now_ms):
        take(
            fetcher,
            replace(answer, offsets=tuple(replace(each, offset=-1) for each in answer.offsets)),
            now_ms,
        )

    monkeypatch.setattr(Fetcher, "take_committed", forget)
    assert "no-skip" in play(latest(("30s", "kill c1 for 5s"))).broken
