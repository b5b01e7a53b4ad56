"""Topics by regular expression, matched in the coordinator with RE2's syntax, as Kafka does (KIP-848).

Kafka has RE2/J, we have RE2. Of what RE2 takes RE2/J refuses three things more (`_refused_by_re2j`), found by
asking a broker of 4.3.1 about 635 expressions; the other way round, RE2 refuses nested repetitions of more
than 1,000 in all, and so do we. What both take matched the same topics.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import re2

from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.protocol.error_codes import ErrorCode


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, as of the image's version and when (epoch ms)."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


def check_regex(regex: str) -> None:
    """Raises Refused (INVALID_REGULAR_EXPRESSION) for what RE2/J cannot compile."""
    try:
        re2.compile(regex, _options())
    except re2.error as error:
        why = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise _invalid(regex, why) from error
    why_not = _refused_by_re2j(regex)
    if why_not is not None:
        raise _invalid(regex, why_not)


def _invalid(regex: str, why: str) -> Refused:
    return Refused(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}.",
    )


_TOKEN: Final = re.compile(
    r"""
      \\Q.*?(?:\\E|\Z)                              # quoted
    | \\[pPx]\{[^}]*\}                              # a class of characters, or one, by a name in braces
    | \\.
    | \[\^?\]?(?:\[:[^\]]*:\]|\\[pPx]\{[^}]*\}|\\.|[^\]\\])*\]
    | \(\?P?<(?P<group>\w+)>
    | (?P<repetition>[*+?]|\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\})
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def _tokens(regex: str) -> Iterator[re.Match[str]]:
    """The parts of an expression that RE2 has taken: each a token, all of it is covered."""
    return _TOKEN.finditer(regex)


def _refused_by_re2j(regex: str) -> str | None:
    """The reason RE2/J refuses an expression that RE2 accepts; None if it does not.

    It does not know `\\C` (any byte), two groups of one name, nor a repetition of a brace that begins none.
    """
    groups = set()
    before = ""
    for token in _tokens(regex):
        name = token["group"]
        if token[0] == "\\C":
            return "invalid escape sequence"
        if name is not None and name in groups:
            return "duplicate capture group name"
        if before == "{" and token["repetition"] is not None:
            return "invalid nested repetition operator"
        if name is not None:
            groups.add(name)
        before = token[0]
    return None


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
