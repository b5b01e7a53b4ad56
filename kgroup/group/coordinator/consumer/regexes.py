"""Topics by regular expression, matched in the coordinator with RE2's syntax, as Kafka does (KIP-848)."""

from collections.abc import Iterable
from typing import NamedTuple

import re2

from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.protocol.error_codes import ErrorCode


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, as of the image's version and when (epoch ms)."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


def check_regex(regex: str) -> None:
    """Raises Refused (INVALID_REGULAR_EXPRESSION) for what RE2 cannot compile."""
    try:
        re2.compile(regex, _options())
    except re2.error as error:
        why = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}.",
        ) from error


def resolve(regexes: Iterable[str], names: Iterable[str]) -> dict[str, frozenset[str]]:
    """The names that each expression matches as a whole; none for one that is not valid."""
    found: dict[str, frozenset[str]] = {}
    all_names = list(names)
    for regex in regexes:
        try:
            pattern = re2.compile(regex, _options())
        except re2.error:
            found[regex] = frozenset()
            continue
        found[regex] = frozenset(name for name in all_names if pattern.fullmatch(name))
    return found


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options
