"""The messages that describe share groups (KIP-932, KIP-1226) and streams groups (KIP-1071).

Fields are those of Kafka 4.3's message definitions.
"""

from kafka.protocol.api_message import ApiMessage

from kgroup.protocol import schemas


class ShareGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """Api 77."""


class ShareGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """The answer to ShareGroupDescribe."""


class StreamsGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """Api 89."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """The answer to StreamsGroupDescribe."""


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """Api 90."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]
    """The answer to DescribeShareGroupOffsets."""
