"""Plays a mutant: its tests in a process of their own, until one fails or the time is up."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.mutants.mutant import ROOT, Mutant

KERNELS: Final = "kgroup.scan.kernels."
_ALL_PASSED, _SOME_FAILED, _INTERRUPTED = 0, 1, 2


class Fate(StrEnum):
    """What became of a mutant. One that hangs is noticed, too."""

    KILLED = "killed"
    HUNG = "hung"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """`by` is the id of the test that noticed."""

    mutant: Mutant
    fate: Fate
    by: str
    seconds: float


class PlayError(Exception):
    """The tests could not be run, or fail without any mutant."""


def play(mutant: Mutant, limit_s: float) -> Played:
    """Run the mutant's tests. Raises PlayError if pytest could not."""
    fate, by, seconds = _run(mutant.module, mutant.source(), mutant.tests, limit_s)
    return Played(mutant=mutant, fate=fate, by=by, seconds=seconds)


def healthy_seconds(tests: tuple[str, ...], limit_s: float) -> float:
    """How long these tests take without a mutant. Raises PlayError if they do not pass."""
    init = "kgroup/errors.py"
    fate, by, seconds = _run("kgroup.errors", (ROOT / init).read_text(), tests, limit_s)
    if fate is not Fate.SURVIVED:
        raise PlayError(f"{' '.join(tests)}: {fate} without any mutant, by {by or 'its length'}")
    return seconds


def _run(module: str, source: str, tests: tuple[str, ...], limit_s: float) -> tuple[Fate, str, float]:
    with tempfile.TemporaryDirectory(prefix="kgroup-mutant-") as name:
        folder = Path(name)
        (folder / "source.py").write_text(source)
        answer = folder / "answer"
        variables = dict(os.environ, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", TMPDIR=name)
        variables["HYPOTHESIS_PROFILE"] = "mutants"
        if module.startswith(KERNELS):
            # Machine code is kept by the sources on disk, which a planted bug does not change.
            variables["NUMBA_CACHE_DIR"] = str(folder / "numba")
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.played", module, folder / "source.py", answer, *tests],
            cwd=ROOT,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return Fate.HUNG, "", time.monotonic() - begun
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.monotonic() - begun
        by = answer.read_text() if answer.exists() else ""
        if process.returncode == _ALL_PASSED:
            return Fate.SURVIVED, "", seconds
        if by or process.returncode in (_SOME_FAILED, _INTERRUPTED) or process.returncode < 0:
            return Fate.KILLED, by or "a process that broke down", seconds
        raise PlayError(f"pytest ended with {process.returncode}: {output.decode(errors='replace')[-2000:]}")
