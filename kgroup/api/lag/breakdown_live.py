"""The unread part of a live cluster's partitions: from its answers, refined by a look at the batches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.lag.measures.rows import LagRow
from kgroup.log.topics.unread_parts import UnreadParts
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.unread import UnreadPlace
from kgroup.net.admin.unread_parts import BYTES_MAX, fetch_unread_parts
from kgroup.report.progress import Progress

_MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsInCluster:
    """Fetches what is unread, up to a bound; answers are kept, as other groups ask about the same places."""

    cluster: Cluster
    progress: Progress
    problems: list[str] = field(default_factory=list)
    _answers: dict[UnreadPlace, UnreadParts] = field(default_factory=dict)
    _too_long: dict[tuple[str, int], int] = field(default_factory=dict)
    """Of each partition the last offset that more than the bound follows."""
    _last_stable: dict[tuple[str, int], int] = field(default_factory=dict)

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Fetch. Raises SourceError if the cluster does not answer."""
        ends = {
            start: row.log_end_offset
            for row in rows
            if row.log_end_offset is not None and not self._is_known(start := _place(row))
        }
        with self.progress.counted("reading what is unread", len(ends)) as advance:
            answers = fetch_unread_parts(self.cluster, ends, advance)
        self._answers.update(answers.parts)
        self.problems.extend(line for line in answers.problems if line not in self.problems)
        for topic, partition, offset in answers.too_long:
            known = self._too_long.get((topic, partition), offset)
            self._too_long[topic, partition] = max(known, offset)
        unknown = {topic for topic, partition, _ in answers.too_long}
        if unknown:
            self._last_stable.update(self.cluster.last_stable_offsets(unknown))

    def parts(self, row: LagRow) -> UnreadParts | None:
        """The parts that were fetched, if any."""
        return self._answers.get(_place(row))

    def last_stable_offset(self, row: LagRow) -> int | None:
        """The cluster's answer about partitions of which too much is unread."""
        topic_partition = row.topic, row.partition
        return self._last_stable.get(topic_partition) if topic_partition in self._too_long else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """The number of partitions with too much unread."""
        if not self._too_long:
            return ()
        number = len(self._too_long)
        return (
            f"{number} partition{'' if number == 1 else 's'} with more than"
            f" {BYTES_MAX // _MEGABYTE} MB unread: what these are made of is not fetched",
        )

    def _is_known(self, start: UnreadPlace) -> bool:
        too_long = self._too_long.get((start.topic, start.partition))
        return start in self._answers or (too_long is not None and start.offset <= too_long)


def _place(row: LagRow) -> UnreadPlace:
    """The place of the first unread record; records before the log's start are gone."""
    assert row.current_offset is not None, "can_be_told is asked first"
    return UnreadPlace(row.topic, row.partition, max(row.current_offset, row.log_start_offset or 0))
