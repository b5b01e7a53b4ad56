"""Log ends given by the user: `--log-ends FILE`, JSON or CSV.

JSON is what the captures' `topics.json` is: every topic of a cluster with its id and the log start and log
end of each partition, as a broker answers ListOffsets. A topic that is not in it does not exist.

    {"topics": {"orders": {"topicId": "J1XDR5yUTZCgO1FYr6iBSw",
                           "partitions": {"0": {"logStart": 0, "logEnd": 278}}}}}

CSV has a header line and says nothing of topics that it leaves out; the last two columns may be missing.

    topic,partition,log_end_offset,log_start_offset,topic_id
    orders,0,278,0,J1XDR5yUTZCgO1FYr6iBSw
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

from kgroup.errors import InputError
from kgroup.input_files import LIST_BYTES_MAX, read_input_file
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog
from kgroup.protocol.topic_id import parse_topic_id

_NEEDED = ("topic", "partition", "log_end_offset")
_COLUMNS = (*_NEEDED, "log_start_offset", "topic_id")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")


def read_log_ends_file(path: Path) -> LogListing:
    """Read a JSON or CSV file, recognized by its first character.

    Raises SourceError if it cannot be read, InputError naming the line or member that makes no sense.
    """
    try:
        content = read_input_file(path, kind="list of log ends", bytes_max=LIST_BYTES_MAX)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8 text") from error
    if text.lstrip().startswith(("{", "[")):
        return LogListing(logs=tuple(_from_json(path, text)), complete=True)
    return LogListing(logs=tuple(_from_csv(path, text)))


def _from_json(path: Path, text: str) -> Iterator[PartitionLog]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of thousands of digits
        raise InputError(f"{path}: no JSON: {error}") from error
    topics = _mapping(path, "topics", _mapping(path, "it", document).get("topics"))
    for topic, value in topics.items():
        described = _mapping(path, f"topics.{topic}", value)
        topic_id = _parsed_topic_id(f"{path}: topics.{topic}.topicId", described.get("topicId"))
        partitions = _mapping(path, f"topics.{topic}.partitions", described.get("partitions"))
        for partition, bounds in partitions.items():
            where = f"topics.{topic}.partitions.{partition}"
            ends = _mapping(path, where, bounds)
            yield PartitionLog(
                topic=topic,
                partition=_whole_number(f"{path}: {where}", partition),
                source=LogEndSource.FILE,
                log_start_offset=_offset(f"{path}: {where}.logStart", ends.get("logStart")),
                log_end_offset=_offset(f"{path}: {where}.logEnd", ends.get("logEnd")),
                topic_id=topic_id,
            )


def _mapping(path: Path, member: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{path}: {member} should be an object, as in topics.json of a capture")
    return value


def _from_csv(path: Path, text: str) -> Iterator[PartitionLog]:
    try:
        rows = list(csv.reader(text.splitlines(), skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}: no CSV: {error}") from error
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if not set(_NEEDED) <= set(header) or not set(header) <= set(_COLUMNS):
        raise InputError(f"{path}: the first line should name the columns: {','.join(_COLUMNS)}")
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cells):
            continue
        where = f"{path}: line {number}"
        if len(cells) != len(header):
            raise InputError(f"{where} has {len(cells)} fields, the header {len(header)}")
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        yield PartitionLog(
            topic=row["topic"],
            partition=_whole_number(f"{where}: partition", row["partition"]),
            source=LogEndSource.FILE,
            log_start_offset=_offset(f"{where}: log_start_offset", row.get("log_start_offset") or None),
            log_end_offset=_offset(f"{where}: log_end_offset", row["log_end_offset"] or None),
            topic_id=_parsed_topic_id(f"{where}: topic_id", row.get("topic_id") or None),
        )


def _offset(where: str, value: object) -> int | None:
    """Kafka says -1 for an offset it does not know."""
    number = None if value is None else _whole_number(where, value, lowest=-1)
    return None if number == -1 else number


def _whole_number(where: str, value: object, lowest: int = 0) -> int:
    """A whole number, also as text; Kafka's offsets have 63 bits."""
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value < 2**63:
        raise InputError(f"{where}: {value!r} is not a whole number from {lowest} to 2^63-1")
    return value


def _parsed_topic_id(where: str, value: object) -> UUID | None:
    if value is None:
        return None
    try:
        return parse_topic_id(str(value))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
