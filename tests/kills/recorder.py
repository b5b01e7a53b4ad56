"""Recorders that die by SIGKILL while groups commit, again and again into one folder.

A recorder is asked for as much as it can do: leaders send at once, and it samples each second. The tests play
a few deaths; `python -m tests.kills.recorder [--rounds N] [--seed S]` plays as many as asked for.
"""

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import kgroup.testing
from kgroup.errors import KgroupError
from kgroup.log.files.recording import Hole, read_notes
from kgroup.log.files.sources import read_log_dir
from kgroup.log.recorder.folder import RecordingFolder
from kgroup.log.recorder.retention import Retention
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.net.record.recorder import Recorder
from tests.kills.requests import commit
from tests.net.wire_client import WireClient

PARTITIONS = 3
GROUPS = 6
COMMITS_MAX = 120
FOR_EVER = Retention(retain_ms=None, bytes_max=None)

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["kgroup.net.record.recorder", "kgroup.log.recorder.folder"])


def _record(bootstrap: str, folder: str, told: Connection) -> None:
    try:
        recorder = Recorder(
            ConnectionOptions(bootstrap_servers=bootstrap),
            RecordingFolder(Path(folder), FOR_EVER, told.send),
            sample_ms=1000,
            say=told.send,
            stop=threading.Event(),
            wait_ms=1,
        )
        recorder.run(lambda: told.send("ready"))
    except KgroupError as error:
        told.send(f"refused: {error}")


@contextmanager
def recorder(bootstrap: str, folder: Path) -> Iterator[None]:
    """A recorder in a process of its own, which is killed at the end."""
    ours, theirs = _context.Pipe()
    process = _context.Process(target=_record, args=(bootstrap, str(folder), theirs))
    process.start()
    theirs.close()
    try:
        said = ours.recv()
        assert said == "ready", said
        yield
    finally:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
        ours.close()


def deaths(folder: Path, *, seed: int, count: int) -> Iterator[str]:
    """Let a recorder die so often; yields a sentence for each batch that is missing, doubled or changed."""
    chance = random.Random(seed)
    properties = {"offsets.topic.num.partitions": str(PARTITIONS)}
    with kgroup.testing.cluster(
        topics={"orders": 4}, properties=properties, data_dir=folder / "data"
    ) as cluster:
        host, port = cluster.bootstrap.split(":")
        with WireClient((host, int(port))) as client:
            offset = 0
            client.ask(commit("group-0", "orders", {0: 0}))
            for _ in range(count):
                # Between two lives groups commit, too.
                for alive in (True, False):
                    with recorder(cluster.bootstrap, folder / "rec") if alive else _nobody():
                        for _ in range(chance.randint(1, COMMITS_MAX if alive else 10)):
                            offset += 1
                            group = f"group-{chance.randrange(GROUPS)}"
                            partitions = chance.sample(range(4), chance.randint(1, 4))
                            client.ask(commit(group, "orders", dict.fromkeys(partitions, offset)))
        last = RecordingFolder(folder / "rec", FOR_EVER, print)
        stop = threading.Event()
        stop.set()
        Recorder(
            ConnectionOptions(bootstrap_servers=cluster.bootstrap),
            last,
            sample_ms=1000,
            say=print,
            stop=stop,
            wait_ms=1,
        ).run()
    yield from wrongs(folder / "data", folder / "rec")


def wrongs(data: Path, recorded: Path) -> Iterator[str]:
    """How a recording differs from the broker's own files, which nobody has cleaned."""
    for partition in range(PARTITIONS):
        name = f"__consumer_offsets-{partition}"
        truth, copy = whole(data / name), whole(recorded / name)
        if copy != truth:
            same = next(
                (at for at, pair in enumerate(zip(truth, copy, strict=False)) if pair[0] != pair[1]),
                len(copy),
            )
            yield f"{name}: {len(copy)} bytes and not {len(truth)}; they differ from byte {same} on"
    for note in read_notes(read_log_dir(recorded)):
        if isinstance(note, Hole):
            yield f"a hole that is none: {note}"


def whole(folder: Path) -> bytes:
    """All segments of a partition, one after the other."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


@contextmanager
def _nobody() -> Iterator[None]:
    yield


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills.recorder")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        wrong_ones = list(deaths(Path(folder), seed=options.seed, count=options.rounds))
        size = sum(len(whole(each)) for each in (Path(folder) / "rec").glob("__consumer_offsets-*"))
    for wrong in wrong_ones:
        print(f"FAIL seed {options.seed}: {wrong}")
    print(f"{options.rounds} deaths, {size} bytes recorded, {len(wrong_ones)} wrongs")
    return 1 if wrong_ones else 0


if __name__ == "__main__":
    sys.exit(main())
