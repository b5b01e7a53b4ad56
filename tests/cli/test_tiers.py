"""Of a small log and of a large one a command says the same: rows, text, notes and how it ended."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kgroup
from tests.scan.test_parity import CAPTURES, DAMAGED
from tests.scan.tiers import kernels

QUESTIONS = (
    ("lag-report", "-o", "jsonl"),
    ("replay", "--group", "*", "-o", "jsonl"),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_kernels_as_python_answer_what_machine_code_does(question: tuple[str, ...], kgroup: Kgroup) -> None:
    command, *options = question
    answers = set()
    for folder in (*CAPTURES, *DAMAGED):
        capture = str(folder.relative_to(Path.cwd()))
        with kernels(compiled=True):
            compiled = kgroup(command, capture, *options)
        with kernels(compiled=False):
            assert kgroup(command, capture, *options) == compiled, capture
        answers.add(compiled.out)
    assert len(answers) > 5, answers  # they are not all empty
