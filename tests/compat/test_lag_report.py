"""kgroup's lag report of each capture against what the real broker and its tools said at that moment.

Where they differ, the difference is named and asserted here; nothing is passed over.
"""

import pytest

from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rows import Note
from kgroup.protocol.log_listing import LogEndSource
from tests.compat.captures import FIXTURES, NAMES, described, groups_json, report, truth

SINCE_1_1 = [name for name in NAMES if not name.startswith("0.10")]
V0_10_1 = [name for name in NAMES if name.startswith("0.10")]
DIED = {"2.4.1/lives", "4.3.1/odd-members"}  # the tool, on a group whose members nobody can read

# 0.10.1 writes no tombstones for a deleted topic: its offsets stay in the log, not in the broker's memory.
DELETED_WITHOUT_TOMBSTONES = {
    "0.10.1.1/lives": {
        ("pattern-watcher", "promo-2024", 0),
        ("pattern-watcher", "promo-2024", 1),
        ("promo-mailer", "promo-2024", 0),
        ("promo-mailer", "promo-2024", 1),
    }
}
# A rebalance fell between Kafka's tool and the stop of the broker: what was the one's is the other's now.
TAKEN_OVER = {"1.1.1/lives": {("mixed-clients", "clicks.web", 1): ("mixed-rd", "mixed-java")}}
# Groups with offsets that `kafka-consumer-groups` does not list, because they are not of its kind.
NOT_CONSUMERS = {"4.3.1/lives": {"flow-tally"}, "4.4.0/protocols": {"flow", "flow-refused", "flow-static"}}


def place(row):
    return row.group, row.topic, row.partition


def numbers(row):
    return row.current_offset, row.log_end_offset, row.lag


@pytest.mark.parametrize("name", [name for name in SINCE_1_1 if name not in DIED])
def test_rows_are_those_of_kafkas_tool(name):
    tool = {
        place(line): (*numbers(line), line.consumer_id, line.host, line.client_id)
        for line in described(name).offsets
    }
    ours = {
        place(row): (*numbers(row), row.member_id, row.host, row.client_id)
        for row in report(name).rows
        if row.group not in NOT_CONSUMERS.get(name, ())
    }
    for taken, (before, now) in TAKEN_OVER.get(name, {}).items():
        assert (tool.pop(taken)[-1], ours.pop(taken)[-1]) == (before, now)
    assert tool
    assert ours == tool


@pytest.mark.parametrize("name", sorted(DIED))
def test_groups_that_end_kafkas_tool_do_not_end_the_report(name):
    refused = described(name).refused["offsets", "*"]
    assert "Error reading field 'version'" in refused or "Tried to allocate a collection" in refused
    assert {row.group for row in report(name).rows} == {
        group for group, said in groups_json(name).items() if said.get("offsets")
    }


@pytest.mark.parametrize("name", V0_10_1)
def test_0_10_1_shows_no_more_than_what_members_own(name):
    tool = {place(line): (*numbers(line), line.owner) for line in described(name).offsets}
    ours = {
        place(row): (*numbers(row), f"{row.client_id}_{row.host}")
        for row in report(name).rows
        if row.member_id is not None
    }
    assert ours == tool


@pytest.mark.parametrize("name", sorted(NOT_CONSUMERS))
def test_groups_of_other_kinds_are_reported_too(name):
    tool = {line.group for line in described(name).offsets}
    assert {row.group for row in report(name).rows} - tool == NOT_CONSUMERS[name]


def test_rows_of_streams_groups_are_those_of_kafkas_tool_for_them():
    name = "4.4.0/protocols"
    ours = {place(row): row.lag for row in report(name).rows if row.group in NOT_CONSUMERS[name]}
    assert ours == described(name).streams_lags
    assert len(ours) == 16


def test_partitions_of_a_streams_group_that_nobody_committed_are_rows():
    """Task 1_2 has committed repartition partition 2; 1_0 and 1_1 have found nothing in theirs to commit."""
    rows = [row for row in report("4.3.1/lives").rows if row.group == "flow-tally"]
    assert [(row.topic, row.partition, *numbers(row)) for row in rows] == [
        ("flow-tally-tally-repartition", 0, None, 0, None),
        ("flow-tally-tally-repartition", 1, None, 0, None),
        ("flow-tally-tally-repartition", 2, 288, 288, 0),
        ("payments", 0, 96, 96, 0),
        ("payments", 1, 96, 96, 0),
        ("payments", 2, 96, 96, 0),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_committed_offsets_are_the_brokers(name):
    answered = {
        (group, offset["topic"], offset["partition"]): (
            offset["offset"],
            offset["metadata"],
            offset["logEnd"],
            offset["lag"],
        )
        for group, said in groups_json(name).items()
        for offset in (said.get("offsets") or {}).values()
    }
    ours = {
        place(row): (row.current_offset, row.metadata, row.log_end_offset, row.lag)
        for row in report(name).rows
        if row.current_offset is not None and place(row) not in DELETED_WITHOUT_TOMBSTONES.get(name, ())
    }
    assert ours == answered


@pytest.mark.parametrize("name", NAMES)
def test_leader_epochs_are_the_brokers(name):
    answered = {
        (group, offset["topic"], offset["partition"]): offset["leaderEpoch"]
        for group, said in groups_json(name).items()
        for offset in (said.get("offsets") or {}).values()
    }
    ours = {place(row): -1 if row.leader_epoch is None else row.leader_epoch for row in report(name).rows}
    if name == "2.4.1/ibp-2.1":  # value version 2 has no leader epoch: the broker had it in memory only
        answered = dict.fromkeys(answered, -1)
    assert {partition: ours[partition] for partition in answered} == answered


@pytest.mark.parametrize("name", NAMES)
def test_topics_json_and_checkpoints_give_the_same_rows(name):
    by_file = report(name, with_topics_json=True).rows
    by_checkpoint = report(name).rows
    assert [(*place(row), *numbers(row), row.topic_state, row.notes) for row in by_file] == [
        (*place(row), *numbers(row), row.topic_state, row.notes) for row in by_checkpoint
    ]
    sources = {row.log_end_source for row in by_file if row.topic_state is not TopicState.DELETED}
    assert sources == {LogEndSource.FILE}


@pytest.mark.parametrize("name", NAMES)
def test_only_what_kafka_does_not_know_any_more_is_deleted(name):
    deleted = {place(row) for row in report(name).rows if row.topic_state is TopicState.DELETED}
    assert deleted == DELETED_WITHOUT_TOMBSTONES.get(name, set())
    assert {row.topic_state for row in report(name).rows} <= {TopicState.EXISTS, TopicState.DELETED}


def test_a_deleted_topic_is_shown_with_the_offset_that_is_left_of_it():
    (row,) = (row for row in report("0.10.1.1/lives").rows if place(row) == ("promo-mailer", "promo-2024", 0))
    assert numbers(row) == (16, None, None)
    assert row.notes == (Note.NO_MEMBERS, Note.TOPIC_DELETED)


def has_transactions(name: str) -> bool:
    """Whether a line of the truth, which is not parsed for it at each collection, is an end of one."""
    return '"kind":"control"' in (FIXTURES / name / "truth.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if has_transactions(name)])
def test_commits_of_aborted_transactions_do_not_count(name):
    open_commits, aborted = {}, set()
    for record in truth(name):
        producer = record["partition"], record["batch"].get("producerId")
        if record["kind"] == "control":
            ended = open_commits.pop(producer, [])
            aborted |= set(ended) if record["control"] == "ABORT" else set()
        elif record["kind"] == "record" and record["batch"].get("transactional"):
            key = record["key"]
            commit = key["group"], key["topic"], key["partition"], record["value"]["offset"]
            open_commits.setdefault(producer, []).append(commit)
    ours = {(*place(row), row.current_offset) for row in report(name).rows}
    assert not aborted & ours
    assert not report(name).inputs.pending


def test_there_are_captures_with_aborted_transactions():
    aborted = [name for name in NAMES if any(record.get("control") == "ABORT" for record in truth(name))]
    assert {name for name in NAMES if name.endswith("/lives") and name not in V0_10_1} <= set(aborted)


def test_a_lag_below_zero_is_what_kafkas_tool_prints():
    (row,) = report("3.9.1/codec-gzip").of("brief-retention")
    assert numbers(row) == (101, 75, -26)
    assert Note.BEYOND_LOG_END in row.notes


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_sorted_and_there_is_one_per_partition(name):
    places = [place(row) for row in report(name).rows]
    assert places == sorted(set(places))


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_has_no_problems(name):
    assert not report(name).inputs.problems
