"""Progress of share groups, by the log of `__share_group_state` in a log directory."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.log.files.segment import read_records, read_segment
from kgroup.log.format.batch import Damage
from kgroup.protocol.share_state import (
    SHARE_STATE_TOPIC,
    ShareSnapshotValue,
    ShareStateValue,
    decode_share_state,
)

Place = tuple[str, UUID, int]
"""Group, topic id and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareProgress:
    """The offset at which a group begins to read a partition, and how many from there on it is done with.

    None is what no record says: before the first fetch, or in logs of 4.1 and before.
    """

    start_offset: int | None
    complete: int | None
    leader_epoch: int


def read_share_state(log_dirs: Iterable[Path]) -> tuple[dict[Place, ShareProgress], list[str]]:
    """The progress at the end of the logs, and what could not be read, with file and reason.

    Of several copies of a partition the one that reaches furthest counts.
    """
    copies: dict[str, list[Path]] = {}
    for log_dir in log_dirs:
        for folder in log_dir.glob(f"{SHARE_STATE_TOPIC}-*"):
            if folder.name.removeprefix(f"{SHARE_STATE_TOPIC}-").isdecimal():
                copies.setdefault(folder.name, []).append(folder)
    found: dict[Place, ShareProgress] = {}
    problems: list[str] = []
    for name in sorted(copies):
        _, newest = max((_read(folder, problems) for folder in sorted(copies[name])), key=itemgetter(0))
        found |= newest
    return found, problems


def _read(folder: Path, problems: list[str]) -> tuple[int, dict[Place, ShareProgress]]:
    """The last offset in a folder, and the state as of that."""
    found: dict[Place, ShareProgress] = {}
    last = -1
    for path in sorted(folder.glob("*.log")):
        for item in read_records(read_segment(path), str(path)):
            if isinstance(item, Damage):
                if item.size or item.position:  # else an empty file
                    problems.append(f"{path} at byte {item.position}: {item.why}")
                continue
            batch, records = item
            if batch.control:
                continue
            for record in records:
                last = record.offset
                try:
                    key, value = decode_share_state(record.key or b"", record.value)
                except DecodeError as error:
                    problems.append(f"{path} offset {record.offset}: {error}")
                    continue
                if key.topic_id is not None:
                    _take(found, (key.group_id, key.topic_id, key.partition), value)
    return last, found


def _take(found: dict[Place, ShareProgress], place: Place, value: ShareStateValue | None) -> None:
    if value is None:
        found.pop(place, None)
        return
    before = found.get(place)
    start = None if value.start_offset < 0 else value.start_offset
    if start is None and before is not None and not isinstance(value, ShareSnapshotValue):
        start = before.start_offset
    found[place] = ShareProgress(
        start_offset=start,
        complete=None if value.delivery_complete_count < 0 else value.delivery_complete_count,
        leader_epoch=value.leader_epoch,
    )
