"""Reduces tables one offsets partition after the other: rows of two have no key in common."""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from kgroup.scan.kernels.gather import values_of


def by_partition(
    tables: Iterable[pa.Table], reduce: Callable[[Sequence[pa.Table]], pa.Table]
) -> list[pa.Table]:
    """What is left of each offsets partition, in their order; of all at once if some batch is of several.

    One after the other takes the memory of one. What was reduced before has each in batches of its own.
    """
    tables = list(tables)
    of_partitions: dict[int, list[pa.Table]] = {}
    for batch in (pa.Table.from_batches([batch]) for table in tables for batch in table.to_batches()):
        partitions = values_of(batch["offsets_partition"])
        if not len(partitions):
            continue
        if partitions.min() != partitions.max():
            return [reduce(tables)]
        of_partitions.setdefault(int(partitions[0]), []).append(batch)
    return [reduce(of_one) for _, of_one in sorted(of_partitions.items())]
