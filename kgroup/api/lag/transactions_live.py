"""The open transactions of a live cluster that groups may be waiting for."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kgroup.errors import SourceError
from kgroup.lag.measures.rows import LagRow
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.transactions import first_open_transactions
from kgroup.net.admin.unread import UnreadPlace
from kgroup.net.admin.unread_parts import fetch_unread_parts
from kgroup.protocol.log_listing import OpenTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionsInCluster:
    """Open transactions by last stable offset (`ListOffsets`, read committed) and by producer (KIP-664).

    What lies between a committed offset and that is fetched, up to a bound; answers are kept.
    """

    cluster: Cluster
    problems: list[str] = field(default_factory=list)
    _answers: dict[UnreadPlace, OpenTransaction | None] = field(default_factory=dict)

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Raises nothing: where the cluster does not answer, nothing is known of transactions."""
        places = {_place(row) for row in rows} - self._answers.keys()
        if not places:
            return
        try:
            self._ask(places, {(row.topic, row.partition): row.log_end_offset or 0 for row in rows})
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))

    def _ask(self, places: set[UnreadPlace], log_ends: dict[tuple[str, int], int]) -> None:
        stable = self.cluster.last_stable_offsets({start.topic for start in places})
        behind = {
            start: last
            for start in sorted(places)
            if (last := stable.get((start.topic, start.partition))) is not None
            and start.offset <= last < log_ends[start.topic, start.partition]
        }
        self._answers.update(dict.fromkeys(places))
        if not behind:
            return
        parts = fetch_unread_parts(self.cluster, behind)
        self.problems.extend(line for line in parts.problems if line not in self.problems)
        waiting = {
            start: last
            for start, last in behind.items()
            if start in parts.parts and not parts.parts[start].records
        }
        begins = {UnreadPlace(start.topic, start.partition, last) for start, last in waiting.items()}
        transactions = first_open_transactions(self.cluster, begins)
        for start, last in waiting.items():
            self._answers[start] = transactions[UnreadPlace(start.topic, start.partition, last)]

    def blocking(self, row: LagRow) -> OpenTransaction | None:
        """The answer for the row, once it has been asked about."""
        return self._answers.get(_place(row))


def _place(row: LagRow) -> UnreadPlace:
    assert row.current_offset is not None, "something is committed where nothing moves"
    return UnreadPlace(row.topic, row.partition, max(row.current_offset, row.log_start_offset or 0))
