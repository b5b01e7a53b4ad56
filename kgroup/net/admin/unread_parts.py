"""Contents of a live cluster's unread offsets: batches are fetched and counted, up to a limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import read_partition_folder
from kgroup.log.topics.unread_parts import UnreadParts, unread_parts
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.raw_logs import copy_span
from kgroup.net.admin.unread import UnreadPlace

BYTES_MAX: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class PartsAnswers:
    """The parts that follow each start; `too_long` are the starts that more than the bound follows.

    A start that could not be fetched is in neither, and a line in `problems` says why.
    """

    parts: dict[UnreadPlace, UnreadParts] = field(default_factory=dict)
    too_long: set[UnreadPlace] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def fetch_unread_parts(
    cluster: Cluster,
    ends: Mapping[UnreadPlace, int],
    advance: Callable[[int], None] = lambda done: None,
    bytes_max: int = BYTES_MAX,
) -> PartsAnswers:
    """Fetch what follows every start, up to the log end offset given with it and to `bytes_max`.

    Each batch lies on the disk only for as long as it is counted. `advance` hears how many starts are done.
    """
    answers = PartsAnswers()
    starts = sorted(ends, key=lambda start: (start.topic, start.partition, -start.offset))
    for _, of_partition in groupby(starts, key=lambda start: (start.topic, start.partition)):
        nearest_first = list(of_partition)
        _ask(cluster, nearest_first, ends, bytes_max, answers)
        advance(len(nearest_first))
    return answers


def _ask(
    cluster: Cluster,
    nearest_first: list[UnreadPlace],
    ends: Mapping[UnreadPlace, int],
    bytes_max: int,
    answers: PartsAnswers,
) -> None:
    """Fetch for the starts of one partition, nearest to the end first: each later one has more to fetch."""
    for number, start in enumerate(nearest_first):
        try:
            parts = _parts(cluster, start, ends[start], bytes_max)
        except SourceError as error:
            answers.problems.append(str(error))
            return
        if parts is None:
            answers.too_long.update(nearest_first[number:])
            return
        answers.parts[start] = parts


def _parts(cluster: Cluster, start: UnreadPlace, end: int, bytes_max: int) -> UnreadParts | None:
    if start.offset >= end:
        return UnreadParts(last_stable_offset=start.offset)
    span = start.offset, end
    with TemporaryDirectory(prefix="kgroup-unread-") as folder:
        segment, copied = copy_span(
            cluster, start.partition, span, Path(folder), topic=start.topic, bytes_max=bytes_max
        )
        if copied < end:
            return None
        copy = read_partition_folder(segment.parent)
        assert copy is not None, "it has a segment"
        try:
            return unread_parts(copy, start.offset, end)
        except SourceError as error:
            raise SourceError(str(error).replace(folder, cluster.name)) from error
