"""Offsets in files: the CSV of kafka-consumer-groups with and without groups, the JSON of `fsck --rescue`.

Kafka's two forms of CSV are `topic,partition,offset` and, since Kafka 2.2, `group,topic,partition,offset`.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kgroup.errors import InputError
from kgroup.lag.findings.text import counted
from kgroup.operations.model import Position
from kgroup.protocol.topic_partition import TopicPartition

RESCUED: Final = "kgroup-offsets/1"
_OFFSET_MAX: Final = 2**63 - 1
_PARTITION_MAX: Final = 2**31 - 1

_LINE: Final = "a line is TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET"

Offsets = dict[str | None, dict[TopicPartition, Position]]
"""By group, None in a file that names no groups."""


def parse_offsets(text: str, name: str) -> Offsets:
    """The offsets of a file called `name`. Raises InputError with the line, or the entry, that is wrong."""
    is_json = text.lstrip("\ufeff \t\r\n").startswith("{")
    found: Offsets = {}
    for place, group, topic, partition, position in (_json_rows if is_json else _csv_rows)(text, name):
        of_group = found.setdefault(group, {})
        if (topic, partition) in of_group:
            of_whom = "" if group is None else f" of group {group!r}"
            raise InputError(f"{name}, {place}: {topic}-{partition}{of_whom} is given twice")
        of_group[topic, partition] = position
    if not found:
        raise InputError(f"{name}: no offsets in it; {_LINE}")
    return found


Row = tuple[str, str | None, str, int, Position]


def _csv_rows(text: str, name: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    width = 0
    try:
        for fields in reader:
            if not fields:
                continue
            place = f"line {reader.line_num}"
            width = width or len(fields)
            if len(fields) not in (3, 4):
                raise InputError(f"{name}, {place}: {counted(len(fields), 'field')}; {_LINE}")
            if len(fields) != width:
                raise InputError(f"{name}, {place}: {len(fields)} fields, where the first line has {width}")
            topic, partition, offset = (field.strip() for field in fields[-3:])
            if not topic:
                raise InputError(f"{name}, {place}: no topic")
            yield (
                place,
                fields[0] if width == 4 else None,
                topic,
                _number(partition, _PARTITION_MAX, f"{name}, {place}: partition"),
                Position(_number(offset, _OFFSET_MAX, f"{name}, {place}: offset")),
            )
    except csv.Error as error:
        raise InputError(f"{name}, line {reader.line_num}: {error}") from error


def _json_rows(text: str, name: str) -> Iterator[Row]:
    try:
        document = json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
    if document.get("format") != RESCUED:
        raise InputError(
            f"{name}: JSON of the format {document.get('format')!r}; kgroup fsck --rescue writes {RESCUED!r}"
        )
    entries = document.get("offsets")
    if not isinstance(entries, list):
        raise InputError(f"{name}: offsets: not a list")
    for number, entry in enumerate(entries):
        place = f"offsets[{number}]"
        if not isinstance(entry, dict):
            raise InputError(f"{name}, {place}: not an object")
        yield (
            place,
            _text(entry, "group", f"{name}, {place}"),
            _text(entry, "topic", f"{name}, {place}"),
            _integer(entry, "partition", 0, _PARTITION_MAX, f"{name}, {place}"),
            position_of(entry, f"{name}, {place}"),
        )


def position_of(entry: Mapping[str, Any], place: str) -> Position:
    """The position of an object with `offset`, and perhaps `leader_epoch` and `metadata`.

    Raises InputError that begins with `place`.
    """
    return Position(
        _integer(entry, "offset", 0, _OFFSET_MAX, place),
        _integer({"leader_epoch": -1} | dict(entry), "leader_epoch", -1, _PARTITION_MAX, place),
        _text({"metadata": ""} | dict(entry), "metadata", place),
    )


def _text(entry: Mapping[str, Any], field: str, place: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str):
        raise InputError(f"{place}: {field}: {'missing' if value is None else 'not a text'}")
    return value


def _integer(entry: Mapping[str, Any], field: str, least: int, most: int, place: str) -> int:
    value = entry.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{place}: {field}: {'missing' if value is None else f'not {least} to {most}'}")
    return value


def _number(text: str, most: int, what: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > most:
        raise InputError(f"{what} {text!r} is not a number from 0 to {most}")
    return int(text)
