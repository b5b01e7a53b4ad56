"""Logs opened from paths; those of a live cluster are in `live.py`. All questions are put to these."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Self
from uuid import UUID

from kgroup.errors import InputError, SourceError
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.sources import STDIN, Skipped, Sources, one_replica_each, open_sources
from kgroup.protocol.log_listing import LogListing
from kgroup.report.table import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.log.files.spool import SpooledStream
    from kgroup.log.format.batch import Batch, Damage
    from kgroup.net.admin.cluster import Cluster
    from kgroup.spark.remote import Asker, RemoteLogs
    from kgroup.spark.storage import Storage


_FEW_BYTES: Final = 64 * 1024


class OpenedLogs:
    """Logs of the offsets topic, and what is next to them; for a live cluster also the connection.

    A context manager: leaving the block releases a connection, the copy of its topic, and what was kept of
    standard input. For paths nothing is held open, so the block is optional.
    """

    def __init__(
        self,
        *,
        sources: Sources,
        listing: LogListing | None = None,
        cluster: "Cluster | None" = None,
        remote: "RemoteLogs | None" = None,
        stdin: BinaryIO | None = None,
        names: Sequence[str] = (),
        held: ExitStack | None = None,
    ) -> None:
        self._every_replica = sources
        self._listing = listing
        self._cluster = cluster
        self._stream = stdin
        self._held = ExitStack() if held is None else held
        self.names = tuple(names)
        """What was opened, as the caller named it; empty for a cluster."""
        self.remote = remote
        """The place to fetch segments from that are not here; only Spark can."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up all that is held; nothing can be asked afterwards."""
        self._held.close()

    def __repr__(self) -> str:
        partitions = counted(len({segment.partition for segment in self._every_replica}), "partition")
        segments = counted(len(self._every_replica), "segment")
        return f"<OpenedLogs {', '.join(self.names)}: {segments} of {partitions}>"

    # ---- what there is to read ------------------------------------------------------------------

    @property
    def sources(self) -> Sources:
        """Every partition once: of replicas the one whose log ends last. Raises SourceError for none."""
        return self._one_replica_each

    @property
    def every_replica(self) -> Sources:
        """All that there is, in every copy."""
        return self._every_replica

    def of_partitions(self, partitions: Collection[int]) -> Sources:
        """These partitions of the offsets topic, in every copy. Raises SourceError if there is none."""
        kept = tuple(segment for segment in self._every_replica if segment.partition in partitions)
        if not kept:
            there = sorted({segment.partition for segment in self._every_replica})
            numbers = ", ".join(map(str, partitions))
            raise SourceError(
                f"no segments of partition {numbers} here, only of {', '.join(map(str, there))}"
            )
        return replace(self._every_replica, segments=kept)

    def of_groups(self, groups: Sequence[str]) -> Sources:
        """The sources that may have these groups, each partition once: all files, as they do not say how
        many partitions the topic has.
        """
        return self.sources

    @cached_property
    def stdin(self) -> "SpooledStream | None":
        """The spooled standard input, to be read any number of times; None if that is no source.

        Raises SourceError if nothing came.
        """
        if self._stream is None:
            return None
        from kgroup.log.files.spool import SpooledStream

        spooled = SpooledStream(self._stream)
        self._held.callback(spooled.close)
        if not spooled.read_at(0, 1):
            raise SourceError("standard input is empty")
        return spooled

    def batches(self, segment: SegmentFile) -> "Iterator[Batch | Damage]":
        """A segment's batches, read from where it lies only as far as they are taken."""
        from kgroup.log.files.segment import read_segment
        from kgroup.spark.storage import is_uri

        if self.remote is not None and is_uri(segment.path):
            return self.remote.batches(segment.path)
        return read_segment(segment.path, read_bytes=_FEW_BYTES)

    # ---- what a cluster adds --------------------------------------------------------------------

    @property
    def cluster(self) -> "Cluster | None":
        """The live cluster, to ask it more."""
        return self._cluster

    def pass_over_leaderless(self) -> None:
        """Let `sources` leave out partitions of a live offsets topic that no broker leads, once it is asked
        for; who calls this tells of them.
        """

    @property
    def leaderless(self) -> Collection[int]:
        """The partitions that were left out."""
        return ()

    @property
    def listing(self) -> LogListing | None:
        """The ends of all logs as the live cluster says them, asked for behind what is read of commits."""
        return self._listing

    def topic_names(self) -> dict[UUID, str]:
        """Topic id to name, of all topics that the live cluster has now."""
        if self.cluster is None:
            return {}
        topics = self.cluster.topics().values()
        return {topic.topic_id: topic.name for topic in topics if topic.topic_id is not None}

    def judged(self, names: Collection[str]) -> LogListing | None:
        """The listing, having looked into those of these topics that it does not name."""
        listing = self.listing
        if listing is None or self.cluster is None:
            return listing
        missing = set(names) - {log.topic for log in listing.logs} - listing.hidden - listing.unsure
        if not missing:
            return listing
        return looked_into(listing, self.cluster, missing)

    def message(self, text: str) -> str:
        """A message with the names that the user knows."""
        return text if self.remote is None else self.remote.named_in(text)

    @cached_property
    def _one_replica_each(self) -> Sources:
        return one_replica_each(self._every_replica)


def looked_into(listing: LogListing, cluster: "Cluster", missing: Collection[str]) -> LogListing:
    """The listing, having asked the cluster for each of these topics, which it does not name."""
    from kgroup.protocol.error_codes import ErrorCode

    errors = cluster.why_unlisted(missing)
    hidden = {name for name, error in errors.items() if error == ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)
    gone = {name for name, error in errors.items() if error in unknown}
    unsure = set(missing) - hidden - gone
    return replace(listing, hidden=listing.hidden | hidden, unsure=listing.unsure | unsure)


def open_logs(
    *paths: str | Path,
    stdin: BinaryIO | None = None,
    remote: bool = False,
    spark: "SparkSession | None" = None,
) -> OpenedLogs:
    """Find logs of the offsets topic in log directories, partition folders or segment files, or above them.

    "-" means `stdin`. With `remote` a path may be a URI such as `s3://bucket/cluster-7`, which only Spark can
    read; if `spark` is given, its executors look there, with its storage settings. Raises SourceError, naming
    the path, if one cannot be read or holds no segment.
    """
    names = [str(path) for path in paths]
    if not names:
        raise InputError(
            "no path given: the log directory of a broker, or __consumer_offsets folders or segments"
        )
    if STDIN in names and stdin is None:
        raise InputError("-: standard input is read from a stream that is handed in: stdin=sys.stdin.buffer")
    if remote:
        from kgroup.spark.storage import is_uri

        if any(map(is_uri, names)):
            from kgroup.spark.remote import open_remote

            held = ExitStack()
            remote_logs = held.enter_context(open_remote(names, *_storage_of(spark)))
            return OpenedLogs(sources=remote_logs.named(), remote=remote_logs, names=names, held=held)
    return OpenedLogs(sources=open_sources(names), stdin=stdin if STDIN in names else None, names=names)


def _storage_of(session: "SparkSession | None") -> "tuple[()] | tuple[Storage, Asker]":
    if session is None:
        return ()
    from kgroup.spark.hadoop import storage_of
    from kgroup.spark.jobs import asked_there

    return storage_of(session), partial(asked_there, session)


def not_read(skipped: Iterable[Skipped]) -> list[str]:
    """A line for each thing that is left out, with the reason."""
    return [f"{each.path}: not read: {each.why}" for each in skipped]


def left_out(sources: Sources) -> list[str]:
    """The lines for what is left out on purpose; those for the rest are problems."""
    return not_read(each for each in sources.skipped if not each.failed)


def failed(sources: Sources) -> list[str]:
    """The lines for what is left out because it could not be read."""
    return not_read(each for each in sources.skipped if each.failed)
