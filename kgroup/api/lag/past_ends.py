"""Past log ends of data topics: from their logs next to the offsets topic, or from the live cluster."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kgroup.lag.measures.log_ends import LogEnds

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster


class PastEnds(Protocol):
    """Knows where logs ended; `DataLogs` is one."""

    def ends_at(self, topic: str, partition: int, times_ms: Sequence[int]) -> list[int | None]:
        """The log's end at each of these times (epoch ms), None if unknown. Raises SourceError."""


@dataclass(slots=True)
class EndsInCluster:
    """Asks the cluster for the first record that is newer (`ListOffsets`); `ends` are those of now.

    Answers are kept, as many groups ask about the same partition.
    """

    cluster: "Cluster"
    ends: LogEnds
    _known: dict[tuple[str, int, int], int | None] = field(default_factory=dict)

    def ends_at(self, topic: str, partition: int, times_ms: Sequence[int]) -> list[int | None]:
        """See PastEnds: the end of now if nothing is newer, unknown before the first record that is left."""
        from kgroup.net.admin.timestamps import TimeInLog, first_newer

        asked = [TimeInLog(topic, partition, time_ms) for time_ms in times_ms]
        missing = [each for each in asked if each not in self._known]
        if missing:
            log = self.ends.find(topic, partition)
            answers = first_newer(self.cluster, missing)
            for each in missing:
                newer = answers.get(each)
                if each not in answers or log is None:
                    end = None
                elif newer is None:
                    end = log.log_end_offset
                else:
                    end = newer if newer == 0 or newer > (log.log_start_offset or 0) else None
                self._known[each] = end
        return [self._known[each] for each in asked]
