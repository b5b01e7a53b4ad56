"""What other lag tools said, in fixtures/vectors, and files that are not in that form."""

from pathlib import Path

import pytest

from tests.vectors import lag_status, time_lag
from tests.vectors.case import VectorError

VECTORS = Path(__file__).parents[2] / "fixtures" / "vectors"


def test_every_status_equals_burrows():
    cases = list(lag_status.cases(VECTORS / "lag_status.jsonl"))
    assert len(cases) == 344
    assert [case for case in cases if case.failure] == []


def test_every_time_lag_equals_kafka_lag_exporters():
    cases = list(time_lag.cases(VECTORS / "time_lag.jsonl"))
    assert len(cases) == 69
    assert [case for case in cases if case.failure] == []


def test_a_status_that_differs_is_a_failure_that_names_the_field(tmp_path):
    line = (VECTORS / "lag_status.jsonl").read_text(encoding="utf-8").splitlines()[0]
    other = tmp_path / "other.jsonl"
    other.write_text(line.replace('"total_lag":0', '"total_lag":7'))
    (case,) = lag_status.cases(other)
    assert case.failure == "total_lag is 0, Burrow says 7"


def test_a_time_that_differs_is_a_failure_that_names_the_step(tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(
        '{"id": "x", "table_size": 2, "steps": ['
        '{"op": "point", "offset": 1, "time": 10, "result": "Inserted"},'
        '{"op": "lookup", "offset": 1, "result": "Prediction", "time": 10}]}'
    )
    (case,) = time_lag.cases(other)
    assert case.failure == "step 1: ('LagIsZero', None), kafka-lag-exporter says ('Prediction', 10.0)"


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"id": "x", "kind": "window", "in": {}, "expect": {}}',
        '{"id": "x", "kind": "window", "expect": {"status": "OK"}, "in": {"window": [null, {}], "heads": [],'
        ' "now_s": 1, "allowed_lag": 0, "minimum_complete": 0, "current_lag": 0}}',
        '{"id": "x", "table_size": 0, "steps": []}',
        '{"id": "x", "table_size": 2, "steps": [{"op": "guess", "result": "LagIsZero"}]}',
    ],
)
@pytest.mark.parametrize("cases", [lag_status.cases, time_lag.cases])
def test_a_line_of_another_form_is_refused(tmp_path, line, cases):
    other = tmp_path / "other.jsonl"
    other.write_text(line)
    with pytest.raises(VectorError, match=r"other\.jsonl:1"):
        list(cases(other))
