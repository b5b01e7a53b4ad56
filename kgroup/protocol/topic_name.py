"""Valid topic names, by Kafka's rule (org.apache.kafka.common.internals.Topic)."""

from typing import Final

NAME_MAX: Final = 249
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def is_topic_name(name: str) -> bool:
    """Whether a topic can be called so: it is part of a folder's name, too."""
    return 0 < len(name) <= NAME_MAX and name not in (".", "..") and _LETTERS.issuperset(name)
