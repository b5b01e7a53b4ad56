"""A real broker's log directory, whose topics are found without any file of kgroup's."""

from collections.abc import Callable
from pathlib import Path
from uuid import NAMESPACE_URL, UUID, uuid5

from kgroup.broker.cluster_file import ClusterSpec, TopicSpec
from kgroup.broker.folder_scan import METADATA_TOPIC
from kgroup.broker.metadata_log import MetadataTopics, read_metadata_log
from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import META_PROPERTIES, PARTITION_METADATA, read_cluster_id, read_topic_id
from kgroup.log.files.log_dir import parse_folder_name
from kgroup.protocol.topic_id import topic_id_text

_FAR_PRODUCER_ID = 1 << 40
"""A broker that gets its folder back continues with its own ids, by the thousand: it never comes so far."""


def is_log_dir(folder: Path) -> bool:
    """Whether a broker has made it: it has partitions, or says whose it is. Raises OSError."""
    return (folder / META_PROPERTIES).is_file() or any(
        parse_folder_name(path.name)[0] is not None and path.is_dir() for path in folder.iterdir()
    )


def read_adopted(folder: Path, warn: Callable[[str], None]) -> ClusterSpec:
    """Topics by the folders' names and `partition.metadata`, the configs by the metadata log.

    Raises SourceError where the files contradict each other, OSError.
    """
    metadata_folder = folder / f"{METADATA_TOPIC}-0"
    metadata = MetadataTopics()
    if metadata_folder.is_dir():
        metadata = read_metadata_log(metadata_folder)
    else:
        warn(f"{folder}: no {METADATA_TOPIC}-0 there: topics have Kafka's default configs")
    counts: dict[str, int] = {}
    ids: dict[str, UUID] = {}
    for path in sorted(folder.iterdir()):
        topic, partition, retired = parse_folder_name(path.name)
        if topic is None or topic == METADATA_TOPIC or retired is not None or not path.is_dir():
            continue
        counts[topic] = max(counts.get(topic, 0), partition + 1)
        ids[topic] = _one_id(path, topic, ids)
    meta = folder / META_PROPERTIES
    cluster_id = read_cluster_id(meta) if meta.exists() else None
    return ClusterSpec(
        cluster_id=cluster_id or "adopted",
        next_producer_id=metadata.next_producer_id + _FAR_PRODUCER_ID,
        group_configs={group: configs for group, configs in metadata.group_configs.items() if configs},
        topics={
            name: TopicSpec(
                name=name,
                topic_id=ids[name],
                partitions=max(count, metadata.partitions.get(ids[name], 0)),
                replication_factor=1,
                configs=metadata.configs.get(name, {}),
            )
            for name, count in counts.items()
        },
    )


def _one_id(folder: Path, topic: str, ids: dict[str, UUID]) -> UUID:
    """The topic's id, which all of its partitions have. Before Kafka 2.8 there was none: one is made up."""
    path = folder / PARTITION_METADATA
    topic_id = (read_topic_id(path) if path.exists() else None) or uuid5(NAMESPACE_URL, topic)
    known = ids.get(topic, topic_id)
    if known != topic_id:
        raise SourceError(
            f"{path}: topic id {topic_id_text(topic_id)}, while other partitions of {topic} say "
            f"{topic_id_text(known)}"
        )
    return topic_id
