"""Make a large log of real batches: `python -m benchmarks.make_log --size 1GB --out DIR`.

Thousands of groups on the offsets partitions that Kafka would keep them on, segments with their indexes,
and what a lag report needs beside them: `topics.json` and the high watermarks. The same arguments give
the same bytes. `--size` is that of the batches before compression.
"""

import argparse
import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import numpy as np

from benchmarks.data_logs import DataLogWriter
from benchmarks.fleet import (
    Fleet,
    Group,
    Tail,
    Topic,
    commit_tail,
    group_metadata_tail,
    invent,
    tombstone_tail,
)
from benchmarks.log_writer import (
    CLOCK,
    NEXT_OFFSET,
    OPEN_MAX,
    PRODUCER_BASE,
    RANDOM,
    STEP,
    Ints,
    Plan,
    Tails,
    write_batches,
)
from kgroup.log.files.checkpoints import encode_offset_checkpoint
from kgroup.log.format.compression import Codec, compress
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.scan.kernels.compile import machine_code
from kgroup.scan.kernels.crc import crc32c

OFFSETS_TOPIC = "__consumer_offsets"
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_START_MS = 1_767_225_600_000  # 2026-01-01
_DURATION_MS = 24 * 3600 * 1000
_CHUNK_BYTES = 4 << 20
_INDEX_INTERVAL = 4096
_MEAN_BATCH = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The size and shape of the log to make."""

    out: Path
    size: int
    groups: int = 2000
    partitions: int = 50
    codec: Codec = Codec.NONE
    transactions: bool = False
    seed: int = 1
    segment_bytes: int = 100 * 10**6
    value_version: int = 4
    data_logs: bool = False


def make_log(options: Options) -> int:
    """Write the log directory; returns the bytes of all segments."""
    fleet = invent(options.groups, options.seed)
    by_partition: dict[int, list[Group]] = {}
    for group in fleet.groups:
        by_partition.setdefault(group.offsets_partition(options.partitions), []).append(group)
    total = sum(_weight(group) for group in fleet.groups)
    options.out.mkdir(parents=True, exist_ok=True)
    log_ends: dict[TopicPartition, int] = {}
    written = 0
    for partition, groups in sorted(by_partition.items()):
        share = int(options.size * sum(_weight(group) for group in groups) / total)
        writer = _PartitionWriter(options, partition, groups, share)
        written += writer.write()
        log_ends[(OFFSETS_TOPIC, partition)] = writer.log_end
        writer.raise_log_ends(log_ends)
    if options.data_logs:
        writer_of_data = DataLogWriter(options.out, _START_MS, _DURATION_MS, options.seed)
        for (topic, partition), end in sorted(log_ends.items()):
            if topic != OFFSETS_TOPIC:
                writer_of_data.write((topic, partition), end)
    _write_listing(options, fleet, log_ends)
    return written


class _PartitionWriter:
    """Writes the segments of one offsets partition."""

    def __init__(self, options: Options, partition: int, groups: Sequence[Group], size: int) -> None:
        self._options = options
        self._folder = options.out / f"{OFFSETS_TOPIC}-{partition}"
        self._left = size
        self._keys = [key for group in groups for member in group.members for key in member]
        self._plan = _plan(groups, options)
        self._state = np.zeros(7, np.int64)
        self._state[CLOCK] = _START_MS
        self._state[RANDOM] = options.seed * 1_000_003 + partition * 7_919 + 1
        self._state[STEP] = max(_DURATION_MS * _MEAN_BATCH // max(size, 1), 1)
        self._state[PRODUCER_BASE] = 1000 * partition
        self._open = np.zeros(OPEN_MAX, np.int64)
        self._busy = np.zeros(len(self._plan.group), np.bool_)
        self._buffer = np.empty(_CHUNK_BYTES + 16, np.uint8)
        self._written = np.empty((1 << 16, 4), np.int64)

    @property
    def log_end(self) -> int:
        """The offset of the next record."""
        return int(self._state[NEXT_OFFSET])

    def write(self) -> int:
        """Write all segments; returns their bytes."""
        self._folder.mkdir(exist_ok=True)
        total = 0
        while True:
            base = self.log_end
            stem = self._folder / f"{base:020d}"
            with stem.with_suffix(".log").open("wb") as log:
                index = _Index(base)
                size = self._write_segment(log, index)
            index.write(stem)
            total += size
            if self._left <= 0 or size == 0:
                break
        (self._folder / "partition.metadata").write_text(
            f"version: 0\ntopic_id: {_base64(UUID(int=self._options.seed, version=4))}"
        )
        (self._folder / "leader-epoch-checkpoint").write_text("0\n1\n5 0\n")
        return total

    def raise_log_ends(self, log_ends: dict[TopicPartition, int]) -> None:
        """Put the log ends of the data topics where the groups have committed, or behind."""
        for (topic, partition), committed in zip(self._keys, self._plan.committed.tolist(), strict=True):
            key = (topic.name, partition)
            log_ends[key] = max(log_ends.get(key, 0), committed + committed % 1000)

    def _write_segment(self, log: BinaryIO, index: "_Index") -> int:
        size = 0
        while self._left > 0:
            room = min(_CHUNK_BYTES, self._options.segment_bytes - size, max(self._left, 64 * 1024))
            used, batches = machine_code(write_batches)(
                self._buffer,
                room,
                self._plan,
                self._state,
                self._open,
                self._busy,
                self._options.transactions,
                self._written,
            )
            if not batches:
                break
            self._left -= used
            written = self._written[:batches]
            if self._options.codec is not Codec.NONE:
                raw, written = _compressed(self._buffer[:used].tobytes(), written, self._options.codec)
            else:
                raw = self._buffer[:used].tobytes()
            log.write(raw)
            index.add(size, written, len(raw))
            size += len(raw)
        return size


class _Index:
    """The entries of a segment's `.index` and `.timeindex`."""

    def __init__(self, base_offset: int) -> None:
        self._base = base_offset
        self._since = 0
        self._entries: list[tuple[int, int, int]] = []

    def add(self, start: int, written: Ints, size: int) -> None:
        """Take batches that begin at `start` of the segment: an entry per 4 KiB, as Kafka's LogSegment."""
        positions = written[:, 0]
        sizes = np.diff(positions, append=size)
        behind = self._since + np.cumsum(sizes) - sizes  # bytes since the last entry, if there were none here
        row = 0
        taken = 0
        while (row := int(np.searchsorted(behind, taken + _INDEX_INTERVAL, side="right"))) < len(written):
            self._entries.append((int(written[row, 1]), start + int(positions[row]), int(written[row, 2])))
            taken = int(behind[row])
        self._since = int(behind[-1] + sizes[-1]) - taken

    def write(self, stem: Path) -> None:
        """Write both files."""
        table = np.array(self._entries, np.int64).reshape(-1, 3)
        offsets = (table[:, 0] - self._base).astype(">i4")
        index = np.stack([offsets, table[:, 1].astype(">i4")], axis=1)
        stem.with_suffix(".index").write_bytes(index.tobytes())
        times = np.empty(len(table), np.dtype([("timestamp", ">i8"), ("offset", ">i4")]))
        times["timestamp"], times["offset"] = table[:, 2], offsets
        stem.with_suffix(".timeindex").write_bytes(times.tobytes())


def _plan(groups: Sequence[Group], options: Options) -> Plan:
    commits: list[Tail] = []
    tombstones: list[Tail] = []
    first, group_of, weights = [0], [], []
    for number, group in enumerate(groups):
        for member in group.members:
            commits += [
                commit_tail(group, topic, number_, options.value_version) for topic, number_ in member
            ]
            tombstones += [tombstone_tail(group, topic, number_) for topic, number_ in member]
            first.append(len(commits))
            group_of.append(number)
            weights.append(group.weight)
    shares = np.cumsum(weights) / sum(weights)
    return Plan(
        commits=_tails(commits),
        tombstones=_tails(tombstones),
        groups=_tails([group_metadata_tail(group) for group in groups]),
        first=np.array(first, np.int64),
        group=np.array(group_of, np.int64),
        schedule=np.searchsorted(shares, (np.arange(1 << 16) + 0.5) / (1 << 16)).astype(np.int32),
        committed=np.arange(len(commits), dtype=np.int64) % 1000 * 1000,
        generation=np.zeros(len(groups), np.int64),
    )


def _tails(tails: Sequence[Tail]) -> Tails:
    return Tails(
        raw=np.frombuffer(b"".join(tail.raw for tail in tails), np.uint8),
        starts=np.cumsum([0, *(len(tail.raw) for tail in tails)]).astype(np.int64),
        first_at=np.array([tail.first_at for tail in tails], np.int64),
        first_size=np.array([tail.first_size for tail in tails], np.int64),
        time_at=np.array([tail.time_at for tail in tails], np.int64),
    )


def _compressed(raw: bytes, written: Ints, codec: Codec) -> tuple[bytes, Ints]:
    """The batches with their records compressed, and the table of them with their new positions."""
    out = bytearray()
    table = written.copy()
    ends = [*written[1:, 0].tolist(), len(raw)]
    for row, (start, end) in enumerate(zip(written[:, 0].tolist(), ends, strict=True)):
        batch = bytearray(raw[start:end])
        if not batch[22] & 0x20:  # brokers do not compress control batches
            batch[61:] = compress(codec, bytes(batch[61:]))
            batch[22] |= codec
            batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
            covered = np.frombuffer(bytes(batch) + bytes(16), np.uint8)
            batch[17:21] = int(crc32c(covered.copy(), 21, len(batch))).to_bytes(4, "big")
        table[row, 0] = len(out)
        out += batch
    return bytes(out), table


def _write_listing(options: Options, fleet: Fleet, log_ends: dict[TopicPartition, int]) -> None:
    """Write topics.json, as the fixtures have it, and the checkpoint of high watermarks."""
    offsets = Topic(OFFSETS_TOPIC, options.partitions, UUID(int=options.seed, version=4))
    topics = {}
    for topic in (offsets, *sorted(fleet.topics, key=lambda topic: topic.name)):
        partitions = {}
        for partition in range(topic.partitions):
            end = log_ends.setdefault((topic.name, partition), 0)
            partitions[str(partition)] = {"logStart": 0, "logEnd": end, "leaderEpoch": 5}
        topics[topic.name] = {
            "topicId": _base64(topic.topic_id),
            "internal": topic is offsets,
            "partitions": partitions,
        }
    listing = {"takenAtMs": _START_MS + _DURATION_MS, "topics": topics}
    (options.out / "topics.json").write_text(json.dumps(listing, indent=1) + "\n")
    ordered = dict(sorted(log_ends.items()))
    (options.out / "replication-offset-checkpoint").write_text(encode_offset_checkpoint(ordered))


def _weight(group: Group) -> float:
    return group.weight * sum(len(member) for member in group.members)


def _base64(topic_id: UUID) -> str:
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def parse_size(text: str) -> int:
    """A size such as 500MB, 1GB or 1GiB, for argparse."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?b|b)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it like 500MB, 1GB or 1GiB")
    return int(float(match[1]) * _UNITS[(match[2] or "").upper()])


def _arguments() -> Iterator[tuple[str, dict[str, object]]]:
    codecs = [codec.name.lower() for codec in Codec]
    yield (
        "--size",
        {"type": parse_size, "required": True, "help": "of all batches before compression: 500MB, 1GB, 1GiB"},
    )
    yield "--out", {"type": Path, "required": True, "help": "the log directory to make"}
    yield "--codec", {"choices": codecs, "default": "none", "help": "compress the batches"}
    yield "--groups", {"type": int, "default": 2000, "help": "number of groups"}
    yield "--partitions", {"type": int, "default": 50, "help": "partitions of the offsets topic"}
    yield (
        "--transactions",
        {"action": "store_true", "help": "every commit in a transaction, as Kafka Streams does"},
    )
    yield (
        "--value-version",
        {"type": int, "choices": (3, 4), "default": 4, "help": "of commits; 4 has topic ids"},
    )
    yield (
        "--data-logs",
        {"action": "store_true", "help": "also logs of the data topics, from which past log ends are known"},
    )
    yield "--segment-bytes", {"type": parse_size, "default": 100 * 10**6, "help": "largest segment"}
    yield "--seed", {"type": int, "default": 1, "help": "the same seed gives the same bytes"}


def main() -> None:
    """Read the command line and make the log."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.make_log", description=__doc__)
    for flag, settings in _arguments():
        parser.add_argument(flag, **settings)  # type: ignore[arg-type]  # a mapping of them
    given = parser.parse_args()
    options = Options(
        out=given.out,
        size=given.size,
        groups=given.groups,
        partitions=given.partitions,
        codec=Codec[given.codec.upper()],
        transactions=given.transactions,
        seed=given.seed,
        segment_bytes=given.segment_bytes,
        value_version=given.value_version,
        data_logs=given.data_logs,
    )
    written = make_log(options)
    print(f"{options.out}: {written:,} bytes in segments of {options.partitions} partitions")


if __name__ == "__main__":
    main()
