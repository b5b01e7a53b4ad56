"""A world as a whole: what a run tells, writes and counts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from kgroup.broker.storage import FolderStorage, MemoryStorage, TopicSpec
from kgroup.errors import InputError
from kgroup.group.coordinator.events import GenerationFormed
from kgroup.group.member.step import CallbackKind
from kgroup.history.timeline.replay import replay
from kgroup.log.files.entries import read_entries
from kgroup.log.files.log_dir import read_partition_folder
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.sim.scenario.scenario import CommitMode, SimTopic
from kgroup.sim.watch.trace import CoordinatorEvent, PartitionsChanged, Settled, TraceEvent, to_json
from kgroup.sim.world.world import run
from tests.sim.worlds import members, play, world


def test_members_share_the_partitions_and_process_every_record_once() -> None:
    seen = play(world())
    assigned = seen.of(PartitionsChanged, kind=CallbackKind.ASSIGNED)
    assert {event.member: event.partitions for event in assigned} == {
        "c1": (("orders", 0), ("orders", 1)),
        "c2": (("orders", 2), ("orders", 3)),
    }
    tally = seen.run.tally
    assert (tally.generations, tally.duplicates, tally.moved_partitions) == (1, 0, 0)
    assert tally.processed == pytest.approx(4 * 120, abs=8), "4 records a second, two minutes long"


def test_groups_do_not_touch_each_other() -> None:
    first, second = members(2)
    seen = play(world(members=(first, replace(second, group="other"))))
    assigned = {event.member: event.partitions for event in seen.of(PartitionsChanged)}
    assert {len(partitions) for partitions in assigned.values()} == {4}
    assert not seen.run.violations


def test_more_members_than_partitions_leave_some_idle() -> None:
    seen = play(world(members=members(6)))
    shares = [len(event.partitions) for event in seen.of(PartitionsChanged, kind=CallbackKind.ASSIGNED)]
    assert sorted(shares) == [0, 0, 1, 1, 1, 1]
    assert seen.run.settled_ms is not None


def test_eager_members_give_up_everything_and_cooperative_ones_what_moves() -> None:
    """A third member joins two that have six partitions each."""

    def given_up(assignor: str) -> int:
        three = members(3, assignors=(assignor,))
        late = (*three[:2], replace(three[2], start_ms=30_000))
        topics = (SimTopic(name="orders", partitions=12, records_per_s=1),)
        revoked = play(world(members=late, topics=topics)).of(PartitionsChanged, kind=CallbackKind.REVOKED)
        return sum(len(event.partitions) for event in revoked)

    assert given_up("range") == 12
    assert given_up("cooperative-sticky") == 4


def test_a_run_ends_early_if_that_is_asked_for() -> None:
    whole = run(world(), 1)
    short = run(world(), 1, until_settled=True)
    assert whole.end_ms == whole.scenario.epoch_ms + 120_000
    assert short.end_ms == short.scenario.epoch_ms + 61_000
    assert short.settled_ms == whole.settled_ms == 1_000


def test_the_trace_says_when_everything_has_settled() -> None:
    seen = play(world())
    assert [seen.s(event) for event in seen.of(Settled)] == [61]


def test_every_event_becomes_json() -> None:
    faults = (
        ("20s", "kill c1 for 5s"),
        ("25s", "create returns"),
        ("30s", "kill coordinator"),
        ("35s", "grow orders to 5"),
        ("40s", "subscribe c1 to orders,returns"),
    )
    topics = (*world().topics, SimTopic(name="returns", partitions=1, start_ms=None))
    events = play(world(*faults, topics=topics)).events
    kinds = {type(event).__name__ for event in events}
    assert kinds == {kind.__name__ for kind in get_args(TraceEvent)} - {"NodeStarted"}
    for event in events:
        as_json = json.loads(json.dumps(to_json(event)))
        assert as_json["type"] == type(event).__name__
        assert as_json["atMs"] == event.at_ms


# ---- real files -------------------------------------------------------------------------------


def test_a_run_writes_logs_that_replay_to_what_happened(tmp_path: Path) -> None:
    """The timeline of the files has the generations of the trace, with their members and times."""
    scenario = world(("20s", "kill c1"), ("45s", "join c1"))
    seen = play(scenario, storage=FolderStorage(tmp_path, pytest.fail))
    formed = [
        (event.event.generation_id, event.event.members, event.at_ms)
        for event in seen.of(CoordinatorEvent)
        if isinstance(event.event, GenerationFormed)
    ]
    logged = replayed_generations(tmp_path)
    assert [each[:2] for each in logged] == [each[:2] for each in formed]
    for (_, _, written_ms), (_, _, formed_ms) in zip(logged, formed, strict=True):
        assert 0 <= written_ms - formed_ms < 1_000, "the record follows with the leader's assignment"


def replayed_generations(folder: Path) -> list[tuple[int, int, int]]:
    """Number, members and time of each generation with members, as `kgroup replay` sees them."""
    entries: list[LoggedEntry] = []
    for path in sorted(folder.glob("__consumer_offsets-*")):
        partition = read_partition_folder(path)
        assert partition is not None
        for item in read_entries(partition.segments):
            assert isinstance(item, LoggedEntry)
            entries.append(item)
    rosters = [generation.roster for generation in replay(entries, {})["g"].generations]
    return [(each.generation, len(each.members), each.at_ms or 0) for each in rosters if each.members]


# ---- memory -----------------------------------------------------------------------------------


class Counting(MemoryStorage):
    """Remembers its logs."""

    def __init__(self) -> None:
        self.logs: dict[tuple[str, int], MemoryLog] = {}

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> MemoryLog:
        log = self.logs[topic.name, partition] = MemoryLog()
        return log


def test_a_long_run_keeps_few_batches_in_memory() -> None:
    """50 minutes of records and commits every 5 s; house is kept every 10 minutes."""
    storage = Counting()
    scenario = world(
        members=members(1, commit_mode=CommitMode.AFTER_PROCESSING),
        topics=(SimTopic(name="orders", partitions=1, records_per_s=1, linger_ms=5_000),),
        duration_ms=50 * 60_000,
    )
    run(scenario, 1, storage=storage, codec=False)
    orders = storage.logs["orders", 0]
    assert orders.end_offset > 2_900
    assert orders.batch_count <= 130, "what is committed is forgotten"
    assert sum(log.batch_count for (topic, _), log in storage.logs.items() if topic != "orders") <= 250


def test_faults_of_the_disk_need_logs_in_memory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cut-power: only for logs in memory, not in a folder"):
        play(world(("20s", "cut-power")), storage=FolderStorage(tmp_path, print))
