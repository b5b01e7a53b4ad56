"""Reports on files again and again: what is new is read, and all of it where files do not only grow."""

from pathlib import Path

import pytest

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.repeated import RepeatedReports
from kgroup.api.lag.report import LagReport, report_on
from kgroup.api.opened import open_logs
from kgroup.lag.status.rule_set import RuleSet
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.growing import GrowingScan
from tests.log.offsets_log import batch, commit, tombstone, write
from tests.log.truth import FIXTURES
from tests.scan.reductions.test_growing import grown

OPTIONS = LagOptions(rules=RuleSet.KGROUP, findings=True)
NOW_S = 1_800_000_000.0


def reports_on(folder: Path, options: LagOptions = OPTIONS, now_ms: int | None = None) -> RepeatedReports:
    return RepeatedReports(options, [str(folder)], None, lambda: NOW_S, now_ms)


def offsets(report: LagReport) -> dict[tuple[str, int], int | None]:
    return {(row.group, row.partition): row.current_offset for row in report.rows()}


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of bytes that each scan reads."""
    sizes: list[int] = []
    original = GrowingScan._new_part

    def counting(self, segment):  # type: ignore[no-untyped-def]
        part = original(self, segment)
        sizes.append(0 if part is None else part.end - part.start)
        return part

    monkeypatch.setattr(GrowingScan, "_new_part", counting)
    return sizes


def test_a_growing_copy_of_a_broker_s_log_is_reported_as_if_read_at_once(tmp_path: Path) -> None:
    reports = reports_on(tmp_path, now_ms=1_795_178_924_000)
    for _ in grown(FIXTURES / "4.3.1/lives", tmp_path, 3):
        report = reports.take()
        once = report_on(open_logs(tmp_path), OPTIONS, now_ms=1_795_178_924_000)
        assert list(report.rows()) == list(once.rows())
        assert report.findings() == once.findings()
        assert len(offsets(report)) > 10


def test_what_was_read_is_not_read_again(tmp_path: Path, read_bytes: list[int]) -> None:
    batches = [batch(0, [commit("g", "t", 0, 5)]), batch(1, [commit("g", "t", 0, 6)])]
    reports = reports_on(tmp_path)
    for count in (1, 2, 2):
        write(tmp_path, batches[:count])
        report = reports.take()
    assert offsets(report) == {("g", 0): 6}
    # The last look finds the file as it was, but for its time of writing: so it may be another one.
    assert read_bytes == [len(batches[0]), len(batches[1]), sum(map(len, batches))]
    reports.take()
    assert read_bytes[3:] == [0]


def test_a_segment_that_compaction_replaced_is_read_anew(tmp_path: Path) -> None:
    write(tmp_path, [batch(0, [commit("g", "t", 0, 5)]), batch(1, [tombstone("g", "t", 0)])])
    reports = reports_on(tmp_path)
    assert offsets(reports.take()) == {}
    (path,) = (Path(segment.path) for segment in open_sources([tmp_path]).segments)
    swapped = path.with_name("swap")
    # Longer than before, by other batches: whoever reads on at the old end misses the first.
    batches = [batch(2, [commit("early", "t", 0, 1)])]
    batches += [batch(at, [commit("h", "t", 0, at)]) for at in range(3, 8)]
    swapped.write_bytes(b"".join(batches))
    swapped.rename(path)
    assert offsets(reports.take()) == {("early", 0): 1, ("h", 0): 7}


def test_a_batch_that_was_copied_in_part_is_there_when_it_is_whole(tmp_path: Path) -> None:
    """The part of it is damage, of which the next look knows nothing any more."""
    whole = [batch(0, [commit("g", "t", 0, 5)]), batch(1, [commit("g", "t", 0, 6)])]
    path = write(tmp_path, [whole[0], whole[1][:-9]])
    reports = reports_on(tmp_path)
    torn = reports.take()
    assert offsets(torn) == {("g", 0): 5}
    assert len(torn.problems) == 1
    path.write_bytes(b"".join(whole))
    mended = reports.take()
    assert (offsets(mended), mended.problems) == ({("g", 0): 6}, ())


def test_a_shorter_file_and_one_that_is_gone_are_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [commit("g", "t", 0, 5)]), batch(1, [commit("h", "t", 0, 6)])])
    reports = reports_on(tmp_path)
    assert set(offsets(reports.take())) == {("g", 0), ("h", 0)}
    path.write_bytes(batch(0, [commit("g", "t", 0, 5)]))
    assert set(offsets(reports.take())) == {("g", 0)}
    path.rename(path.with_name("00000000000000000007.log"))
    assert set(offsets(reports.take())) == {("g", 0)}


def test_files_that_ended_long_ago_are_judged_as_of_their_end() -> None:
    """As `lag-report --status` judges them; without a judgement the clock counts."""
    report = reports_on(FIXTURES / "4.3.1/lives").take()
    once = report_on(open_logs(FIXTURES / "4.3.1/lives"), OPTIONS, clock_ms=int(NOW_S * 1000))
    assert report.as_of == once.as_of
    assert report.as_of.ended_ago_ms is not None
    plain = reports_on(FIXTURES / "4.3.1/lives", LagOptions()).take()
    assert plain.as_of.now_ms == int(NOW_S * 1000)
