"""Logs in which one thing grows hold as much of it as they should, and work is set against size."""

from dataclasses import replace

import pytest

import kgroup
from benchmarks import growth
from benchmarks.growth import AXES, Growth
from benchmarks.growth_logs import Shape, group_name, write_log
from benchmarks.process import Cost


def cost(cpu_seconds):
    return Cost(cpu_seconds=cpu_seconds, elapsed_seconds=1.0, peak_mb=80)


def grown(*cpu_seconds):
    return Growth(
        axis="groups",
        command="groups",
        sizes=(1, 10, 100),
        costs=tuple(map(cost, cpu_seconds)),
        start_seconds=0.5,
    )


def test_each_group_has_its_partitions_and_each_partition_the_same_lag(tmp_path):
    write_log(tmp_path, Shape(groups=4, partitions=3))
    with kgroup.open_logs(str(tmp_path)) as logs:
        rows = kgroup.lag_report(logs).to_arrow().select(["group", "partition", "lag"]).to_pylist()
    assert rows == [
        {"group": group_name(number), "partition": partition, "lag": 5}
        for number in range(4)
        for partition in range(3)
    ]


def test_in_every_second_generation_the_last_member_is_away(tmp_path):
    write_log(tmp_path, Shape(members=3, partitions=3, generations=6))
    with kgroup.open_logs(str(tmp_path)) as logs:
        timeline = kgroup.replay(logs, group_name(0))
    assert [len(generation.roster.members) for generation in timeline.generations] == [3, 2, 3, 2, 3, 2]
    assert timeline.commits == 18


@pytest.mark.parametrize(
    ("cpu_seconds", "times"),
    [
        ((0.6, 1.5, 10.5), 1.0),
        ((0.6, 1.5, 20.5), 2.0),
        ((0.6, 1.5, 5.5), 0.5),
        ((0.4, 0.5, 2.5), 10.0),  # what cannot be measured counts as a fiftieth of a second
    ],
)
def test_work_beyond_the_start_is_set_against_the_size(cpu_seconds, times):
    assert grown(*cpu_seconds).times_linear == pytest.approx(times)


def test_a_command_is_measured_at_each_size():
    (axis,) = [axis for axis in AXES if axis.name == "generations"]
    (measured,) = growth.measure(full=False, rounds=1, axes=(replace(axis, short=(2, 4, 8)),))
    assert measured.command == "replay -o jsonl"
    assert measured.sizes == (2, 4, 8)
    assert all(cost.cpu_seconds > 0 for cost in measured.costs)
    assert "2 / 4 / 8" in growth.table([measured])
