"""`kgroup fsck` on log directories: what it says of healthy captures, of damage, and what it rescues."""

import csv
import json
from pathlib import Path

import pytest

from kgroup.api.fsck import fsck
from kgroup.api.opened import open_logs
from kgroup.errors import FindingsError
from kgroup.history.loading.model import Outcome
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.report.fsck_rows import table_columns
from tests.fsck.crafted import crafted
from tests.fsck.writing import START_MS, commit

FIXTURES = Path(__file__).parents[2] / "fixtures"
CAPTURES = [
    path
    for version in ("0.10.1.1", "1.1.1", "2.4.1", "3.9.1", "4.3.1")
    for path in sorted((FIXTURES / version).iterdir())
    if path.is_dir()
]
HOUR = 3_600_000


def log_dir(folder: Path, *cases: str) -> Path:
    """A broker's log directory, stopped cleanly, with these crafted partitions."""
    for number, case in enumerate(cases):
        place = folder / f"__consumer_offsets-{number}"
        place.mkdir(parents=True)
        (place / f"{0:020}.log").write_bytes(crafted()[case])
        (place / f"{0:020}.index").touch()
    (folder / ".kafka_cleanshutdown").touch()
    return folder


HAND_ROLLED = {FIXTURES / version / "lives" for version in ("0.10.1.1", "1.1.1", "2.4.1")}
"""A member of group `hand-rolled` calls itself a consumer and sends a subscription of plain text."""


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_capture_of_a_real_broker_is_accused(capture: Path) -> None:
    checked = fsck(open_logs(capture))
    assert [(check.partition, check.obstacles) for check in checked.bad] == []


@pytest.mark.parametrize("capture", sorted(HAND_ROLLED), ids=lambda path: path.parent.name)
def test_a_client_can_write_a_subscription_that_later_brokers_fail_at(capture: Path) -> None:
    """As a 4.3.1 broker did when it was started on this very segment: "Tried to allocate a collection of size
    1852797984, but there are only 15 bytes remaining."
    """
    (check,) = fsck(open_logs(capture), kafka_version="4.3.1").bad
    assert (check.partition, check.outcome) == (10, Outcome.FAILS)
    assert "1852797984 topics in 15 bytes" in check.obstacles[0].text


def test_the_version_that_wrote_a_log_loads_it() -> None:
    assert fsck(open_logs(FIXTURES / "4.3.1" / "lives"), kafka_version="4.3.1").bad == []
    assert fsck(open_logs(FIXTURES / "3.9.1" / "lives"), kafka_version="3.9.1").bad == []


def test_a_log_says_which_other_versions_fail_at_it(tmp_path: Path) -> None:
    (check,) = fsck(open_logs(log_dir(tmp_path, "commit-before-streams")), kafka_version="4.2.0")
    (first,) = check.obstacles[:1]
    assert (check.finding, check.outcome) == ("unloadable-log", Outcome.FAILS)
    assert (first.issue, first.offset, first.group) == ("KAFKA-20254", 1, "app")
    assert check.others["4.2.1"] is check.others["4.3"] is Outcome.LOADS
    assert check.others["3.7"] is check.others["4.0"] is Outcome.LOADS_LESS
    assert "4.1" not in check.others
    assert check.groups == ("app", "beside")


def test_the_place_is_a_byte_where_a_batch_begins(tmp_path: Path) -> None:
    (check,) = fsck(open_logs(log_dir(tmp_path, "commit-before-share")))
    first = check.obstacles[0]
    raw = crafted()["commit-before-share"]
    assert first.position is not None and first.offset is not None
    assert int.from_bytes(raw[first.position : first.position + 8]) == first.offset


def test_commits_of_what_does_not_load_are_rescued_and_no_others(tmp_path: Path) -> None:
    from kgroup.cli.commands.fsck import fsck as command
    from kgroup.report.emit import OutputFormat, OutputOptions

    folder = log_dir(tmp_path / "logs", "commits-only", "no-key")
    output = OutputOptions(format=OutputFormat.JSONL, path=tmp_path / "out.jsonl", headers=True)
    for name in ("rescued.csv", "rescued.json"):
        with pytest.raises(FindingsError, match="1 of 2 partitions"):
            command(paths=[str(folder)], rescue=tmp_path / name, output=output, quiet=True)
    assert list(csv.reader((tmp_path / "rescued.csv").read_text().splitlines())) == [
        ["beside", "orders", "0", "100"]
    ]
    rescued = json.loads((tmp_path / "rescued.json").read_text())
    assert rescued["format"] == "kgroup-offsets/1"
    assert [(each["group"], each["offset"], each["commit_timestamp"]) for each in rescued["offsets"]] == [
        ("beside", 100, START_MS)
    ]


def test_a_cleaner_that_is_dead_is_told_by_its_checkpoint_and_the_segments(tmp_path: Path) -> None:
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    for number in range(3):
        key, value = commit("app", 0, number)
        at_ms = START_MS + number * HOUR
        raw = encode_batch([LogRecord(offset=number, timestamp_ms=at_ms, key=key, value=value)])
        (place / f"{number:020}.log").write_bytes(raw)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (check,) = fsck(open_logs(tmp_path))
    assert (check.finding, check.outcome, check.cleaning.dirty_share) == ("slow-to-load", Outcome.LOADS, 1.0)
    assert (check.records, check.live_records) == (3, 1)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 2\n")
    assert fsck(open_logs(tmp_path)).bad == []


def test_after_a_crash_what_was_not_flushed_is_cut_off_at_damage(tmp_path: Path) -> None:
    folder = log_dir(tmp_path, "flipped-byte-in-a-value")
    (check,) = fsck(open_logs(folder))
    assert check.is_clean and "does not check" in check.obstacles[0].text
    (folder / ".kafka_cleanshutdown").unlink()
    (folder / "recovery-point-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 1\n")
    (check,) = fsck(open_logs(folder))
    assert check.is_clean is False and "cuts it off" in check.obstacles[0].text


def test_the_table_names_folders_only_where_numbers_do_not_tell_partitions_apart() -> None:
    with open_logs(FIXTURES / "damaged") as logs:
        of_many_brokers = fsck(logs)
    with open_logs(FIXTURES / "4.3.1" / "lives") as logs:
        of_one = fsck(logs)
    assert "folder" in [column.name for column in table_columns(of_many_brokers)]
    assert "folder" not in [column.name for column in table_columns(of_one)]
