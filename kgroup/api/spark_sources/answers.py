"""The base of data sources that give answers: each task takes whole partitions of the offsets topic.

A large group is one task here, as its partition is; `kgroup lag-report --spark` cuts it. An answer that takes
every group's commits as evidence is one task as a whole.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kgroup.api.opened import OpenedLogs
from kgroup.errors import SourceError
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.sources import Sources
from kgroup.scan.reductions.scan import Slice
from kgroup.spark.remote import fetched
from kgroup.spark.sources.filters import mask_of
from kgroup.spark.sources.options import GivenOptions, OnDamage
from kgroup.spark.sources.planning import FoundLogs, found_logs, of_partitions, refuse_unread, whole_segments
from kgroup.spark.sources.table_reader import TableReader
from kgroup.spark.sources.tables import TIME, JsonTask
from kgroup.spark.storage import Storage
from kgroup.spark.tasks import TASK_BYTES_MAX

Columns = Mapping[str, Sequence[Any]]
"""Values by column. A time is in epoch µs, a struct a mapping."""

ROWS_AT_ONCE: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Options that all answers take; `offsets_partitions` is as `GivenOptions` has it."""

    paths: tuple[str, ...]
    damage: OnDamage
    task_bytes: int
    offsets_partitions: int | None

    @classmethod
    def of(cls, given: GivenOptions) -> "AnswerOptions":
        """Raises InputError for a wrong one."""
        return cls(
            paths=given.paths(),
            damage=given.choice("damage", OnDamage.FAIL),
            task_bytes=given.number("taskBytes", TASK_BYTES_MAX, "bytes"),
            offsets_partitions=given.offsets_partitions(),
        )


class AnswerReader(TableReader):
    """Plans tasks, and makes rows of answers."""

    def __init__(self, options: AnswerOptions, table: pa.Schema, schema: pa.Schema) -> None:
        super().__init__(table, schema)
        self._options = options

    @abstractmethod
    def answered(self, logs: OpenedLogs) -> Iterator[Columns]:
        """Some rows at a time, by group; all columns of the table. Uses `unread` for what cannot be read."""

    @property
    def needs_all(self) -> bool:
        """Whether statements about a group depend on groups in other partitions of the offsets topic."""
        return False

    def partitions(self) -> Sequence[InputPartition]:
        """One per task. Raises SourceError for a path that cannot be read or holds no offsets topic."""
        with found_logs(self._options.paths, self.storage) as found:
            if self.needs_all:
                refuse_unread(found, found.sources, self._options.damage)
                return [JsonTask.of(sorted(whole_segments(found.sources)))]
            sources = of_partitions(found, self.conditions, self._options.offsets_partitions)
            refuse_unread(found, sources, self._options.damage)
            sizes = {
                number: sum(Path(segment.path).stat().st_size for segment in segments)
                for number, segments in whole_segments(sources).items()
            }
        return [JsonTask.of(numbers) for numbers in _packed(sizes, self._options.task_bytes)]

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some offsets partitions."""
        assert isinstance(partition, JsonTask)
        numbers = partition.decoded()
        if not numbers:
            return
        with _opened(self._options.paths, numbers, self.storage) as logs:
            for columns in self.answered(logs):
                yield from self._kept(columns)

    def wanted(self) -> Callable[[str], bool]:
        """Whether a group can be in the answer."""
        conditions = [each for each in self.conditions if each.column == "group"]

        def is_wanted(group: str) -> bool:
            mask = mask_of(conditions, lambda name: pa.array([group], pa.string()))
            return mask is None or bool(mask[0])

        return is_wanted

    def unread(self, problems: Iterable[str], logs: OpenedLogs) -> None:
        """Raises SourceError for the first of these, unless damage is to be skipped."""
        problem = next(iter(problems), None)
        if problem is not None and self._options.damage is OnDamage.FAIL:
            raise SourceError(f"{logs.message(problem)}; option damage=skip goes on behind it")

    def _kept(self, columns: Columns) -> Iterator[pa.RecordBatch]:
        names = {each.name for each in self.schema} | {each.column for each in self.conditions}
        arrays: dict[str, Any] = {
            name: pa.array(columns[name], self.table.field(name).type) for name in names
        }
        mask = mask_of(self.conditions, arrays.__getitem__)
        chosen = [arrays[each.name].cast(each.type) for each in self.schema]
        batch = pa.RecordBatch.from_arrays(chosen, schema=self.schema)
        batch = batch if mask is None else batch.filter(mask)
        if batch.num_rows:
            yield batch


def micros(ms: int | None) -> int | None:
    """Epoch ms as a time of Arrow."""
    return None if ms is None else ms * 1000


def columns_of(rows: Sequence[Mapping[str, Any]], table: pa.Schema) -> Columns:
    """Rows as columns; what a row has not is null, and what is a time in the table is epoch ms in rows."""
    columns: dict[str, Sequence[Any]] = {}
    for each in table:
        values = [row.get(each.name) for row in rows]
        columns[each.name] = [micros(value) for value in values] if each.type == TIME else values
    return columns


def in_chunks(rows: Iterable[Mapping[str, Any]], table: pa.Schema) -> Iterator[Columns]:
    """The same for many rows, some thousand at a time."""
    some: list[Mapping[str, Any]] = []
    for row in rows:
        some.append(row)
        if len(some) == ROWS_AT_ONCE:
            yield columns_of(some, table)
            some = []
    if some:
        yield columns_of(some, table)


@contextmanager
def _opened(paths: Sequence[str], numbers: Sequence[int], storage: Storage) -> Iterator[OpenedLogs]:
    """Some partitions of the offsets topic with all files next to them."""
    with found_logs(paths, storage) as found:
        segments = tuple(each for each in found.sources if each.partition in numbers)
        _fetch(segments, found)
        # What could not be listed was told, or passed over, when the tasks were planned.
        sources: Sources = replace(found.sources, segments=segments, skipped=())
        with OpenedLogs(sources=sources, remote=found.remote, names=paths) as logs:
            yield logs


def _fetch(segments: Sequence[SegmentFile], found: FoundLogs) -> None:
    """Put the bytes of segments where, in likenesses, they only seem to be; one at a time is there twice."""
    for segment in segments if found.remote is not None else ():
        path = Path(segment.path)
        whole = Slice(path=path, offsets_partition=segment.partition, start=0, end=path.stat().st_size)
        with fetched([whole], found.likenesses) as local:
            if local[0].path != path:
                local[0].path.replace(path)


def _packed(sizes: Mapping[int, int], task_bytes: int) -> list[list[int]]:
    """The partitions in tasks of some bytes; there is always one task, as Spark wants one."""
    tasks: list[list[int]] = []
    left = 0
    for number, size in sizes.items():
        if not tasks or size > left:
            tasks.append([])
            left = task_bytes
        tasks[-1].append(number)
        left -= size
    return tasks or [[]]
