"""The sources that are answers say what the library says, however the log is shared among tasks."""

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import datasource as spark

import kgroup
from kgroup.api.spark_sources.lag import FindingsSource, LagSource
from kgroup.api.spark_sources.timelines import GroupsSource, TimelineSource
from kgroup.errors import InputError, SourceError
from kgroup.log.files import sources
from kgroup.log.files.log_dir import read_partition_folder
from kgroup.report.timeline.rows import event_rows
from kgroup.spark.sources.offsets import OffsetsSource

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = FIXTURES / "4.3.1/lives"


def read(source_class, path: Path, *filters: spark.Filter, **options: str) -> list[dict[str, object]]:
    source = source_class({"path": str(path), "pushfilters": "true", **options})
    reader = source.reader(source.schema())
    assert not list(reader.pushFilters(list(filters)))
    at_executors = pickle.loads(pickle.dumps(reader))  # Spark sends it before it asks for tasks
    batches = [batch for task in reader.partitions() for batch in at_executors.read(task)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def ms(time: object) -> int | None:
    assert time is None or isinstance(time, datetime)
    return None if time is None else int(time.timestamp() * 1000)


def by_place(rows) -> list[tuple[object, ...]]:
    return sorted(rows, key=lambda row: [str(each) for each in row])


def test_lag_is_that_of_the_report_in_every_row():
    report = kgroup.lag_report(kgroup.open_logs(LIVES), status=True, time_lag="exact")
    expected = [row for chunk in report.chunks() for row in rows_of(chunk.columns)]
    found = read(LagSource, LIVES, status="kgroup", timelag="exact", taskbytes="1")
    names = [name for name in found[0] if name not in ("commit_timestamp", "evidence", "notes")]
    assert by_place([tuple(row[name] for name in names) for row in found]) == by_place(
        [tuple(row[name] for name in names) for row in expected]
    )
    for row, other in zip(sorted(found, key=key), sorted(expected, key=key), strict=True):
        assert ms(row["commit_timestamp"]) == other["commit_timestamp"]
        assert row["notes"] == list(other["notes"])
        if other["evidence"] is not None:
            assert dict(row["evidence"]) == other["evidence"]


def rows_of(columns) -> Iterator[dict[str, object]]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def key(row) -> tuple[object, ...]:
    return row["group"], row["topic"], row["partition"]


def test_lag_alone_is_answered_by_offsets_partition():
    expected = [
        row for chunk in kgroup.lag_report(kgroup.open_logs(LIVES)).chunks() for row in rows_of(chunk.columns)
    ]
    found = read(LagSource, LIVES, taskbytes="1")
    for row, other in zip(sorted(found, key=key), sorted(expected, key=key), strict=True):
        assert {name: row[name] for name in ("lag", "client_id", "log_end_source")} == {
            name: other[name] for name in ("lag", "client_id", "log_end_source")
        }


def test_findings_are_those_of_the_report():
    report = kgroup.lag_report(kgroup.open_logs(LIVES), findings=True, hygiene=True)
    expected = [
        (each.group, each.kind.value, each.topic, each.partition, each.since_ms, each.evidence)
        for each in report.findings()
    ]
    found = [
        (row["group"], row["type"], row["topic"], row["partition"], ms(row["since"]), row["evidence"])
        for row in read(FindingsSource, LIVES, hygiene="true", taskbytes="1")
    ]
    assert by_place(found) == by_place(expected)
    assert expected


def test_events_are_those_of_a_replay_with_partitions_as_structs():
    timelines = kgroup.replay(kgroup.open_logs(LIVES), ["*"])
    expected = [
        (row["group"], row["event"], row["evidence"], row.get("time"), tuple(row.get("partitions") or ()))
        for row in event_rows(timelines.values())
    ]
    found = [
        (
            row["group"],
            row["event"],
            row["evidence"],
            ms(row["time"]),
            tuple(f"{each['topic']}-{each['partition']}" for each in row["partitions"]),
        )
        for row in read(TimelineSource, LIVES, taskbytes="1")
    ]
    assert by_place(found) == by_place(expected)


def test_generations_have_their_members_and_what_these_were_given():
    timelines = kgroup.replay(kgroup.open_logs(LIVES), ["*"])
    expected = {
        (timeline.group_id, generation.roster.generation, generation.roster.offset): {
            member.member_id: {tuple(partition) for partition in member.owned}
            for member in generation.roster.members
        }
        for timeline in timelines.values()
        for generation in timeline.generations
    }
    rows = read(GroupsSource, LIVES)
    found = {
        (row["group"], row["generation"], row["log_offset"]): {
            member["member_id"]: {(each["topic"], each["partition"]) for each in member["assigned"]}
            for member in row["members"]
        }
        for row in rows
    }
    assert found == expected
    assert sum(row["is_last"] for row in rows) == len({row["group"] for row in rows})


@pytest.mark.parametrize("source_class", [LagSource, FindingsSource, GroupsSource, TimelineSource])
def test_a_filter_leaves_the_rows_of_a_group_as_they_are(source_class):
    everything = read(source_class, LIVES)
    group = everything[len(everything) // 2]["group"]
    assert read(source_class, LIVES, spark.EqualTo(("group",), group)) == [
        row for row in everything if row["group"] == group
    ]
    assert read(source_class, LIVES, spark.EqualTo(("group",), "of nobody")) == []


def test_a_filter_by_type_and_by_time():
    everything = read(TimelineSource, LIVES)
    since = sorted(row["time"] for row in everything if row["time"])[len(everything) // 2]
    filters = [spark.In(("event",), ("join", "leave")), spark.GreaterThanOrEqual(("time",), since)]
    expected = [
        row
        for row in everything
        if row["event"] in ("join", "leave") and row["time"] is not None and row["time"] >= since
    ]
    assert expected
    assert read(TimelineSource, LIVES, *filters) == expected


def test_a_judgement_is_as_of_the_time_that_is_given_in_utc():
    early = read(FindingsSource, LIVES, now="2026-11-20T12:46:00")
    assert early == read(
        FindingsSource, LIVES, now=str(int(datetime(2026, 11, 20, 12, 46, tzinfo=UTC).timestamp()) * 1000)
    )
    assert early != read(FindingsSource, LIVES)


@pytest.mark.parametrize(
    ("source_class", "options", "message"),
    [
        (
            LagSource,
            {"status": "lenient"},
            "kafka-lag: option status is 'lenient', not none or kgroup or burrow",
        ),
        (LagSource, {"timelag": "bisect"}, "kafka-lag: option timeLag is 'bisect', not none or exact or"),
        (
            LagSource,
            {"hygiene": "true"},
            "kafka-lag: no option hygiene, only clusters, columns, damage, group",
        ),
        (FindingsSource, {"hygiene": "yes"}, "kafka-findings: option hygiene is 'yes', not true or false"),
        (FindingsSource, {"now": "soon"}, "kafka-findings: option now is 'soon', not a time like 2026-"),
        (GroupsSource, {"damage": "no"}, "kafka-groups: option damage is 'no', not fail or skip"),
    ],
)
def test_wrong_options_are_named_with_what_is_allowed(source_class, options, message: str):
    with pytest.raises(InputError, match=f"^{message}"):
        read(source_class, LIVES, **options)


@pytest.mark.parametrize("source_class", [LagSource, FindingsSource, GroupsSource, TimelineSource])
def test_damage_fails_the_query_unless_it_is_to_be_skipped(source_class):
    damaged = FIXTURES / "damaged/bit-flip-in-records"
    with pytest.raises(SourceError, match=r"/bit-flip-in-records/.*CRC.*; option damage=skip goes on"):
        read(source_class, damaged)
    read(source_class, damaged, damage="skip")


@pytest.mark.parametrize(
    "source_class", [LagSource, FindingsSource, GroupsSource, TimelineSource, OffsetsSource]
)
def test_a_folder_that_may_not_be_listed_fails_what_may_need_it_unless_damage_is_to_be_skipped(
    source_class, monkeypatch: pytest.MonkeyPatch
):
    whole = {row["group"] for row in read(source_class, LIVES)}
    closed = LIVES / "__consumer_offsets-5"  # of orders-app

    def listed(path: Path, **given: str) -> object:
        if path == closed:  # root, which may list all, runs these tests, too
            raise SourceError(f"{path}: Permission denied")
        return read_partition_folder(path, **given)

    monkeypatch.setattr(sources, "read_partition_folder", listed)
    line = f"{closed}: not read: Permission denied; option damage=skip goes on without it"
    with pytest.raises(SourceError) as raised:
        read(source_class, LIVES)
    assert str(raised.value).endswith(line)
    there = {row["group"] for row in read(source_class, LIVES, damage="skip")}
    assert there and "orders-app" not in there
    if source_class is not FindingsSource:  # whose rows depend on all groups
        assert "orders-app" in whole
        (group,) = {row["group"] for row in read(source_class, LIVES, group="fraud-one-partition")}
        assert group == "fraud-one-partition"
