"""Deadlines of real groups, foreseen at a moment of the past, against what came."""

import json
import shutil
from pathlib import Path

import pytest

import kgroup
from kgroup.errors import InputError, SourceError
from kgroup.lag.deadlines.model import DeadlineNote, Outlook
from kgroup.log.topics.topic_logs import DataLogs
from tests.log.truth import FIXTURES

PIPELINE = FIXTURES / "pipeline/4.3.1"
DIARY = [json.loads(line) for line in (PIPELINE / "diary.jsonl").read_text().splitlines()]
HALTED_MS = max(entry["t"] for entry in DIARY if entry["producer"] == "enrich-1")


def test_a_halted_group_meets_a_bound_when_so_much_has_been_written() -> None:
    """enrich halts, and orders go on: the lag is above 60 with the 61st record behind its last offset."""
    with kgroup.open_logs(PIPELINE) as logs:
        made = kgroup.deadlines(logs, slo_records=60, groups="enrich", now_ms=HALTED_MS + 12_000)
        later = kgroup.deadlines(logs, slo_records=60, groups="enrich", now_ms=HALTED_MS + 30_000)
        data = DataLogs(logs.sources.log_dirs)
    assert [each.deadline.outlook for each in made.deadlines] == [Outlook.EXPECTED] * 2
    for each, committed in zip(made.deadlines, (98, 97), strict=True):
        deadline = each.deadline
        met = data.first_unread("orders", each.partition, committed + 60)
        assert met is not None and deadline.low_ms is not None and deadline.high_ms is not None
        assert deadline.low_ms <= met.timestamp_ms <= deadline.high_ms
        assert deadline.high_ms - deadline.low_ms < 8_000
        assert deadline.note is DeadlineNote.STANDS_STILL
    assert [each.deadline.outlook for each in later.deadlines] == [Outlook.PASSED] * 2


def test_markers_of_transactions_are_nothing_to_wait_for() -> None:
    """bill lags 1 on each partition for good: the marker behind the last record."""
    with kgroup.open_logs(PIPELINE) as logs:
        made = kgroup.deadlines(logs, slo_ms=60_000, retention_ms=60_000, groups="bill")
    assert {each.deadline.outlook for each in made.deadlines} == {Outlook.NOT_IN_SIGHT}


def test_the_soonest_comes_first_and_only_what_is_in_sight_counts() -> None:
    with kgroup.open_logs(PIPELINE) as logs:
        made = kgroup.deadlines(logs, slo_ms=60_000, slo_records=[300, 50])
    lows = [each.deadline.low_ms for each in made.in_sight]
    assert lows == sorted(lows) and len(lows) == 6
    assert len(made.within(0)) == 2  # those of 50 records have passed
    assert len(made.within(60_000)) == 4
    assert made.to_arrow().num_rows == len(made.deadlines) == 21


def test_without_the_topics_logs_there_is_no_pace(tmp_path: Path) -> None:
    for folder in PIPELINE.glob("__consumer_offsets-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    shutil.copy(PIPELINE / "replication-offset-checkpoint", tmp_path)
    with kgroup.open_logs(tmp_path) as logs:
        made = kgroup.deadlines(logs, slo_records=50)
    foreseen = {each.group: (each.deadline.outlook, each.deadline.note) for each in made.deadlines}
    assert foreseen.pop("enrich") == (Outlook.PASSED, None)  # its lag of 88 is in the checkpoints
    assert set(foreseen.values()) == {(Outlook.UNKNOWN, DeadlineNote.NO_DATA_LOG)}


def test_a_bound_is_needed_and_the_group_must_be_there() -> None:
    with kgroup.open_logs(PIPELINE) as logs:
        with pytest.raises(InputError, match="no bound given"):
            kgroup.deadlines(logs)
        with pytest.raises(InputError, match="at least 1"):
            kgroup.deadlines(logs, slo_records=0)
        with pytest.raises(SourceError, match="enrihc"):
            kgroup.deadlines(logs, slo_records=5, groups="enrihc")
