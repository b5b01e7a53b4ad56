"""`python -m tests.kills [--rounds N] [--seed S]`: kill a broker N times and look for what is missing.

Rounds come in series of 20 deaths on one folder: the process is killed; power is lost with --fsync; power
is lost without it (then nothing may be invented, and the broker has to start). Prints each wrong with its
seed and last `N passed, N failed`; exit 1 if any failed. `--mode` plays one of the three, `--keep` keeps a
failing folder.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.kills.rounds import deaths

SERIES = 20
MODES = {"process": (False, False), "power": (True, True), "power-unsynced": (True, False)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args(arguments)
    passed = failed = acknowledged = warned = 0
    modes = options.mode or list(MODES)
    for series in range(-(-options.rounds // SERIES)):
        mode, seed = modes[series % len(modes)], options.seed + series
        power, fsync = MODES[mode]
        folder = Path(tempfile.mkdtemp(prefix="kills-"))
        count = min(SERIES, options.rounds - series * SERIES)
        last = 0
        is_wrong = False
        for death in deaths(folder, seed=seed, count=count, power=power, fsync=fsync):
            last = death.acknowledged
            warned += len(death.warnings)
            if death.wrongs:
                failed += 1
                is_wrong = True
                print(f"FAIL mode {mode} seed {seed} death {death.number}: {'; '.join(death.wrongs[:5])}")
            else:
                passed += 1
        acknowledged += last
        if not (options.keep and is_wrong):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept {folder}")
    print(f"{acknowledged} acknowledged pieces of work, {warned} warnings")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
