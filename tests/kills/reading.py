"""Everything a broker holds, read back over the wire."""

from collections.abc import Iterator
from typing import Any, Final

from kgroup.broker.offsets_log import is_commit_marker
from kgroup.log.format.batch import Batch, decode_batch
from kgroup.log.format.batch_header import read_header
from tests.kills import requests
from tests.kills.book import ABSENT, COPY_GROUP, GROUP, Readback
from tests.kills.process import PARTITIONS, TOPIC
from tests.kills.workload import new_producer
from tests.net.wire_client import WireClient

_LOADING: Final = 14


def read_back(client: WireClient, *, may_have_gaps: bool) -> Readback:
    """Records, offsets and topics; what was left open in a transaction is aborted first."""
    new_producer(client)
    values: dict[int, dict[int, str]] = {}
    visible: set[str] = set()
    for partition in range(PARTITIONS):
        at = values.setdefault(partition, {})
        open_values: dict[int, list[str]] = {}
        for batch in _batches(client, partition, may_have_gaps=may_have_gaps):
            if batch.control:
                ended = open_values.pop(batch.producer_id, [])
                if is_commit_marker(batch):
                    visible.update(ended)
                continue
            read = {record.offset: (record.value or b"").decode() for record in batch.records()}
            at.update(read)
            if batch.transactional:
                open_values.setdefault(batch.producer_id, []).extend(read.values())
            else:
                visible.update(read.values())
    copied = _committed(client, COPY_GROUP)
    return Readback(
        values=values,
        visible=frozenset(visible),
        offsets=_committed(client, GROUP),
        copied=copied.get(0, ABSENT),
        topics=frozenset(topic.name for topic in client.ask(requests.topics()).topics),
    )


def _batches(client: WireClient, partition: int, *, may_have_gaps: bool) -> Iterator[Batch]:
    offset = 0
    while True:
        part = client.ask(requests.fetch(TOPIC, partition, offset)).responses[0].partitions[0]
        assert part.error_code == 0, part
        raw = bytes(part.records or b"")
        if not raw:
            assert may_have_gaps or offset == part.high_watermark, (partition, offset, part.high_watermark)
            return
        position = 0
        while position < len(raw):
            size = read_header(raw, position).size
            batch = decode_batch(raw[position : position + size])
            is_in_order = batch.base_offset >= offset if may_have_gaps else batch.base_offset == offset
            assert is_in_order, (partition, batch.base_offset, offset)
            yield batch
            position += size
            offset = batch.last_offset + 1


def _committed(client: WireClient, group: str) -> dict[int, int]:
    while True:
        answer: Any = client.ask(requests.committed(group))
        if answer.error_code != _LOADING:
            break
    assert answer.error_code == 0, answer
    return {
        part.partition_index: part.committed_offset for topic in answer.topics for part in topic.partitions
    }
