"""Properties files as Kafka reads them: the rules of `java.util.Properties.load`."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_ASSIGNMENT: Final = re.compile(
    r"(?P<name>(?:\\.|[^\\=: \t\f])*)[ \t\f]*(?P<separator>[=:]?)[ \t\f]*(?P<value>.*)", re.DOTALL
)


class Assignment(NamedTuple):
    """A line that sets a property; `number` is that of the file's line it begins in, from 1.

    `separator` is `=` or `:`, or empty: Java also takes white space for one, and a name alone for an empty
    value. `text` is the line as it is written, without the indentation and joined with those it goes on in.
    """

    number: int
    text: str
    name: str
    separator: str
    value: str


def decoded(content: bytes) -> str:
    """A file's text: UTF-8, or else ISO-8859-1, the encoding that java.util.Properties was made for."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values; the last one of a key counts."""
    return {each.name: each.value for each in assignments(text)}


def assignments(text: str) -> Iterator[Assignment]:
    """The assignments, line by line, without comments, continued lines joined and escapes resolved."""
    for number, line in _logical_lines(text):
        match = _ASSIGNMENT.match(line)
        assert match is not None  # every part of the pattern may be empty
        name, separator, value = match.groups()
        yield Assignment(number, line, _unescaped(name), separator, _unescaped(value))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    continued, begun_at = "", 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = natural.lstrip(" \t\f")
        if not continued:
            if not line or line[0] in "#!":
                continue
            begun_at = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            continued += line[:-1]
            continue
        yield begun_at, continued + line
        continued = ""
    if continued:
        yield begun_at, continued


def _unescaped(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", replace, text, flags=re.DOTALL)
