"""`python -m tests.kills [--rounds N] [--seed S] [--power|--no-power]`: kill a broker N times, look what is there.

By default half of the rounds lose unsynced bytes and names, too, against `--fsync`. Exit 1 with the seed and
the folder, which is kept, when something acknowledged is gone.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.kills.story import Story

_PER_FOLDER = 25


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how many kills")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; each folder has its own")
    parser.add_argument(
        "--power", action=argparse.BooleanOptionalAction, default=None, help="lose unsynced bytes"
    )
    options = parser.parse_args()
    left, seed = options.rounds, options.seed
    power = bool(options.power)
    while left > 0:
        rounds = min(left, _PER_FOLDER)
        folder = Path(tempfile.mkdtemp(prefix="kgroup-kills-"))
        story = Story(folder, seed, power=power)
        try:
            story.play(rounds)
        except AssertionError as error:
            print(f"seed {seed}, power {power}: {error}; the folder is kept: {folder}", file=sys.stderr)
            return 1
        print(f"seed {seed}, {'power lost' if power else 'killed'}: {story.figures}", flush=True)
        shutil.rmtree(folder)
        left, seed = left - rounds, seed + 1
        if options.power is None:
            power = not power
    return 0


if __name__ == "__main__":
    sys.exit(main())
