"""Requests that no client would send, to nodes without sockets: each is answered, or its connection closes.

Requests of every API and version are made from kafka-python's schemas, with names and ids that the cluster
knows, and then damaged: in their fields before they are encoded, and in their bytes after.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kgroup.broker.cluster import Cluster, NodeSpec
from kgroup.broker.dispatch import handle
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.node import BrokerNode
from kgroup.broker.settings import from_properties
from kgroup.broker.storage import MemoryStorage
from kgroup.log.format.batch import Codec, LogRecord, decode_batch, encode_batch
from kgroup.wire import apis as api
from kgroup.wire.apis import APIS
from kgroup.wire.frames import CODEC_ERRORS, Api, BadRequestError

CORPUS: Final = Path(__file__).parent / "corpus" / "wire.txt"
EPISODE: Final = 400  # inputs to one cluster
SETTLE_EVERY: Final = 8
PROPERTIES: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "3",
    "group.max.size": "50",
}
MAY_WAIT: Final = frozenset({api.JOIN_GROUP, api.SYNC_GROUP, api.FETCH})
EDGES: Final = (0, 1, -1, -2, 2, 5, 127, -128, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
WIDTHS: Final = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "int64": 64}
NAMES: Final = {
    "group": ("g", "g", "g", "other", "", "group-\u00e4\u0000", "x" * 300),
    "topic": ("orders", "orders", "payments", "", "nowhere", "__consumer_offsets", "a b", "t" * 300),
    "member": ("", "m", "unknown"),
    "protocol": ("range", "roundrobin", "", "sticky"),
    "transactional": ("t", "t", "u", ""),
    "other": ("", "a", "1.0", "consumer", "kafka-python", "\u00b2", "max.message.bytes", "x" * 200),
}
LONG: Final = ("x" * 32_767, "x" * 32_768, "\u20ac" * 11_000, "x" * 70_000)


class WireFailureError(AssertionError):
    """What a fuzzed request did that it must not; the message has the request's bytes."""


@dataclass(slots=True)
class Sent:
    """A request that has no answer yet, by what its header says."""

    api: Api
    version: int
    frame: bytes


@dataclass
class FuzzedCluster:
    """Two nodes, what the answers of theirs have told, and what they owe."""

    rng: random.Random
    now_ms: int = 1_000_000
    member_ids: list[str] = field(default_factory=list)
    producers: list[tuple[int, int]] = field(default_factory=list)
    owed: dict[int, Sent] = field(default_factory=dict)
    closed: int = 0
    answered: int = 0

    def __post_init__(self) -> None:
        numbers = count(1)
        specs = [NodeSpec(number, "127.0.0.1", 9000 + number) for number in (1, 2)]
        self.cluster = Cluster(
            from_properties(PROPERTIES),
            specs,
            MemoryStorage(),
            lambda: UUID(int=next(numbers)),
            self.now_ms,
        )
        self.nodes = [BrokerNode(spec.node_id, self.cluster, FetchWaits()) for spec in specs]
        self.tokens = count(1)
        self.checked: dict[tuple[UUID, int], int] = {}
        self.cluster.on_append = self._appended
        for name in ("orders", "payments"):
            self.cluster.create_topic(name, 2, 1, {}, self.now_ms)

    def _appended(self, partition: Any) -> None:
        for node in self.nodes:
            node.waits.appended(partition)

    # ---- in and out -------------------------------------------------------------------------------

    def send(self, frame: bytes, node: BrokerNode) -> None:
        """Hand in a request: from here on it is owed an answer, unless its connection closes."""
        token = next(self.tokens)
        try:
            call = node.read(frame, token, "/127.0.0.1")
            version = call.version if call.body is not None else 0
            self.owed[token] = Sent(APIS[call.api_key], version, frame)
            handle(node, call, self.now_ms)
        except BadRequestError:
            self.owed.pop(token, None)
            self.closed += 1

    def settle(self) -> None:
        """Let everything happen that is due now, and take the answers."""
        for _ in range(3000):
            self.cluster.tick(self.now_ms)
            self.cluster.coordinators.flush()
            for node in self.nodes:
                node.waits.wake(self.now_ms)
                for answer in node.take_answers():
                    self._take(answer.token, answer.whole())
            deadline_ms = self.cluster.next_deadline_ms()
            if deadline_ms is None or deadline_ms > self.now_ms:
                break
        else:
            raise AssertionError("there is always something due")
        for token, sent in self.owed.items():
            assert sent.api.key in MAY_WAIT, (
                f"request {token}, {sent.api.name} v{sent.version}, has no answer"
            )

    def _take(self, token: int, frame: bytes | None) -> None:
        sent = self.owed.pop(token, None)
        assert sent is not None, f"request {token} is answered twice, or after its connection closed"
        self.answered += 1
        if frame is None:
            assert sent.api.key == api.PRODUCE, f"{sent.api.name} v{sent.version} has no answer"
            return
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        flexible = sent.api.is_flexible(sent.version)
        start = 9 if flexible and sent.api.key != api.API_VERSIONS else 8
        if sent.api.key == api.API_VERSIONS and frame[8:10] == (35).to_bytes(2, "big"):
            flexible, sent.version = False, 0  # UNSUPPORTED_VERSION, which comes in the oldest form
        decode = sent.api.response._struct.compiled_decode_from(
            sent.version, compact=flexible, tagged=flexible, data_class=sent.api.response
        )
        body, end = decode(memoryview(frame), start)
        assert end == len(frame), (
            f"{sent.api.name} v{sent.version}: the answer has {len(frame) - end} bytes more"
        )
        self._learn(sent, body)

    def _learn(self, sent: Sent, body: Any) -> None:
        if sent.api.key == api.JOIN_GROUP and body.member_id:
            self.member_ids = [*self.member_ids[-20:], body.member_id]
        if sent.api.key == api.INIT_PRODUCER_ID and body.producer_id >= 0:
            self.producers = [*self.producers[-5:], (body.producer_id, body.producer_epoch)]

    def pass_time(self, duration_ms: int) -> None:
        """The clock goes on, as far as the next deadline or so far."""
        self.now_ms += duration_ms
        self.settle()

    # ---- what always holds --------------------------------------------------------------------------

    def check(self) -> None:
        """Logs hold whole batches whose offsets go up, and a reader gets past each record of theirs."""
        for topic in self.cluster.topics.values():
            for partition in topic.partitions:
                place = (topic.spec.topic_id, partition.index)
                offset = max(self.checked.get(place, 0), partition.log.start_offset)
                for raw in partition.log.batches(offset):
                    batch = decode_batch(raw)
                    if batch.base_offset < offset:  # records of it have been deleted, or it was looked at
                        offset = max(offset, batch.last_offset + 1)
                        continue
                    assert batch.base_offset == offset, f"{place}: offset {batch.base_offset} after {offset}"
                    records = batch.records()
                    offsets = [record.offset for record in records]
                    assert offsets == list(range(offset, batch.last_offset + 1)), f"{place}: {offsets}"
                    offset = batch.last_offset + 1
                assert offset == partition.log.end_offset, f"{place} ends at {offset}"
                assert partition.last_stable_offset <= offset
                self.checked[place] = offset

    def check_reload(self) -> None:
        """Coordinators that begin again from their logs have the same groups and offsets."""
        self.settle()
        before = self._logged()
        for index in list(self.cluster.coordinators.hosted):
            node = self.cluster.coordinators.hosted[index].node_id
            self.cluster.move_coordinator(index, 3 - node, self.now_ms)
        self.settle()
        after = self._logged()
        assert before == after, f"after a reload:\n{after}\nbefore:\n{before}"

    def _logged(self) -> dict[str, Any]:
        state = {}
        for hosted in self.cluster.coordinators.hosted.values():
            for group in ("", "g", "other", "group-\u00e4\u0000", "x" * 300):
                if self.cluster.offsets_partition(group) == hosted.partition.index:
                    state[group] = [
                        (topic.name, offset.partition_index, offset.committed_offset)
                        for topic in hosted.coordinator.fetch_offsets(group, None, False)
                        for offset in topic.partitions
                    ]
        return state


# ---- making requests ------------------------------------------------------------------------------------


class RequestMaker:
    """Makes requests of every API and version, most of which make sense."""

    def __init__(self, rng: random.Random, target: FuzzedCluster) -> None:
        self._rng = rng
        self._target = target
        self._wildness = 0.0

    def frame(self) -> bytes:
        """A request's frame, healthy or damaged."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.03:
            return rng.randbytes(rng.randrange(40))
        chosen = APIS[rng.choice(sorted(APIS))]
        version = rng.randint(chosen.lowest, chosen.highest)
        self._wildness = rng.choice((0.0, 0.0, 0.05, 0.3))
        frame = self._encoded(chosen, version)
        return damaged(rng, frame) if kind < 0.35 else frame

    def _encoded(self, chosen: Api, version: int) -> bytes:
        for _ in range(20):
            try:
                request = chosen.request(version=version)
                self._fill(request, chosen.request._struct.fields, version)
                request.with_header(self._rng.randint(0, 2**31 - 1), self._rng.choice(("tester", None, "")))
                return bytes(request.encode(header=True))
            except (*CODEC_ERRORS, AttributeError):
                continue  # a value that has no form in this version
        return chosen.key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\1\xff\xff"

    def _fill(self, struct: Any, fields: Any, version: int) -> None:
        for name, each in fields.items():
            if not each.for_version_q(version):
                continue
            if each.tagged_field_q(version) and self._rng.random() < 0.7:
                continue
            setattr(struct, name, self._value(each, name, version))

    def _value(self, each: Any, name: str, version: int) -> Any:
        rng = self._rng
        if each.nullable_for_version_q(version) and rng.random() < 0.3:
            return None
        wild = rng.random() < self._wildness
        if each.is_array():
            if wild and rng.random() < 0.3:
                return None
            element = each.array_of
            items = [
                self._struct(element, version)
                if element.is_struct()
                else self._simple(element.type_str.removeprefix("[]"), name, wild)
                for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))
            ]
            return items + items[:1] if rng.random() < 0.1 else items
        if each.is_struct():
            return self._struct(each, version)
        return self._simple(each.type_str, name, wild)

    def _struct(self, each: Any, version: int) -> Any:
        struct = each.data_class(version=version)
        self._fill(struct, each.fields, version)
        return struct

    def _simple(self, kind: str, name: str, wild: bool) -> Any:
        rng = self._rng
        if kind in WIDTHS:
            return self._number(WIDTHS[kind], name, wild)
        match kind:
            case "string":
                return self._string(name, wild)
            case "bytes":
                return None if wild else rng.choice((b"", b"metadata", rng.randbytes(30)))
            case "records":
                return self._records(wild)
            case "uuid":
                known = [topic.spec.topic_id for topic in self._target.cluster.topics.values()]
                return rng.choice([*known[:3], UUID(int=rng.randrange(2**128)), None])
            case "bool":
                return rng.random() < 0.5
            case "float64":
                return rng.choice((0.0, -1.0, 1e300, float("nan")))
        raise AssertionError(f"fields of type {kind} are new")

    def _number(self, bits: int, name: str, wild: bool) -> int:
        rng = self._rng
        if wild:
            edge = rng.choice(EDGES)
            return max(-(1 << bits - 1), min(edge, (1 << bits - 1) - 1))
        if name.endswith("timeout_ms"):
            return rng.choice((6_000, 10_000, 60_000))
        if "producer_id" in name and self._target.producers:
            return rng.choice(self._target.producers)[0]
        if name == "acks":
            return rng.choice((0, 1, -1))
        if name == "num_partitions":
            return rng.choice((-1, 1, 3))
        if name == "count":
            return rng.randrange(8)
        if name == "max_wait_ms":
            return rng.choice((0, 100, 500))
        if name in ("max_bytes", "partition_max_bytes"):
            return rng.choice((1 << 20, 100))
        if "epoch" in name or name == "session_id":
            return rng.choice((-1, 0, 0, 1))
        return rng.choice((-1, 0, 0, 1, 2, 5))

    def _string(self, name: str, wild: bool) -> str | None:
        rng = self._rng
        if wild:
            return rng.choice((None, *LONG, "".join(chr(rng.randrange(1, 0xD800)) for _ in range(5))))
        if "member_id" in name and self._target.member_ids:
            return rng.choice((*NAMES["member"], *self._target.member_ids))
        for kind, names in NAMES.items():
            if kind in name:
                return rng.choice(names)
        if name in (
            "name",
            "topic_names",
            "key",
            "resource_name",
            "coordinator_keys",
            "groups_names",
            "groups",
        ):
            return rng.choice((*NAMES["topic"], *NAMES["group"], "range"))
        return rng.choice(NAMES["other"])

    def _records(self, wild: bool) -> bytes | None:
        rng = self._rng
        producer, epoch = rng.choice([(-1, -1), (7, 0), *self._target.producers])
        records = [
            LogRecord(
                offset=number,
                timestamp_ms=rng.choice((self._target.now_ms, 5, -1)),
                key=rng.choice((None, b"k")),
                value=rng.choice((None, b"v" * rng.randrange(50))),
            )
            for number in range(rng.choice((1, 1, 2, 5)))
        ]
        raw = encode_batch(
            records,
            codec=rng.choice((Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY)),
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=-1 if producer < 0 else rng.choice((0, 0, 1, 2)),
            transactional=producer >= 0 and rng.random() < 0.4,
        )
        if not wild:
            return raw
        return rng.choice((None, b"", _with_right_crc(damaged(rng, raw)), damaged(rng, raw)))


def _with_right_crc(raw: bytes) -> bytes:
    import google_crc32c

    return raw[:17] + google_crc32c.value(raw[21:]).to_bytes(4, "big") + raw[21:] if len(raw) > 21 else raw


def damaged(rng: random.Random, frame: bytes) -> bytes:
    """The bytes with one to three faults: bits, edges of numbers, and pieces that are gone or there again."""
    raw = bytearray(frame)
    for _ in range(rng.randint(1, 3)):
        if not raw:
            break
        at = rng.randrange(len(raw))
        match rng.randrange(6):
            case 0:
                raw[at] ^= 1 << rng.randrange(8)
            case 1:
                raw[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del raw[at : at + rng.randint(1, 8)]
            case 3:
                raw[at:at] = rng.choice((b"\0", b"\xff\xff", rng.randbytes(4), raw[at : at + 20]))
            case 4:
                width = rng.choice((2, 4, 8))
                number = rng.choice(EDGES) % (1 << 8 * width)
                raw[at : at + width] = number.to_bytes(width, "big")
            case _:
                del raw[at:]
    return bytes(raw)


# ---- playing --------------------------------------------------------------------------------------------


def play(inputs: int, seed: int) -> dict[str, int]:
    """Play so many requests; how many were answered, and how many closed their connection.

    Raises WireFailureError with the first request after which something is wrong.
    """
    totals = {"inputs": 0, "answered": 0, "closed": 0}
    for episode in count():
        if totals["inputs"] >= inputs:
            return totals
        target = _episode(f"{seed}:{episode}", min(EPISODE, inputs - totals["inputs"]))
        totals["inputs"] += min(EPISODE, inputs - totals["inputs"])
        totals["answered"] += target.answered
        totals["closed"] += target.closed
    raise AssertionError("count() ends")


def _episode(seed: str, inputs: int) -> FuzzedCluster:
    rng = random.Random(seed)
    target = FuzzedCluster(rng)
    maker = RequestMaker(rng, target)
    recent: list[bytes] = []
    try:
        for number in range(1, inputs + 1):
            frame = maker.frame()
            recent = [*recent[1 - SETTLE_EVERY :], frame]
            target.send(frame, rng.choice(target.nodes))
            if number % SETTLE_EVERY == 0:
                target.pass_time(rng.choice((0, 0, 10, 700, 20_000)))
                target.check()
        target.check_reload()
        target.pass_time(400_000)  # every member and transaction is out, and no fetch waits
    except Exception as error:
        frames = "\n".join(each.hex() for each in recent)
        raise WireFailureError(
            f"seed {seed}: {type(error).__name__}: {error}; the last requests:\n{frames}"
        ) from error
    return target


def corpus() -> Iterator[tuple[str, list[bytes]]]:
    """The requests that once failed, with the reason: a line `# reason`, then the frames in order."""
    reason = ""
    frames: list[bytes] = []
    for line in CORPUS.read_text().splitlines():
        if line.startswith("#"):
            if frames:
                yield reason, frames
            reason, frames = line.removeprefix("#").strip(), []
        elif re.fullmatch(r"(?:[0-9a-f]{2})+", line):
            frames.append(bytes.fromhex(line))
    if frames:
        yield reason, frames


def replay(frames: list[bytes]) -> FuzzedCluster:
    """Requests to both nodes of a fresh cluster, one after the other, with the checks after each."""
    target = FuzzedCluster(random.Random(0))
    for frame in frames:
        for node in target.nodes:
            target.send(frame, node)
            target.settle()
            target.check()
    target.check_reload()
    return target
