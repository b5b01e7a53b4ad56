"""Several clusters in one Spark job: what the local scan says, byte for byte; a bad one hides no other."""

from pathlib import Path

import pytest

from kgroup.api.lag import there
from kgroup.cli.shell.app import main

FIXTURES = Path(__file__).parents[2] / "fixtures"
CLUSTERS = {"new": FIXTURES / "4.3.1/lives", "gone": FIXTURES / "nowhere", "old": FIXTURES / "2.4.1/lives"}
OF_ALL = [text for name, path in CLUSTERS.items() for text in ("--cluster-path", f"{name}={path}")]
NOW = ("--now", "2026-11-20T13:00Z")

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("shared_session")]


def report(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *OF_ALL, *arguments])
    written = capsys.readouterr()
    assert ended.value.code == status, written.err
    return written.out, written.err


@pytest.mark.parametrize(
    "asked", [("--status", *NOW), ("--stuck", *NOW), ("--windows", "30s")], ids=lambda asked: asked[0]
)
@pytest.mark.parametrize("by", ["driver", "executors"])
def test_rows_are_those_of_the_local_scan(
    asked: tuple[str, ...], by: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "executors":  # as of a log that is worth it
        monkeypatch.setattr(there, "WORTH_BYTES", 0)
    local = report(capsys, *asked, "-o", "jsonl", "--strict", status=3)
    assert '"cluster": "new"' in local[0]
    assert '"cluster": "old"' in local[0]
    assert f"kgroup: cluster gone: {CLUSTERS['gone']}: No such file" in local[1]
    assert report(capsys, *asked, "-o", "jsonl", "--strict", "--spark", status=3) == local


@pytest.mark.parametrize("by", ["driver", "executors"])
def test_a_table_of_the_catalog_has_all_clusters(
    by: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if by == "executors":
        monkeypatch.setattr(there, "WORTH_BYTES", 0)
    saved = {}

    def save(session: object, name: str, batches, columns) -> int:
        saved[name] = [row for batch in batches for row in batch.to_pylist()]
        return len(saved[name])

    monkeypatch.setattr("kgroup.cli.lag.fleet.save_batches", save)
    monkeypatch.setattr("kgroup.spark.tables.check_table", lambda *_: None)
    rows = report(capsys, "-o", "jsonl")[0].count("\n")
    findings = report(capsys, "--stuck", *NOW, "-o", "jsonl")[0].count("\n")
    _, said = report(capsys, "--stuck", *NOW, "--spark", "--save-as", "lag")
    assert {row["cluster"] for row in saved["lag"]} == {"new", "old"}
    assert (len(saved["lag"]), len(saved["lag_findings"])) == (rows, findings)
    assert f"kgroup: table lag: {rows} rows" in said
    assert f"kgroup: table lag_findings: {findings} rows" in said
