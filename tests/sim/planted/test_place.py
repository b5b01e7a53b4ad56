"""The planted bugs have their places, and one of them is found by the first seed."""

import json
import subprocess
import sys

import pytest

from tests.sim.planted.place import HERE, ROOT, Bug, read_bugs

BUGS = [bug for path in sorted(HERE.glob("*.toml")) for bug in read_bugs(path)]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_has_its_place_once(bug: Bug) -> None:
    planted = bug.planted((ROOT / bug.file).read_text())
    compile(planted, bug.file, "exec")


def test_names_are_distinct() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_a_planted_bug_is_found_and_the_source_stays() -> None:
    bug = next(bug for bug in BUGS if bug.name == "commits of an old generation")
    before = (ROOT / bug.file).read_bytes()
    command = [sys.executable, "-m", "tests.sim.planted", "--play", bug.name, "--seeds", "5"]
    outcome = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    assert outcome["checker"] == "answers-fit"
    assert (ROOT / bug.file).read_bytes() == before
