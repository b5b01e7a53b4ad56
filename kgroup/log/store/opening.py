"""Facts about a partition before its log is opened, and the small files next to its segments."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.checkpoints import (
    LEADER_EPOCHS,
    PARTITION_METADATA,
    EpochStart,
    encode_leader_epochs,
    read_leader_epochs,
    read_topic_id,
)
from kgroup.log.files.log_dir import parse_segment_name
from kgroup.log.format.batch_header import BatchHeader
from kgroup.log.store.atomic_file import replace_text
from kgroup.log.store.file_handles import FileHandles
from kgroup.log.store.retired_folder import retire
from kgroup.log.store.survey import Bounds, healthy_batches
from kgroup.protocol.topic_id import topic_id_text

Warn = Callable[[str], None]
_LEFTOVERS: Final = (".cleaned", ".deleted")
SWAP_SUFFIX: Final = ".swap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Facts about a log before its files are read. The default: nothing is known, as after a crash.

    `recovery_point`: what lies before it was on the disk (Kafka's recovery-point-offset-checkpoint), so after
    a crash only what lies behind is checked by CRC. `clean`: the last process closed the log, and nothing is.
    `end_offset` and `start_offset`: how far it went, as far as that was written down.
    """

    clean: bool = False
    recovery_point: int = 0
    start_offset: int | None = None
    end_offset: int = 0
    check_all: bool = False
    """Check every batch by its CRC: all of the log will be read anyway."""
    has_gaps: bool = False
    """It is a compacted log: offsets between its batches may be missing."""
    warn: Warn | None = None
    handles: FileHandles = field(default_factory=FileHandles)


def check_topic_id(folder: Path, topic_id: UUID | None, warn: Warn | None) -> None:
    """Make sure that a partition folder says the id of its topic.

    A folder that says another is that of another topic of this name: it is renamed as Kafka renames a stray
    one. One that says nothing any more is taken for this topic's. Brokers before 2.8 have no ids: None.
    Raises OSError.
    """
    if topic_id is None or not folder.exists():
        return
    metadata = folder / PARTITION_METADATA
    try:
        there = read_topic_id(metadata) if metadata.exists() else topic_id
    except SourceError as error:
        if warn is not None:
            warn(f"{error}; written anew")
        there = None
    if there is not None and there != topic_id:
        stray = retire(folder, "stray")
        if warn is not None:
            ids = f"{topic_id_text(there)} and not {topic_id_text(topic_id)}"
            warn(f"{folder}: of another topic of this name, with the id {ids}: kept as {stray.name}")
    elif there is None or not metadata.exists():
        replace_text(metadata, f"version: 0\ntopic_id: {topic_id_text(topic_id)}")


def check_epochs(folder: Path, logged: Iterable[EpochStart], warn: Warn | None) -> list[EpochStart]:
    """The leader epochs that were noted, or those that the batches have (`logged`). Raises OSError."""
    path = folder / LEADER_EPOCHS
    if not path.exists():
        return list(logged)
    try:
        return read_leader_epochs(path, may_be_empty=False)
    except SourceError as error:
        epochs = list(logged)
        replace_text(path, encode_leader_epochs(epochs))
        if warn is not None:
            warn(f"{error}; written anew from the log")
        return epochs


def settle_leftovers(folder: Path) -> None:
    """End what a cleaning was doing when it was stopped, as Kafka's LogLoader does. Raises OSError.

    What was being written (`.cleaned`) and what had been taken out (`.deleted`) is no part of the log. A
    `.swap` is whole, and takes the place of the segments whose offsets it has.
    """
    swaps = []
    for path in sorted(folder.iterdir()):
        if path.suffix in _LEFTOVERS:
            path.unlink()
        elif path.name.endswith(".log" + SWAP_SUFFIX):
            swaps.append(path)
        elif path.suffix == SWAP_SUFFIX:
            path.unlink()  # of an index, which is made from its log
    for swap in swaps:
        _swap_in(folder, swap)


def _swap_in(folder: Path, swap: Path) -> None:
    log = swap.with_suffix("")
    base = parse_segment_name(log.name)
    if base is None:
        return
    offsets = [header.last_offset for _, header in _whole_batches(swap)]
    end = max(offsets, default=base) + 1
    for covered in segment_bases(folder):
        if base < covered < end:
            for suffix in (".log", ".index", ".timeindex", ".txnindex"):
                (folder / f"{covered:020d}{suffix}").unlink(missing_ok=True)
    swap.replace(log)


def _whole_batches(path: Path) -> Iterator[tuple[int, BatchHeader]]:
    try:
        yield from healthy_batches(path, Bounds(base_offset=0))
    except DecodeError:
        return


def segment_bases(folder: Path) -> list[int]:
    """The base offsets of a folder's segments, in order. Raises OSError."""
    bases = (parse_segment_name(path.name) for path in folder.iterdir())
    return sorted(base for base in bases if base is not None)
