import csv
import io
import json
import shutil
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = str(FIXTURES / "3.9.1" / "lives")


def test_a_row_per_generation_says_who_and_why(kgroup):
    ended = kgroup("replay", LIVES, "--group", "orders-app")
    assert ended.status == 0
    assert ended.out == (
        "GEN  TIME                      N  MOVED     GAP  CAUSE\n"
        "  1  2026-11-20T12:42:42.338Z  1      0       -  first-join grow-1\n"
        "  2  2026-11-20T12:42:49.782Z  2      3  2.527s  join grow-2\n"
        "  3  2026-11-20T12:42:58.451Z  3      3  2.031s  join grow-3\n"
        "  4  2026-11-20T12:43:17.035Z  2      2  1.657s  leave grow-2 (inferred)\n"
        "  5  2026-11-20T12:43:26.770Z  3      3  1.834s  join grow-victim\n"
        "  6  2026-11-20T12:43:40.158Z  2      3  8.085s  session-expired grow-victim (inferred)\n"
    )


def test_the_table_fits_80_columns(kgroup, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in ([], ["--events"]):
        ended = kgroup("replay", str(FIXTURES / "4.3.1" / "lives"), "--group", "trades-848", *arguments)
        assert max(map(len, ended.out.splitlines())) <= 80


def test_several_groups_and_patterns_have_their_names_in_front(kgroup):
    ended = kgroup("replay", LIVES, "--group", "gone-*", "--group", "orders-app", "-o", "jsonl")
    groups = [json.loads(line)["group"] for line in ended.out.splitlines()]
    assert groups == ["gone-group"] * 5 + ["orders-app"] * 6
    assert kgroup("replay", LIVES, "--group", "gone-*", "--group", "orders-app").out.startswith("GROUP")


def test_json_has_evidence_gaps_and_moves(kgroup):
    rows = json.loads(kgroup("replay", LIVES, "--group", "orders-app", "-o", "json").out)
    last = rows[-1]
    (cause,) = last["causes"]
    assert (cause["cause"], cause["grade"]) == ("session-expired", "inferred")
    assert "its session timeout is 5s" in cause["evidence"]
    assert cause["member_ids"] == [member["member_id"] for member in last["left"]]
    assert {gap["partition"] for gap in last["commit_gaps"]} >= {"orders-3", "payments-2"}
    assert last["commit_gap_ms"] == max(gap["length_ms"] for gap in last["commit_gaps"]) == 8085
    assert sum(map(len, last["gained"].values())) == 3


def test_json_has_who_waited_for_whom(kgroup):
    """The target of epoch 6 is record 138; record 154 gives up what kip-1 had, record 158 what kip-3 had."""
    path = str(FIXTURES / "4.3.1" / "lives")
    rows = json.loads(kgroup("replay", path, "--group", "trades-848", "-o", "json").out)
    clients = {one["member_id"]: one["client_id"] for row in rows for one in row["joined"]}
    (row,) = (row for row in rows if row["generation"] == 6)
    assert [
        (clients[wait["member_id"]], clients[wait["holder_id"]], wait["partitions"], wait["length_ms"])
        for wait in row["waits"]
    ] == [
        ("kip-victim", "kip-3", ["orders-0", "orders-1", "payments-0"], 1022),
        ("kip-3", "kip-1", ["orders-2"], 906),
    ]
    assert all(wait["released"] and wait["until"] > wait["since"] for wait in row["waits"])


def test_a_row_per_event(kgroup):
    ended = kgroup("replay", LIVES, "--group", "ledger-static", "--events", "-o", "csv")
    events = [(row["event"], row["grade"]) for row in csv.DictReader(io.StringIO(ended.out))]
    assert events.count(("static-restart", "recorded")) == 2
    assert ("leave", "inferred") in events
    assert ("gained", "recorded") in events


@pytest.mark.parametrize(
    ("capture", "group", "back"),
    [("4.3.1/lives", "static-848", "ks-a2"), ("4.4.0/protocols", "new-static", "static-3")],
)
def test_a_static_member_of_a_consumer_group_that_is_back_is_no_rebalance(kgroup, capture, group, back):
    """It is told when it came, in the epoch that went on, and no later epoch is put down to it."""
    (found,) = (event for event in events_of(kgroup, capture, group) if event["event"] == "static-restart")
    assert 0 <= found["time"] - start_of(capture, group, back) < 5_000
    assert (found["generation"], found["grade"]) == (3, "recorded")
    assert found["evidence"] == (
        "instance slot-a has a new member id: another client took its place, after the one before had left to"
        " come back"
    )
    ended = kgroup("replay", str(FIXTURES / capture), "--group", group, "-o", "jsonl")
    generations = [json.loads(line) for line in ended.out.splitlines()]
    assert "static-restart" not in {cause["cause"] for row in generations for cause in row["causes"]}
    assert not any(row["replaced"] for row in generations)


def test_a_static_member_of_a_streams_group_that_is_back_begins_an_epoch(kgroup):
    """Kafka 4.4 is the first with static members of streams groups; another process moves the epoch."""
    capture = "4.4.0/protocols"
    (found,) = (
        event for event in events_of(kgroup, capture, "flow-static") if event["event"] == "static-restart"
    )
    assert 0 <= found["time"] - start_of(capture, "flow-static", "node-b") < 5_000
    ended = kgroup("replay", str(FIXTURES / capture), "--group", "flow-static")
    assert "  4  2026-11-29T04:34:43.698Z  2      0  14.971s  static-restart node-b-1\n" in ended.out


@pytest.mark.parametrize(
    ("capture", "group", "away"), [("4.3.1/lives", "static-848", 5.2), ("4.4.0/protocols", "new-static", 5.6)]
)
def test_a_static_member_that_left_to_come_back_and_did_not_has_expired(kgroup, capture, group, away):
    """Its record had epoch −2; these brokers' session timeout is 6 s, of which up to a second had passed."""
    last = events_of(kgroup, capture, group)
    (found,) = (event for event in last if event["event"] == "session-expired")
    assert found["grade"] == "inferred"
    assert found["evidence"] == (
        f"the static member had left to come back {away}s before, and its session expired"
    )
    assert not any(event["event"] == "member-gone" for event in last)


def events_of(kgroup, capture, group):
    ended = kgroup("replay", str(FIXTURES / capture), "--group", group, "--events", "-o", "jsonl")
    return [json.loads(line) for line in ended.out.splitlines()]


def start_of(capture, group, handle):
    """When this client was last started, by the diary, epoch ms."""
    events = json.loads((FIXTURES / capture / "story.json").read_text(encoding="utf-8"))["events"]
    starts = ("start-member", "start-streams")
    ours = (event for event in events if event["group"] == group and event["what"] in starts)
    return max(event["t"] for event in ours if event["handle"] == handle)


def test_a_member_that_has_another_id_since_is_called_by_its_instance(kgroup):
    ended = kgroup(
        "replay", str(FIXTURES / "4.3.1" / "lives"), "--group", "ledger-static", "--group", "static-848"
    )
    assert "first-join rack1-a, rack2-b, static-dyn" in ended.out
    assert "join slot-a" in ended.out


def test_since_the_generation_before_is_since_it_began(kgroup):
    """Also where a static member came back in it, and its record was written again."""
    ended = kgroup("replay", LIVES, "--group", "ledger-static", "-o", "jsonl")
    first, second = (json.loads(line) for line in ended.out.splitlines())
    assert second["since_previous_ms"] == second["time"] - first["time"]


def test_every_format_has_the_same_rows(kgroup, tmp_path):
    from pyarrow import parquet

    file = tmp_path / "rows.parquet"
    assert (
        kgroup("replay", LIVES, "--group", "orders-app", "-o", "parquet", "--output", str(file)).status == 0
    )
    rows = list(
        csv.DictReader(io.StringIO(kgroup("replay", LIVES, "--group", "orders-app", "-o", "csv").out))
    )
    table = parquet.read_table(file).to_pylist()
    assert (
        [row["generation"] for row in table] == [int(row["generation"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    )
    assert [row["causes"] for row in table] == [row["causes"] for row in rows]


def test_a_storm_is_named_with_what_to_try(kgroup):
    ended = kgroup("replay", LIVES, "--group", "push-storm")
    assert "kgroup: group push-storm: rebalance-storm: 50 rebalances in 47.8s" in ended.err
    assert "rebalance-storm: try: " in ended.err
    assert kgroup("replay", LIVES, "--group", "push-storm", "-q").err == ""


def test_standard_input_is_read_as_a_file_is(kgroup):
    (segment,) = Path(LIVES).glob("__consumer_offsets-5/*.log")
    given = ("--group", "orders-app", "-o", "jsonl")
    from_file = kgroup("replay", str(segment), *given).out.splitlines()
    piped = kgroup("replay", "-", *given, stdin=segment.read_bytes()).out.splitlines()
    assert len(from_file) == 6
    without_place = [{**json.loads(line), "offsets_partition": None} for line in from_file]
    assert [{**json.loads(line), "offsets_partition": None} for line in piped] == without_place


def test_a_group_that_is_not_where_the_rule_puts_it_is_looked_for_everywhere(kgroup, tmp_path):
    (segment,) = Path(LIVES).glob("__consumer_offsets-5/*.log")
    for number in (5, 6):
        folder = tmp_path / f"__consumer_offsets-{number}"
        folder.mkdir()
        (folder / segment.name).write_bytes(segment.read_bytes() if number == 6 else b"")
    ended = kgroup("replay", str(tmp_path), "--group", "orders-app", "-o", "jsonl")
    assert [json.loads(line)["offsets_partition"] for line in ended.out.splitlines()] == [6] * 6


def test_offsets_without_membership_are_said_to_be(kgroup):
    ended = kgroup("replay", LIVES, "--group", "cron-exporter")
    assert ended.status == 0
    assert "no generations" in ended.err
    assert "no-membership" in kgroup("replay", LIVES, "--group", "cron-exporter", "--events").out


def test_what_is_missing_is_said_in_one_line(kgroup):
    for arguments, status, why in (
        ((LIVES, "--group", "nobody"), 1, "no group here matches nobody"),
        ((LIVES,), 2, "no --group given"),
        (("--group", "g"), 2, "no PATH given"),
        ((LIVES, "--group", "orders-app", "--html", "/nowhere/x.html"), 1, "cannot write /nowhere/x.html"),
    ):
        ended = kgroup("replay", *arguments)
        assert (ended.status, ended.out) == (status, "")
        assert why in ended.err and len(ended.err.splitlines()) == 1


def test_of_several_groups_the_misspelt_one_is_named_and_the_others_are_shown(kgroup):
    for command in (("replay",), ("what-if", "--static")):
        ended = kgroup(*command, LIVES, "--group", "order-app", "--group", "orders-app", "-q", "-o", "jsonl")
        groups = {json.loads(line)["group"] for line in ended.out.splitlines()}
        assert (ended.status, groups) == (0, {"orders-app"})
        assert ended.err == "kgroup: no group here matches order-app; did you mean orders-app?\n"


def test_a_group_in_a_partition_of_another_count_is_found_beside_one_where_the_rule_says(kgroup, tmp_path):
    """Of 50 partitions orders-app has the 5th; ledger-static lies where another count would have it."""
    for there, here in ((5, 5), (20, 49)):
        shutil.copytree(f"{LIVES}/__consumer_offsets-{there}", tmp_path / f"__consumer_offsets-{here}")
    ended = kgroup(
        "replay", str(tmp_path), "--group", "orders-app", "--group", "ledger-static", "-q", "-o", "jsonl"
    )
    groups = {json.loads(line)["group"] for line in ended.out.splitlines()}
    assert groups == {"orders-app", "ledger-static"}


def test_what_is_not_read_is_named(kgroup, tmp_path):
    older = tmp_path / "__consumer_offsets-5"
    shutil.copytree(f"{LIVES}/__consumer_offsets-5", older)
    log = older / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:20_000])
    for command in (("replay",), ("what-if", "--static")):
        ended = kgroup(*command, LIVES, str(tmp_path), "--group", "orders-app")
        assert "__consumer_offsets-5: not read: replica of " in ended.err


def test_damage_is_reported_and_strict_fails(kgroup):
    damaged = str(FIXTURES / "damaged" / "bit-flip-in-records")
    ended = kgroup("replay", damaged, "--group", "*", "--strict")
    assert ended.status == 3
    assert "byte" in ended.err
    assert ended.out


def test_a_page_and_a_picture_need_no_network(kgroup, tmp_path):
    page, picture = tmp_path / "x.html", tmp_path / "x.svg"
    ended = kgroup("replay", LIVES, "--group", "orders-app", "--html", str(page), "--svg", str(picture))
    assert ended.status == 0
    for text in (page.read_text(), picture.read_text().replace("http://www.w3.org/2000/svg", "")):
        assert "grow-victim" in text
        assert "http:" not in text and "https:" not in text and "src=" not in text


def test_the_picture_in_the_readme_is_what_replay_draws_now(kgroup, tmp_path):
    drawn = tmp_path / "timeline.svg"
    assert kgroup("replay", LIVES, "--group", "orders-app", "--svg", str(drawn), "-q").status == 0
    assert drawn.read_text() == (FIXTURES.parent / "docs" / "timeline.svg").read_text()


def test_the_table_of_events_names_the_members_and_where_one_ran(kgroup):
    events = kgroup("replay", LIVES, "--group", "orders-app", "--events").out.splitlines()
    [expired] = [line for line in events if "session-expired" in line]
    assert "inferred  grow-victim on 127.0.0.1: it committed every 2.5s" in expired
    [joined] = [line for line in events if line.endswith("grow-victim joined")]
    assert joined.endswith("  grow-victim joined")
    removed = kgroup("replay", LIVES, "--group", "gone-group", "--events").out
    assert removed.count("last sign of life (group-deleted or topic-deleted?)") == 2


def test_a_name_that_is_only_part_of_a_word_is_not_named_yet():
    from kgroup.history.timeline.model import TimelineMember
    from kgroup.report.timeline.rows import _naming

    it, other = (
        TimelineMember(member_id=name, client_id=name, client_host="/10.0.0.7") for name in ("ted", "b")
    )
    assert _naming([it], "it committed nothing") == "ted on 10.0.0.7: it committed nothing"
    assert _naming([it], "ted: orders-1") == "ted: orders-1"
    assert _naming([it, other], "committed nothing") == "ted, b: committed nothing"
    assert _naming([], "committed nothing") == "committed nothing"
