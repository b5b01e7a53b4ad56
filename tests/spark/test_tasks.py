"""How slices are packed into Spark tasks."""

import pickle
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import SegmentFile
from kgroup.scan.reductions.scan import Slice
from kgroup.spark.tasks import Run, Task, bytes_of, pack, split_segments, task_bytes_for

MEBIBYTE = 1024 * 1024


def slice_of(partition: int, start: int, end: int) -> Slice:
    return Slice(path=Path("/logs/0.log"), offsets_partition=partition, start=start, end=end)


def packed(slices: list[Slice], task_bytes: int) -> list[list[Run]]:
    return [task.runs() for task in pack(slices, task_bytes)]


def test_small_slices_share_a_task_up_to_its_size() -> None:
    slices = [slice_of(0, at, at + 40) for at in (0, 40, 80)]
    assert packed(slices, 80) == [[Run(0, (slices[0], slices[1]))], [Run(1, (slices[2],))]]


def test_a_task_has_a_run_for_each_offsets_partition_and_runs_are_numbered_in_log_order() -> None:
    slices = [slice_of(3, 0, 40), slice_of(4, 0, 40), slice_of(4, 40, 90)]
    assert packed(slices, 80) == [[Run(0, (slices[0],)), Run(1, (slices[1],))], [Run(2, (slices[2],))]]


def test_a_partition_that_fits_into_a_task_is_not_cut() -> None:
    slices = [slice_of(3, 0, 40), slice_of(4, 0, 30), slice_of(4, 30, 60), slice_of(5, 0, 20)]
    assert packed(slices, 80) == [
        [Run(0, (slices[0],))],
        [Run(1, (slices[1], slices[2])), Run(2, (slices[3],))],
    ]


def test_a_partition_that_is_larger_than_a_task_is_cut_and_shares_the_first_with_others() -> None:
    slices = [slice_of(3, 0, 40), slice_of(4, 0, 30), slice_of(4, 30, 90), slice_of(5, 0, 20)]
    assert packed(slices, 80) == [
        [Run(0, (slices[0],)), Run(1, (slices[1],))],
        [Run(2, (slices[2],)), Run(3, (slices[3],))],
    ]


def test_a_slice_that_is_larger_than_a_task_is_one_by_itself() -> None:
    slices = [slice_of(0, 0, 10), slice_of(0, 10, 500), slice_of(0, 500, 510)]
    assert [run.slices for task in packed(slices, 80) for run in task] == [(one,) for one in slices]


def test_a_partition_that_comes_back_within_a_task_is_another_run() -> None:
    slices = [slice_of(0, 0, 10), slice_of(1, 0, 10), slice_of(0, 10, 20)]
    assert [run.offsets_partition for run in packed(slices, 80)[0]] == [0, 1, 0]


def test_nothing_to_read_is_one_task_without_runs() -> None:
    assert packed([], 80) == [[]]


def test_a_task_travels_by_pickle() -> None:
    task = Task.of([Run(7, (slice_of(12, 0, 10),))])
    assert pickle.loads(pickle.dumps(task)).runs() == task.runs()


@pytest.mark.parametrize(
    ("total", "cores", "task_bytes"),
    [
        (0, 2, 16 * MEBIBYTE),
        (40 * MEBIBYTE, 2, 20 * MEBIBYTE),
        (1024 * MEBIBYTE, 2, 128 * MEBIBYTE),
        (1024 * MEBIBYTE, 32, 32 * MEBIBYTE),
    ],
)
def test_tasks_keep_all_cores_busy_but_are_neither_tiny_nor_huge(
    total: int, cores: int, task_bytes: int
) -> None:
    assert task_bytes_for(total, cores) == task_bytes


def test_a_segment_that_is_gone_is_an_error_with_its_path() -> None:
    gone = SegmentFile(path="/nowhere/0.log", topic=None, partition=0, base_offset=0)
    with pytest.raises(SourceError, match=r"^/nowhere/0.log: No such file"):
        bytes_of([gone])
    with pytest.raises(SourceError, match=r"^/nowhere/0.log: No such file"):
        split_segments([gone], MEBIBYTE)


def test_executors_get_absolute_paths_and_name_them_as_the_user_did() -> None:
    given = Slice(path=Path("logs/__consumer_offsets-1/0.log"), offsets_partition=1, start=0, end=10)
    (((cut,),),) = [[run.slices for run in task] for task in packed([given], 80)]
    assert (cut.path, cut.name) == (given.path.absolute(), "logs/__consumer_offsets-1/0.log")
