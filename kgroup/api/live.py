"""The offsets topic of a live cluster, copied into a log directory as far as a question needs it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kgroup.api.names import is_pattern
from kgroup.api.opened import OpenedLogs
from kgroup.log.files.sources import Sources, open_sources
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.raw_logs import grow_copy, offsets_spans
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for
from kgroup.protocol.log_listing import LogListing
from kgroup.report.table import counted


class LiveLogs(OpenedLogs):
    """A connection, and a copy of the offsets topic that is made when it is first asked for.

    For a question about some partitions only those are copied: once, each as it is at that moment.
    """

    def __init__(self, connection: ConnectionOptions) -> None:
        super().__init__(sources=Sources(segments=()))
        self._live = self._held.enter_context(Cluster(connection))
        self._folder: Path | None = None
        self._ends: dict[int, int] = {}
        self._is_whole = False
        self._copied: Sources | None = None
        self._asked_listing: LogListing | None = None
        self._leaderless: set[int] | None = None

    def __repr__(self) -> str:
        return f"<OpenedLogs {self._live.name}: live, {counted(len(self._ends), 'partition')} copied>"

    @property
    def cluster(self) -> Cluster:
        """See OpenedLogs."""
        return self._live

    @property
    def sources(self) -> Sources:
        """All partitions; the copy has each once. Raises SourceError if one cannot be read."""
        self._copy_all()
        return self._sources_copied()

    @property
    def every_replica(self) -> Sources:
        """The same."""
        return self.sources

    def of_partitions(self, partitions: Collection[int]) -> Sources:
        """These partitions. Raises SourceError if one is not there, or cannot be read."""
        self._copy([number for number in partitions if number not in self._ends])
        copied = self._sources_copied()
        return replace(copied, segments=tuple(each for each in copied if each.partition in partitions))

    def of_groups(self, groups: Sequence[str]) -> Sources:
        """The partitions that keep these groups; all of them if one is a pattern."""
        topic = self._live.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
        if topic is None or not groups or any(map(is_pattern, groups)):
            return self.sources
        return self.of_partitions({partition_for(group, len(topic.leaders)) for group in groups})

    def pass_over_leaderless(self) -> None:
        """See OpenedLogs."""
        if self._leaderless is None:
            self._leaderless = set()

    @property
    def leaderless(self) -> Collection[int]:
        """See OpenedLogs."""
        return frozenset(self._leaderless or ())

    @property
    def listing(self) -> LogListing:
        """The ends of all logs, not before those of the commits that are copied."""
        if self._asked_listing is None:
            self._asked_listing = self._live.log_listing()
        return self._asked_listing

    @property
    def folder(self) -> str:
        """The log directory of the copy."""
        if self._folder is None:
            self._folder = Path(self._held.enter_context(TemporaryDirectory(prefix="kgroup-")))
        return str(self._folder)

    @property
    def ends(self) -> Mapping[int, int]:
        """The end offset of each copied partition."""
        return self._ends

    def grow(self) -> None:
        """Bring the copy up to now, all partitions of it."""
        self._asked_listing = self._copied = None
        self._leaderless = None if self._leaderless is None else set()
        self._ends |= grow_copy(self._live, Path(self.folder), self._ends, None, self._leaderless)
        self._is_whole = True

    def _sources_copied(self) -> Sources:
        if self._copied is None:
            self._copied = open_sources([self.folder])
        return self._copied

    def _copy_all(self) -> None:
        if self._is_whole:
            return
        if self._ends:
            spans = offsets_spans(self._live, None, self._leaderless)
            self._copy([number for number in spans if number not in self._ends])
        else:
            self._copy(None)
        self._is_whole = True

    def _copy(self, partitions: Collection[int] | None) -> None:
        if partitions is None or partitions:
            self._asked_listing = self._copied = None
            self._ends |= grow_copy(self._live, Path(self.folder), {}, partitions, self._leaderless)


def connect(bootstrap_servers: str, *, config: str | Path | Mapping[str, str] | None = None) -> OpenedLogs:
    """Connect to a live cluster, `host:port,host:port`, to ask what could be asked of its log files.

    `config` are Java client properties for the connection, or the file that has them: security.protocol,
    sasl.*, ssl.*. Close it, or use it in a `with` block. Raises SourceError if no server answers, and
    InputError for properties that make no sense.
    """
    if isinstance(config, Mapping):
        properties = tuple(f"{name}={value}" for name, value in config.items())
        return LiveLogs(ConnectionOptions(bootstrap_servers=bootstrap_servers, properties=properties))
    file = None if config is None else Path(config)
    return LiveLogs(ConnectionOptions(bootstrap_servers=bootstrap_servers, command_config=file))


class KeptLog:
    """A connection and a copy of the offsets topic that are kept from one look to the next.

    Only new records are fetched. After an error everything is dropped, and the next look starts over.
    """

    def __init__(self, connection: ConnectionOptions) -> None:
        self._connection = connection
        self._open = ExitStack()
        self._live: LiveLogs | None = None

    @contextmanager
    def look(self) -> Iterator[LiveLogs]:
        """The copy as of now. Raises SourceError as `connect` does, or if the topic cannot be read."""
        try:
            if self._live is None:
                self._live = self._open.enter_context(LiveLogs(self._connection))
                self._live.pass_over_leaderless()
            self._live.grow()
            yield self._live
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give up the connection and the copy."""
        self._live = None
        self._open.close()
