"""The entries of a log that still count: the newest for every key, with transactions settled.

This is the reduction that compaction and a coordinator's boot come to, entry by entry.
`kgroup.scan.reductions.scan` does the same for commits at memory speed; tests hold the two equal.
"""

from collections.abc import Iterator

from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import Key, OffsetCommitKey


class NewestEntries:
    """Feed it the entries of each offsets partition in log order; partitions may come in any order.

    Kafka 4.x's rule for commits (`OffsetMetadataManager`): of plain commits, tombstones and the commits of
    committed transactions, the one with the highest offset *of its own record* counts, wherever the
    transaction's marker stands. Commits of aborted and of open transactions never count. Records that
    kgroup cannot decode belong to no key; they are for the caller to report.
    """

    def __init__(self) -> None:
        self._newest: dict[tuple[int, Key], LoggedEntry] = {}
        self._open: dict[tuple[int, int], dict[Key, LoggedEntry]] = {}

    def add(self, logged: LoggedEntry) -> None:
        """Take the next entry."""
        match logged.entry:
            case OffsetsEntry(key=key, value=value):
                # A tombstone acts at once, even inside a transaction: expiry and deletion wait for no marker.
                if isinstance(key, OffsetCommitKey) and logged.producer_id is not None and value is not None:
                    self._open.setdefault((logged.partition, logged.producer_id), {})[key] = logged
                else:
                    self._keep(key, logged)
            case TransactionMarker(producer_id=producer_id, committed=committed):
                ended = self._open.pop((logged.partition, producer_id), {})
                if committed:
                    for key, commit in ended.items():
                        self._keep(key, commit)
            case Undecodable():
                pass

    def commits(self) -> Iterator[LoggedEntry]:
        """The commits that count, tombstones left out."""
        return (
            logged
            for (_, key), logged in self._newest.items()
            if isinstance(key, OffsetCommitKey) and _is_alive(logged)
        )

    def settled(self, partition: int, key: Key) -> LoggedEntry | None:
        """The newest entry of a key that no transaction holds back, be it a tombstone."""
        return self._newest.get((partition, key))

    def pending(self) -> Iterator[LoggedEntry]:
        """Commits of open transactions that would count if their transaction were committed now."""
        for (partition, _), commits in self._open.items():
            for key, logged in commits.items():
                settled = self._newest.get((partition, key))
                if settled is None or logged.offset > settled.offset:
                    yield logged

    def open(self) -> Iterator[LoggedEntry]:
        """The newest commit per producer and key of all open transactions."""
        return (logged for commits in self._open.values() for logged in commits.values())

    def others(self) -> Iterator[LoggedEntry]:
        """The entries that count of all other types, tombstones left out."""
        return (
            logged
            for (_, key), logged in self._newest.items()
            if not isinstance(key, OffsetCommitKey) and _is_alive(logged)
        )

    def _keep(self, key: Key, logged: LoggedEntry) -> None:
        newest = self._newest.get((logged.partition, key))
        if newest is None or logged.offset > newest.offset:
            self._newest[logged.partition, key] = logged


def _is_alive(logged: LoggedEntry) -> bool:
    return isinstance(logged.entry, OffsetsEntry) and logged.entry.value is not None
