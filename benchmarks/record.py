"""Cost of `kgroup record` next to a broker: `python -m benchmarks.record [--rates N,...] [--seconds N]`.

A node of `kgroup serve` on disk takes so many commits a second, in requests of ten partitions, as a member
with ten partitions sends them. Beside it run the recorder and, as something to compare with, a consumer of
kafka-python's that reads the offsets topic and throws it away, as kafka-console-consumer does. CPU is in
percent of a core, from when all are up until the load ends; bytes are those of the whole folder of the
recording against the batches that the broker has.
"""

import argparse
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka.protocol.consumer.group import OffsetCommitRequest
from tabulate import tabulate

from benchmarks.process_tree import TICKS_PER_SECOND

PARTITIONS = 10
_GROUPS = 50
_CONNECTIONS = 4
_TICK_S = 0.02
_CONSUMER = """
import sys
from kafka import KafkaConsumer, TopicPartition
consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], exclude_internal_topics=False)
consumer.assign([TopicPartition("__consumer_offsets", n) for n in range(50)])
consumer.seek_to_beginning()
print("ready", flush=True)
while True:
    consumer.poll(1000)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU is in cores. `written` are the bytes of the broker's batches, `recorded` those of the folder."""

    commits_per_s: float
    recorder_cpu: float
    consumer_cpu: float
    broker_cpu: float
    written: int
    recorded: int
    recorder_mb: int


def measure(rate: int, seconds: float) -> Cost:
    """Commit at this rate for so long, beside a recorder and a consumer."""
    folder = Path(tempfile.mkdtemp(prefix="kgroup-record-"))
    try:
        with (
            _started(
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--topic",
                f"orders:{PARTITIONS}",
                "--data-dir",
                str(folder / "data"),
            ) as (broker, said),
        ):
            address = said.removeprefix("ready ").strip()
            host, port = address.split(":")
            _load((host, int(port)), 100, 1.0)  # the topic is made, and all is warm
            with (
                _started("record", "-b", address, "--to", str(folder / "rec"), "-q") as (recorder, _),
                _running([sys.executable, "-c", _CONSUMER, address]) as (consumer, _),
            ):
                pids = [recorder.pid, consumer.pid, broker.pid]
                before, began = [_cpu(pid) for pid in pids], time.perf_counter()
                sent = _load((host, int(port)), rate, seconds)
                elapsed = time.perf_counter() - began
                used = [(_cpu(pid) - cpu) / elapsed for pid, cpu in zip(pids, before, strict=True)]
                peak = _peak_mb(recorder.pid)
        return Cost(
            commits_per_s=sent / elapsed,
            recorder_cpu=used[0],
            consumer_cpu=used[1],
            broker_cpu=used[2],
            written=sum(log.stat().st_size for log in (folder / "data").glob("__consumer_offsets-*/*.log")),
            recorded=sum(each.stat().st_size for each in (folder / "rec").rglob("*") if each.is_file()),
            recorder_mb=peak,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _load(address: tuple[str, int], rate: int, seconds: float) -> int:
    """Send commits at an even pace; returns how many offsets were committed."""
    frames = [_frame(f"group-{number}") for number in range(_GROUPS)]
    sockets = [socket.create_connection(address) for _ in range(_CONNECTIONS)]
    sockets[0].sendall(frames[0])
    answer_size = len(sockets[0].recv(1 << 20))  # they are all alike
    received = dict.fromkeys(sockets, 0)
    began = time.perf_counter()
    sent = answered = 0
    while (now := time.perf_counter() - began) < seconds or answered < sent:
        due = int(now * rate / PARTITIONS) if now < seconds else sent
        while sent < due:
            sockets[sent % _CONNECTIONS].sendall(frames[sent % _GROUPS])
            sent += 1
        for each in select.select(sockets, [], [], _TICK_S)[0]:
            received[each] += len(each.recv(1 << 20))
        answered = sum(size // answer_size for size in received.values())
    for each in sockets:
        each.close()
    return sent * PARTITIONS


def _frame(group: str) -> bytes:
    wanted = OffsetCommitRequest.OffsetCommitRequestTopic
    partitions = [
        wanted.OffsetCommitRequestPartition(
            version=7, partition_index=index, committed_offset=1_000_000 + index, committed_metadata=""
        )
        for index in range(PARTITIONS)
    ]
    request: Any = OffsetCommitRequest(
        version=7,
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[wanted(version=7, name="orders", partitions=partitions)],
    )
    request.with_header(1, "load")
    return bytes(request.encode(header=True, framed=True))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def _peak_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) // 1000


@contextmanager
def _started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with _running([sys.executable, "-m", "kgroup", *arguments]) as running:
        yield running


@contextmanager
def _running(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that has said that it is ready, and ends with the block."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("ready"), f"{command[:4]} said {said!r}"
            yield process, said
        finally:
            process.terminate()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("--rates", default="1000,10000", metavar="N,...")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    rows = []
    for rate in map(int, given.rates.split(",")):
        cost = measure(rate, given.seconds)
        rows.append(
            (
                f"{cost.commits_per_s:,.0f}",
                f"{100 * cost.recorder_cpu:.1f} %",
                f"{cost.recorder_cpu / cost.consumer_cpu:.2f}",
                f"{cost.recorder_cpu / cost.broker_cpu:.2f}",
                f"{cost.recorded / cost.written:.3f}",
                f"{cost.written / given.seconds / 1e6:.2f} MB/s",
                f"{cost.recorder_mb} MB",
            )
        )
    headers = (
        "commits/s",
        "CPU",
        "to a consumer's",
        "to the broker's",
        "bytes to the broker's",
        "of",
        "memory",
    )
    print(tabulate(rows, headers=headers, disable_numparse=True))


if __name__ == "__main__":
    main()
