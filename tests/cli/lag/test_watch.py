"""`kgroup lag-report --watch`: looks at a cluster that changes in between, and at files; no time passes."""

import gc
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kgroup.testing
from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.repeated import RepeatedReports
from kgroup.cli.lag.views import RowView
from kgroup.cli.lag.watch import screen_lines, watch
from kgroup.errors import SourceError
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.emit import OutputFormat, OutputOptions
from kgroup.report.lag.sums import By
from tests.log.truth import FIXTURES

LIVES = FIXTURES / "4.3.1/lives"
PATIENCE_S = 30
JSONL = OutputOptions(format=OutputFormat.JSONL)
BEGIN_S = 1_700_000_000


class Pauses:
    """A clock, and what happens while nothing is looked at; after the last of it somebody presses Ctrl-C."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        self._happenings = iter(happenings)
        self.now_s = float(BEGIN_S)

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        happening = next(self._happenings, None)
        if happening is None:
            raise KeyboardInterrupt
        happening()


def nothing() -> None:
    pass


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(nodes=2, topics={"orders": 1}) as running:
        produce(running, 100)
        commit(running, 10)
        yield running


def produce(kafka: kgroup.testing.Cluster, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for _ in range(count):
        producer.produce("orders", b"v", partition=0)
    producer.flush(PATIENCE_S)


def commit(kafka: kgroup.testing.Cluster, offset: int, group_id: str = "g") -> None:
    group = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group_id})
    group.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    group.close()


def looks_at(
    kafka: kgroup.testing.Cluster, pauses: Pauses, question: LagOptions | None = None
) -> RepeatedReports:
    connection = ConnectionOptions(bootstrap_servers=kafka.bootstrap)
    return RepeatedReports(question or LagOptions(), (), connection, pauses.clock)


def rows_of(capsys: pytest.CaptureFixture[str], *names: str) -> list[tuple[object, ...]]:
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [tuple(row[name] for name in names) for row in rows]


def test_the_lag_and_its_growth_between_the_looks(
    kafka: kgroup.testing.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses = Pauses(lambda: produce(kafka, 20), lambda: commit(kafka, 70))
    looks = looks_at(kafka, pauses)
    watch(looks, RowView(is_table=False), JSONL, 10, pauses.sleep)
    looks.close()
    assert rows_of(capsys, "looked_at", "lag", "growth_per_s", "drain_ms") == [
        (BEGIN_S * 1000, 90, None, None),
        (BEGIN_S * 1000 + 10_000, 110, 2.0, None),
        (BEGIN_S * 1000 + 20_000, 50, -2.0, 25_000),
    ]


def test_a_look_takes_for_proof_what_others_committed_since_the_look_before(
    kafka: kgroup.testing.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses = Pauses(lambda: commit(kafka, 70, "h"))
    pauses.now_s = 2.0 * BEGIN_S  # long after all commits
    looks = looks_at(kafka, pauses, LagOptions(rules=RuleSet.KGROUP))
    watch(looks, RowView(is_table=False), JSONL, 10, pauses.sleep)
    looks.close()
    assert rows_of(capsys, "group", "status", "rule") == [
        ("g", "UNKNOWN", "perhaps-stopped"),
        ("g", "STOP", "stopped"),
        ("h", "UNKNOWN", "perhaps-stopped"),
    ]


def test_interpolation_learns_from_the_looks(
    kafka: kgroup.testing.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log ended at 100 at first and at 120 ten seconds later, so at 110 in the middle of that."""

    def grow() -> None:
        produce(kafka, 20)
        commit(kafka, 110)

    pauses = Pauses(grow)
    looks = looks_at(kafka, pauses, LagOptions(time_lag=TimeLagMethod.INTERPOLATE))
    watch(looks, RowView(is_table=False), JSONL, 10, pauses.sleep)
    looks.close()
    assert rows_of(capsys, "time_lag_ms", "time_lag_reason", "time_lag_method") == [
        (None, "too-few-points", "interpolate"),
        (5000, None, "interpolate"),
    ]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # kafka-python's lost sockets
def test_a_cluster_that_goes_away_and_comes_back_is_watched_on(
    kafka: kgroup.testing.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def kill() -> None:
        for node in (1, 2):
            kafka.kill_node(node)

    def revive() -> None:
        for node in (1, 2):
            kafka.start_node(node)

    pauses = Pauses(kill, revive)
    looks = looks_at(kafka, pauses)
    watch(looks, RowView(is_table=False), JSONL, 10, pauses.sleep)
    looks.close()
    written = capsys.readouterr()
    times = [json.loads(line)["looked_at"] for line in written.out.splitlines()]
    assert times == [BEGIN_S * 1000, BEGIN_S * 1000 + 20_000]
    assert written.err.count("\n") == 1
    assert kafka.bootstrap.partition(",")[0] in written.err
    gc.collect()


def test_a_first_look_that_fails_ends_it(tmp_path: Path) -> None:
    pauses = Pauses()
    looks = RepeatedReports(LagOptions(), [str(tmp_path)], None, pauses.clock)
    with pytest.raises(SourceError, match="no segments of __consumer_offsets"):
        watch(looks, RowView(), JSONL, 10, pauses.sleep)


def test_files_are_read_anew_at_each_look(capsys: pytest.CaptureFixture[str]) -> None:
    pauses = Pauses(nothing)
    looks = RepeatedReports(LagOptions(groups=["warehouse-stuck"]), [str(LIVES)], None, pauses.clock)
    watch(looks, RowView(by=By.GROUP), OutputOptions(), 5, pauses.sleep)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    headings = [
        "GROUP",
        "GROUP-STATE",
        "PARTITIONS",
        "LAGGING",
        "LAG",
        "LAG-MAX",
        "UNKNOWN",
        "GROWTH/S",
        "NO-RATE",
    ]
    assert lines == [
        ["2023-11-14T22:13:20.000Z"],
        headings,
        ["warehouse-stuck", "Stable", "4", "4", "836", "209", "0", "-", "4"],
        [],
        ["2023-11-14T22:13:25.000Z"],
        headings,
        ["warehouse-stuck", "Stable", "4", "4", "836", "209", "0", "0.00", "0"],
        [],
    ]


def test_a_screen_has_the_largest_lags_and_says_how_many_more_there_are() -> None:
    pauses = Pauses()
    look = RepeatedReports(LagOptions(), [str(LIVES)], None, pauses.clock).take()
    lines = screen_lines(look, None, RowView(by=By.GROUP), 5, width=120, height=8)
    assert len(lines) == 8
    assert lines[0].startswith("2023-11-14T22:13:20.000Z  every 5 s  ")
    assert lines[1] == ""
    shown = [line.split()[:5] for line in lines[3:-1]]
    answered = json.loads((LIVES / "groups.json").read_text())["groups"]
    sums = {
        group: sum(offset["lag"] or 0 for offset in said.get("offsets", {}).values())
        for group, said in answered.items()
    }
    largest = sorted(sums, key=lambda group: -sums[group])[: len(shown)]
    assert len(shown) == 4
    assert [(each[0], each[4]) for each in shown] == [(group, str(sums[group])) for group in largest]
    assert lines[-1].startswith("and ")


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("height", [1, 4, 5, 12, 24])
def test_a_screen_is_never_higher_than_the_terminal(width: int, height: int) -> None:
    """Where headings alone do not fit, they are all there is."""
    look = RepeatedReports(LagOptions(), [str(LIVES)], None, Pauses().clock).take()
    lines = screen_lines(look, None, RowView(), 5, width=width, height=height)
    assert len(lines) <= max(height, 7)


def test_a_screen_says_why_the_last_look_failed_in_place_of_an_empty_line() -> None:
    look = RepeatedReports(LagOptions(), [str(LIVES)], None, Pauses().clock).take()
    lines = screen_lines(look, "no broker\x1b answers", RowView(), 5, width=80, height=30)
    assert lines[1] == "no broker\\x1b answers"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_with_status_0_and_nothing_else(number: signal.Signals) -> None:
    arguments = ["lag-report", str(LIVES), "--group", "warehouse-stuck", "--watch", "1h", "--by", "group"]
    with subprocess.Popen(
        [sys.executable, "-m", "kgroup", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None and watching.stderr is not None
        lines = [watching.stdout.readline() for _ in range(4)]
        watching.send_signal(number)
        rest, complaints = watching.communicate(timeout=PATIENCE_S)
    assert (watching.returncode, rest, complaints) == (0, "", "")
    assert lines[2].split()[:2] == ["warehouse-stuck", "Stable"]
    assert lines[3] == "\n"
