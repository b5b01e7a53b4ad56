"""Records of a KRaft metadata log, by their bytes."""

from uuid import UUID

from kgroup.broker.metadata_log import MetadataTopics


def config_record(resource: int, of: str, name: str, value: str | None) -> bytes:
    """ConfigRecord v0 in the frame of MetadataRecordSerde: compact strings, and no tagged fields."""

    def compact(text: str | None) -> bytes:
        return b"\x00" if text is None else bytes([len(text) + 1]) + text.encode()

    return bytes([1, 4, 0, resource]) + compact(of) + compact(name) + compact(value) + b"\x00"


def test_settings_of_topics_and_groups_are_kept_apart_and_of_others_not_at_all() -> None:
    topics = MetadataTopics()
    topics.apply(config_record(2, "x", "retention.ms", "1"))
    topics.apply(config_record(32, "x", "consumer.session.timeout.ms", "50000"))
    topics.apply(config_record(32, "x", "consumer.heartbeat.interval.ms", "6000"))
    topics.apply(config_record(4, "x", "log.retention.ms", "1"))
    topics.apply(config_record(32, "x", "consumer.heartbeat.interval.ms", None))
    topics.apply(config_record(32, "y", "consumer.heartbeat.interval.ms", None))
    assert topics.configs == {"x": {"retention.ms": "1"}}
    assert topics.group_configs == {"x": {"consumer.session.timeout.ms": "50000"}}


def topic_record(name: str, topic_id: UUID) -> bytes:
    """TopicRecord v0."""
    return bytes([1, 2, 0, len(name) + 1]) + name.encode() + topic_id.bytes + b"\x00"


def partition_record(index: int, topic_id: UUID) -> bytes:
    """The beginning of PartitionRecord v0."""
    return bytes([1, 3, 0]) + index.to_bytes(4, "big") + topic_id.bytes


def test_a_topic_that_is_made_again_has_nothing_of_the_one_that_was_removed() -> None:
    """Kafka: RemoveTopicRecord also removes the topic's settings; its records name the id alone."""
    old, new = UUID(int=1), UUID(int=2)
    topics = MetadataTopics()
    topics.apply(topic_record("orders", old))
    topics.apply(partition_record(4, old))
    topics.apply(config_record(2, "orders", "retention.ms", "1"))
    topics.apply(config_record(2, "payments", "retention.ms", "2"))
    topics.apply(bytes([1, 9, 0]) + old.bytes + b"\x00")
    topics.apply(topic_record("orders", new))
    topics.apply(partition_record(0, new))
    assert (topics.names, topics.partitions) == ({new: "orders"}, {new: 1})
    assert topics.configs == {"payments": {"retention.ms": "2"}}
