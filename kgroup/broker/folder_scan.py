"""Inspects a log directory before its logs are opened: known folders, and how to treat the others."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kgroup.broker.cluster_file import ClusterSpec, TopicSpec
from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import PARTITION_METADATA, read_topic_id
from kgroup.log.files.log_dir import parse_folder_name
from kgroup.log.store.retired_folder import retire
from kgroup.protocol.topic_id import topic_id_text

METADATA_TOPIC: Final = "__cluster_metadata"
_INTERNAL: Final = ("__consumer_offsets", "__transaction_state")
_SHOWN_MAX: Final = 3
_DELETED: Final = "-delete"


def settle_folders(folder: Path, spec: ClusterSpec, warn: Callable[[str], None]) -> None:
    """Put aside the partition folders that no topic of `spec` has, and end deletions that were under way.

    Nothing unknown is removed: a folder is renamed as Kafka renames a stray one. Raises SourceError, and
    has done nothing, where that would hide what counts: committed offsets, or most of what is there. Raises
    OSError.
    """
    unknown, deleted = [], []
    known: set[str] = set()
    for path in sorted(folder.iterdir()):
        topic, partition, retired = parse_folder_name(path.name)
        if topic is None or topic == METADATA_TOPIC or not path.is_dir():
            continue
        if retired is not None:
            if path.name.endswith(_DELETED):
                deleted.append(path)
            continue
        of_spec = spec.topics.get(topic)
        if of_spec is None or not 0 <= partition < of_spec.partitions:
            unknown.append(path)
            continue
        known.add(path.name)
        if topic in _INTERNAL:
            _refuse_another_id(path, of_spec)
    _refuse_to_hide(folder, unknown, len(known))
    for path in unknown:
        stray = retire(path, "stray")
        warn(f"{path}: no topic that kgroup knows has this partition: kept as {stray.name}")
    for path in deleted:
        shutil.rmtree(path)
    _tell_missing(folder, spec, known, warn)


def _refuse_another_id(path: Path, topic: TopicSpec) -> None:
    metadata = path / PARTITION_METADATA
    try:
        there = read_topic_id(metadata) if metadata.exists() else None
    except SourceError:
        return  # opening the log reports it, and rewrites it
    if there is not None and there != topic.topic_id:
        raise SourceError(
            f"{metadata}: topic id {topic_id_text(there)}, while {topic.name} has "
            f"{topic_id_text(topic.topic_id)}: what groups have committed would be lost"
        )


def _refuse_to_hide(folder: Path, unknown: list[Path], known_count: int) -> None:
    internal = [path for path in unknown if path.name.rpartition("-")[0] in _INTERNAL and _has_records(path)]
    if internal:
        raise SourceError(
            f"{internal[0]}: kgroup-cluster.json knows no such partition: what groups have committed would "
            "be lost"
        )
    with_records = [path for path in unknown if _has_records(path)]
    if len(with_records) > max(known_count, 1):
        shown = ", ".join(path.name for path in unknown[:_SHOWN_MAX])
        raise SourceError(
            f"{folder}: kgroup-cluster.json knows {known_count} of the {known_count + len(unknown)} "
            f"partitions there, and not {shown}{', ...' if len(unknown) > _SHOWN_MAX else ''}"
        )


def _has_records(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob("*.log"))


def _tell_missing(folder: Path, spec: ClusterSpec, known: set[str], warn: Callable[[str], None]) -> None:
    for topic in spec.topics.values():
        missing = [n for n in range(topic.partitions) if f"{topic.name}-{n}" not in known]
        if missing:
            which = f"{topic.name}-{missing[0]}" + (
                f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            )
            warn(f"{folder}: no folder for {which}; made anew")
