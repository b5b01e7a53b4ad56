"""`kgroup reset-offsets` on a cluster: every strategy, its undo, and what is refused."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from kafka.admin import KafkaAdminClient, NewTopic

import kgroup.testing
from kgroup.api.operations import each_group, execute
from kgroup.net.admin.committed import commit_offsets
from kgroup.testing import cluster
from tests.cli.conftest import Ended, Kgroup
from tests.cli.operations.conftest import BEGIN_MS, MINUTE_MS, commit, committed, member

BEFORE = {("orders", 0): (40, -1, "m"), ("orders", 2): (200, 0, "")}
SOME_MS = BEGIN_MS + 10 * MINUTE_MS


@pytest.fixture
def group(kafka: kgroup.testing.Cluster, request: pytest.FixtureRequest) -> str:
    """A group for each test: at the end of orders-0, 100 behind on orders-2, and nowhere on orders-1."""
    name = f"g-{crc32(request.node.name.encode())}"
    commit(kafka.bootstrap, name, BEFORE)
    return name


def rows_of(ended: Ended) -> list[dict[str, Any]]:
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def offsets(rows: list[dict[str, Any]], name: str = "new_offset") -> dict[object, object]:
    return {row["partition"]: row[name] for row in rows}


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


STRATEGIES = [
    (["--topic", "orders", "--to-earliest"], {0: 0, 1: 0, 2: 0}),
    (["--topic", "orders", "--to-latest"], {0: 40, 1: 0, 2: 300}),
    (["--all-topics", "--to-latest"], {0: 40, 2: 300}),
    (["--topic", "orders", "--to-current"], {0: 40, 1: 0, 2: 200}),
    (["--topic", "orders:0,2", "--to-offset", "7"], {0: 7, 2: 7}),
    (["--topic", "orders:0,2", "--to-offset", "0"], {0: 0, 2: 0}),
    (["--topic", "orders:2", "--shift-by", "-100"], {2: 100}),
    (["--topic", "orders:2", "--shift-by", "100"], {2: 300}),
    (["--topic", "orders:2", "--shift-by", "-1000", "--clamp"], {2: 0}),
    (["--topic", "orders:2", "--to-offset", "9999", "--clamp"], {2: 300}),
    (["--topic", "orders", "--to-datetime", iso(SOME_MS)], {0: 10, 1: 0, 2: 10}),
    (["--topic", "orders", "--to-datetime", iso(SOME_MS + 1)], {0: 11, 1: 0, 2: 11}),
    (["--topic", "orders", "--to-datetime", iso(SOME_MS - 1)], {0: 10, 1: 0, 2: 10}),
    (["--topic", "orders", "--to-datetime", "2020-01-01T00:00:00.000"], {0: 0, 1: 0, 2: 0}),
    (["--topic", "orders", "--to-datetime", "2035-01-01T00:00:00.000"], {0: 40, 1: 0, 2: 300}),
    (["--topic", "orders", "--by-duration", "PT0S"], {0: 40, 1: 0, 2: 300}),
    (["--topic", "orders", "--by-duration", "P9000D"], {0: 0, 1: 0, 2: 0}),
]


@pytest.mark.parametrize(("options", "expected"), STRATEGIES, ids=lambda value: " ".join(map(str, value)))
def test_a_strategy_is_planned_done_read_back_and_undone(
    kafka: kgroup.testing.Cluster,
    kgroup: Kgroup,
    group: str,
    undo_folder: Path,
    options: list[str],
    expected: dict[int, int],
) -> None:
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "-o", "jsonl", *options]
    planned = rows_of(kgroup(*line))
    assert offsets(planned) == expected
    assert committed(kafka.bootstrap, group) == BEFORE, "a dry run changes nothing"
    assert not undo_folder.exists()

    done = rows_of(kgroup(*line, "--execute"))
    assert offsets(done) == expected
    assert {row["result"] for row in done} == {"done"}
    now = committed(kafka.bootstrap, group)
    assert {number: now["orders", number][0] for number in expected} == expected
    assert {place: now[place] for place in BEFORE if place[1] not in expected} == {
        place: position for place, position in BEFORE.items() if place[1] not in expected
    }

    [undo] = undo_folder.iterdir()
    undone = kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute", "-q")
    assert undone.status == 0, undone.err
    assert committed(kafka.bootstrap, group) == BEFORE


def test_the_plan_in_a_table(kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str) -> None:
    ended = kgroup(
        "reset-offsets",
        group,
        "-b",
        kafka.bootstrap,
        "--topic",
        "orders:1,2",
        "--to-offset",
        "0",
        "--no-headers",
    )
    assert [line.split(maxsplit=5)[1:] for line in ended.out.splitlines()] == [
        ["orders-1", "-", "0", "0", "sets a first offset"],
        ["orders-2", "200", "0", "300", "reads 200 records again (3h 20m)"],
    ]
    assert ended.err.splitlines() == [
        f"kgroup: {group}: 200 records will be read again, up to 3h 20m of them; 1 partition without an"
        " offset will get one",
        f"kgroup: {group}: if no member comes, the broker deletes these offsets in 7d 0h"
        " (offsets.retention.minutes=10080)",
        "kgroup: dry run: nothing is changed; --execute does it",
    ]


def test_a_row_of_several_groups_names_its_own_on_a_narrow_screen(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    groups = [f"a-rather-long-name-of-a-group-in-production-{number}" for number in (1, 2)]
    for name in groups:
        commit(kafka.bootstrap, name, BEFORE)
    line = ["-b", kafka.bootstrap, "--all-topics", "--to-earliest"]
    rows = kgroup("reset-offsets", *groups, *line).out.splitlines()
    assert rows[0].split()[:2] == ["GROUP", "PARTITION"]
    assert max(map(len, rows)) <= 80
    alone = kgroup("reset-offsets", groups[0], *line)
    assert alone.out.split()[0] == "PARTITION", "of one group it is said above"
    assert f"kgroup: {groups[0]}: " in alone.err


def test_where_other_groups_stand(kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str) -> None:
    ahead = {"group": f"{group}-ahead", "offset": 0}
    commit(kafka.bootstrap, f"{group}-ahead", {("orders", 1): 0, ("audit", 0): 0})
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "--topic", "orders:1", "--to-latest"]
    [row] = rows_of(kgroup(*line, "--others", "-o", "jsonl"))
    assert [each for each in row["others"] if each["group"].startswith(group)] == [ahead]
    assert f"{group}-ahead 0" in kgroup(*line, "--others").out
    [without] = rows_of(kgroup(*line, "-o", "jsonl"))
    assert without["others"] == []


def test_what_is_clamped_is_said_in_kafkas_words(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str
) -> None:
    line = [
        "reset-offsets",
        group,
        "-b",
        kafka.bootstrap,
        "--topic",
        "orders:2",
        "--to-offset",
        "9999",
        "--clamp",
    ]
    assert kgroup(*line).err.splitlines()[0] == (
        f"kgroup: {group}: New offset (9999) is higher than latest offset for topic partition orders-2."
        " Value will be set to 300."
    )


def test_the_difference_is_in_records_and_in_time(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str
) -> None:
    [row] = rows_of(
        kgroup(
            *("reset-offsets", group, "-b", kafka.bootstrap, "-o", "jsonl", "--topic", "orders:2"),
            *("--shift-by", "50"),
        )
    )
    assert (row["records"], row["time_ms"], row["lag"]) == (50, 50 * MINUTE_MS, 50)
    assert (row["log_start_offset"], row["log_end_offset"]) == (0, 300)


@pytest.mark.parametrize("with_group", [False, True])
def test_from_a_csv_of_kafkas(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path, with_group: bool
) -> None:
    path = tmp_path / "plan.csv"
    first = f"{group}," if with_group else ""
    path.write_text(f"{first}orders,2,17\n{first}audit,0,0\n")
    named = [] if with_group else [group]
    line = ["reset-offsets", *named, "-b", kafka.bootstrap, "--from-file", str(path), "--execute", "-q"]
    assert kgroup(*line).status == 0
    assert committed(kafka.bootstrap, group) == BEFORE | {
        ("orders", 2): (17, -1, ""),
        ("audit", 0): (0, -1, ""),
    }


def test_from_what_fsck_rescued(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path
) -> None:
    path = tmp_path / "rescued.json"
    commits = [
        {
            "group": group,
            "topic": "orders",
            "partition": 2,
            "offset": 150,
            "leader_epoch": 0,
            "metadata": "r",
        },
        {
            "group": "another",
            "topic": "orders",
            "partition": 0,
            "offset": 3,
            "leader_epoch": -1,
            "metadata": "",
        },
    ]
    path.write_text(json.dumps({"format": "kgroup-offsets/1", "offsets": commits}))
    line = ["reset-offsets", "-b", kafka.bootstrap, "--from-file", str(path), "--execute", "-q"]
    refused = kgroup(*line)
    assert (refused.status, refused.err) == (
        1,
        "kgroup: no group 'another' in this cluster; --create makes it\n",
    )
    assert kgroup(*line, "--create").status == 0
    assert committed(kafka.bootstrap, group)["orders", 2] == (150, 0, "r")
    assert committed(kafka.bootstrap, "another") == {("orders", 0): (3, -1, "")}


def test_from_another_group(kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str) -> None:
    commit(kafka.bootstrap, f"{group}-other", {("orders", 2): (120, 0, "its")})
    line = [
        "reset-offsets",
        group,
        "-b",
        kafka.bootstrap,
        "--from-group",
        f"{group}-other",
        "--execute",
        "-q",
    ]
    assert kgroup(*line).status == 0
    assert committed(kafka.bootstrap, group) == BEFORE | {("orders", 2): (120, 0, "its")}


def test_to_before_records_that_were_handed_out_twice_is_refused_where_none_were(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str
) -> None:
    ended = kgroup("reset-offsets", group, "-b", kafka.bootstrap, "--to-before", "doubled-records")
    assert (ended.status, ended.err) == (
        1,
        f"kgroup: --to-before doubled-records: kgroup stuck finds no such thing on group '{group}'\n",
    )


def test_to_before_a_rewind(kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str) -> None:
    for offset in (210, 220, 230, 240, 100):
        commit(kafka.bootstrap, group, {("orders", 2): offset})
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "--to-before", "rewound", "--execute", "-q"]
    ended = kgroup(*line)
    assert ended.status == 0, ended.err
    assert committed(kafka.bootstrap, group) == BEFORE | {("orders", 2): (240, -1, "")}


def test_a_group_that_does_not_exist_is_made_only_if_asked_for_and_undone_to_nothing(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, undo_folder: Path
) -> None:
    line = ["reset-offsets", "brand-new", "-b", kafka.bootstrap, "--topic", "orders", "--to-earliest", "-q"]
    refused = kgroup(*line, "--execute")
    assert (refused.status, refused.err) == (
        1,
        "kgroup: no group 'brand-new' in this cluster; --create makes it\n",
    )
    assert not undo_folder.exists()
    assert kgroup(*line, "--execute", "--create").status == 0
    assert len(committed(kafka.bootstrap, "brand-new")) == 3
    [undo] = undo_folder.iterdir()
    assert kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute").status == 0
    assert "brand-new" not in {each["group"] for each in kafka.state()["groups"]}


def test_the_undo_of_an_undo_is_the_change(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.undo", tmp_path / "second.undo"
    line = ["reset-offsets", "-b", kafka.bootstrap, "--execute", "-q"]
    change = [group, "--topic", "orders", "--to-earliest"]
    assert kgroup(*line, *change, "--undo-file", str(first)).status == 0
    changed = committed(kafka.bootstrap, group)
    assert kgroup(*line, "--undo", str(first), "--undo-file", str(second)).status == 0
    assert committed(kafka.bootstrap, group) == BEFORE
    assert kgroup(*line, "--undo", str(second)).status == 0
    assert committed(kafka.bootstrap, group) == changed
    again = kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(second))
    assert again.err.splitlines() == [
        f"kgroup: {group}: is as it was before",
        "kgroup: nothing is to be done",
    ]


def test_undo_says_what_was_committed_since(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path
) -> None:
    path = tmp_path / "undo"
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "--topic", "orders:2", "--to-earliest", "-q"]
    assert kgroup(*line, "--execute", "--undo-file", str(path)).status == 0
    commit(kafka.bootstrap, group, {("orders", 2): 5})
    [row] = rows_of(kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(path), "-o", "jsonl"))
    assert (row["old_offset"], row["new_offset"], row["notes"]) == (
        5,
        200,
        ["committed since by somebody else"],
    )


def test_undo_of_some_groups_leaves_the_others_which_may_be_active(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    path, groups = tmp_path / "undo", ["some-1", "some-2", "some-3"]
    for name in groups:
        commit(kafka.bootstrap, name, BEFORE)
    line = ["reset-offsets", "-b", kafka.bootstrap, "--execute", "-q"]
    change = [*groups, "--topic", "orders:2", "--to-earliest", "--undo-file", str(path)]
    assert kgroup(*line, *change).status == 0
    with member(kafka.bootstrap, "some-2"):
        refused = kgroup(*line, "--undo", str(path))
        assert refused.err.startswith("kgroup: group 'some-2' is Stable: 1 member is in it")
        assert kgroup(*line, "--undo", str(path), "some-3", "some-1").status == 0
    assert [committed(kafka.bootstrap, name)["orders", 2][0] for name in groups][::2] == [200, 200]
    wrong = kgroup(*line, "--undo", str(path), "nosuch")
    assert (wrong.status, wrong.err) == (
        1,
        f"kgroup: {path}: has nothing of group 'nosuch'\n",
    )


def test_undo_leaves_a_topic_that_is_gone_and_restores_the_rest(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path
) -> None:
    """A topic's offsets go with it, and no broker takes new ones."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.create_topics([NewTopic("passing", 1, 1)])
    commit(kafka.bootstrap, group, {("passing", 0): 0})
    path = tmp_path / "undo"
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "--topic", "passing", "--topic", "orders:2"]
    assert kgroup(*line, "--to-earliest", "-q", "--execute", "--undo-file", str(path)).status == 0
    admin.delete_topics(["passing"])
    admin.close()
    undone = kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(path), "--execute")
    assert undone.status == 0, undone.err
    why = f"kgroup: {group}: passing-0: there is no such partition any more: left as it is"
    assert undone.err.splitlines()[0] == why
    assert committed(kafka.bootstrap, group) == BEFORE
    again = kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(path), "--execute")
    assert (again.status, again.err.splitlines()) == (0, [why, "kgroup: nothing is to be done"])


def test_an_undo_file_is_private_and_never_overwritten(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, undo_folder: Path, tmp_path: Path
) -> None:
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "--topic", "orders:2", "--execute"]
    ended = kgroup(*line, "--to-earliest")
    [path] = undo_folder.iterdir()
    assert f"kgroup: undo file: {path}\n" in ended.err
    assert (path.stat().st_mode & 0o777, undo_folder.stat().st_mode & 0o777) == (0o600, 0o700)
    own = tmp_path / "own.undo"
    own.write_text("mine")
    refused = kgroup(*line, "--to-latest", "--undo-file", str(own))
    assert refused.status == 1
    assert refused.err.endswith(
        f"kgroup: {own}: there is such a file already, and an undo file is never overwritten\n"
    )
    assert (own.read_text(), committed(kafka.bootstrap, group)["orders", 2][0]) == ("mine", 0)


def test_without_a_place_for_the_undo_file_nothing_is_changed(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path
) -> None:
    line = [
        "reset-offsets",
        group,
        "-b",
        kafka.bootstrap,
        "--topic",
        "orders:2",
        "--to-earliest",
        "--execute",
    ]
    ended = kgroup(*line, "-q", "--undo-file", str(tmp_path / "gone" / "undo"))
    assert ended.status == 1
    assert "no undo file, so nothing is changed: No such file or directory" in ended.err
    assert committed(kafka.bootstrap, group) == BEFORE


def test_an_active_group_is_refused_and_its_members_are_named(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, undo_folder: Path
) -> None:
    with member(kafka.bootstrap, "active"):
        ended = kgroup(
            *(
                "reset-offsets",
                "active",
                "-b",
                kafka.bootstrap,
                "--topic",
                "orders",
                "--to-earliest",
                "--execute",
            )
        )
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "kgroup: group 'active' is Stable: 1 member is in it (c1 at /127.0.0.1); stop its members first\n"
    )
    assert not undo_folder.exists()


def test_an_undo_file_of_another_cluster_is_refused(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, tmp_path: Path
) -> None:
    path = tmp_path / "undo"
    line = ["reset-offsets", group, "-b", kafka.bootstrap, "--topic", "orders:2", "--to-earliest", "-q"]
    assert kgroup(*line, "--execute", "--undo-file", str(path)).status == 0
    with cluster(topics={"orders": 3}) as other:
        ended = kgroup("reset-offsets", "-b", other.bootstrap, "--undo", str(path), "--execute")
    assert ended.status == 1
    assert f"kgroup: {path}: made on cluster " in ended.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ["nosuch", "--topic", "orders", "--to-earliest"],
            "no group 'nosuch' in this cluster; --create makes it",
        ),
        (
            ["{group}", "--topic", "ordrs", "--to-earliest"],
            "no topic 'ordrs' in this cluster; did you mean orders?",
        ),
        (["{group}", "--topic", "orders:9", "--to-earliest"], "orders has no partition 9, but 0 to 2"),
        (
            ["{group}", "--topic", "orders:2", "--to-offset", "301"],
            "out of range: orders-2 has 0 to 300, not 301; --clamp takes the nearest offset there is",
        ),
        (
            ["{group}", "--topic", "orders", "--shift-by", "-1"],
            "--shift-by: group '{group}' has no offset to shift for orders-1",
        ),
        (
            ["{group}", "--from-group", "nosuch"],
            "--from-group nosuch: this group has no offsets, or there is none of this name",
        ),
    ],
)
def test_what_is_refused(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, group: str, options: list[str], why: str
) -> None:
    words = [word.replace("{group}", group) for word in options]
    ended = kgroup("reset-offsets", "-b", kafka.bootstrap, *words, "--execute")
    assert (ended.status, ended.out, ended.err) == (1, "", f"kgroup: {why.replace('{group}', group)}\n")
    assert committed(kafka.bootstrap, group) == BEFORE


def test_an_interrupt_in_the_middle_names_the_way_back(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(each_group, "AT_ONCE", 1)
    groups = ["halt-1", "halt-2", "halt-3"]
    for name in groups:
        commit(kafka.bootstrap, name, BEFORE)

    def interrupted_in_second(cluster: Any, group: str, positions: Any) -> Any:
        if group == "halt-2":
            raise KeyboardInterrupt
        return commit_offsets(cluster, group, positions)

    line = ["reset-offsets", *groups, "-b", kafka.bootstrap, "--topic", "orders:2", "--to-earliest", "-q"]
    undo = tmp_path / "undo"
    with monkeypatch.context() as patched:
        patched.setattr(execute, "commit_offsets", interrupted_in_second)
        ended = kgroup(*line, "--execute", "--undo-file", str(undo))
    way_back = f"kgroup reset-offsets -b {kafka.bootstrap} --undo {undo}"
    assert (ended.status, ended.out) == (130, "")
    assert ended.err.splitlines() == [
        f"kgroup: undo file: {undo}",
        f"kgroup: interrupted; what was done is undone by: {way_back}",
    ]
    assert [committed(kafka.bootstrap, name)["orders", 2][0] for name in groups] == [0, 200, 200]
    assert kgroup(*way_back.split()[1:], "--execute").status == 0
    assert [committed(kafka.bootstrap, name) for name in groups] == [BEFORE] * 3
