"""Kafka's own answers: the same partitions in the same order, user data, errors and flaws."""

from pathlib import Path

import pytest

from tests.vectors.assignors import cases

VECTORS = Path(__file__).parents[2] / "fixtures" / "vectors" / "assignors"
FILES = [
    "client_named.jsonl",
    "client_random.jsonl.gz",
    "client_churn.jsonl.gz",
    "server_named.jsonl",
    "server_random.jsonl.gz",
    "server_churn.jsonl.gz",
    "perf_client.jsonl.gz",
    "perf_server.jsonl.gz",
]


@pytest.mark.parametrize("file", FILES)
def test_every_answer_is_the_one_that_kafka_gave(file):
    answered = list(cases(VECTORS / file))
    assert answered
    assert [case for case in answered if case.failure is not None] == []
