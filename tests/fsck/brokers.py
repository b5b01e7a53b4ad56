"""`python -m tests.fsck.brokers LIBS VERSION OUT.json`: what a real broker does with the crafted partitions.

LIBS is a folder with the jars of `org.apache.kafka:kafka_2.13:VERSION` and its dependencies, and of
`org.slf4j:slf4j-simple`, which makes the broker's log readable. A single KRaft broker on loopback makes an
offsets topic of as many partitions as there are crafted logs, and stops; the crafted logs take the places of
its segments, and it starts again: once as after a clean shutdown, once as after a crash. What its log says
of each partition, and the length of each segment afterwards, is the verdict.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.fsck.crafted import DAMAGED, crafted

TOPIC = "__consumer_offsets"
SEGMENT = "0" * 20 + ".log"
_FINISHED = re.compile(rf"Finished loading.*?from {TOPIC}-(\d+) ")
_FAILED = re.compile(rf"(?:Failed to load metadata|Error loading offsets) from {TOPIC}-(\d+)\b(.*)")
_CLASS = re.compile(r"(?:java|org|scala|kafka)[.\w$]*\.([A-Z]\w*(?:Exception|Error))(?:: ([^\n]*))?")


class Broker:
    """One broker and controller in a folder."""

    def __init__(self, libs: Path, folder: Path) -> None:
        self.libs, self.folder = libs, folder
        self.logs = folder / "logs"
        self.port, controller = _free_port(), _free_port()
        self.config = folder / "server.properties"
        self.config.write_text(
            "\n".join(
                (
                    "process.roles=broker,controller",
                    "node.id=1",
                    f"controller.quorum.voters=1@127.0.0.1:{controller}",
                    f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
                    f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}",
                    "controller.listener.names=CONTROLLER",
                    f"log.dirs={self.logs}",
                    f"offsets.topic.num.partitions={len(crafted())}",
                    "offsets.topic.replication.factor=1",
                    "transaction.state.log.replication.factor=1",
                    "transaction.state.log.min.isr=1",
                    "log.cleaner.enable=false",
                    "num.recovery.threads.per.data.dir=1",
                    "group.coordinator.threads=1",
                    "offsets.retention.check.interval.ms=86400000",
                    "",
                )
            )
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.said = folder / "server.log"

    def java(self, *arguments: str) -> list[str]:
        log = "org.slf4j.simpleLogger"
        return [
            "java",
            "-Xmx512m",
            "-XX:TieredStopAtLevel=1",
            f"-D{log}.showThreadName=false",
            f"-D{log}.log.org.apache.kafka.clients=warn",
            "-cp",
            f"{self.libs}/*",
            *arguments,
        ]

    def format(self) -> None:
        command = self.java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk")
        command += ["-c", str(self.config)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit((done.stdout + done.stderr).decode()[-2000:])

    def start(self) -> None:
        with self.said.open("wb") as out:
            self.process = subprocess.Popen(
                self.java("kafka.Kafka", str(self.config)), stdout=out, stderr=subprocess.STDOUT
            )

    def wait_for_text(self, pattern: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if re.search(pattern, self.text()):
                return True
            if self.process is not None and self.process.poll() is not None:
                return False
            time.sleep(0.3)
        return False

    def text(self) -> str:
        return self.said.read_text(errors="replace")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def record(libs: Path, version: str) -> dict[str, Any]:
    """Case -> what the broker did after a clean shutdown, and after a crash."""
    with TemporaryDirectory(prefix="fsck-") as scratch:
        broker = Broker(libs, Path(scratch))
        broker.format()
        broker.start()
        try:
            if not broker.wait_for_text(r"Kafka Server started|\[KafkaRaftServer.*started", 120):
                raise SystemExit(broker.text()[-3000:])
            admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{broker.port}")
            configs = {"cleanup.policy": "compact"}
            admin.create_topics([NewTopic(TOPIC, len(crafted()), 1, topic_configs=configs)])
            admin.close()
            broker.wait_for_text(rf"{TOPIC}-{len(crafted()) - 1}\b", 60)
            time.sleep(2)
        finally:
            broker.stop()
        verdicts: dict[str, Any] = {name: {} for name in crafted()}
        for after in ("clean shutdown", "crash"):
            for name, verdict in _start_on_all(broker, crash=after == "crash").items():
                if verdicts[name].get("clean shutdown") != verdict or name in DAMAGED:
                    verdicts[name][after] = verdict
            if kept := os.environ.get("KEEP_BROKER_LOGS"):
                shutil.copy(broker.said, f"{kept}/{version}-{after.split()[0]}.log")
        return verdicts


def _start_on_all(broker: Broker, *, crash: bool) -> dict[str, dict[str, Any]]:
    """Start on all partitions; those that the broker does not start on give their places to empty ones."""
    fatal: dict[str, dict[str, Any]] = {}
    while True:  # ends: each turn leaves one more out
        _lay(broker.logs, fatal, crash=crash)
        broker.start()
        try:
            _wait_for_all(broker)
            died = broker.process is not None and broker.process.poll() is not None
        finally:
            broker.stop()
        if not died:
            return {name: fatal.get(name, verdict) for name, verdict in _read(broker).items()}
        text = broker.text()
        _, found, fault = text.partition("There was an error in one of the threads")
        if not found:
            raise SystemExit(text[-3000:])
        error = _CLASS.search(fault)
        place = re.search(rf"{TOPIC}-(\d+)", " ".join(fault.split("\n")[:2]))  # 4.4 has it in the second line
        number = int(place[1]) if place else _first_unloaded(text)
        name = list(crafted())[number]
        if name in fatal:
            raise SystemExit(f"{name} twice: {fault[:500]}")
        fatal[name] = {
            "outcome": "refused to start",
            "error": error[1] if error else "",
            "says": re.sub(r"/\S*/", "", error[2] or "")[:200] if error else "",
        }


def _first_unloaded(text: str) -> int:
    """The first partition that the broker began to load and did not complete: one thread does them all."""
    completed = set(re.findall(rf"Completed load of Log\(dir=\S*{TOPIC}-(\d+),", text))
    begun = re.findall(rf"LogLoader partition={TOPIC}-(\d+)", text)
    if (number := next((each for each in begun if each not in completed), None)) is None:
        raise SystemExit(f"no partition to blame: {text[-6000:]}")
    return int(number)


def _lay(logs: Path, left_out: Collection[str], *, crash: bool) -> None:
    """Put the crafted segments in the places of the partitions'."""
    for number, (name, raw) in enumerate(crafted().items()):
        folder = logs / f"{TOPIC}-{number}"
        for path in folder.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        (folder / SEGMENT).write_bytes(b"" if name in left_out else raw)
        (folder / SEGMENT).with_suffix(".index").write_bytes(b"")
        (folder / SEGMENT).with_suffix(".timeindex").write_bytes(b"")
        (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    for name in ("recovery-point", "replication", "log-start", "cleaner"):
        (logs / f"{name}-offset-checkpoint").write_text("0\n0\n")
    marker = logs / ".kafka_cleanshutdown"
    if crash:
        marker.unlink(missing_ok=True)
    elif not marker.exists():
        marker.write_text('{"version":0,"brokerEpoch":-1}')


def _wait_for_all(broker: Broker) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        text = broker.text()
        seen = {int(n) for n in _FINISHED.findall(text)} | {int(n) for n, _ in _FAILED.findall(text)}
        if len(seen) >= len(crafted()) or (broker.process and broker.process.poll() is not None):
            return
        time.sleep(0.5)


def _read(broker: Broker) -> dict[str, dict[str, Any]]:
    text = broker.text()
    finished = {int(n) for n in _FINISHED.findall(text)}
    failed: dict[int, tuple[str, str]] = {}
    for match in _FAILED.finditer(text):
        rest = re.split(r"\n(?:INFO|WARN|ERROR) ", text[match.end() : match.end() + 20_000], maxsplit=1)[0]
        causes = _CLASS.findall(match[2] + rest)
        failed.setdefault(int(match[1]), causes[-1] if causes else ("", match[2].strip()))
    verdicts = {}
    for number, (name, raw) in enumerate(crafted().items()):
        verdict: dict[str, Any] = {"outcome": "unknown"}
        if number in failed:
            verdict = {"outcome": "failed", "error": failed[number][0], "says": failed[number][1][:200]}
        elif number in finished:
            verdict = {"outcome": "loaded"}
        path = broker.logs / f"{TOPIC}-{number}" / SEGMENT
        size = path.stat().st_size if path.exists() else None
        if size != len(raw):
            verdict["size"] = size
        verdicts[name] = verdict
    return verdicts


def _free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def main() -> None:
    libs, version, out = sys.argv[1:]
    verdicts = record(Path(libs), version)
    Path(out).write_text(json.dumps({"kafka": version, "verdicts": verdicts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
