"""`kgroup advise` on groups of real brokers whose lives are known, and as a gate before a rollout."""

import json

import pytest

import kgroup as library

LIVES = "fixtures/3.9.1/lives"


def rows_of(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.fixture
def properties(tmp_path):
    """Write a properties file."""

    def write(text):
        path = tmp_path / "client.properties"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_storm_of_restarts_is_told_of_instance_ids(kgroup):
    rows = rows_of(kgroup("advise", LIVES, "--group", "push-storm", "-o", "jsonl"))
    (row,) = [row for row in rows if row["setting"] == "group.instance.id"]
    assert (row["now"], row["grade"]) == ("-", "inferred")
    assert row["evidence"] == (
        "24 restarts, the longest of 1.3s; with static members: rebalances 51 -> 3, moves of partitions"
        " 50 -> 2, stops of members 50 -> 2, unread 9.2 partition-s -> 23.4 partition-s"
    )
    assert row["numbers"]["supposed_rebalances"] == 3
    assert row["caution"] == "partitions wait for their member meanwhile: 14.1 partition-s more unread"


def test_lag_that_grows_says_how_many_members_it_takes(kgroup):
    (row,) = rows_of(kgroup("advise", LIVES, "--group", "search-indexer", "-o", "jsonl"))
    assert (row["setting"], row["now"], row["advised"]) == ("members", "1", "4")
    assert row["numbers"]["members_needed"] == 11
    assert row["numbers"]["partitions"] == 4


def test_a_group_of_which_nothing_follows_is_not_advised(kgroup):
    ended = kgroup("advise", LIVES, "--group", "warehouse-stuck")
    assert ended.status == 0
    assert ended.err.splitlines()[-1] == "kgroup: nothing to advise on 1 group"
    assert len(ended.out.splitlines()) == 1


def test_cautions_are_said_once(kgroup):
    ended = kgroup("advise", LIVES)
    lines = [line for line in ended.err.splitlines() if "group.protocol" in line]
    assert len(lines) == 1
    assert kgroup("advise", LIVES, "-q").err == ""


def test_a_client_that_the_group_takes_passes(kgroup, properties):
    ended = kgroup("advise", LIVES, "--check", properties("group.id=orders-app\nsession.timeout.ms=10000\n"))
    assert ended.status == 0
    assert ended.err.endswith("client.properties: nothing sure speaks against it in 1 group\n")


def test_a_client_that_the_group_refuses_stops_a_rollout(kgroup, properties):
    file = properties(
        "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor\n"
        "session.timeout.ms=5000\nheartbeat.interval.ms=1000\n"
    )
    ended = kgroup("advise", LIVES, "--group", "orders-app", "--check", file, "-o", "jsonl")
    assert ended.status == 3
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["property"], row["verdict"]) for row in rows] == [
        ("partition.assignment.strategy", "refused"),
        ("session.timeout.ms", "refused"),
    ]
    assert (
        ended.err == f"kgroup: --check {file}: 2 objections: {', '.join(row['property'] for row in rows)}\n"
    )


def test_the_library_says_the_same(kgroup):
    with library.open_logs(LIVES) as logs:
        advised = library.advise(logs, "push-storm")
        rows = rows_of(kgroup("advise", LIVES, "--group", "push-storm", "-o", "jsonl"))
        assert [piece.evidence for piece in advised] == [row["evidence"] for row in rows]
        assert repr(advised) == f"<Advised: {len(rows)} settings of 1 group>"
        assert advised.to_arrow().num_rows == len(advised)
        assert "push-storm" in advised._repr_html_()
        checked = library.check_client(logs, {"session.timeout.ms": "1", "group.id": "push-storm"})
        assert not checked.passes
        assert repr(checked) == "<CheckedClient: does not pass, 2 objections>"
        assert checked.to_arrow().num_rows == len(checked) == len(list(checked))
        assert "session.timeout.ms" in checked._repr_html_()
        assert library.check_client(logs, {}, "orders-app").passes
        with pytest.raises(library.errors.InputError, match=r"no group\.id"):
            library.check_client(logs, {})


def test_standard_input_is_refused_by_the_library_as_by_the_command(tmp_path):
    with (
        (tmp_path / "empty").open("wb+") as stream,
        library.open_logs("-", stdin=stream) as logs,
        pytest.raises(library.errors.InputError, match="it needs files"),
    ):
        library.advise(logs)


def test_which_groups_can_change_over_to_the_consumer_protocol(kgroup):
    rows = rows_of(kgroup("advise", LIVES, "--protocol", "consumer", "-o", "jsonl"))
    standing = {row["group"]: row["standing"] for row in rows if row["subject"] == "conversion"}
    blocked = {group for group, each in standing.items() if each == "blocked"}
    assert {"connect-sink", "connect-workers"} <= blocked
    assert not {"push-storm", "assign-sticky", "gone-group", "cron-exporter"} & blocked
    subjects = [row["subject"] for row in rows if row["group"] == "ledger-static"]
    assert subjects == [
        "conversion",
        "session.timeout.ms",
        "partition.assignment.strategy",
        "group.instance.id",
        "cost",
    ]
