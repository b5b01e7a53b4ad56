"""The seed that finds each planted bug.

`python -m tests.sim.planted [--seeds 500] [--first 0] [--only NAME] [FILE.toml ...]`. An exception out of the
code counts as found. Status 1 if fewer than two thirds of them are.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.sim.planted.place import HERE, ROOT, Bug, plant, read_bugs


def play(bug: Bug, first: int, seeds: int) -> dict[str, object]:
    """Plant it and play, in this process."""
    plant(bug)
    import gc

    from kgroup.sim.swarm import Swarm, run_seed

    gc.set_threshold(50_000, 10, 10)
    for seed in range(first, first + seeds):
        try:
            run = run_seed(seed, Swarm(bug.swarm))
        except Exception as error:
            return {"seed": seed, "checker": "exception", "what": repr(error)[:200]}
        if run.violations:
            violation = run.violations[0]
            return {"seed": seed, "checker": violation.checker, "what": violation.what[:200]}
    return {"seed": None, "checker": "-", "what": "not found"}


def play_apart(bug: Bug, path: Path, first: int, seeds: int) -> dict[str, object]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "tests.sim.planted", str(path), "--play", bug.name]
    command += ["--first", str(first), "--seeds", str(seeds)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        return {"seed": first, "checker": "does not start", "what": ended.stderr.strip()[-200:]}
    outcome: dict[str, object] = json.loads(ended.stdout)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.planted", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    given = parser.parse_args()
    paths = given.files or sorted(HERE.glob("*.toml"))
    bugs = [(path, bug) for path in paths for bug in read_bugs(path)]
    if given.play:
        [bug] = [bug for _, bug in bugs if bug.name == given.play]
        print(json.dumps(play(bug, given.first, given.seeds)))
        return 0
    found = 0
    bugs = [each for each in bugs if given.only in (None, each[1].name)]
    for path, bug in bugs:
        outcome = play_apart(bug, path, given.first, given.seeds)
        found += outcome["seed"] is not None
        seed = "-" if outcome["seed"] is None else outcome["seed"]
        print(f"{bug.name:<50} seed {seed:>4}  {outcome['checker']:<18} {outcome['what']}", flush=True)
    print(f"{found} of {len(bugs)} found within {given.seeds} seeds")
    return 0 if found * 3 >= len(bugs) * 2 else 1


if __name__ == "__main__":
    sys.exit(main())
