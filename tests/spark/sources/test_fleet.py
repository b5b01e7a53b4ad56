"""Several clusters in one table: rows are those of each alone, and one that is bad does not hide others."""

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import datasource as spark

from kgroup.api.spark_sources.lag import FindingsSource, LagSource
from kgroup.api.spark_sources.timelines import GroupsSource, TimelineSource
from kgroup.errors import InputError, SourceError
from kgroup.spark.sources import planning
from kgroup.spark.sources.offsets import OffsetsSource
from kgroup.spark.sources.tables import TableSource

FIXTURES = Path(__file__).parents[3] / "fixtures"
NEW, OLD = FIXTURES / "4.3.1/lives", FIXTURES / "2.4.1/lives"
SOURCES = (OffsetsSource, GroupsSource, LagSource, FindingsSource, TimelineSource)


def clusters(**paths: Path | list[Path]) -> str:
    return json.dumps(paths, default=str)


def rows(source: TableSource, *filters: spark.Filter) -> list[dict[str, object]]:
    reader = source.reader(source.schema())
    assert not filters or not list(reader.pushFilters(list(filters)))
    at_executors = pickle.loads(pickle.dumps(reader))  # Spark sends it before it asks for tasks
    batches = [batch for task in reader.partitions() for batch in at_executors.read(task)]
    return [row for batch in batches for row in pa.Table.from_batches([batch]).to_pylist()]


def in_order(found: list[dict[str, object]]) -> list[str]:
    return sorted(str(row) for row in found)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.NAME)
def test_rows_are_those_of_each_cluster_with_its_name_in_front(source: type[TableSource]):
    found = rows(source({"clusters": clusters(new=NEW, old=OLD)}))
    expected = [
        {"cluster": name, **row}
        for name, path in (("new", NEW), ("old", OLD))
        for row in rows(source({"path": str(path)}))
    ]
    assert {row["cluster"] for row in found} == {"new", "old"}
    assert next(iter(found[0])) == "cluster"
    assert in_order(found) == in_order(expected)


def test_a_condition_on_the_cluster_opens_no_other_one(monkeypatch: pytest.MonkeyPatch):
    opened = []
    real = planning.open_sources
    monkeypatch.setattr(planning, "open_sources", lambda paths: opened.append(paths) or real(paths))
    given = {"clusters": clusters(new=NEW, gone=Path("nowhere"), old=OLD), "pushfilters": "true"}
    found = rows(OffsetsSource(given), spark.EqualTo(("cluster",), "old"), spark.EqualTo(("type",), "commit"))
    assert {row["cluster"] for row in found} == {"old"}
    assert [list(paths) for paths in opened] == [[str(OLD)]]
    alone = OffsetsSource({"path": str(OLD), "pushfilters": "true"})
    assert len(found) == len(rows(alone, spark.EqualTo(("type",), "commit"))) > 0


def test_columns_are_chosen_with_the_cluster_and_without():
    of_all = clusters(new=NEW, old=OLD)
    counts = [len(rows(GroupsSource({"path": str(path)}))) for path in (NEW, OLD)]
    named = rows(GroupsSource({"clusters": of_all, "columns": "cluster"}))
    assert [sum(row == {"cluster": name} for row in named) for name in ("new", "old")] == counts
    last = rows(GroupsSource({"clusters": of_all, "columns": "group,cluster"}))
    assert list(last[0]) == ["group", "cluster"]
    assert list(rows(GroupsSource({"clusters": of_all, "columns": "group"}))[0]) == ["group"]


def test_a_cluster_may_have_several_paths():
    folders = sorted(NEW.glob("__consumer_offsets-*"))
    assert len(folders) > 1
    together = rows(OffsetsSource({"clusters": clusters(one=folders)}))
    assert in_order(together) == in_order(rows(OffsetsSource({"clusters": clusters(one=NEW)})))


def test_a_cluster_that_cannot_be_read_is_named_or_left_out(tmp_path: Path):
    given = clusters(new=NEW, gone=tmp_path / "gone")
    with pytest.raises(SourceError, match=r"^cluster gone: .*gone"):
        rows(OffsetsSource({"clusters": given}))
    found = rows(OffsetsSource({"clusters": given, "damage": "skip"}))
    assert in_order(found) == in_order(rows(OffsetsSource({"clusters": clusters(new=NEW), "damage": "skip"})))


def test_a_cluster_that_cannot_be_read_any_more_is_named_or_left_out(tmp_path: Path):
    copied = tmp_path / "copied" / "__consumer_offsets-0"
    copied.mkdir(parents=True)
    source = max(NEW.glob("**/__consumer_offsets-*/*.log"), key=lambda path: path.stat().st_size)
    (copied / source.name).write_bytes(source.read_bytes())
    for damage in ("fail", "skip"):
        given = {"clusters": clusters(copied=tmp_path / "copied", new=NEW), "damage": damage}
        made = OffsetsSource(given)
        reader = made.reader(made.schema())
        tasks = reader.partitions()
        (copied / source.name).rename(tmp_path / "away")
        try:
            if damage == "fail":
                with pytest.raises(SourceError, match=r"^cluster copied: "):
                    [batch for task in tasks for batch in reader.read(task)]
            else:
                names = {batch["cluster"][0].as_py() for task in tasks for batch in reader.read(task)}
                assert names == {"new"}
        finally:
            (tmp_path / "away").rename(copied / source.name)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "{",
        "[]",
        "{}",
        '["ab"]',
        '{"a": []}',
        '{"a": 1}',
        '{"a": [1]}',
        '{"": "x"}',
        '{"a": "x", "a": "y"}',
    ],
)
def test_what_names_no_clusters_is_refused(given: str):
    source = LagSource({"clusters": given})
    with pytest.raises(InputError, match=r"kafka-lag: option clusters is .*, not JSON like"):
        source.reader(source.schema())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "x"}, "either the option clusters or a path, not both"),
        ({"logends": "x"}, "option logEnds is of one cluster, and clusters is given"),
        ({"columns": "clusters"}, "option columns is 'clusters', not names"),
    ],
)
def test_what_does_not_go_with_clusters_is_refused(options: dict[str, str], said: str):
    source = LagSource({"clusters": clusters(a=NEW), **options})
    with pytest.raises(InputError, match=said):
        source.reader(source.schema())
