"""How the tests are spread over workers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_readme import PAGES, shown_commands
from tests.workers import SPARKS_OF_THEIR_OWN, order_of_work, unit_of_work, workers_for

ROOT = Path(__file__).parent.parent

EXAMPLE = "tests/test_readme.py::test_an_example_answers_what_the_page_shows[{0.page} line {0.line}]"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_go_together(page):
    units = {unit_of_work(EXAMPLE.format(shown)) for shown in shown_commands(page)}
    assert units <= {page.name}


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/log/test_a.py::test_b", "tests/log/test_a.py"),
        ("tests/log/test_a.py::TestC::test_b[x::y]", "tests/log/test_a.py"),
        ("tests/log/test_a.py::test_b[pages.md line 4]", "tests/log/test_a.py"),
        ("tests/spark/sources/test_a.py::test_b", "tests/spark/"),
        ("tests/spark/test_stream_a.py::test_b", "tests/spark/ streams"),
        ("tests/spark/sources/test_stream.py::test_b", "tests/spark/ streams"),
        ("tests/spark/test_a.py::test_stream", "tests/spark/"),
        ("tests/spark/test_cluster.py::test_b", "tests/spark/test_cluster.py"),
        ("tests/test_readme.py::test_the_readme_is_a_page", "tests/test_readme.py"),
    ],
)
def test_the_tests_of_a_file_go_together_and_all_that_share_a_spark(test, unit):
    assert unit_of_work(test) == unit


def test_spark_is_begun_first_and_what_is_not_named_last():
    tests = [
        "tests/log/test_a.py::b",
        "tests/net/test_a.py::a",
        "tests/net/test_conformance.py::a",
        "tests/spark/test_job.py::a",
        "tests/spark/test_a.py::b",
    ]
    assert sorted(tests, key=order_of_work) == tests[::-1]


@pytest.mark.parametrize("file", SPARKS_OF_THEIR_OWN)
def test_a_spark_of_its_own_is_there(file):
    assert (ROOT / file).exists()


@pytest.mark.parametrize(
    ("processors", "memory_gb", "workers"), [(1, 64, 2), (2, 24, 3), (2, 8, 2), (4, 1, 2), (16, 64, 17)]
)
def test_there_is_a_worker_more_than_processors_if_memory_lasts(processors, memory_gb, workers):
    assert workers_for(processors, memory_gb << 30) == workers


def test_no_command_that_a_test_starts_knows_the_size_of_a_terminal():
    program = "import os; print(sorted({'COLUMNS', 'LINES'} & set(os.environ)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
