"""`kgroup lag-report --serve-metrics`: pages of looks, and the server as a process."""

import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

import kgroup.testing
from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.repeated import RepeatedReports
from kgroup.cli.lag.serve_metrics import MetricsPage
from kgroup.net.connect.properties import ConnectionOptions
from tests.cli.conftest import Kgroup
from tests.log.truth import FIXTURES

SMALL = FIXTURES / "3.9.1/codec-gzip"
PATIENCE_S = 30
QUIET = LagOptions()


class Clock:
    """Seconds, as the test says."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def samples(page: str, name: str) -> list[str]:
    return [line.rpartition(" ")[2] for line in page.splitlines() if line.startswith(name)]


def test_a_page_is_of_a_new_look_once_the_last_is_a_second_old(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SMALL, logs)
    clock = Clock()
    page = MetricsPage(RepeatedReports(QUIET, [str(logs)], None, clock), clock=clock)
    offsets = "kafka_consumergroup_group_offset"
    assert samples(page.text(), f'{offsets}{{group="brief-solo"') == ["25"]
    shutil.rmtree(logs / "__consumer_offsets-26")  # where brief-solo lives
    clock.now_s = 0.9
    assert samples(page.text(), f'{offsets}{{group="brief-solo"') == ["25"]
    clock.now_s = 1.0
    assert samples(page.text(), f'{offsets}{{group="brief-solo"') == []


def test_a_look_that_fails_is_down_and_the_next_one_up_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    clock = Clock()
    page = MetricsPage(RepeatedReports(QUIET, [str(logs)], None, clock), clock=clock)
    assert samples(page.text(), "kgroup_up") == ["0"]
    assert capsys.readouterr().err == f"kgroup: {logs}: No such file or directory\n"
    shutil.copytree(SMALL, logs)
    clock.now_s = 5.0
    assert samples(page.text(), "kgroup_up") == ["1"]


def test_a_cluster_is_asked_at_each_page() -> None:
    with kgroup.testing.cluster(topics={"orders": 1}) as kafka:
        group = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
        clock = Clock()
        looks = RepeatedReports(QUIET, (), ConnectionOptions(bootstrap_servers=kafka.bootstrap), clock)
        page = MetricsPage(looks, clock=clock)
        for offset in (3, 5):
            group.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
            assert samples(page.text(), "kafka_consumergroup_group_offset") == [str(offset)]
            clock.now_s += 1
        looks.close()
        group.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_says_where_it_is_and_ends_when_told(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "kgroup", "lag-report", str(SMALL), "--serve-metrics", "0", "--only-lagging"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stdout is not None
        word, url = serving.stdout.readline().split()
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            page = answer.read().decode()
        serving.send_signal(number)
        rest, complaints = serving.communicate(timeout=PATIENCE_S)
    assert (word, serving.returncode, rest, complaints) == ("ready", 0, "", "")
    assert url.startswith("http://127.0.0.1:")
    assert samples(page, "kgroup_up") == ["1"]
    assert "0" not in samples(page, "kafka_consumergroup_group_lag{")


def test_an_address_that_is_not_ours_is_said(kgroup: Kgroup) -> None:
    ended = kgroup("lag-report", str(SMALL), "--serve-metrics", "192.0.2.1:9308")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "kgroup: cannot serve metrics on 192.0.2.1:9308: Cannot assign requested address\n"
