"""What `truth.jsonl` of a capture says of batches and records, and the same of what kgroup decodes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgroup.log.files.segment import read_records, read_segment
from kgroup.log.format.batch import Batch, Damage, LogRecord, TimestampType

FIXTURES = Path(__file__).parents[2] / "fixtures"
CAPTURES = sorted(
    path.parent for path in FIXTURES.glob("*/*/truth.jsonl") if path.parent.parent.name != "damaged"
)
SEGMENTS = sorted(path for capture in CAPTURES for path in capture.glob("__consumer_offsets-*/*.log"))
DAMAGED = FIXTURES / "damaged"
DAMAGED_CASES: dict[str, Any] = json.loads((DAMAGED / "cases.json").read_text())

LOG_FIELDS = ("partition", "segment", "offset", "timestamp", "keySize", "valueSize", "batch")
TIMESTAMP_TYPES = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


def name_of(path: Path) -> str:
    """A test id: the path below `fixtures/`."""
    return str(path.relative_to(FIXTURES))


def truth_of(capture: Path) -> Iterator[dict[str, Any]]:
    """The log's own fields of every line of a capture's truth, Kafka's reading of the same segments."""
    with (capture / "truth.jsonl").open() as lines:
        for line in lines:
            truth = json.loads(line)
            yield {name: truth[name] for name in LOG_FIELDS if name in truth}


def read_as_truth(capture: Path) -> Iterator[dict[str, Any] | Damage]:
    """The same of what kgroup reads, in the order of the truth: by partition, segment and position."""
    folders = capture.glob("__consumer_offsets-*")
    for folder in sorted(folders, key=lambda path: int(path.name.rpartition("-")[2])):
        for segment in sorted(folder.glob("*.log")):
            yield from _lines(segment, int(folder.name.rpartition("-")[2]))


def _lines(segment: Path, partition: int) -> Iterator[dict[str, Any] | Damage]:
    location = {"partition": partition, "segment": segment.name}
    for item in read_records(read_segment(segment), str(segment)):
        if isinstance(item, Damage):
            yield item
            continue
        batch, records = item
        if not records:
            yield {**location, "batch": _batch(batch)}
        for record in records:
            yield {**location, **_record(record), "batch": _batch(batch)}


def _record(record: LogRecord) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _batch(batch: Batch) -> dict[str, Any]:
    fields = {
        "position": batch.position,
        "sizeInBytes": batch.size,
        "magic": batch.magic,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.count,
        "codec": batch.codec.name.lower(),
        "timestampType": TIMESTAMP_TYPES[batch.timestamp_type],
        "maxTimestamp": batch.max_timestamp_ms,
        "crcValid": True,
    }
    if batch.magic == 2:
        fields |= {
            "crc": batch.crc,
            "transactional": batch.transactional,
            "control": batch.control,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "leaderEpoch": batch.leader_epoch,
        }
    if batch.delete_horizon_ms is not None:
        fields["deleteHorizonMs"] = batch.delete_horizon_ms
    return fields
