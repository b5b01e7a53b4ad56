"""The messages of KIP-848 for kafka-python's codec, which does not define them yet."""

from kafka.protocol.api_message import ApiMessage

from kgroup.protocol import schemas


class ConsumerGroupHeartbeatRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """Api 68."""


class ConsumerGroupHeartbeatResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """The answer to ConsumerGroupHeartbeat."""


class ConsumerGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """Api 69."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """The answer to ConsumerGroupDescribe."""
