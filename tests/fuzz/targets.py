"""The decoders that are played with damaged inputs, by name: `TARGETS`.

A target draws an input from real bytes of `fixtures/` and plays it. Nothing but an error of `kgroup.errors`
may come of that; what a target promises beyond, it asserts.
"""

import io
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from kgroup.api.decode.filter import parse_topics, parse_types
from kgroup.api.plan_file import read_plan
from kgroup.broker import settings
from kgroup.durations import parse_duration
from kgroup.errors import KgroupError
from kgroup.java_properties import decoded, parse_properties
from kgroup.log.files.checkpoints import (
    read_cluster_id,
    read_leader_epochs,
    read_offset_checkpoint,
    read_topic_id,
)
from kgroup.log.files.index import OffsetIndex, TimeIndex
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_records, read_segment
from kgroup.log.format.batch import Batch, Damage, LogRecord, encode_batch
from kgroup.log.format.compression import Codec, compress, decompress
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.log.topics.share_state import read_share_records
from kgroup.net.connect.jaas import login_options
from kgroup.net.connect.properties import client_config, parse_servers
from kgroup.protocol.connect_protocol import assignment_text, connect_version, worker_state_text
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.transaction_state import (
    TransactionEntry,
    TransactionStatus,
    decode_transaction,
    encode_transaction,
)
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.share_state import SHARE_STATE_TOPIC
from kgroup.protocol.sticky_user_data import decode_cooperative, decode_sticky
from kgroup.protocol.subscription import decode_assignment, decode_member, decode_subscription
from kgroup.report.emit import to_json
from kgroup.report.records.entry_text import entry_text
from kgroup.report.records.record_json import _entry_json
from kgroup.report.records.share_records import share_record_json, share_table_row
from kgroup.sim.scenario.file import read_scenario
from tests.fuzz.mutations import mutated
from tests.fuzz.segments import differences
from tests.log.test_fuzz import make_crc_hold
from tests.log.truth import FIXTURES, SEGMENTS

ROOT: Final = FIXTURES.parent
CORPUS: Final = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A decoder: `draw` makes an input, `play` decodes it. Calling a target does both."""

    draw: Callable[[random.Random], bytes]
    play: Callable[[bytes], None]
    costly: bool = False
    """Whether an input takes milliseconds, so that fewer are played."""

    def __call__(self, rng: random.Random) -> None:
        """Play one input."""
        self.play(self.draw(rng))


# ---- what is damaged -------------------------------------------------------------------------------


@cache
def batches(path: Path) -> tuple[bytes, ...]:
    """The batches of a segment, but for the largest."""
    raw = path.read_bytes()
    items = (item for item in read_segment(path) if isinstance(item, Batch) and item.size < 5000)
    return tuple(raw[item.position : item.position + item.size] for item in items)


@cache
def records() -> tuple[tuple[bytes | None, bytes | None], ...]:
    """Keys and values, some of each type and version."""
    chosen: dict[tuple[bytes, bytes], list[tuple[bytes | None, bytes | None]]] = {}
    for path in SEGMENTS:
        for item in read_records(read_segment(path), str(path)):
            for record in item[1] if isinstance(item, tuple) else []:
                kind = ((record.key or b"")[:2], (record.value or b"")[:2])
                of_kind = chosen.setdefault(kind, [])
                if len(of_kind) < 30:
                    of_kind.append((record.key, record.value))
    return tuple(record for _, of_kind in sorted(chosen.items()) for record in of_kind)


@cache
def share_states() -> tuple[tuple[bytes | None, bytes | None], ...]:
    """Keys and values of records about the state of share groups."""
    return _records_of("4.3.1/lives/__share_group_state-*/*.log")


def _records_of(pattern: str) -> tuple[tuple[bytes | None, bytes | None], ...]:
    paths = sorted(FIXTURES.glob(pattern))
    assert paths, pattern
    items = [item for path in paths for item in read_records(read_segment(path), str(path))]
    return tuple(
        (record.key, record.value) for item in items if isinstance(item, tuple) for record in item[1]
    )


@cache
def transactions() -> tuple[tuple[bytes | None, bytes | None], ...]:
    """Keys and values of a transaction coordinator's records: of a broker, and of ours at every status."""
    entry = TransactionEntry(
        transactional_id="till-7",
        producer_id=4000,
        producer_epoch=3,
        timeout_ms=60_000,
        status=TransactionStatus.EMPTY,
        partitions=(),
        last_update_ms=1_700_000_000_000,
        start_ms=1_699_999_999_000,
    )
    partitions = (("orders", 0), ("orders", 2), ("__consumer_offsets", 49))
    ours = [
        encode_transaction(replace(entry, status=status, partitions=partitions if status else ()))
        for status in TransactionStatus
    ]
    return (*_records_of("log_dirs/4.3.1/__transaction_state-*/*.log"), *ours)


@cache
def blobs() -> tuple[bytes, ...]:
    """Subscriptions and assignments of members of classic groups."""
    entries = [decode_entry(key, value) for key, value in records()]
    values = [entry.value for entry in entries if isinstance(entry, OffsetsEntry)]
    groups = [value for value in values if isinstance(value, GroupMetadataValue)]
    return tuple(
        blob
        for group in groups
        for member in group.members
        for blob in (member.subscription, member.assignment)
    )


def of_files(*patterns: str) -> Callable[[random.Random], bytes]:
    """Damage to one of these files below the root of the project."""

    @cache
    def contents() -> tuple[bytes, ...]:
        paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
        assert paths, patterns
        return tuple(path.read_bytes() for path in paths)

    return lambda rng: mutated(rng, rng.choice(contents()))


def of_texts(*texts: str) -> Callable[[random.Random], bytes]:
    """Damage to one of these texts."""
    return lambda rng: mutated(rng, rng.choice(texts).encode())


def damaged_segment(rng: random.Random) -> bytes:
    """A few batches of a segment, one of them changed inside with a right CRC, then all of it damaged."""
    chosen = batches(rng.choice(SEGMENTS)) or (b"\0",)
    first = rng.randrange(len(chosen))
    some = list(chosen[first : first + rng.randrange(1, 12)])
    if rng.random() < 0.4:
        number = rng.randrange(len(some))
        changed = bytearray(mutated(rng, some[number]))
        if len(changed) > 20:
            make_crc_hold(changed)
        some[number] = bytes(changed)
    if rng.random() < 0.2:
        some += some[rng.randrange(len(some)) :]
    raw = b"".join(some)
    return mutated(rng, raw) if raw and rng.random() < 0.7 else raw


def damaged_record(rng: random.Random) -> bytes:
    """A key and a value as `split_record` takes them apart, one or both damaged."""
    return _damaged(rng, *rng.choice(records()))


def damaged_share_state(rng: random.Random) -> bytes:
    """The same of a record of `__share_group_state`, and at times of one of the other topic."""
    return _damaged(rng, *rng.choice(share_states() if rng.random() < 0.9 else records()))


def damaged_transaction(rng: random.Random) -> bytes:
    """The same of a record of `__transaction_state`."""
    return _damaged(rng, *rng.choice(transactions()))


def _damaged(rng: random.Random, key: bytes | None, value: bytes | None) -> bytes:
    if key and rng.random() < 0.4:
        key = mutated(rng, key)
    if value and rng.random() < 0.8:
        value = mutated(rng, value)
    front = bytes([key is not None, value is not None]) + len(key or b"").to_bytes(4, "big")
    return front + (key or b"") + (value or b"")


def damaged_payload(rng: random.Random) -> bytes:
    """A codec's number, and a packed payload that is damaged."""
    codec = rng.choice(list(Codec)[1:])
    plain = b"".join(rng.choices(blobs(), k=3))
    return bytes([codec]) + mutated(rng, compress(codec, plain))


# ---- what is played --------------------------------------------------------------------------------


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="kgroup-fuzz-", dir=memory if memory.is_dir() else None))


def _written(raw: bytes, name: str) -> Path:
    path = _folder() / name
    path.write_bytes(raw)
    return path


def tried(*readings: Callable[[], object]) -> None:
    """Each of these, whose errors may only be kgroup's, with one line to say."""
    for reading in readings:
        try:
            reading()
        except KgroupError as error:
            assert str(error), "an error without a word"


def play_segment(raw: bytes) -> None:
    """Both paths say the same, also in slices and in small chunks."""
    path = _written(raw, "00000000000000000000.log")
    unlike = list(differences(path, (1, 700), (100,)))
    assert not unlike, unlike[0]


def split_record(raw: bytes) -> tuple[bytes | None, bytes | None]:
    """The key and the value."""
    size = int.from_bytes(raw[2:6], "big")
    key = raw[6 : 6 + size] if raw[:1] != b"\0" else None
    return key, raw[6 + size :] if raw[1:2] != b"\0" else None


def play_share_state(raw: bytes) -> None:
    """It is decoded, or refused with a reason, and can be shown."""
    key, value = split_record(raw)
    record = LogRecord(offset=0, timestamp_ms=0, key=key, value=value, headers=())
    path = _written(encode_batch([record]), f"{0:020}.log")
    segment = SegmentFile(path=str(path), topic=SHARE_STATE_TOPIC, partition=0, base_offset=0)
    [item] = read_share_records([segment])
    assert not isinstance(item, Damage)
    json.loads(to_json(share_record_json(item, {})))
    share_table_row(item, {})


def play_record(raw: bytes) -> None:
    """It is decoded or Undecodable, and can be shown."""
    key, value = split_record(raw)
    entry = decode_entry(key, value)
    json.loads(to_json(_entry_json(entry, {})))
    entry_text(entry, {})


def play_transaction(raw: bytes) -> None:
    """It is decoded, or refused with a reason."""
    key, value = split_record(raw)
    tried(lambda: decode_transaction(key or b"", value))


def play_blob(raw: bytes) -> None:
    """As what any protocol puts there."""
    tried(
        lambda: decode_subscription(raw),
        lambda: decode_assignment(raw),
        lambda: decode_member(raw, raw),
        lambda: decode_sticky(raw),
        lambda: decode_cooperative(raw),
        lambda: worker_state_text(raw),
        lambda: assignment_text(raw),
        lambda: connect_version(raw),
    )


def play_payload(raw: bytes) -> None:
    """It unpacks, or cannot be unpacked."""
    tried(
        lambda: decompress(Codec(raw[0] % 5), raw[1:]),
        lambda: decompress(Codec.LZ4, raw[1:], any_lz4_checksum=True),
    )


def play_index(raw: bytes) -> None:
    """Lookups answer whatever is in it."""
    offsets, times = OffsetIndex(raw, 5), TimeIndex(raw, 5)
    list(offsets)
    list(times)
    for number in (-1, 0, 7, 1 << 40):
        offsets.position_before(number)
        times.offset_before(number)
    offsets.problem(1 << 20)
    times.problem()


def play_checkpoint(raw: bytes) -> None:
    """As any of a broker's small files."""
    path = _written(raw, "checkpoint")
    tried(
        lambda: read_offset_checkpoint(path),
        lambda: read_leader_epochs(path),
        lambda: read_topic_id(path),
        lambda: read_cluster_id(path),
    )


def play_log_ends(raw: bytes) -> None:
    """JSON or CSV."""
    tried(lambda: read_log_ends_file(_written(raw, "ends")))


def play_plan(raw: bytes) -> None:
    """JSON or YAML."""
    tried(lambda: read_plan("-", io.BytesIO(raw)))


def play_scenario(raw: bytes) -> None:
    """TOML."""
    with suppress(UnicodeDecodeError):
        text = raw.decode()
        tried(lambda: read_scenario(text, "fuzz", "fuzz.toml"))


def play_properties(raw: bytes) -> None:
    """A client's and a broker's."""
    text = decoded(raw)
    client = parse_properties(text)
    for name in [name for name in client if name.endswith(".location")]:
        del client[name]  # it may name any file
    tried(
        lambda: client_config(client),
        lambda: settings.from_properties(settings.read_properties(text, "fuzz")),
        lambda: parse_servers(text),
        lambda: login_options(text),
    )


def play_option(raw: bytes) -> None:
    """What is written into a command line."""
    text = raw.decode("utf-8", "surrogateescape")
    parse_duration(text)
    tried(lambda: parse_topics([text]), lambda: parse_types([text]))


_CLIENT: Final = """\
security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="u\\"ser" password='p w' other=1; # end
request.timeout.ms=3000
"""
_BROKER: Final = """\
! of a broker
num.partitions : 3
offsets.topic.num.partitions=50\\u0030
group.min.session.timeout.ms = 6000
group.consumer.assignors=uniform,range
"""
_ENDS: Final = """\
topic,partition,log_end_offset,log_start_offset,topic_id
orders,0,278,0,
b,1,-1,,UOuCcB7tQfKtQTJ061owOQ
"""
_PLAN: Final = """\
topics: {orders: 6, billing: {partitions: 3, topicId: UOuCcB7tQfKtQTJ061owOQ}}
members:
  a: {topics: [orders, billing], owned: {orders: [0, 1]}, rack: r1}
  b: {topics: [orders]}
"""
_OPTIONS: Final = ("90s", "2h30m", "P1DT2H", "orders:0,1,2", "orders-*", "offset-commit", "group-*", "PT0.5S")

TARGETS: Final[Mapping[str, Callable[[random.Random], None]]] = {
    "segment": Target(draw=damaged_segment, play=play_segment, costly=True),
    "record": Target(draw=damaged_record, play=play_record),
    "share-state": Target(draw=damaged_share_state, play=play_share_state),
    "transaction": Target(draw=damaged_transaction, play=play_transaction),
    "member-blob": Target(draw=lambda rng: mutated(rng, rng.choice(blobs()) or b"\0"), play=play_blob),
    "payload": Target(draw=damaged_payload, play=play_payload),
    "index": Target(
        draw=of_files("fixtures/[0-9]*/*/*/*.index", "fixtures/[0-9]*/*/*/*.timeindex"), play=play_index
    ),
    "checkpoint": Target(
        draw=of_files(
            "fixtures/[0-9]*/*/*-checkpoint",
            "fixtures/[0-9]*/*/*/leader-epoch-checkpoint",
            "fixtures/[0-9]*/*/*/partition.metadata",
            "fixtures/[0-9]*/*/meta.properties",
        ),
        play=play_checkpoint,
    ),
    "log-ends-json": Target(draw=of_files("fixtures/[0-9]*/*/topics.json"), play=play_log_ends),
    "log-ends-csv": Target(draw=of_texts(_ENDS), play=play_log_ends),
    "plan": Target(
        draw=of_texts(_PLAN, json.dumps({"topics": {"t": 3}, "members": {"a": {"topics": ["t"]}}})),
        play=play_plan,
    ),
    "scenario": Target(draw=of_files("kgroup/sim/scenarios/*.toml"), play=play_scenario),
    "properties": Target(draw=of_texts(_CLIENT, _BROKER), play=play_properties),
    "option": Target(draw=of_texts(*_OPTIONS), play=play_option),
}


def corpus() -> Iterable[tuple[str, Path]]:
    """Inputs that failed once, each in the folder of its target."""
    return [(path.parent.name, path) for path in sorted(CORPUS.glob("*/*")) if path.is_file()]


def play_corpus(name: str, path: Path) -> None:
    """Play one of them again."""
    target = TARGETS[name]
    assert isinstance(target, Target), name
    target.play(path.read_bytes())


def shares(names: Sequence[str], inputs: int) -> dict[str, int]:
    """How many inputs of each target make `inputs` together; of costly ones a tenth of the others'."""
    weights = {name: 1 if getattr(TARGETS[name], "costly", False) else 10 for name in names}
    total = sum(weights.values())
    counts = {name: inputs * weight // total for name, weight in weights.items()}
    counts[names[-1]] += inputs - sum(counts.values())
    return counts
