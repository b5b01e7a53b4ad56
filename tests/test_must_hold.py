"""docs/must_hold.md names tests and scenarios; they have to be there."""

import re
import subprocess
import sys
from pathlib import Path

from kgroup.sim.scenario.file import shipped_names
from tests.must_hold.statements import statements

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "must_hold.md").read_text(encoding="utf-8")
STATEMENTS = statements()


def test_every_statement_has_a_test():
    assert len(STATEMENTS) > 70
    assert [each.text for each in STATEMENTS if not each.tests] == []


def test_every_test_named_there_exists():
    named = sorted({test for each in STATEMENTS for test in each.tests})
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *named],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert collected.returncode == 0, collected.stdout[-2000:] + collected.stderr[-2000:]


def test_every_scenario_named_there_comes_with_kgroup():
    named = {
        name
        for listed in re.findall(r"scenarios? ((?:`[a-z0-9-]+`(?:, )?)+)", PAGE)
        for name in re.findall(r"`([a-z0-9-]+)`", listed)
    }
    assert len(named) >= 8
    assert named <= set(shipped_names())
