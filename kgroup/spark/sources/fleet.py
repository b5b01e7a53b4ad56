"""Several clusters in one table: the option `clusters` in place of a path, and a column with their names.

Each cluster is planned and read as it would be alone. A condition on `cluster` leaves out whole clusters, of
which nothing is listed then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kgroup.errors import SourceError
from kgroup.spark.explore import side_by_side
from kgroup.spark.sources.filters import mask_of
from kgroup.spark.sources.options import GivenOptions, OnDamage
from kgroup.spark.sources.table_reader import TableReader

CLUSTER: Final = pa.field("cluster", pa.string(), nullable=False)
"""The first column where the option `clusters` is given."""

ReaderOf = Callable[[GivenOptions, pa.Schema], TableReader]
"""Makes the reader of one cluster."""


@dataclass(frozen=True, slots=True)
class _OfOne:
    cluster: str
    task: InputPartition


class FleetTask(InputPartition):
    """A task of the reader of one cluster."""

    def __init__(self, cluster: str, task: InputPartition) -> None:
        super().__init__(_OfOne(cluster, task))

    @property
    def of(self) -> _OfOne:
        """The cluster, and its own task."""
        of: _OfOne = self.value
        return of


class FleetReader(TableReader):
    """Reads clusters side by side, each by a reader of its own.

    A cluster that cannot be read fails the query, or is passed over with the option damage=skip.
    """

    def __init__(self, given: GivenOptions, table: pa.Schema, schema: pa.Schema, reader_of: ReaderOf) -> None:
        super().__init__(pa.schema([CLUSTER, *table]), schema)
        own = [field for field in schema if field.name != CLUSTER.name]
        # A batch without a column would not say how many rows it has.
        of_one = pa.schema(own or [table.field(0)])
        self._damage = given.choice("damage", OnDamage.FAIL)
        self._readers: Mapping[str, TableReader] = {
            name: reader_of(given.of_cluster(paths), of_one) for name, paths in given.clusters().items()
        }

    def partitions(self) -> Sequence[InputPartition]:
        """The partitions of all clusters that the conditions leave. Raises SourceError as its readers do."""
        asked = [each for each in self.conditions if each.column == CLUSTER.name]
        mask = mask_of(asked, lambda _: pa.array(list(self._readers), CLUSTER.type))
        names = [name for at, name in enumerate(self._readers) if mask is None or mask[at].as_py()]
        return [FleetTask(name, task) for name, tasks in side_by_side(self._planned, names) for task in tasks]

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task, of one cluster."""
        assert isinstance(partition, FleetTask)
        name, task = partition.of.cluster, partition.of.task
        try:
            for batch in self._reader(name).batches(task):
                yield self._named(name, batch)
        except SourceError as error:
            if self._damage is OnDamage.FAIL:
                raise _of_cluster(name, error) from error

    def _planned(self, name: str) -> tuple[str, Sequence[InputPartition]]:
        try:
            return name, self._reader(name).partitions()
        except SourceError as error:
            if self._damage is OnDamage.FAIL:
                raise _of_cluster(name, error) from error
            return name, ()

    def _reader(self, name: str) -> TableReader:
        """The reader of one cluster, with the settings this one got since it was made."""
        reader = self._readers[name]
        reader.storage = self.storage
        reader.conditions[:] = [each for each in self.conditions if each.column != CLUSTER.name]
        return reader

    def _named(self, name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            pa.array([name] * batch.num_rows, CLUSTER.type).cast(each.type)
            if each.name == CLUSTER.name
            else batch[each.name]
            for each in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _of_cluster(name: str, error: SourceError) -> SourceError:
    return SourceError(f"cluster {name}: {error}")
