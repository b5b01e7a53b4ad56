"""Topic ids as Kafka writes them in text: 16 bytes as URL-safe base64 without padding."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from functools import lru_cache
from uuid import UUID

# Kafka writes the zero UUID where there is no topic id; here that is None.
TopicId = UUID | None


@lru_cache(maxsize=4096)  # asked again and again for the few topics of a cluster
def topic_id_text(topic_id: UUID) -> str:
    """`J1XDR5yUTZCgO1FYr6iBSw`, the form of Kafka's tools and of `partition.metadata`."""
    return urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode()


def parse_topic_id(text: str) -> UUID | None:
    """The id, None for Kafka's "no id" (all zero). Raises ValueError with the reason."""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Base64Error, ValueError) as error:
        raise ValueError(f"'{text}' is not a topic id: not URL-safe base64") from error
    if len(raw) != 16 or urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
        raise ValueError(f"'{text}' is not a topic id: a topic id is 22 characters for 16 bytes")
    return UUID(bytes=raw) if any(raw) else None
