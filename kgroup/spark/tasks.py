"""The input of each Spark task: slices of segments, cut and packed so that tasks are of similar size.

Spark imports this module in several processes that only plan; the scan, and numba with it, is imported where
there is something to scan.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import InputPartition

from kgroup.errors import SourceError

if TYPE_CHECKING:
    from kgroup.log.files.log_dir import SegmentFile
    from kgroup.scan.reductions.scan import Slice

TASK_BYTES_MAX: Final = 128 * 1024 * 1024
# Below this, handing a task to a worker costs more than reading its bytes.
TASK_BYTES_MIN: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    """Slices of one offsets partition that follow each other; runs are numbered in log order."""

    number: int
    slices: "tuple[Slice, ...]"

    @property
    def offsets_partition(self) -> int:
        """The partition of all its slices."""
        return self.slices[0].offsets_partition


class Task(InputPartition):
    """The runs that one Spark task reads, in log order, as JSON."""

    @classmethod
    def of(cls, runs: Iterable[Run]) -> "Task":
        """Make one of runs."""
        return cls(
            json.dumps(
                [[run.number, run.offsets_partition, [_encoded(part) for part in run.slices]] for run in runs]
            )
        )

    def runs(self) -> list[Run]:
        """The runs; empty only if there is nothing to read at all."""
        return runs_of(self.value)


def runs_of(task: str) -> list[Run]:
    """The runs that a task's JSON tells."""
    from kgroup.scan.reductions.scan import Slice

    return [
        Run(
            number,
            tuple(
                Slice(path=Path(path), offsets_partition=offsets_partition, start=start, end=end, name=name)
                for path, name, start, end in slices
            ),
        )
        for number, offsets_partition, slices in json.loads(task)
    ]


def _encoded(part: "Slice") -> tuple[str, str | None, int, int]:
    """An executor's working folder is another one; in messages the path stays as the user gave it."""
    name = part.name if part.path.is_absolute() else part.name or str(part.path)
    return str(part.path.absolute()), name, part.start, part.end


def split_segments(segments: "Iterable[SegmentFile]", task_bytes: int) -> "list[Slice]":
    """Cut segments into slices of about `task_bytes` at most. Raises SourceError if one cannot be read."""
    from kgroup.scan.reductions.scan import split

    return [part for segment in segments for part in split(segment.path, segment.partition, task_bytes)]


def bytes_of(segments: "Iterable[SegmentFile]") -> int:
    """Their size together. Raises SourceError if one is not there."""
    try:
        return sum(Path(segment.path).stat().st_size for segment in segments)
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}") from error


def pack(slices: "Iterable[Slice]", task_bytes: int) -> list[Task]:
    """Put slices, in log order, into tasks of `task_bytes` or less; a larger slice is a task by itself.

    Slices of an offsets partition that follow each other stay together if they fit into a task. There is
    always one task, as Spark wants one.
    """
    tasks: list[Task] = []
    number = 0
    for packed in _packed(slices, task_bytes):
        runs = []
        for _, run in groupby(packed, key=lambda part: part.offsets_partition):
            runs.append(Run(number, tuple(run)))
            number += 1
        tasks.append(Task.of(runs))
    return tasks or [Task.of(())]


def task_bytes_for(total_bytes: int, cores: int) -> int:
    """The size of tasks that keeps all cores busy on `total_bytes`."""
    return min(TASK_BYTES_MAX, max(TASK_BYTES_MIN, -(-total_bytes // cores)))


def _packed(slices: "Iterable[Slice]", task_bytes: int) -> "Iterator[Sequence[Slice]]":
    """An offsets partition that has room in a task is not cut, as its pieces would have to meet again."""
    packed: list[Slice] = []
    size = 0
    for _, of_partition in groupby(slices, key=lambda part: part.offsets_partition):
        following = list(of_partition)
        needed = sum(part.end - part.start for part in following)
        if packed and size + needed > task_bytes >= needed:
            yield packed
            packed, size = [], 0
        for part in following:
            if packed and size + part.end - part.start > task_bytes:
                yield packed
                packed, size = [], 0
            packed.append(part)
            size += part.end - part.start
    if packed:
        yield packed
