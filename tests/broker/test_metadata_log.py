"""Records of a KRaft metadata log, by their bytes."""

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
