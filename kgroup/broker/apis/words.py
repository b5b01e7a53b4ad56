"""What errors say of what a client has sent."""

from kgroup.protocol.value_reader import STRING_MAX_BYTES


def fitting(words: str) -> str:
    """As much of the words as a string of Kafka's can have: they may repeat a name that is as long itself.

    Kafka has no such answer: its own cannot be written ("field is too long to be serialized").
    """
    return words.encode()[:STRING_MAX_BYTES].decode(errors="ignore")
