import csv
import io
import json
from pathlib import Path

LIVES = str(Path(__file__).parents[3] / "fixtures" / "3.9.1" / "lives")
SWITCHER = (LIVES, "--group", "topic-switcher")


def causes_of(replayed):
    return [json.loads(row["causes"])[0]["cause"] for row in csv.DictReader(io.StringIO(replayed))]


def test_a_plan_has_commits_and_records_outside_of_tables(kgroup):
    rows = [
        json.loads(line) for line in kgroup("reenact", *SWITCHER, "--plan", "-o", "jsonl").out.splitlines()
    ]
    assert {row["act"] for row in rows} == {"join", "subscribe", "grow", "commit", "produce"}
    assert [row["at_ms"] for row in rows] == sorted(row["at_ms"] for row in rows)
    table = kgroup("reenact", *SWITCHER, "--plan").out
    assert [line.split()[1] for line in table.splitlines()[1:]] == ["join", "subscribe", "grow"]


def test_a_kept_virtual_log_is_replayed_as_the_original(kgroup, tmp_path):
    again = str(tmp_path / "again")
    ended = kgroup("reenact", *SWITCHER, "--virtual", "--score", "--keep", again)
    assert ended.out.splitlines()[-1].startswith("group topic-switcher: 3 of 3 generations agree")
    causes = [
        causes_of(kgroup("replay", path, *SWITCHER[1:], "-o", "csv", "-q").out) for path in (LIVES, again)
    ]
    assert causes[0] == causes[1] == ["first-join", "subscription-changed", "topic-grew"]


def test_live_with_a_place_for_a_client_of_ones_own(kgroup):
    ended = kgroup(
        *("reenact", LIVES, "--group", "orders-app", "--speed", "1000", "--listen", "127.0.0.1:0"),
        *("--replace", "grow-2", "-q"),
    )
    assert ended.status == 0
    ready, yours, now, leaves = ended.out.splitlines()
    address = ready.removeprefix("ready ")
    assert yours.startswith("yours is grow-2: it joins after 8ms")
    assert now.startswith(
        f"yours: join now: bootstrap.servers={address} group.id=orders-app client.id=grow-2 "
    )
    assert now.endswith("topics=orders,payments")
    assert "leave grow-2" in leaves


def test_live_and_scored_in_a_folder_that_goes(kgroup):
    ended = kgroup(
        *("reenact", LIVES, "--group", "nightly-idle", "--speed", "20", "--listen", "127.0.0.1:0", "--score")
    )
    assert "group nightly-idle: 1 of 1 generations agree" in ended.out
