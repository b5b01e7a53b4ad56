"""`kgroup diff`, as it is called: two moments of a cluster, and a mirror whose truth is its script."""

import csv
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.incidents.library import play
from tests.incidents.world import source_of

FIXTURES = Path(__file__).parents[3] / "fixtures"


def rows_of(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.fixture(scope="module")
def moments(tmp_path_factory):
    """A real broker's log directory, copied three times."""
    folder = tmp_path_factory.mktemp("moments")
    with tarfile.open(FIXTURES / "incidents" / "incidents-4.3.1.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def mirrors(tmp_path_factory):
    """Two played mirrors: whose offsets were copied as they stood, and whose were translated."""
    folder = tmp_path_factory.mktemp("mirrors")
    worlds = {}
    for name in ("offsets_of_another_cluster", "offsets_of_a_mirror"):
        worlds[name] = play(f"offsets.{name}")
        worlds[name].write(folder / name)
    return folder, worlds


def test_the_same_log_twice_has_no_change(kgroup):
    ended = kgroup(
        "diff", str(FIXTURES / "4.3.1" / "lives"), str(FIXTURES / "4.3.1" / "lives"), "-o", "jsonl"
    )
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.startswith("kgroup: 0 changes; ")


def test_offsets_move_by_what_the_lag_reports_of_both_moments_say(kgroup, moments):
    before, after = str(moments / "after-239s"), str(moments / "at-the-end")
    sides = []
    for side in (before, after):
        rows = rows_of(kgroup("lag-report", side, "-o", "jsonl", "-q"))
        sides.append({(r["group"], r["topic"], r["partition"]): r["current_offset"] for r in rows})
    rows = rows_of(kgroup("diff", before, after, "-o", "jsonl", "-q"))
    moved = {
        (r["group"], r["topic"], r["partition"]): r["difference"]
        for r in rows
        if r["change"] in ("offset-forward", "offset-back")
    }
    was, is_now = sides
    assert moved == {
        key: is_now[key] - was[key]
        for key in was.keys() & is_now.keys()
        if None not in (was[key], is_now[key]) and was[key] != is_now[key]
    }
    assert len(moved) > 10


def test_back_and_forth_is_the_same_the_other_way_round(kgroup):
    sides = [str(FIXTURES / version / "lives") for version in ("3.9.1", "4.3.1")]
    forth = rows_of(kgroup("diff", *sides, "-o", "jsonl", "-q"))
    back = rows_of(kgroup("diff", *sides[::-1], "-o", "jsonl", "-q"))
    assert sorted(r["difference"] for r in forth if r["difference"]) == sorted(
        -r["difference"] for r in back if r["difference"]
    )
    came = {r["group"] for r in forth if r["change"] == "group-came"}
    assert came == {r["group"] for r in back if r["change"] == "group-gone"} != set()


def rights(worlds, name):
    """By the script: the mirror has all that its source had kept when it began, in order."""
    world = worlds[name]
    source = world.source
    right = {}
    for number, log in enumerate(source.topics["mirrored"].partitions):
        committed = source.groups["failover"].committed["mirrored", number]
        kept = next(batch.first for batch in log.batches if batch.first >= log.start)
        right[number] = committed - kept
    return right


@pytest.mark.parametrize("name", ["offsets_of_another_cluster", "offsets_of_a_mirror"])
def test_the_right_offset_is_the_scripts(kgroup, mirrors, name):
    folder, worlds = mirrors
    west = folder / name
    rows = rows_of(kgroup("diff", "--mirror", str(source_of(west)), str(west), "-o", "jsonl", "-q"))
    assert {row["partition"]: row["right_min"] for row in rows} == rights(worlds, name)
    assert [row["right_max"] for row in rows] == [row["right_min"] for row in rows]


def test_offsets_as_they_stood_are_named_and_fail_a_check(kgroup, mirrors):
    west = mirrors[0] / "offsets_of_another_cluster"
    ended = kgroup("diff", "--mirror", str(source_of(west)), str(west), "--check")
    assert ended.status == 3
    assert (
        "kgroup: group failover: untranslated-offsets: 2 partitions: mirrored-0 is committed at" in ended.err
    )
    assert ended.err.endswith("kgroup: --check: not ready to fail over: failover\n")


def test_offsets_a_minute_behind_repeat_a_minute_and_pass(kgroup, mirrors):
    folder, worlds = mirrors
    west = folder / "offsets_of_a_mirror"
    ended = kgroup("diff", "--mirror", str(source_of(west)), str(west), "--check", "-o", "jsonl", "-q")
    right = rights(worlds, "offsets_of_a_mirror")
    for row in rows_of(ended):
        assert row["verdict"] == "repeats"
        assert row["repeated_min"] == row["repeated_max"] == right[row["partition"]] - row["mirror_offset"]
        assert row["skipped_max"] == 0


def test_without_the_mirrors_data_logs_no_place_is_made_up(kgroup, mirrors, tmp_path):
    west = mirrors[0] / "offsets_of_a_mirror"
    bare = tmp_path / "bare"
    shutil.copytree(west, bare, ignore=shutil.ignore_patterns("mirrored-*"))
    rows = rows_of(kgroup("diff", "--mirror", str(source_of(west)), str(bare), "-o", "jsonl", "-q"))
    assert {row["verdict"] for row in rows} == {"unknown"}
    assert all(row["right_min"] is row["skipped_max"] is row["missing"] is None for row in rows)


def test_a_prefix_stands_before_the_mirrors_topics(kgroup, mirrors):
    west = mirrors[0] / "offsets_of_a_mirror"
    sides = [str(source_of(west)), str(west)]
    rows = rows_of(kgroup("diff", "--mirror", "--prefix", "east.", *sides, "-o", "jsonl", "-q"))
    assert {row["verdict"] for row in rows} == {"no-commit"}
    ended = kgroup("diff", "--mirror", *sides, "--topic", "mirrored", "-o", "csv", "-q")
    assert len(list(csv.DictReader(io.StringIO(ended.out)))) == 2


def test_damage_in_a_data_log_is_said_and_its_places_are_unknown(kgroup, mirrors, tmp_path):
    west = mirrors[0] / "offsets_of_a_mirror"
    hurt = tmp_path / "hurt"
    shutil.copytree(west, hurt)
    (log,) = (hurt / "mirrored-0").glob("*.log")
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    log.write_bytes(raw)
    ended = kgroup("diff", "--mirror", str(source_of(west)), str(hurt), "-o", "jsonl", "-q")
    verdicts = {row["partition"]: row["verdict"] for row in rows_of(ended)}
    assert verdicts == {0: "unknown", 1: "repeats"}
    assert "mirrored is not compared" in ended.err
