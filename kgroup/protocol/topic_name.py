"""Valid topic names, by Kafka's rule (org.apache.kafka.common.internals.Topic)."""

from typing import Final

NAME_MAX: Final = 249
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def is_topic_name(name: str) -> bool:
    """Whether a topic can be called so: it is part of a folder's name, too."""
    return topic_name_problem(name) is None


def topic_name_problem(name: str) -> str | None:
    """The reason no topic can be called so, in Kafka's words, or None."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_MAX}"
    if not _LETTERS.issuperset(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
