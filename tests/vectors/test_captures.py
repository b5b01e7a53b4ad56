"""Every capture in fixtures/ against what Kafka's own code reads in it."""

from pathlib import Path

import pytest

from tests.vectors import captures
from tests.vectors.case import VectorError

FIXTURES = Path(__file__).parents[2] / "fixtures"
FOLDERS = sorted(truth.parent for truth in FIXTURES.rglob("truth.jsonl"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(FIXTURES)))
def test_all_records_equal_the_truth_and_come_back_from_what_was_decoded(folder):
    cases = list(captures.cases(folder))
    assert cases
    assert [case for case in cases if case.failure] == []


def test_a_field_that_differs_is_a_failure_that_names_it():
    expected = {"value": {"members": [{"leader": "a", "error": "java wording"}]}}
    actual = {"value": {"members": [{"leader": "b", "error": "our wording"}]}, "note": "extra"}
    assert captures.difference(expected, actual) == "value.members[0].leader is 'b', not 'a'"


@pytest.mark.parametrize("actual", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": "2"}])
def test_a_field_too_few_too_many_or_of_another_type_is_a_failure(actual):
    assert captures.difference({"a": 1, "b": 2}, actual) is not None


def test_a_folder_without_truth_is_no_capture(tmp_path):
    with pytest.raises(VectorError):
        list(captures.cases(tmp_path))
