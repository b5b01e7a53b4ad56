import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = str(FIXTURES / "3.9.1" / "lives")


def rows_of(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_the_two_sides_stand_below_each_other(kgroup):
    ended = kgroup("what-if", LIVES, "--group", "push-storm", "--static")
    assert ended.status == 0
    assert ended.out == (
        "CASE      ASSIGNOR  REBALANCES  MOVED  STOPPED   UNREAD  EACH  SPREAD\n"
        "recorded  range             51     50       50    9.25s  2          0\n"
        "what-if   range              3      2        2  23.397s  2          0\n"
    )


def test_what_it_rests_on_is_said(kgroup):
    ended = kgroup("what-if", LIVES, "--group", "push-storm", "--static")
    assert "kgroup: assumed: eager: each rebalance stops all partitions of all members" in ended.err
    assert "24 restarts came sooner" in ended.err
    assert kgroup("what-if", LIVES, "--group", "push-storm", "--static", "-q").err == ""


def test_a_storm_of_restarts_is_as_many_as_the_diary_tells(kgroup):
    """The driver let one member join and leave 25 times; the first time it is new, static or not."""
    story = json.loads((Path(LIVES) / "story.json").read_text(encoding="utf-8"))
    (storm,) = (truth for truth in story["truth"] if truth["condition"] == "rebalance-storm")
    rounds = rows_of(kgroup("what-if", LIVES, "--group", "push-storm", "--static", "--rounds", "-o", "jsonl"))
    recorded = [row for row in rounds if row["case"] == "recorded" and "join storm-flap" in row["what"]]
    supposed = [row for row in rounds if row["case"] == "what-if" and "join storm-flap" in row["what"]]
    assert (len(recorded), len(supposed)) == (storm["joins"], 1)


def test_the_table_fits_80_columns(kgroup, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for more in ([], ["--rounds"]):
        ended = kgroup("what-if", LIVES, "--group", "orders-app", "--protocol", "cooperative", *more)
        assert max(map(len, ended.out.splitlines())) <= 80


def test_json_has_every_rebalance_with_its_assignment(kgroup):
    rows = rows_of(
        kgroup("what-if", LIVES, "--group", "orders-app", "--assignor", "sticky", "--rounds", "-o", "jsonl")
    )
    last = rows[-1]
    assert (last["case"], last["generation"], last["what"]) == ("what-if", 6, "session-expired grow-victim")
    assert sorted(len(topics) for topics in last["assignment"].values()) == [2, 2]
    assert sum(len(numbers) for topics in last["assignment"].values() for numbers in topics.values()) == 7
    assert last["unread_partition_ms"] == 2 * 5_000  # what the victim had, for its session timeout


def test_the_summary_in_json_says_what_it_rests_on(kgroup):
    recorded, supposed = rows_of(
        kgroup("what-if", LIVES, "--group", "orders-app", "--static", "-o", "jsonl", "-q")
    )
    assert (recorded["case"], recorded["assumptions"]) == ("recorded", [])
    assert supposed["assignors"] == ["range"]
    assert any("static" in assumption for assumption in supposed["assumptions"])


def test_range_of_the_consumer_protocol_is_the_brokers(kgroup):
    rows = rows_of(
        kgroup(
            "what-if", LIVES, "--group", "orders-app", "--protocol", "consumer", "--assignor", "range",
            "-o", "jsonl",
        )
    )  # fmt: skip
    assert rows[1]["assignors"] == ["server-range"]


def test_a_pattern_leaves_out_what_cannot_be_played_and_says_so(kgroup):
    ended = kgroup("what-if", LIVES, "--group", "connect-*", "--group", "orders-app", "--static")
    assert ended.status == 0
    assert "left out: group 'connect-sink' has protocol type 'connect'" in ended.err
    ended = kgroup("what-if", LIVES, "--group", "connect-*", "--static")
    assert ended.status == 2
    assert "none of 2 groups can be played again: group 'connect-sink'" in ended.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "nothing to change: give --assignor, --protocol, --static"),
        (["--pause", "3s"], "nothing to change"),
        (["--assignor", "stiky"], "unknown assignor 'stiky': did you mean sticky?"),
        (["--assignor", ""], "unknown assignor ''"),
        (["--assignor", "simple"], "--assignor simple is for share groups"),
        (
            ["--protocol", "coperative"],
            "--protocol 'coperative' is not one of classic, eager, cooperative, consumer; did you mean"
            " cooperative?",
        ),
        (["--protocol", "848"], "--protocol '848' is not one of classic, eager, cooperative, consumer\n"),
        (
            ["--assignor", "sticky", "--protocol", "cooperative"],
            "--assignor sticky is not of --protocol cooperative: there is cooperative-sticky",
        ),
        (
            ["--assignor", "uniform", "--protocol", "eager"],
            "--assignor uniform is not of --protocol eager: there are range, roundrobin, sticky",
        ),
        (["--members", "2"], "--members 2: how many more, from +1 to +10000"),
        (["--members", "+99999"], "--members +99999: how many more"),
        (["--session-timeout", "soon"], "--session-timeout soon: not a duration of 1ms or more"),
        (["--session-timeout", "0s"], "--session-timeout 0s: not a duration of 1ms or more"),
        (["--static", "--pause", "-1"], "--pause -1: not a duration of 1ms or more"),
        (["--partitions", "orders:4"], "--partitions orders:4: not TOPIC=N, like orders=48"),
        (["--partitions", "orders=0"], "--partitions orders=0: not TOPIC=N"),
        (["--partitions", "orders=9999999999"], "--partitions orders=9999999999: more than 1000000"),
        (["--partitions", "orders=4", "--partitions", "orders=5"], "--partitions orders: given twice"),
        (
            ["--partitions", "nix=4"],
            "group 'orders-app': nobody subscribes to 'nix'; its topics are orders, pay",
        ),
    ],
)
def test_what_makes_no_sense_is_said(kgroup, arguments, why):
    ended = kgroup("what-if", LIVES, "--group", "orders-app", *arguments)
    assert ended.status == 2
    assert ended.err.startswith(f"kgroup: {why}")
    assert ended.out == ""


def test_where_the_group_is_must_be_said_in_one_way(kgroup):
    assert "no --group given" in kgroup("what-if", LIVES, "--static").err
    assert "no PATH given" in kgroup("what-if", "--group", "g", "--static").err
    both = kgroup("what-if", LIVES, "-b", "127.0.0.1:1", "--group", "g", "--static")
    assert "give PATHs or --bootstrap-server, not both" in both.err
    missing = kgroup("what-if", LIVES, "--group", "orders-ap", "--static")
    assert (missing.status, missing.err) == (
        1,
        "kgroup: no group here matches orders-ap; did you mean orders-app?\n",
    )


def test_a_group_that_is_not_of_consumers_is_refused(kgroup):
    share = kgroup("what-if", str(FIXTURES / "4.3.1" / "lives"), "--group", "share-queue", "--static")
    assert (share.status, share.out) == (2, "")
    assert "group 'share-queue' is a share group: what-if knows classic and consumer groups" in share.err


def test_damage_is_told_and_strict_exits_with_3(kgroup):
    ended = kgroup(
        "what-if", str(FIXTURES / "damaged" / "bad-magic"), "--group", "orders-app", "--static", "--strict"
    )
    assert ended.status == 3
    assert "bytes left out: batch magic" in ended.err
    assert "recorded" in ended.out


def test_a_consumer_group_is_played_as_rounds_with_a_leader(kgroup):
    lives = str(FIXTURES / "4.3.1" / "lives")
    rounds = rows_of(
        kgroup(
            "what-if",
            lives,
            "--group",
            "trades-848",
            "--protocol",
            "classic",
            "--rounds",
            "-o",
            "jsonl",
            "-q",
        )
    )
    supposed = [row for row in rounds if row["case"] == "what-if"]
    # Three joined within 30 ms: they wait for one round, and nothing has an owner before it.
    assert supposed[0]["what"] == "join kip-2, kip-1, kip-3"
    assert [row["assignor"] for row in supposed] == ["range"] * 3
    assert [len(row["moves"]) for row in supposed] == [row["partitions_moved"] for row in supposed]
    assert all(move["from"] != move["to"] for row in supposed for move in row["moves"])


def test_an_assignor_of_the_other_protocol_is_not_a_classic_one(kgroup):
    ended = kgroup(
        "what-if", LIVES, "--group", "orders-app", "--protocol", "classic", "--assignor", "uniform"
    )
    assert ended.status == 2
    assert ended.err == (
        "kgroup: --assignor uniform is not of --protocol classic:"
        " there are range, roundrobin, sticky, cooperative-sticky\n"
    )
