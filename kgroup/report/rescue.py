"""Commits rescued from a log, in files from which they can be set again."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from kgroup.report.destination import new_file

FORMAT: Final = "kgroup-offsets/1"


class RescuedCommit(NamedTuple):
    """The newest commit of a group for a partition; the time is epoch ms."""

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int


def commits_of(tables: Iterable[pa.Table]) -> Iterator[RescuedCommit]:
    """The commits of tables with the scan's columns, sorted by group, topic and partition."""
    columns = list(RescuedCommit._fields)
    rows = [
        tuple(row[name] for name in columns) for table in tables for row in table.select(columns).to_pylist()
    ]
    yield from (RescuedCommit(*row) for row in sorted(rows, key=lambda row: row[:3]))


def write_rescued(path: Path, commits: Iterable[RescuedCommit]) -> int:
    """Write the file and say how many commits there are.

    `.csv`: lines of group, topic, partition, offset as `kafka-consumer-groups --reset-offsets --from-file`
    takes them (Kafka 2.2 on). Any other name: JSON with leader epochs, metadata and times as well. Raises
    OSError.
    """
    kept = list(commits)
    with new_file(path) as name, name.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            csv.writer(file, lineterminator="\n").writerows(commit[:4] for commit in kept)
        else:
            offsets = [commit._asdict() for commit in kept]
            json.dump({"format": FORMAT, "offsets": offsets}, file, indent=1, ensure_ascii=False)
            file.write("\n")
    return len(kept)
