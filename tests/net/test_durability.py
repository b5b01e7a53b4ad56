"""The process dies at random moments while a client commits: nothing acknowledged is lost."""

import asyncio
import multiprocessing
import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest

from kgroup.broker.settings import from_properties
from kgroup.net.serve.running import TopicRequest, start_cluster
from tests.net.wire_client import WireClient

KILLS = 55
IN_FLIGHT = 20
GROUP = "steady"
PARTITIONS = 3

# Forked from a server that has everything imported, a broker starts in a fraction of the time.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["kgroup.net.serve.running", "tests.net.wire_client"])


def serve(data_dir: str, ready: Connection) -> None:
    async def run() -> None:
        server = await start_cluster(
            settings=from_properties(
                {"offsets.topic.num.partitions": "2", "offsets.topic.segment.bytes": "65536"}
            ),
            data_dir=Path(data_dir),
            topics=(TopicRequest(name="orders", partitions=PARTITIONS),),
            warn=lambda text: None,
        )
        ready.send(server.nodes[1].port)
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def broker(data_dir: Path) -> Iterator[tuple[str, int]]:
    """A broker in a process of its own, which ends by SIGKILL."""
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(str(data_dir), theirs))
    process.start()
    theirs.close()
    try:
        yield "127.0.0.1", ours.recv()
    finally:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
        ours.close()


def commit(offset: int) -> OffsetCommitRequest:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    return OffsetCommitRequest(
        version=7,
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[
            topic(
                version=7,
                name="orders",
                partitions=[
                    topic.OffsetCommitRequestPartition(
                        version=7,
                        partition_index=offset % PARTITIONS,
                        committed_offset=offset,
                        committed_metadata="",
                    )
                ],
            )
        ],
    )


def committed(client: WireClient) -> dict[int, int]:
    request = OffsetFetchRequest(
        version=5,
        group_id=GROUP,
        topics=[
            OffsetFetchRequest.OffsetFetchRequestTopic(
                version=5, name="orders", partition_indexes=list(range(PARTITIONS))
            )
        ],
    )
    while True:
        answer = client.ask(request)
        if not answer.error_code:  # else the log is being loaded
            return {each.partition_index: each.committed_offset for each in answer.topics[0].partitions}


def test_no_acknowledged_commit_is_lost_in_fifty_five_kills(tmp_path: Path) -> None:
    moments = random.Random(20261121)
    acknowledged = dict.fromkeys(range(PARTITIONS), -1)
    offset = 0
    for _ in range(KILLS):
        with broker(tmp_path / "data") as address, WireClient(address) as client:
            offsets = committed(client)
            assert all(offsets[index] >= acknowledged[index] for index in acknowledged), (
                offsets,
                acknowledged,
            )
            in_flight: list[int] = []
            for _ in range(moments.randrange(1, 120)):
                client.send(commit(offset))
                in_flight.append(offset)
                offset += 1
                if len(in_flight) < IN_FLIGHT:
                    continue
                answer = client.receive()
                done = in_flight.pop(0)
                if answer.topics[0].partitions[0].error_code == 0:
                    acknowledged[done % PARTITIONS] = done
    assert min(acknowledged.values()) > KILLS
