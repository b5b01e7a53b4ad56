"""A broker in a process of its own that ends by SIGKILL."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from kgroup.broker.settings import from_properties
from kgroup.errors import KgroupError
from kgroup.net.serve.running import TopicRequest, start_cluster
from tests.kills import disk

TOPIC: Final = "orders"
PARTITIONS: Final = 3
SETTINGS: Final = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.segment.bytes": "65536",
    "transaction.state.log.num.partitions": "2",
    "log.segment.bytes": "32768",
    "group.initial.rebalance.delay.ms": "0",
}

# Forked from a server that has everything imported, a broker starts in a fraction of the time.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["kgroup.net.serve.running", "tests.kills.disk"])


class RefusedError(Exception):
    """The broker did not start on the folder that was left to it."""


def _serve(data_dir: str, notes: str | None, fsync: bool, ready: Connection) -> None:
    if notes is not None:
        disk.record(Path(data_dir), Path(notes))

    async def run() -> None:
        try:
            server = await start_cluster(
                settings=from_properties(SETTINGS),
                data_dir=Path(data_dir),
                topics=(TopicRequest(name=TOPIC, partitions=PARTITIONS),),
                fsync=fsync,
                warn=lambda text: ready.send(("warning", text)),
            )
        except KgroupError as error:
            ready.send(("refused", str(error)))
            return
        ready.send(("ready", server.nodes[1].port))
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def broker(
    data_dir: Path, *, fsync: bool, notes: Path | None = None, warnings: list[str] | None = None
) -> Iterator[tuple[str, int]]:
    """A broker's address; at the end the process is killed. Raises RefusedError if it does not start."""
    ours, theirs = _context.Pipe()
    process = _context.Process(
        target=_serve, args=(str(data_dir), None if notes is None else str(notes), fsync, theirs)
    )
    process.start()
    theirs.close()
    try:
        while True:
            try:
                kind, text = ours.recv()
            except EOFError as error:
                raise RefusedError("the process ended without a word") from error
            if kind == "ready":
                break
            if kind == "refused":
                raise RefusedError(text)
            if warnings is not None:
                warnings.append(text)
        yield "127.0.0.1", int(text)
    finally:
        if process.is_alive():
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
        ours.close()
