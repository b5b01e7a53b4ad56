"""Requests and responses in readable form: who to whom, every field, every byte."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kgroup.errors import DecodeError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.subscription import NamedTopicPartitions, decode_assignment, decode_subscription
from kgroup.report.table import printable

_BYTES_A_LINE: Final = 16
_BYTES_SHOWN: Final = 512
_LINE_MAX: Final = 100

Fields = Mapping[str, object]


def api_name(api: str) -> str:
    """`JoinGroup` as Kafka's logs write it: JOIN_GROUP."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api).upper()


def field_lines(fields: Fields, indent: str = "    ") -> Iterator[str]:
    """One line per field; members of a list below it. Blobs of members are read as what they are."""
    for name, value in fields.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{indent}{name}:"
            for number, member in enumerate(value):
                line = ", ".join(f"{each} {_text(each, shown)}" for each, shown in member.items())
                is_flat = not any(isinstance(each, list | dict) for each in member.values())
                if is_flat and len(line) <= _LINE_MAX:
                    yield f"{indent}  [{number}] {line}"
                    continue
                yield f"{indent}  [{number}]"
                yield from field_lines(member, indent + "    ")
        elif isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from field_lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {_text(name, value)}"


def byte_lines(frame: bytes, indent: str = "    ") -> Iterator[str]:
    """The bytes in hex, 16 a line, as far as a screen is worth it."""
    for start in range(0, min(len(frame), _BYTES_SHOWN), _BYTES_A_LINE):
        line = frame[start : start + _BYTES_A_LINE]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        yield f"{indent}{start:04x}  {line.hex(' '):<{3 * _BYTES_A_LINE - 1}}  {shown}"
    if len(frame) > _BYTES_SHOWN:
        yield f"{indent}and {len(frame) - _BYTES_SHOWN} bytes more"


def json_fields(value: object) -> object:
    """The same for JSON: bytes as hex."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {name: json_fields(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_fields(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _text(name: str, value: object) -> str:
    if name == "error_code" and isinstance(value, int):
        return f"{value} {_error_name(value)}"
    if isinstance(value, bytes | bytearray | memoryview):
        return _blob(name, bytes(value))
    if value is None:
        return "null"
    return printable(f'"{value}"' if isinstance(value, str) else str(value))


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return "(unknown)"


def _blob(name: str, blob: bytes) -> str:
    size = f"{len(blob)} bytes"
    if not blob:
        return size
    try:
        if name == "metadata":
            return f"{size}, {_subscription(blob)}"
        if name == "assignment":
            return f"{size}, {_assignment(blob)}"
    except DecodeError as error:
        return f"{size}, not of a consumer: {error}"
    return f"{size}, {blob[:32].hex()}{'...' if len(blob) > 32 else ''}"


def _subscription(blob: bytes) -> str:
    read = decode_subscription(blob)
    user_data = "null" if read.user_data is None else read.user_data.hex() or "empty"
    return printable(
        f"subscription v{read.version}: topics {', '.join(read.topics) or 'none'}; user data {user_data}; "
        f"owned {_partitions(read.owned_partitions)}; generation {read.generation_id}; "
        f"rack {read.rack_id or 'none'}"
    )


def _assignment(blob: bytes) -> str:
    read = decode_assignment(blob)
    user_data = "null" if read.user_data is None else read.user_data.hex() or "empty"
    return printable(
        f"assignment v{read.version}: {_partitions(read.assigned_partitions)}; user data {user_data}"
    )


def _partitions(named: tuple[NamedTopicPartitions, ...]) -> str:
    return " ".join(f"{each.topic}:{','.join(map(str, each.partitions))}" for each in named) or "none"
