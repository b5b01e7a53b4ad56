"""`kgroup lag-report --html`: the page's numbers against what brokers answered, and its wrong inputs."""

import json
from pathlib import Path

import pytest

from kgroup.api.lag_history.page import step_of
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.testing import cluster
from tests.cli.conftest import Kgroup
from tests.cli.lag.test_time_lag import commit, produce
from tests.log.offsets_log import batch, group_metadata, write
from tests.log.truth import FIXTURES
from tests.report.pages.browser import data_of

LIVES = FIXTURES / "4.3.1/lives"
T0 = 1_700_000_000_000  # 2023-11-14T22:13:20Z


@pytest.fixture(scope="module")
def answered() -> dict[str, dict[str, dict[str, int]]]:
    """What the broker said of committed offsets when the capture ended."""
    groups = json.loads((LIVES / "groups.json").read_text())["groups"]
    return {group: said["offsets"] for group, said in groups.items() if said.get("offsets")}


def page_of(kgroup: Kgroup, path: Path, *arguments: str) -> dict:
    ended = kgroup("lag-report", str(LIVES), "-q", "--html", str(path), *arguments)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("GROUP")
    return data_of(path)


def test_the_last_lags_of_a_topic_whose_log_is_there_are_the_brokers(
    kgroup: Kgroup, tmp_path: Path, answered: dict
) -> None:
    data = page_of(kgroup, tmp_path / "page.html", "--topic", "payments")
    for group in data["groups"]:
        partitions = group["lag"]["partitions"]
        lags = {f"payments-{partition}": last for _, partition, _, last, *_ in partitions}
        offsets = answered[group["group"]]
        assert lags == {name: offsets[name]["lag"] for name in lags}
        assert set(group["lag"]["total"]["least"]) == {"0"}
        assert group["now"] == sum(lags.values()) == sum(now for *_, now, _ in partitions)
    assert len(data["groups"]) > 5


def test_a_stuck_group_falls_behind_as_far_as_others_have_read(
    kgroup: Kgroup, tmp_path: Path, answered: dict
) -> None:
    """It has read 69 of each partition, and by its story nothing since."""
    (group,) = page_of(kgroup, tmp_path / "page.html", "--group", "warehouse-stuck")["groups"]
    furthest = {
        partition: max(
            offsets[f"orders-{partition}"]["offset"]
            for offsets in answered.values()
            if f"orders-{partition}" in offsets and offsets[f"orders-{partition}"]["offset"] <= 278
        )
        for partition in range(4)
    }
    assert {partition: last for _, partition, _, last, *_ in group["lag"]["partitions"]} == {
        partition: offset - 69 for partition, offset in furthest.items()
    }
    lags = [lag for lag in group["lag"]["total"]["lags"] if lag is not None]
    stuck_from = next(number for number, lag in enumerate(lags) if lag > 100)
    assert lags[stuck_from:] == sorted(lags[stuck_from:])
    assert group["now"] == group["lag"]["highest"] == 836
    assert sum(now for *_, now, _ in group["lag"]["partitions"]) == 836
    assert group["lag"]["total"]["least"].endswith("1")


def test_a_cluster_is_asked_how_long_its_logs_were(kgroup: Kgroup, tmp_path: Path) -> None:
    """Commits at 2 and at 7 of 10 records that are older than both."""
    with cluster(topics={"orders": 1}) as kafka:
        produce(kafka, 10, 1_700_000_000_000)
        commit(kafka, 2)
        commit(kafka, 7)
        pages = [
            page_until(kgroup, tmp_path, "-b", kafka.bootstrap, *now) for now in ((), ("--now", "2100-01-01"))
        ]
    assert pages[1]["axis"]["end"] == 4_102_444_800_000 + 1
    for page in pages:
        (group,) = page["groups"]
        lags = [lag for lag in group["lag"]["total"]["lags"] if lag is not None]
        assert lags[-1] == group["now"] == 3
        assert set(lags) <= {8, 3}
        assert "1" not in group["lag"]["total"]["least"]


@pytest.mark.parametrize(
    ("span_ms", "windows_max", "step_ms"),
    [
        (0, 240, 1000),
        (239_000, 240, 1000),
        (239_001, 240, 2000),
        (86_400_000, 240, 600_000),
        (365 * 86_400_000, 24, 30 * 86_400_000),
        (100 * 365 * 86_400_000, 25, 51 * 30 * 86_400_000),
    ],
)
def test_steps_are_round_and_no_more_than_asked_for(span_ms: int, windows_max: int, step_ms: int) -> None:
    assert step_of(span_ms, windows_max) == step_ms
    assert -(-span_ms // step_ms) + 1 <= windows_max


def test_a_log_without_commits_has_no_page(kgroup: Kgroup, tmp_path: Path) -> None:
    segment = write(tmp_path, [batch(0, [group_metadata("g", 1)])], 7)
    ended = kgroup("lag-report", str(segment), "--html", str(tmp_path / "page.html"), "-q")
    assert (ended.status, ended.err) == (1, "kgroup: the log holds no commit, so it has no history\n")
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written_is_said(kgroup: Kgroup, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "page.html"
    ended = kgroup("lag-report", str(LIVES), "--html", str(path), "-q")
    assert (ended.status, ended.err) == (1, f"kgroup: cannot write {path}: No such file or directory\n")


def committed(log_offset: int, at_ms: int, group: str, offset: int) -> bytes:
    """A batch with a commit of orders 0."""
    key, value = encode_entry(
        OffsetsEntry(
            type=RecordType.OFFSET_COMMIT,
            key=OffsetCommitKey(group=group, topic="orders", partition=0),
            value=OffsetCommitValue(offset=offset, metadata="", commit_timestamp=at_ms),
            value_version=3,
        )
    )
    return encode_batch([LogRecord(offset=log_offset, timestamp_ms=at_ms, key=key, value=value)])


@pytest.fixture
def two_readers(tmp_path: Path) -> list[str]:
    """slow commits 5 and 9, a minute apart, fast 100 between them, of a log that ends at 200 by now."""
    commits = [
        committed(0, T0, "slow", 5),
        committed(1, T0 + 30_000, "fast", 100),
        committed(2, T0 + 60_000, "slow", 9),
    ]
    ends = tmp_path / "ends.csv"
    ends.write_text("topic,partition,log_end_offset\norders,0,200\n")
    return [str(write(tmp_path, commits, 7)), "--log-ends", str(ends)]


def page_until(kgroup: Kgroup, folder: Path, *arguments: str) -> dict:
    page = folder / "page.html"
    ended = kgroup("lag-report", *arguments, "-q", "--html", str(page))
    assert (ended.status, ended.err) == (0, "")
    return data_of(page)


def lags_of(data: dict, group: str) -> list[int | None]:
    return next(of_group["lag"]["total"]["lags"] for of_group in data["groups"] if of_group["group"] == group)


def test_it_ends_at_now_with_what_was_known_then(kgroup: Kgroup, tmp_path: Path, two_readers: list) -> None:
    """At 40 s fast had proven 100 records, and the second commit of slow was yet to come."""
    data = page_until(kgroup, tmp_path, *two_readers, "--now", str(T0 + 40_000))
    assert data["axis"]["end"] == T0 + 40_000 + 1
    assert lags_of(data, "slow")[0] == 0
    assert lags_of(data, "slow")[-1] == 100 - 5
    assert lags_of(data, "fast")[-1] == 0
    assert {(group["now"], group["state"]) for group in data["groups"]} == {(None, None)}


def test_after_the_logs_end_it_goes_on_to_now_as_nobody_commits(
    kgroup: Kgroup, tmp_path: Path, two_readers: list
) -> None:
    data = page_until(kgroup, tmp_path, *two_readers, "--now", str(T0 + 3_600_000))
    assert data["axis"]["end"] == T0 + 3_600_000 + 1
    assert set(lags_of(data, "slow")[-100:]) == {100 - 9}
    assert {group["group"]: group["now"] for group in data["groups"]} == {"slow": 191, "fast": 100}


def test_it_begins_at_since(kgroup: Kgroup, tmp_path: Path, two_readers: list) -> None:
    times = ("--since", str(T0 + 50_000), "--now", str(T0 + 60_000))
    data = page_until(kgroup, tmp_path, *two_readers, *times)
    assert data["axis"]["start"] == T0 + 50_000
    assert lags_of(data, "slow") == [100 - 5] * 10 + [100 - 9]


@pytest.mark.parametrize(
    ("ago_ms", "end_ms"),
    [(120_000, T0 + 60_000 + 120_000), (86_400_000, T0 + 60_000)],
    ids=["a log in use", "a copy of yesterday"],
)
def test_without_now_it_ends_when_judgement_would_be_passed(
    kgroup: Kgroup,
    tmp_path: Path,
    two_readers: list,
    monkeypatch: pytest.MonkeyPatch,
    ago_ms: int,
    end_ms: int,
) -> None:
    monkeypatch.setattr("time.time", lambda: (T0 + 60_000 + ago_ms) / 1000)
    data = page_until(kgroup, tmp_path, *two_readers)
    assert data["axis"]["end"] == end_ms + 1
    assert {group["group"]: group["now"] for group in data["groups"]} == {"slow": 191, "fast": 100}


def test_one_now_gives_one_page(kgroup: Kgroup, tmp_path: Path) -> None:
    pages = []
    for name in ("first", "second"):
        page = tmp_path / name
        ended = kgroup("lag-report", str(LIVES), "-q", "--now", "2026-11-20T13:00Z", "--html", str(page))
        assert ended.status == 0
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.parametrize("times", [("--now", "2023-11-14T22:13:19Z"), ("--since", "2023-11-14T22:20Z")])
def test_no_time_is_no_page(kgroup: Kgroup, tmp_path: Path, two_readers: list, times: tuple) -> None:
    ended = kgroup("lag-report", *two_readers, "-q", *times, "--html", str(tmp_path / "page.html"))
    assert ended.status == 2
    assert ended.err.startswith("kgroup: --html: the page would begin at 2023-11-14T22:")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("findings", [("--stuck",), ("--explain", "warehouse-stuck")])
def test_findings_and_their_page_come_together(
    kgroup: Kgroup, tmp_path: Path, findings: tuple[str, ...]
) -> None:
    now = ("--now", "2026-11-20T12:48:44Z")
    alone = kgroup("lag-report", str(LIVES), "-q", *findings, *now)
    page = tmp_path / "page.html"
    both = kgroup("lag-report", str(LIVES), "-q", *findings, *now, "--html", str(page))
    assert both == alone
    groups = {group["group"] for group in data_of(page)["groups"]}
    assert "warehouse-stuck" in groups
    assert (len(groups) == 1) == ("--explain" in findings)
