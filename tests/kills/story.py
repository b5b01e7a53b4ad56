"""One folder through many lives of a broker, each ended by SIGKILL: what was promised, and what is there."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from tests.kills import client as ask
from tests.kills.disk import everything, lose, trace
from tests.net.wire_client import WireClient

TOPIC = "orders"
PARTITIONS = 3
IN_FLIGHT = 20
_SETTINGS = ("offsets.topic.num.partitions=2", "transaction.state.log.num.partitions=2")

# Forked from a server that has everything imported, a broker starts in a fraction of the time.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["kgroup.cli.commands.serve", "kgroup.cli.shell.app", "tests.kills.story"])


@dataclass(slots=True)
class Promise:
    """What the broker has acknowledged. `maybe`: transactions whose end was asked for and not answered."""

    records: dict[tuple[int, int], str] = field(default_factory=dict)  # by partition and offset
    commits: dict[tuple[str, int], int] = field(default_factory=dict)
    asked_commits: dict[tuple[str, int], int] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    committed: set[str] = field(default_factory=set)
    aborted: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Figures:
    """What was played."""

    kills: int = 0
    records: int = 0
    commits: int = 0
    transactions: int = 0
    topics: int = 0
    losses: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.records} records, {self.commits} commits, "
            f"{self.transactions} transactions and {self.topics} topics acknowledged, "
            f"{self.losses} unsynced files and names lost or torn"
        )


class Story:
    """A folder, its seed and what was promised in it. `power`: the machine goes down, too."""

    def __init__(self, folder: Path, seed: int, *, power: bool) -> None:
        self.folder = folder
        self.power = power
        self.promise = Promise()
        self.figures = Figures()
        self.warnings: list[str] = []
        self._random = Random(f"{seed} {power}")
        self._number = 0

    def play(self, rounds: int) -> None:
        """Live and die; raises AssertionError when something acknowledged is not there."""
        for _ in range(rounds):
            self._live()
        with (
            _broker(self.folder / "data", self.folder, fsync=self.power) as address,
            WireClient(address) as client,
        ):
            self._check(client)

    def _live(self) -> None:
        data = self.folder / "data"
        record, replaced = self.folder / "synced", self.folder / "replaced"
        record.unlink(missing_ok=True)
        replaced.mkdir(exist_ok=True)
        for old in replaced.iterdir():
            old.unlink()
        data.mkdir(exist_ok=True)
        before = everything(data)
        with _broker(data, self.folder, fsync=self.power) as address, WireClient(address) as client:
            self._check(client)
            with suppress(ConnectionError):
                self._work(client)
        self.figures.kills += 1
        if self.power:
            self.figures.losses += lose(data, before, record, replaced, self._random)

    # ---- work ---------------------------------------------------------------------------------

    def _work(self, client: WireClient) -> None:
        """Ask for things, some at once; leaves with requests in flight."""
        in_flight: list[tuple[str, Any]] = []
        for _ in range(self._random.randrange(1, 120)):
            kind = self._random.choices(["produce", "commit", "topic", "transaction"], [60, 60, 2, 5])[0]
            if kind == "transaction":
                while in_flight:
                    self._take(client, in_flight)
                self._transaction(client)
                continue
            in_flight.append(self._send(client, kind))
            if len(in_flight) >= IN_FLIGHT:
                self._take(client, in_flight)

    def _send(self, client: WireClient, kind: str) -> tuple[str, Any]:
        self._number += 1
        index = self._random.randrange(PARTITIONS)
        if kind == "produce":
            value = f"value {self._number} " + "x" * self._random.choice([0, 10, 3_000])
            client.send(ask.produce(TOPIC, index, value))
            return kind, (index, value)
        if kind == "commit":
            client.send(ask.commit(TOPIC, index, self._number))
            self.promise.asked_commits[TOPIC, index] = self._number
            return kind, (index, self._number)
        client.send(ask.create_topic(f"topic-{self._number}"))
        return kind, f"topic-{self._number}"

    def _take(self, client: WireClient, in_flight: list[tuple[str, Any]]) -> None:
        """The oldest answer: remember what it promises."""
        kind, asked = in_flight.pop(0)
        answer = client.receive()
        if kind == "produce":
            part = answer.responses[0].partition_responses[0]
            assert not part.error_code, f"produce: error {part.error_code}"
            self.promise.records[asked[0], part.base_offset] = asked[1]
            self.figures.records += 1
        elif kind == "commit":
            if not answer.topics[0].partitions[0].error_code:
                self.promise.commits[TOPIC, asked[0]] = asked[1]
                self.figures.commits += 1
        elif not answer.topics[0].error_code:
            self.promise.topics.add(asked)
            self.figures.topics += 1

    def _transaction(self, client: WireClient) -> None:
        self._number += 1
        committed = self._random.random() < 0.7
        producer = ask.begin(client, TOPIC, list(range(PARTITIONS)))
        values = [f"transaction {self._number} {index}" for index in range(PARTITIONS)]
        for index, value in enumerate(values):
            answer = client.ask(ask.produce(TOPIC, index, value, (*producer, 0)))
            assert not answer.responses[0].partition_responses[0].error_code
        if self._random.random() < 0.2:
            return  # left open: the next one aborts it
        if not client.ask(ask.end(producer, committed=committed)).error_code:
            (self.promise.committed if committed else self.promise.aborted).update(values)
            self.figures.transactions += 1

    # ---- what is there ------------------------------------------------------------------------

    def _check(self, client: WireClient) -> None:
        promise = self.promise
        missing = promise.topics - ask.topics(client)
        assert not missing, f"acknowledged topics are gone: {sorted(missing)}"
        for where, offset in ask.committed(client).items() if promise.commits else ():
            least, most = promise.commits.get(where, -1), promise.asked_commits.get(where, -1)
            assert least <= offset <= most, f"{where}: {offset} is committed, {least} was acknowledged"
        if promise.commits:
            assert set(promise.commits) <= set(ask.committed(client)), "a commit is gone"
        ask.begin(client, TOPIC, [0])  # aborts what the last life left open
        visible: set[str] = set()
        for index in range(PARTITIONS):
            there = dict(ask.records(client, TOPIC, index, read_committed=False))
            for (partition, offset), value in promise.records.items():
                if partition == index:
                    assert there.get(offset) == value, f"{TOPIC}-{index}: {offset} is {there.get(offset)!r}"
            visible |= {value for _, value in ask.records(client, TOPIC, index, read_committed=True)}
        assert promise.committed <= visible, f"committed and gone: {sorted(promise.committed - visible)}"
        assert not promise.aborted & visible, f"aborted and there: {sorted(promise.aborted & visible)}"
        wanted = set(promise.records.values())
        assert wanted <= visible, f"{len(wanted - visible)} records that a reader of committed ones misses"


# ---- the broker's process ------------------------------------------------------------------------


@contextmanager
def _broker(data: Path, folder: Path, *, fsync: bool) -> Iterator[tuple[str, int]]:
    """`kgroup serve` on a folder in a process of its own, which ends by SIGKILL."""
    ours, theirs = _context.Pipe()
    process = _context.Process(target=_serve, args=(str(data), str(folder), fsync, theirs))
    process.start()
    theirs.close()
    try:
        try:
            host, _, port = ours.recv().partition(":")
        except EOFError:
            raise AssertionError(f"no start: {(folder / 'stderr').read_text().strip()[-2000:]}") from None
        yield host, int(port)
    finally:
        assert process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
        ours.close()


class _Ready:
    """Standard output: tells the address of the line `ready HOST:PORT`."""

    def __init__(self, told: Connection) -> None:
        self._told = told

    def write(self, text: str) -> int:
        if ":" in text:
            self._told.send(text.rsplit(maxsplit=1)[-1])
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def _serve(data: str, folder: str, fsync: bool, ready: Connection) -> None:
    from kgroup.cli.shell.app import main

    if fsync:
        trace(Path(folder) / "synced", Path(folder) / "replaced")
    errors = os.open(Path(folder) / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(errors, 2)
    sys.stderr = os.fdopen(errors, "w")
    sys.stdout = _Ready(ready)  # type: ignore[assignment]
    arguments = ["serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--topic", f"{TOPIC}:{PARTITIONS}"]
    for setting in _SETTINGS:
        arguments += ["--property", setting]
    main([*arguments, *(["--fsync"] if fsync else [])])
