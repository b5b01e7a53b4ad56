"""Whether offsets may be deleted, by what the log says of their group at that moment."""

from types import SimpleNamespace

import pytest

from kgroup.broker.offsets_log import encode_records
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.consumer.entries import (
    epoch_entry,
    group_tombstones,
    member_entry,
    member_tombstones,
    regex_entry,
)
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.group.coordinator.consumer.regexes import ResolvedRegex
from kgroup.group.coordinator.offsets import tombstone
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import CommitRun, OffsetsRecord
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.requests.coordinator import CommitPartition, Heartbeat
from kgroup.sim.watch.coordinators import Scene, Ticket
from kgroup.sim.watch.log_model import LogModel
from kgroup.sim.watch.result import RETENTION
from kgroup.sim.watch.retention import Retention

OLD_MS, NOW_MS = 1_000, 100_000
READER = ConsumerMember(member_id="m", topics=frozenset({"orders"}))
BY_PATTERN = ConsumerMember(member_id="m", regex="o.*")
MATCHED = regex_entry("g", "o.*", ResolvedRegex(frozenset({"orders"}), 1, OLD_MS))


def logged(*entries: OffsetsEntry) -> LogModel:
    """The log after an old commit of orders-0, and these entries."""
    model = LogModel()
    commit = CommitRun("g", "orders", None, [CommitPartition(0, 5, -1, "")], OLD_MS)
    for record in (commit, *(OffsetsRecord(entry=entry, timestamp_ms=OLD_MS) for entry in entries)):
        for batch in encode_records([record]):
            list(model.take(batch))
    return model


def deleted(model: LogModel, state: GroupState | None = None, asked: Ticket | None = None) -> list[str]:
    """What is reported of the tombstone, with a classic group of this state at the coordinator."""
    group = None
    if state is not None:
        group = ClassicGroup("g", 0)
        group.state = state
    hosted = SimpleNamespace(
        coordinator=SimpleNamespace(
            classic=SimpleNamespace(watched=lambda group_id: group),
            consumer=SimpleNamespace(watched=lambda group_id: None),
        )
    )
    broken: list[str] = []
    checker = Retention(
        Scene(
            hosted=hosted,  # type: ignore[arg-type]
            settings=GroupSettings(offsets_retention_ms=60_000),
            model=model,
            report=lambda checker, what: broken.append(f"{checker}: {what}"),
        )
    )
    if asked is not None:
        checker.asked(asked)
    for batch in encode_records([OffsetsRecord(entry=tombstone("g", "orders", 0), timestamp_ms=NOW_MS)]):
        for written in model.take(batch):
            checker.written(written, NOW_MS)
    return broken


_READ = [f"{RETENTION}: g: orders-0 is deleted: its group reads it"]
_GROUP = ConsumerGroup("g")
_GROUP.put(READER)


@pytest.mark.parametrize(
    ("entries", "broken"),
    [
        pytest.param([], [], id="of-no-group"),
        pytest.param([epoch_entry("g", 1, 0)], [], id="nobody-in-it"),
        pytest.param([epoch_entry("g", 1, 0), member_entry("g", READER)], _READ, id="read"),
        pytest.param([member_entry("g", READER), epoch_entry("g", 1, 0)], _READ, id="read-from-before"),
        pytest.param([epoch_entry("g", 1, 0), member_entry("g", BY_PATTERN)], [], id="not-matched-yet"),
        pytest.param([epoch_entry("g", 1, 0), member_entry("g", BY_PATTERN), MATCHED], _READ, id="matched"),
        pytest.param(
            [epoch_entry("g", 1, 0), MATCHED, regex_entry("g", "o.*", None)], [], id="matched-by-nobody-now"
        ),
        pytest.param(
            [epoch_entry("g", 1, 0), member_entry("g", READER), member_tombstones("g", "m")[-1]],
            [],
            id="left",
        ),
        pytest.param([epoch_entry("h", 1, 0), member_entry("h", READER)], [], id="read-by-another-group"),
        pytest.param(
            [epoch_entry("g", 1, 0), member_entry("g", READER), group_tombstones(_GROUP)[-1]],
            [],
            id="deleted-with-its-members",
        ),
        pytest.param([member_tombstones("g", "m")[-1]], [], id="a-member-that-never-was"),
    ],
)
def test_a_group_of_the_consumer_protocol_reads_what_the_log_says(
    entries: list[OffsetsEntry], broken: list[str]
) -> None:
    assert deleted(logged(*entries)) == broken


def asked(state: GroupState, at_ms: int = NOW_MS, group_id: str = "g") -> Ticket:
    body = Heartbeat(group_id=group_id, generation_id=1, member_id="m", group_instance_id=None)
    return Ticket(request_id=1, body=body, client_id="c", asked_ms=at_ms, process=1, state=state)


@pytest.mark.parametrize("state", [GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE])
@pytest.mark.parametrize(
    ("before", "is_broken"),
    [
        pytest.param(asked(GroupState.EMPTY), False, id="empty-just-before"),
        pytest.param(asked(GroupState.PREPARING_REBALANCE), True, id="it-was-then"),
        pytest.param(asked(GroupState.COMPLETING_REBALANCE), True, id="it-was-then,too"),
        pytest.param(asked(GroupState.EMPTY, NOW_MS - 1), True, id="empty-earlier"),
        pytest.param(asked(GroupState.EMPTY, group_id="h"), True, id="another-group"),
        pytest.param(None, True, id="nobody-asked"),
    ],
)
def test_a_classic_group_that_rebalances_keeps_its_offsets(
    state: GroupState, before: Ticket | None, is_broken: bool
) -> None:
    """Who comes in the moment of the deletion may have begun the rebalance after it was decided."""
    assert deleted(logged(), state, before) == (
        [f"{RETENTION}: g: orders-0 is deleted: its group rebalances"] if is_broken else []
    )
