"""The timeline page in a real browser, and what it is made of."""

import re
from collections.abc import Sequence
from pathlib import Path

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay as replay_of
from kgroup.history.timeline.model import Grade, Timeline
from kgroup.history.timeline.replay import replay
from kgroup.lag.findings.model import Finding, FindingKind
from kgroup.report.pages.lanes import lane_names, picture_of
from kgroup.report.pages.page import GroupPage, write_group_pages
from kgroup.report.pages.still import write_svg
from tests.history.group_log import GROUP, GroupLog, member
from tests.report.pages.browser import data_of, in_browser, needs_browser

LIVES = Path(__file__).parents[3] / "fixtures" / "4.3.1" / "lives"


def storm() -> Timeline:
    log = GroupLog()
    log.generation(0, 1, member("stable", 0, 1))
    for number in range(6):
        log.generation(
            10 + 2 * number, 2 + 2 * number, member("stable", 0), member(f"l{number}", 1, client="flap")
        )
        log.generation(11 + 2 * number, 3 + 2 * number, member("stable", 0, 1))
    return log.timeline()


def crowd(members: int, generations: int) -> Timeline:
    """Everybody stays but one at a time, who skips a generation."""
    everybody = [member(f"m{number}", 2 * number, 2 * number + 1) for number in range(members)]
    log = GroupLog()
    for number in range(generations):
        there = [one for index, one in enumerate(everybody) if index != number % members]
        log.generation(number * 30, number + 1, *there)
    return replay(log.entries, {})[GROUP]


def pages_of(timelines: Sequence[Timeline]) -> list[GroupPage]:
    return [GroupPage(group=one.group_id, timeline=one) for one in timelines]


def write_timelines(timelines: Sequence[Timeline], page: Path) -> None:
    write_group_pages(pages_of(timelines), page)


def test_a_member_that_comes_back_has_one_lane():
    picture = picture_of(storm())
    assert [(lane.label, len(lane.member_ids)) for lane in picture.lanes] == [("stable", 1), ("flap", 6)]
    assert [len(stays) for stays in picture.stays_by_lane()] == [13, 6]


def test_two_members_at_once_have_two_lanes_though_they_share_client_and_host():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, client="same"), member("b", 1, client="same"))
    lanes = picture_of(log.timeline()).lanes
    assert [lane.label for lane in lanes] == ["same", "same"]
    assert lane_names(lanes) == ["same 10.0.0.1 a-id", "same 10.0.0.1 b-id"]


def test_names_from_the_log_cannot_end_the_script(tmp_path):
    log = GroupLog()
    log.generation(0, 1, member("</script><script>alert(1)//", 0))
    write_timelines([log.timeline()], tmp_path / "page.html")
    write_svg(pages_of([log.timeline()]), tmp_path / "still.svg")
    assert "alert(1)" in (tmp_path / "page.html").read_text()
    for name in ("page.html", "still.svg"):
        assert len(re.findall("<script", (tmp_path / name).read_text())) == (name == "page.html")


def test_patterns_are_findings_with_a_time_and_what_to_try(tmp_path):
    timeline = storm()
    write_timelines([timeline], tmp_path / "page.html")
    (group,) = data_of(tmp_path / "page.html")["groups"]
    storms = [one for one in group["findings"] if one["name"] == "rebalance-storm"]
    (pattern,) = (one for one in timeline.patterns if one.name == "rebalance-storm")
    assert [(one["from"], one["to"], one["try"]) for one in storms] == [
        (pattern.from_ms, pattern.to_ms, pattern.remedy)
    ]
    assert pattern.remedy and pattern.remedy.startswith("Find out why")


def test_a_finding_that_is_a_pattern_of_the_history_is_told_once(tmp_path):
    timeline = storm()
    said = [
        Finding(kind=kind, group=GROUP, grade=Grade.INFERRED, evidence="seen", try_this="-", member_id=who)
        for kind, who in ((FindingKind.REBALANCE_STORM, None), (FindingKind.STALLED_MEMBER, "stable-id"))
    ]
    page = GroupPage(group=GROUP, timeline=timeline, findings=said)
    write_group_pages([page], tmp_path / "page.html")
    (group,) = data_of(tmp_path / "page.html")["groups"]
    names = [one["name"] for one in group["findings"]]
    assert names.count("rebalance-storm") == 1
    (stalled,) = (one for one in group["findings"] if one["name"] == "stalled-member")
    assert stalled["where"] == "stable"


@needs_browser
def test_the_page_shows_the_group_its_patterns_and_a_generation(tmp_path):
    page = tmp_path / "page.html"
    write_timelines([storm()], page)
    document = in_browser(page, "#generation=2")
    assert 'data-ready="yes"' in document
    assert f'<h2 id="group">{GROUP}</h2>' in document
    assert "rebalance-storm" in document
    assert "Generation 2" in document and "flap joined" in document


@needs_browser
def test_a_hundred_members_by_a_thousand_generations(tmp_path):
    page, still = tmp_path / "page.html", tmp_path / "still.svg"
    timeline = crowd(100, 1000)
    write_timelines([timeline], page)
    write_svg(pages_of([timeline]), still)
    assert page.stat().st_size < 1.5e6 and still.stat().st_size < 1.5e6
    document = in_browser(page, "#theme=dark&generation=500")
    assert 'data-ready="yes"' in document
    assert "1,000 generations, 100 lanes" in document
    assert "Generation 500" in document


def test_a_page_grows_by_no_more_than_45_bytes_a_change_of_a_member(tmp_path):
    """The most there can be: everybody gets other partitions each time, and nobody the same twice."""
    log = GroupLog()
    for number in range(60):
        first = 30 * number
        log.generation(number, number + 1, *(member(f"m{n}", first + n, first + n + 90) for n in range(30)))
    write_timelines([log.timeline()], tmp_path / "page.html")
    write_timelines([crowd(30, 1)], tmp_path / "small.html")
    grown = (tmp_path / "page.html").stat().st_size - (tmp_path / "small.html").stat().st_size
    generations = 59 * 700
    assert grown < generations + 45 * 59 * 30


@needs_browser
def test_a_group_without_generations_has_a_page_too(tmp_path):
    log = GroupLog()
    log.commits(0, 10, 2, 0)
    write_timelines([log.timeline()], tmp_path / "page.html")
    assert "no generations" in in_browser(tmp_path / "page.html")


@needs_browser
def test_the_page_says_who_waited_for_whom(tmp_path):
    """At 12:46:34.5 kip-victim waits for kip-3, which gives up at .073 of the next second."""
    page = tmp_path / "page.html"
    write_timelines([replay_of(open_logs(LIVES), ["trades-848"])["trades-848"]], page)
    document = in_browser(page, "#at=2026-11-20T12:46:34.500Z")
    assert "Waits for another member (" in document
    assert "dashes on top" in document
