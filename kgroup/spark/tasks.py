"""What each Spark task reads: slices of segments, cut and packed so that tasks are about the same size."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from pyspark.sql.datasource import InputPartition

from kgroup.log.partition import SegmentFile
from kgroup.log.scan import Slice, split

TASK_BYTES_MAX: Final = 128 * 1024 * 1024
# Below this, handing a task to a worker costs more than reading its bytes.
TASK_BYTES_MIN: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    """Slices of one offsets partition that follow each other; runs are numbered in log order."""

    number: int
    slices: tuple[Slice, ...]

    @property
    def offsets_partition(self) -> int:
        """The partition of all its slices."""
        return self.slices[0].offsets_partition


class Task(InputPartition):
    """The runs that one Spark task reads, in log order."""

    def __init__(self, runs: Iterable[Run]) -> None:
        super().__init__(tuple(runs))

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs; there are none only if there is nothing to read at all."""
        runs: tuple[Run, ...] = self.value
        return runs


def split_segments(segments: Iterable[SegmentFile], task_bytes: int) -> list[Slice]:
    """Cut segments into slices of about `task_bytes` at most. Raises SourceError if one cannot be read."""
    return [part for segment in segments for part in split(Path(segment.path), segment.partition, task_bytes)]


def pack(slices: Iterable[Slice], task_bytes: int) -> list[Task]:
    """Put slices, in log order, into tasks of `task_bytes` or less; a larger slice is a task by itself."""
    tasks: list[Task] = []
    number = 0
    for packed in _packed(slices, task_bytes):
        runs = []
        for _, run in groupby(packed, key=lambda part: part.offsets_partition):
            runs.append(Run(number, tuple(run)))
            number += 1
        tasks.append(Task(runs))
    return tasks


def task_bytes_for(total_bytes: int, cores: int) -> int:
    """How large tasks should be to keep all cores busy on `total_bytes`."""
    return min(TASK_BYTES_MAX, max(TASK_BYTES_MIN, -(-total_bytes // cores)))


def slices_to_json(slices: Iterable[Slice]) -> str:
    """Slices as the text of a data source's option."""
    return json.dumps([[str(part.path), part.offsets_partition, part.start, part.end] for part in slices])


def slices_from_json(text: str) -> list[Slice]:
    """The reverse of `slices_to_json`."""
    return [
        Slice(path=Path(path), offsets_partition=offsets_partition, start=start, end=end)
        for path, offsets_partition, start, end in json.loads(text)
    ]


def _packed(slices: Iterable[Slice], task_bytes: int) -> Iterator[Sequence[Slice]]:
    packed: list[Slice] = []
    size = 0
    for part in slices:
        if packed and size + part.end - part.start > task_bytes:
            yield packed
            packed, size = [], 0
        packed.append(part)
        size += part.end - part.start
    if packed:
        yield packed
