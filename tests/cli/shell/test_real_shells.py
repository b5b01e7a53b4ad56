"""Completion as a user has it: a line typed into bash, zsh and fish at a terminal, with TAB at its end."""

import shutil
from pathlib import Path

import pytest

from tests.cli.shell.typed import completed

LOG = "fixtures/3.9.1/lives"
LINES = [
    ("simul", "simulate"),
    ("lag-report --only-l", "lag-report --only-lagging"),
    ("lag-report -o js", "lag-report -o json"),  # and jsonl: what both begin with
    ("decode --type group-met", "decode --type group-metadata"),
    ("lag-report --fail-on poi", "lag-report --fail-on poison-record"),
    ("simulate gc-p", "simulate gc-pause"),
    (f"replay {LOG} --group warehouse", f"replay {LOG} --group warehouse-stuck"),
    (f"lag {LOG} --topic pay", f"lag {LOG} --topic payments"),
]


@pytest.mark.parametrize(("line", "words"), LINES)
@pytest.mark.parametrize(
    "shell",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                shutil.which(name) is None, reason=f"no {name} on the PATH (apt-get install {name})"
            ),
        )
        for name in ("bash", "zsh", "fish")
    ],
)
def test_tab_completes_what_was_begun(shell: str, line: str, words: str, tmp_path: Path) -> None:
    assert completed(shell, line, tmp_path) == words
