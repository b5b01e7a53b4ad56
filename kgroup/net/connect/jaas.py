"""`sasl.jaas.config` as Kafka's clients read it.

Kafka: `org.apache.kafka.common.security.JaasConfig`, which is Java's `StreamTokenizer` with both kinds of
comments and with `-`, `_` and `$` in words. Errors count options and do not show them: what stands where a
name should may be half of a password.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kgroup.errors import InputError

_CONTROL_FLAGS: Final = {"required", "requisite", "sufficient", "optional"}
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_QUOTES: Final = ('"', "'")
_OCTAL: Final = "01234567"


class _Token(NamedTuple):
    """A word or quoted text; or, with `text` None, a number or one `sign`."""

    text: str | None
    sign: str = ""


def login_options(entry: str) -> dict[str, str]:
    """The options of the one entry, like `org...PlainLoginModule required username="u" password="p";`.

    None of an entry that ends before its first option. Raises InputError for what Kafka's clients refuse.
    """
    tokens = list(_tokens(entry))
    if len(tokens) < 2:
        return {}
    flag = tokens[1].text
    if flag is None or flag.lower() not in _CONTROL_FLAGS:
        raise _error("behind the login module one of required, requisite, sufficient and optional is needed")
    options: dict[str, str] = {}
    rest = iter(tokens[2:])
    for number, name in enumerate(rest, start=1):
        if name.sign == ";":
            if next(rest, None) is not None:
                raise _error("more than one login module")
            return options
        equals, value = next(rest, None), next(rest, None)
        if name.text is None or equals is None or equals.sign != "=" or value is None or value.text is None:
            raise _error(f'option {number} is not NAME="VALUE"')
        options[name.text] = value.text
    raise _error("it has to end with ;")


def _error(why: str) -> InputError:
    return InputError(f"sasl.jaas.config: {why}")


def _tokens(entry: str) -> Iterator[_Token]:
    position = 0
    while position < len(entry):
        char = entry[position]
        if char <= " ":
            position += 1
        elif char == "/":
            position = _behind_comment(entry, position)
        elif char in _QUOTES:
            text, position = _quoted(entry, position)
            yield _Token(text)
        elif (char.isdigit() and char.isascii()) or char in ".-":
            yield _Token(None)
            position = _behind_number(entry, position)
        elif _is_of_word(char):
            begin = position
            while position < len(entry) and (
                _is_of_word(entry[position]) or entry[position] in ".-0123456789"
            ):
                position += 1
            yield _Token(entry[begin:position])
        else:
            yield _Token(None, char)
            position += 1


def _is_of_word(char: str) -> bool:
    """Whether the character is part of a word, as all from the no-break space on are."""
    return (char.isascii() and char.isalpha()) or char in "_$" or char >= "\xa0"


def _behind_number(entry: str, position: int) -> int:
    """A minus without a digit is a sign of its own, and a word continues where digits end."""
    begin = position
    if entry[position] == "-":
        position += 1
    while position < len(entry) and entry[position] in "0123456789.":
        position += 1
    return max(position, begin + 1)


def _behind_comment(entry: str, position: int) -> int:
    """Behind `*/`; or behind the line, also after one slash, whose next character Java passes over."""
    if entry.startswith("/*", position):
        end = entry.find("*/", position + 2)
        return len(entry) if end < 0 else end + 2
    position += 2
    while position < len(entry) and entry[position] not in "\r\n":
        position += 1
    return position


def _quoted(entry: str, position: int) -> tuple[str, int]:
    """Text in quotes, and the position behind. It ends at the same quote, or with the line."""
    quote, text = entry[position], ""
    position += 1
    while position < len(entry) and entry[position] not in "\r\n":
        char = entry[position]
        position += 1
        if char == quote:
            break
        if char == "\\" and position < len(entry):
            char, position = _escaped(entry, position)
        text += char
    return text, position


def _escaped(entry: str, position: int) -> tuple[str, int]:
    """The meaning of a backslash before `position`: C's letters, up to three octal digits, or itself."""
    char = entry[position]
    if char in _OCTAL:
        digits_max = 3 if char <= "3" else 2
        end = position
        while end < len(entry) and end - position < digits_max and entry[end] in _OCTAL:
            end += 1
        return chr(int(entry[position:end], 8)), end
    return _ESCAPES.get(char, char), position + 1
