"""The conformance scenarios, played against a node and compared with what Kafka 4.3.1 answered."""

import subprocess
import sys
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.broker.settings import read_properties

CONFORMANCE = Path(__file__).parents[2] / "fixtures" / "conformance"


def conformance(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CONFORMANCE / "conformance.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kept", [pytest.param(False, id="in-memory"), pytest.param(True, id="data-dir")])
@pytest.mark.parametrize(("profile", "scenarios"), [("default", 325), ("delay", 3), ("consumer", 43)])
def test_every_scenario_is_answered_as_kafka_4_3_1_does(
    profile: str, scenarios: int, kept: bool, tmp_path: Path
) -> None:
    properties_file = CONFORMANCE / "profiles" / f"{profile}.properties"
    properties = read_properties(properties_file.read_text(), properties_file.name)
    result = tmp_path / "result.jsonl"
    with kgroup.testing.cluster(properties=properties, data_dir=tmp_path / "data" if kept else None) as kafka:
        where = ("--bootstrap", kafka.bootstrap, "--scenarios", CONFORMANCE / "scenarios")
        played = conformance("run", "--profile", profile, "--jobs", 16, *where, "--out", result)
        assert played.returncode == 0, played.stderr
    golden = CONFORMANCE / "golden" / "4.3.1.jsonl"
    compared = conformance("compare", golden, result, "--profile", profile)
    lines = compared.stdout.splitlines()
    assert [line for line in lines if line.startswith("FAIL")] == []
    assert lines[-1] == f"{scenarios} passed, 0 failed"
