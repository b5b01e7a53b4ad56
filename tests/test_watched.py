"""Which tests are left out where `scripts/coverage.sh` runs too: those that it runs, and no others."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.watched import UNWATCHED, WATCHED, is_watched_in_full

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("place", WATCHED)
def test_a_watched_place_is_there(place):
    assert (ROOT / place).exists()


@pytest.mark.parametrize(
    ("test", "is_watched"),
    [
        ("tests/log/test_a.py::test_b", True),
        ("tests/log/files/test_a.py::test_b[tests/net]", True),
        ("tests/api/decode/test_a.py::test_b", True),
        ("tests/api/test_reenact.py::test_b", True),
        ("tests/api/test_reenacted.py::test_b", False),
        ("tests/api/test_a.py::test_b", False),
        ("tests/net/test_a.py::test_b[tests/log/x]", False),
        ("tests/logs/test_a.py::test_b", False),
        ("tests/sim/test_swarm.py::test_no_seed_breaks_a_promise[classic-0]", False),
        ("tests/sim/watch/test_swarm.py::test_b", True),
        ("tests/log/test_a.py::test_b[gzip-bomb]", False),
        (f"tests/api/test_reenact.py::{UNWATCHED[-1]}[4.3.1]", False),
    ],
)
def test_what_is_watched_in_full(test, is_watched):
    assert is_watched_in_full(test) is is_watched


def test_the_script_takes_the_same_places_and_leaves_the_same_names_out():
    script = (ROOT / "scripts" / "coverage.sh").read_text(encoding="utf-8")
    assert '-k "$(python -m tests.watched --but)" $(python -m tests.watched)' in script

    def printed(*options):
        command = [sys.executable, "-m", "tests.watched", *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    assert printed().split() == list(WATCHED)
    assert printed("--but") == f"not ({' or '.join(UNWATCHED)})"


@pytest.mark.parametrize("name", UNWATCHED)
def test_a_name_that_is_left_out_is_one(name):
    files = [file for place in WATCHED for file in sorted((ROOT / place).rglob("test_*.py"))]
    files += [ROOT / place for place in WATCHED if place.endswith(".py")]
    assert len(files) > 100
    if name.startswith("test_"):
        assert sum(f"def {name}(" in file.read_text(encoding="utf-8") for file in files) == 1
    else:
        assert any((folder / name).is_dir() for folder in (ROOT / "fixtures").iterdir())


def test_only_these_are_left_out():
    places = ["tests/sim/test_swarm.py", "tests/wire", "tests/test_watched.py"]

    def collected(*options):
        listed = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *options]
        lines = subprocess.run(
            [*listed, *places], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        return dict(line.split(": ") for line in lines.splitlines() if line)

    everything = collected()
    assert set(everything) > {"tests/sim/test_swarm.py", "tests/test_watched.py"}
    assert collected("--without-watched") == {
        file: count for file, count in everything.items() if not is_watched_in_full(f"{file}::test")
    }
