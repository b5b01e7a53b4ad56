"""What executors send on is small whatever the log, so a group that fills a partition stalls nobody."""

from pathlib import Path

import pytest

from kgroup.scan.reductions.last_commits import Keep
from kgroup.scan.reductions.scan import split
from kgroup.spark.parts.kinds import pack
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds, Reduction
from kgroup.spark.tasks import pack as pack_tasks
from tests.log.offsets_log import batch, commit, write

PARTITIONS = 5
_BATCH = 200

LEFT = {
    "newest": NewestRecords(),
    "last": LastCommitsOfEach(Keep(slots=10)),
    "statuses": Both(NewestRecords(), ReachAndRounds(rounds=False)),
    "findings": Both(NewestRecords(), Both(LastCommitsOfEach(Keep(slots=10)), ReachAndRounds())),
}


def huge_group(folder: Path, commits: int) -> Path:
    """A segment in which one group commits five partitions again and again."""
    batches = [
        batch(
            first,
            [commit("huge", "t", number % PARTITIONS, number) for number in range(first, first + _BATCH)],
        )
        for first in range(0, commits, _BATCH)
    ]
    return write(folder, batches)


@pytest.mark.parametrize("name", LEFT)
def test_what_a_huge_group_leaves_is_no_more_than_a_small_one_leaves(tmp_path: Path, name: str) -> None:
    reduction: Reduction[object] = LEFT[name]  # type: ignore[assignment]  # of different parts

    def left_of(commits: int) -> int:
        path = huge_group(tmp_path / str(commits), commits)
        return len(pack(reduction.reduce(split(path, 7, 1 << 40))))

    small, large = left_of(1000), left_of(10_000)
    assert large <= 1.1 * small


def test_its_partition_is_read_by_several_tasks(tmp_path: Path) -> None:
    path = huge_group(tmp_path, 10_000)
    size = path.stat().st_size
    tasks = pack_tasks(split(path, 7, size // 8), size // 8)
    assert len(tasks) >= 7
    assert {run.offsets_partition for task in tasks for run in task.runs()} == {7}


@pytest.mark.parametrize("name", LEFT)
def test_reading_it_in_pieces_leaves_what_reading_it_at_once_leaves(tmp_path: Path, name: str) -> None:
    reduction: Reduction[object] = LEFT[name]  # type: ignore[assignment]
    path = huge_group(tmp_path, 5000)
    slices = split(path, 7, path.stat().st_size // 6)
    assert len(slices) >= 5
    merged = reduction.merge([reduction.reduce([part]) for part in slices])
    assert merged == reduction.reduce(split(path, 7, 1 << 40))


@pytest.mark.parametrize("name", LEFT)
def test_of_nothing_comes_what_an_empty_log_leaves(tmp_path: Path, name: str) -> None:
    reduction: Reduction[object] = LEFT[name]  # type: ignore[assignment]
    assert reduction.merge([]) == reduction.reduce([])
