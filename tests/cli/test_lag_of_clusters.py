"""`lag-report --cluster-path`: rows are those of each cluster's own report, and a bad one hides no other."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgroup.cli.shell.app import main

FIXTURES = Path(__file__).parents[2] / "fixtures"
CLUSTERS = {"new": FIXTURES / "4.3.1/lives", "old": FIXTURES / "2.4.1/lives"}
OF_ALL = [text for name, path in CLUSTERS.items() for text in ("--cluster-path", f"{name}={path}")]
NOW = ("--now", "2026-11-20T13:00Z")


def report(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments])
    written = capsys.readouterr()
    assert ended.value.code == status, written.err
    return written.out, written.err.splitlines()


QUESTIONS = pytest.mark.parametrize(
    "asked",
    [
        (),
        ("--status", *NOW),
        ("--stuck", *NOW),
        ("--time-lag", "exact", *NOW),
        ("--windows", "30s"),
        ("--by", "group"),
    ],
    ids=lambda asked: asked[0] if asked else "rows",
)


@QUESTIONS
def test_rows_are_those_of_each_cluster_with_its_name_in_front(
    asked: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    expected, said = [], []
    for name, path in CLUSTERS.items():
        rows, lines = report(capsys, str(path), *asked, "-o", "jsonl")
        expected += [{"cluster": name, **json.loads(line)} for line in rows.splitlines()]
        said += [line.replace("kgroup: ", f"kgroup: cluster {name}: ", 1) for line in lines]
    rows, lines = report(capsys, *OF_ALL, *asked, "-o", "jsonl")
    assert len({row["cluster"] for row in expected}) == 2
    assert [json.loads(line) for line in rows.splitlines()] == expected
    assert [list(json.loads(line)) for line in rows.splitlines()] == [list(row) for row in expected]
    assert lines == said

    csv = []
    for name, path in CLUSTERS.items():
        header, *lines = report(capsys, str(path), *asked, "-o", "csv")[0].splitlines()
        csv += [f"{name},{line}" for line in lines]
    assert report(capsys, *OF_ALL, *asked, "-o", "csv")[0].splitlines() == [f"cluster,{header}", *csv]

    tables = []
    for name, path in CLUSTERS.items():
        report(capsys, str(path), *asked, "-o", "parquet", "--output", str(tmp_path / "one"))
        table = pq.read_table(tmp_path / "one")
        tables.append(table.add_column(0, "cluster", pa.array([name] * len(table), pa.string())))
    report(capsys, *OF_ALL, *asked, "-o", "parquet", "--output", str(tmp_path / "all"))
    assert pq.read_table(tmp_path / "all").equals(pa.concat_tables(tables))


@QUESTIONS
def test_a_table_to_read_has_the_cluster_first(
    asked: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # so that each row is a line
    lines = report(capsys, *OF_ALL, *asked)[0].splitlines()
    counts = [len(report(capsys, str(path), *asked)[0].splitlines()) - 1 for path in CLUSTERS.values()]
    assert lines[0].startswith("CLUSTER")
    assert [sum(line.startswith(name) for line in lines[1:]) for name in CLUSTERS] == counts


def test_a_cluster_that_cannot_be_read_has_one_line_and_the_others_their_rows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole, said = report(capsys, *OF_ALL, "-o", "jsonl")
    gone = ("--cluster-path", f"gone={tmp_path / 'gone'}")
    rows, lines = report(capsys, *gone, *OF_ALL, "-o", "jsonl")
    assert rows == whole
    assert lines == [f"kgroup: cluster gone: {tmp_path / 'gone'}: No such file or directory", *said]
    rows, lines = report(capsys, *gone, *OF_ALL, "-o", "jsonl", "--strict", status=3)
    assert rows == whole
    report(capsys, *OF_ALL, "-o", "jsonl", "--strict")
    rows, lines = report(capsys, *gone, "--cluster-path", f"too={tmp_path / 'too'}", status=1)
    assert rows == ""
    assert lines[-1] == "kgroup: no cluster could be read"
    assert len(lines) == 3


def test_damage_in_one_cluster_is_named_with_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(CLUSTERS["old"], copied)
    largest = max(copied.glob("**/__consumer_offsets-*/*.log"), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    largest.write_bytes(content)
    given = ("--cluster-path", f"bad={copied}", *OF_ALL, "-o", "jsonl")
    rows, lines = report(capsys, *given, "--strict", status=3)
    assert [line for line in lines if largest.name in line and "cluster bad: " in line]
    assert not [line for line in lines if largest.name in line and "cluster bad: " not in line]
    good = [line for line in rows.splitlines() if json.loads(line)["cluster"] != "bad"]
    assert good == report(capsys, *OF_ALL, "-o", "jsonl")[0].splitlines()


def test_a_group_may_be_in_one_cluster_only(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {
        name: {json.loads(line)["group"] for line in report(capsys, str(path), "-o", "jsonl")[0].splitlines()}
        for name, path in CLUSTERS.items()
    }
    of_new = min(groups["new"] - groups["old"])
    rows, lines = report(capsys, *OF_ALL, "--group", of_new, "-o", "jsonl", "--strict")
    assert {json.loads(line)["cluster"] for line in rows.splitlines()} == {"new"}
    assert [line for line in lines if line.startswith(f"kgroup: cluster old: no group here matches {of_new}")]
    assert report(capsys, *OF_ALL, "--group", of_new, "--quiet", "-o", "jsonl") == (rows, [])
    _, lines = report(capsys, *OF_ALL, "--group", "nobody", status=1)
    assert lines[-1] == "kgroup: no cluster has a match"


def test_fail_on_says_in_which_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = report(capsys, *OF_ALL, "--fail-on", "lag=200", "-o", "jsonl", status=3)
    assert lines[-1].startswith("kgroup: cluster new: lag=200: ")
    assert "; cluster old: lag=200: " in lines[-1]


def test_a_cluster_may_have_several_paths(capsys: pytest.CaptureFixture[str]) -> None:
    folders = sorted(CLUSTERS["new"].glob("__consumer_offsets-*"))
    assert len(folders) > 1
    given = [text for path in folders for text in ("--cluster-path", f"new={path}")]
    rows, _ = report(capsys, *given, "-o", "jsonl")
    alone, _ = report(capsys, *map(str, folders), "-o", "jsonl")
    assert [json.loads(line) for line in rows.splitlines()] == [
        {"cluster": "new", **json.loads(line)} for line in alone.splitlines()
    ]
