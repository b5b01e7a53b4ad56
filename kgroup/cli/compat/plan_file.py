"""`--from-file` as the tool reads it: line by line, by Jackson's rules for its two forms of CSV."""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kgroup.cli.compat.failure import ToolError
from kgroup.errors import SourceError
from kgroup.input_files import OFFSETS_BYTES_MAX, read_input_file
from kgroup.operations.model import Position
from kgroup.protocol.topic_partition import TopicPartition

_INVALID: Final = "com.fasterxml.jackson.databind.exc.InvalidFormatException"
_CSV: Final = "com.fasterxml.jackson.dataformat.csv."
_NO_CONTENT: Final = (
    "com.fasterxml.jackson.databind.exc.MismatchedInputException: No content to map due to end-of-input\n"
    " at [Source: (StringReader); line: UNKNOWN, column: UNKNOWN]"
)
Plan = dict[str, dict[TopicPartition, Position]]


class _FieldError(Exception):
    """A line that is empty or too long, or with a field that is no number, in the words of Jackson."""


def read_plan(path: str, groups: Sequence[str]) -> Plan:
    """The offsets in a file by group.

    The first line tells which form it is, by whether it can be read without a group; if it cannot, standard
    error says so. Raises ToolError for a line that is wrong, or a file that cannot be read.
    """
    try:
        content = read_input_file(Path(path), kind="list of offsets", bytes_max=OFFSETS_BYTES_MAX)
    except SourceError:
        raise _as_runtime(f"java.io.IOException: Unable to read file {path}") from None
    lines = content.decode("utf-8", "replace").removesuffix("\n").split("\n")
    has_groups = False
    try:
        _record(lines[0], with_group=False)
    except _FieldError as error:
        has_groups = True
        print(error, file=sys.stderr)
    plan: Plan = {}
    for line in lines:
        try:
            group, place, position = _record(line, with_group=has_groups or len(groups) != 1)
        except _FieldError as error:
            raise _as_runtime(str(error)) from None
        plan.setdefault(groups[0] if group is None else group, {})[place] = position
    return plan


def _as_runtime(error: str) -> ToolError:
    return ToolError(error, f"java.lang.RuntimeException: {error}")


def _record(line: str, *, with_group: bool) -> tuple[str | None, TopicPartition, Position]:
    """A missing field is empty, or 0, as in a Java object that nobody has set it of."""
    if not line.rstrip("\r"):
        raise _FieldError(_NO_CONTENT)
    fields = next(csv.reader([line.rstrip("\r")]), [])
    most = 4 if with_group else 3
    if len(fields) > most:
        # Said only once the fields before it are read.
        _numbers(fields[most - 2 : most])
        raise _FieldError(
            f"{_CSV}CsvReadException: Too many entries: expected at most {most}"
            f' (value #{most} ({len(fields[most])} chars) "{fields[most]}")'
        )
    group = (fields.pop(0) if fields else "") if with_group else None
    topic, partition, offset = [*fields, "", "", ""][:3]
    number, position = _numbers([partition, offset])
    return group, (topic, number), Position(position)


def _numbers(fields: Sequence[str]) -> tuple[int, int]:
    partition, offset = fields
    return _number(partition, "int", 31), _number(offset, "long", 63)


def _number(text: str, kind: str, bits: int) -> int:
    stripped = text.strip()
    if not stripped:
        return 0
    try:
        number = int(stripped)
    except ValueError:
        number = 2**bits
    if not -(2**bits) <= number < 2**bits:
        raise _FieldError(
            f'{_INVALID}: Cannot deserialize value of type `{kind}` from String "{stripped}":'
            f" not a valid `{kind}` value"
        )
    return number
