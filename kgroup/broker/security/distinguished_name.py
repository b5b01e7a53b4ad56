"""The name in a certificate as Java writes it (RFC 2253); Kafka makes the principal of it.

Java's `X500Principal.getName()`: the last part of the name first, nine well-known attributes by their
keyword, any other by its number with its value in hexadecimal.
"""

from collections.abc import Iterator
from typing import Final

from kgroup.errors import DecodeError

_SEQUENCE: Final = 0x30
_OBJECT_IDENTIFIER: Final = 0x06
_VERSION: Final = 0xA0
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_STRINGS: Final = {
    0x0C: "utf-8",  # UTF8String
    0x13: "ascii",  # PrintableString
    0x14: "iso-8859-1",  # T61String
    0x16: "ascii",  # IA5String
    0x1B: "ascii",  # GeneralString
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_SPACES: Final = " \r"


def subject(certificate: bytes) -> str:
    """The subject of a certificate in DER (X.509). Raises DecodeError if it is not one."""
    tag, content, _ = _element(certificate, 0)
    _expect(tag, _SEQUENCE, "certificate")
    tag, signed, _ = _element(content, 0)
    _expect(tag, _SEQUENCE, "certificate.tbsCertificate")
    fields = list(_elements(signed))
    if fields and fields[0][0] == _VERSION:
        del fields[0]
    # serialNumber, signature, issuer, validity, subject
    if len(fields) < 5:
        raise DecodeError("certificate.subject", at=0, why="not there")
    tag, name, _ = fields[4]
    _expect(tag, _SEQUENCE, "certificate.subject")
    parts = [_relative_name(content) for _, content, _ in _elements(name)]
    return ",".join(reversed(parts))


def _relative_name(content: bytes) -> str:
    return "+".join(_attribute(attribute) for _, attribute, _ in _elements(content))


def _attribute(content: bytes) -> str:
    parts = list(_elements(content))
    if len(parts) != 2:
        raise DecodeError("certificate.subject", at=0, why="an attribute without a value")
    (kind, number, _), (tag, raw, whole) = parts
    _expect(kind, _OBJECT_IDENTIFIER, "certificate.subject.type")
    identifier = _identifier(number)
    keyword = _KEYWORDS.get(identifier)
    if keyword is None or tag not in _STRINGS:
        return f"{keyword or identifier}=#{whole.hex()}"
    return f"{keyword}={_escaped(raw.decode(_STRINGS[tag], 'replace'))}"


def _escaped(value: str) -> str:
    """A value with a backslash before what means something in a name, and before spaces at its ends."""
    leading = len(value) - len(value.lstrip(_SPACES))
    trailing = len(value.rstrip(_SPACES))
    return "".join(
        "\\00"
        if letter == "\0"
        else f"\\{letter}"
        if letter in _ESCAPED or not leading <= index < trailing
        else letter
        for index, letter in enumerate(value)
    )


def _identifier(content: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise DecodeError("certificate.subject.type", at=0, why="empty")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _elements(content: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Each element's tag, its content, and all of it."""
    position = 0
    while position < len(content):
        tag, inner, end = _element(content, position)
        yield tag, inner, content[position:end]
        position = end


def _element(buffer: bytes, position: int) -> tuple[int, bytes, int]:
    """The tag, the content and the end of the element at a position."""
    start = position + 2
    if start > len(buffer):
        raise DecodeError("certificate", at=position, why="cut short")
    length = buffer[position + 1]
    if length >= 0x80:
        more = length & 0x7F
        length = int.from_bytes(buffer[start : start + more], "big")
        start += more
    if start + length > len(buffer):
        raise DecodeError("certificate", at=position, why="cut short")
    return buffer[position], buffer[start : start + length], start + length


def _expect(tag: int, expected: int, field: str) -> None:
    if tag != expected:
        raise DecodeError(field, at=0, why=f"tag {tag:#04x}, not {expected:#04x}")
