"""What the tool says of resets that are not in the transcript, as it was tried on a broker of Kafka 4.3.1."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgroup.testing
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import commit, committed, produce

COMMITS = {("orders", 0): (7, -1, ""), ("orders", 2): (700, -1, "")}
_ERRORS = "org.apache.kafka.common.errors."
_FUTURE = f"java.util.concurrent.ExecutionException: {_ERRORS}"
_NO_TOPIC = f"{_FUTURE}UnknownTopicOrPartitionException: This server does not host this topic-partition."
_NOT_FOUND = (
    f"{_FUTURE}UnknownTopicOrPartitionException: Failed to fetch metadata for partition foo-0 because"
    " metadata for topic `foo` could not be found"
)
_INVALID_GROUP = f"{_FUTURE}InvalidGroupIdException: The group id is invalid."


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    """orders-2 ends at 300, before what the group has committed there."""
    with kgroup.testing.cluster(topics={"orders": 3}) as running:
        produce(running.bootstrap, "orders", (40, 0, 300))
        commit(running.bootstrap, "g", COMMITS)
        yield running


def reset(kgroup: Kgroup, kafka: kgroup.testing.Cluster, *options: str) -> tuple[int, str, str]:
    words = ["compat", "--bootstrap-server", kafka.bootstrap, "--reset-offsets", *options, "--dry-run"]
    ended = kgroup(*words)
    return ended.status, ended.out, ended.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            "--topic orders --shift-by -5",
            "Cannot shift offset for partition orders-1 since there is no current committed offset",
        ),
        ("--topic orders: --to-earliest", "Invalid topic arg 'orders:', expected topic name and partitions"),
        ("--topic orders:x --to-earliest", "Invalid partition 'x' specified in topic arg 'orders:x''"),
        (
            "--topic orders:99999999999 --to-earliest",
            "Invalid partition '99999999999' specified in topic arg 'orders:99999999999''",
        ),
    ],
)
def test_a_wrong_use_is_one_line_and_status_1(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster, options: str, why: str
) -> None:
    assert reset(kgroup, kafka, "--group", "g", *options.split()) == (1, "", f"{why}\n")


@pytest.mark.parametrize(
    ("options", "why", "trace"),
    [
        (
            ["--group", "g", "--topic", "orders:-1", "--to-earliest"],
            'The partitions "orders--1" do not exist',
            f'{_ERRORS}UnknownTopicOrPartitionException: The partitions "orders--1" do not exist',
        ),
        (
            ["--group", "g", "--topic", "nosuch:0", "--to-earliest"],
            _NO_TOPIC,
            f"java.lang.RuntimeException: {_NO_TOPIC}",
        ),
        (
            ["--group", "", "--topic", "orders", "--to-earliest"],
            _INVALID_GROUP,
            f"java.lang.RuntimeException: {_INVALID_GROUP}",
        ),
        *(
            (
                ["--group", "g", "--topic", "orders:0", "--to-offset", number],
                f"Cannot parse argument '{number}' of option to-offset",
                "joptsimple.OptionArgumentConversionException: Cannot parse argument"
                f" '{number}' of option to-offset",
            )
            for number in ("9223372036854775808", "1_0")
        ),
    ],
)
def test_a_failure_is_told_on_standard_output_and_the_status_is_0(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster, options: list[str], why: str, trace: str
) -> None:
    assert reset(kgroup, kafka, *options) == (
        0,
        f"\nError: Executing consumer group command failed due to {why}\n",
        f"{trace}\n",
    )


def test_a_topic_of_a_file_that_there_is_not(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster, tmp_path: Path
) -> None:
    (tmp_path / "plan.csv").write_text("orders,0\nfoo\n")
    assert reset(kgroup, kafka, "--group", "g", "--from-file", str(tmp_path / "plan.csv")) == (
        0,
        f"\nError: Executing consumer group command failed due to {_NOT_FOUND}\n",
        f"java.lang.RuntimeException: {_NOT_FOUND}\n",
    )


def test_what_is_committed_is_committed_again_wherever_it_is(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    words = ["--reset-offsets", "--group", "g", "--all-topics", "--to-current", "--execute"]
    ended = kgroup("compat", "--bootstrap-server", kafka.bootstrap, *words)
    lines = [line.split() for line in ended.out.splitlines()[2:]]
    assert (ended.status, lines) == (0, [["g", "orders", "0", "7"], ["g", "orders", "2", "700"]])
    assert committed(kafka.bootstrap, "g") == COMMITS


def test_a_duration_ahead_is_the_end(kgroup: Kgroup, kafka: kgroup.testing.Cluster) -> None:
    status, out, _ = reset(kgroup, kafka, "--group", "g", "--topic", "orders:0", "--by-duration", "-PT1H")
    assert status == 0
    assert "Warn: Partition 0 from topic orders is empty. Falling back to latest known offset." in out
    assert out.split()[-4:] == ["g", "orders", "0", "40"]
