"""Every record of the offsets topic: as entries, as rows, as columns."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from kgroup.api.decode.chosen import Choice, offsets_that_count
from kgroup.api.decode.filter import Filter, parse_topics, parse_types
from kgroup.api.decode.missing import NamesShown
from kgroup.api.decode.problems import Problems
from kgroup.api.decode.rows import arrow_rows, csv_rows, json_texts, table_rows
from kgroup.api.decode.selection import Preselection
from kgroup.api.decode.source import EntrySource, FileSource, LiveSource, only_offsets, topic_names
from kgroup.api.names import names_given
from kgroup.api.opened import OpenedLogs, failed, left_out
from kgroup.api.tabular import Tabular
from kgroup.log.files.entries import ReadRecord, to_logged_entry
from kgroup.log.files.sources import one_replica_each
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.report.emit import Column, OutputFormat, Row
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.records.columns import ARROW_COLUMNS, TABLE_COLUMNS
from kgroup.report.records.entry_json import TopicNames

if TYPE_CHECKING:
    import pyarrow as pa

    from kgroup.api.live import LiveLogs
    from kgroup.scan.kernels.bytes_at import Bytes

_BULK_BYTES: Final = 4 << 20
"""Below it the plain path is done before the columnar one has begun."""

Hear = Callable[[str], None]


class Decoded(Tabular):
    """Records that can be iterated over any number of times: each pass reads the log again.

    `remarks` say which files are left out on purpose, and why. `problems` and `missing` belong to the newest
    pass and are complete at its end: what could not be listed, damaged places, undecodable and odd records;
    and names asked for that are nowhere in the log.
    """

    def __init__(
        self,
        source: EntrySource,
        wanted: Filter,
        *,
        latest: bool,
        names: TopicNames,
        total_bytes: int,
        remarks: Sequence[str],
        unread: Sequence[str],
        progress: Progress,
        hear: Hear | None,
    ) -> None:
        self._source = source
        self._wanted = wanted
        self._latest = latest
        self._names = names
        self._total_bytes = total_bytes
        self._progress = progress
        self._hear_also = hear
        self._lines: list[str] = []
        self.counts = Problems(self._hear)
        self.remarks = tuple(remarks)
        self._unread = tuple(unread)

    def __iter__(self) -> Iterator[LoggedEntry | Damage]:
        for item in self.records():
            if isinstance(item, Damage):
                yield item
            elif item.record is not None and item.entry is not None:
                yield to_logged_entry(item.segment.partition, item.batch, item.record, item.entry)

    def __repr__(self) -> str:
        return f"<Decoded records of a log of {self._total_bytes} bytes>"

    def _repr_html_(self) -> str:
        return html_table(self.table_rows(), TABLE_COLUMNS)

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each place that is wrong; of many records that are alike the first."""
        return tuple(self._lines)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names that were asked for and are nowhere in the log."""
        return tuple(self.counts.missing)

    def records(self) -> Iterator[ReadRecord | Damage]:
        """The records with their files, batches and bytes; also batches that the cleaner has emptied."""
        with self._choosing() as (choice, preselection):
            yield from choice.of(self._source.read(preselection))

    def text_pieces(self, output: OutputFormat) -> "Iterator[bytes | Bytes]":
        """The lines of JSON, as an array or not, or of CSV without a heading, or a table's cells, in UTF-8.

        By the columnar path, to the byte what `json_texts`, `csv_rows` and `table_rows` come to; cells are as
        in `report.table_text`. Each piece is good until the next is asked for.
        """
        from kgroup.api.decode.block_text import block_texts
        from kgroup.api.decode.blocks import chosen_blocks, read_blocks
        from kgroup.report.records.item_text import CsvItems, ItemText, JsonItems
        from kgroup.report.records.table_items import TableItems

        files = self._files
        assert files is not None
        self._expect_it_all()
        text: ItemText
        match output:
            case OutputFormat.CSV:
                text = CsvItems(self._names)
            case OutputFormat.TABLE:
                text = TableItems(self._names)
            case _:
                text = JsonItems(self._names, ",\n" if output is OutputFormat.JSON else "\n")
        with self._choosing() as (choice, preselection):
            blocks = read_blocks(files.sources, files.stdin(), preselection)
            yield from block_texts(chosen_blocks(blocks, preselection, choice), files, text)

    def tables(self) -> "Iterator[pa.Table]":
        """The rows of `arrow_rows` by the columnar path."""
        from kgroup.api.decode.block_text import block_tables
        from kgroup.api.decode.blocks import chosen_blocks, read_blocks
        from kgroup.report.records.item_columns import ItemColumns, row_groups

        files = self._files
        assert files is not None
        self._expect_it_all()
        with self._choosing() as (choice, preselection):
            blocks = read_blocks(files.sources, files.stdin(), preselection)
            chosen = chosen_blocks(blocks, preselection, choice)
            yield from row_groups(block_tables(chosen, files, ItemColumns(self._names)))

    def _expect_it_all(self) -> None:
        """Kernels are machine code from the first record on, not from where 1.5 MB were written as Python."""
        from kgroup.scan.kernels.compile import TIER

        TIER.found_bytes += self._total_bytes

    @contextmanager
    def _choosing(self) -> Iterator[tuple[Choice, Preselection]]:
        """A new pass, which ends with what is missing."""
        self._lines = []
        problems = self.counts = Problems(self._hear)
        for line in self._unread:
            problems.add_unread(line)
        shown = NamesShown(self._wanted)
        passes = 2 if self._latest else 1
        with self._progress.counted_bytes("reading", passes * self._total_bytes) as advance:
            kept = self._offsets_that_count(advance) if self._latest else None
            yield Choice(self._wanted, kept, problems, shown), Preselection(self._wanted, advance)
            problems.missing += shown.missing(self._source)

    def _offsets_that_count(self, advance: Callable[[int], None]) -> set[tuple[int, int]]:
        if not self.is_in_bulk:
            return offsets_that_count(self._source, self._wanted, advance)
        from kgroup.api.decode.newest_blocks import block_offsets_that_count

        assert self._files is not None
        return block_offsets_that_count(self._files, self._wanted, advance)

    def table_rows(self) -> Iterator[Row]:
        """A few words for each record, in TABLE_COLUMNS; damage is among the problems."""
        return table_rows(self.records(), self._source, self._names)

    def json_texts(self) -> Iterator[str]:
        """A JSON object for each record and damaged place."""
        return json_texts(self.records(), self._source, self._names)

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup decode -o parquet`."""
        return ARROW_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each record and damaged place."""
        return arrow_rows(self.records(), self._source, self._names)

    def csv_rows(self) -> Iterator[Row]:
        """The same in the columns of CSV, which has no structs."""
        return csv_rows(self.records(), self._source, self._names)

    @property
    def is_in_bulk(self) -> bool:
        """Whether `text_pieces` pays: the log is in files, and not small."""
        return self._files is not None and self._total_bytes >= _BULK_BYTES

    @property
    def _files(self) -> FileSource | None:
        if isinstance(self._source, LiveSource):
            return None if self._source.is_followed else self._source.copied
        return self._source if isinstance(self._source, FileSource) else None

    def _hear(self, line: str) -> None:
        self._lines.append(line)
        if self._hear_also is not None:
            self._hear_also(line)


def decode(
    logs: OpenedLogs,
    *,
    groups: str | Sequence[str] | None = None,
    topics: str | Sequence[str] | None = None,
    partitions: Collection[int] | None = None,
    types: str | Sequence[str] | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    first_offset: int | None = None,
    last_offset: int | None = None,
    tombstones: bool = False,
    latest: bool = False,
    topics_file: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Decoded:
    """The records of the offsets topic that meet every condition, or all.

    `groups` are names or patterns; so are `topics`, which may also be `orders:0,3`; `partitions` are the
    offsets topic's; `types` are names such as `offset-commit` or `consumer-group-*`. Times are epoch ms,
    offsets are those of the log, including the last one. `latest` keeps only the newest record of each key,
    as a coordinator would hold it. `topics_file` names topic ids, in the format of a capture's topics.json.
    Raises InputError for an invalid condition, SourceError if the partitions have no segments.
    """
    topic_names, type_names = names_given(topics), names_given(types)
    wanted = Filter(
        groups=names_given(groups),
        topics=parse_topics(topic_names) if topic_names else None,
        types=parse_types(type_names) if type_names else None,
        since_ms=since_ms,
        until_ms=until_ms,
        first_offset=first_offset,
        last_offset=last_offset,
        tombstones=tombstones,
    )
    file = None if topics_file is None else Path(topics_file)
    return decode_wanted(
        logs, wanted, partitions=partitions, latest=latest, topics_file=file, progress=progress
    )


def decode_wanted(
    logs: OpenedLogs,
    wanted: Filter,
    *,
    partitions: Collection[int] | None = None,
    latest: bool = False,
    topics_file: Path | None = None,
    follow: bool = False,
    progress: Progress = NO_PROGRESS,
    hear: Hear | None = None,
) -> Decoded:
    """The same for a Filter. `hear` is called with each problem when it is met.

    With `follow` the new records of a live cluster come after the others, without end.
    """
    sources = logs.of_partitions(partitions) if partitions else logs.every_replica
    names = topic_names(sources.log_dirs, topics_file) | logs.topic_names()
    if latest:
        sources = one_replica_each(sources)
    remarks, unread = left_out(sources), failed(sources)
    if not latest:
        sources = only_offsets(sources, wanted.first_offset, wanted.last_offset)
    files = FileSource(sources, logs.stdin)
    source: EntrySource = files
    if logs.cluster is not None:
        source = LiveSource(files, cast("LiveLogs", logs), follow=follow)
    return Decoded(
        source,
        wanted,
        latest=latest,
        names=names,
        total_bytes=files.total_bytes,
        remarks=remarks,
        unread=unread,
        progress=progress,
        hear=hear,
    )
