"""`python -m tests.fuzz decoders|wire --inputs N --seed S`: play drawn inputs; exit status 1 on a failure.

A failure is printed with its target, seed and number; `T --seed S --number N` plays it alone, and
`--keep FOLDER` writes what failed there, to be put below `corpus/`.
"""

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.fuzz import wire
from tests.fuzz.targets import TARGETS, Target, shares

LIMIT_S = 20
FIRST_LIMIT_S = 300  # of each target: kernels are compiled in it
MEMORY_LIMIT_MIB = 2048
_SHOWN_MAX = 20


class TooSlowError(Exception):
    """One input took longer than the limit."""


def main() -> int:
    """Play them, and print what became of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("what", choices=["decoders", "wire", *TARGETS], help="one target, all, or frames")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="play this one alone")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that fail")
    asked = parser.parse_args()
    if asked.what == "wire":
        totals = wire.play(asked.inputs, asked.seed)
        print(", ".join(f"{name} {number}" for name, number in totals.items()))
        return 0
    names = list(TARGETS) if asked.what == "decoders" else [asked.what]
    signal.signal(signal.SIGALRM, _too_slow)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began, failures, played = time.monotonic(), Counter[str](), Counter[str]()
    with suppress(KeyboardInterrupt):  # what was played until then counts
        for name, count in shares(names, asked.inputs).items():
            for number in range(count) if asked.number is None else [asked.number]:
                quiet = failures.total() > _SHOWN_MAX
                failures[name] += not _played(name, asked.seed, number, asked.keep, quiet=quiet)
                played[name] += 1
    for name in names:
        print(f"{name:<16} {played[name]:>9} inputs  {failures[name]:>4} failures")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    total, failed = played.total(), failures.total()
    seconds = time.monotonic() - began
    print(f"{total} inputs, seed {asked.seed}: {failed} failures; {seconds:.0f} s, {peak_mib} MiB at most")
    return 1 if failed or peak_mib > MEMORY_LIMIT_MIB else 0


def _played(name: str, seed: int, number: int, keep: Path | None, *, quiet: bool) -> bool:
    signal.alarm(LIMIT_S if number else FIRST_LIMIT_S)
    try:
        TARGETS[name](random.Random(f"{name} {seed} {number}"))
    except Exception:
        if not quiet:
            print(f"{name} --seed {seed} --number {number} fails:")
            traceback.print_exc(limit=-3, file=sys.stdout)
        target = TARGETS[name]
        if keep is not None and isinstance(target, Target):
            folder = keep / name
            folder.mkdir(parents=True, exist_ok=True)
            drawn = target.draw(random.Random(f"{name} {seed} {number}"))
            (folder / f"{seed}-{number}").write_bytes(drawn)
        return False
    finally:
        signal.alarm(0)
    return True


def _too_slow(*_: object) -> None:
    raise TooSlowError(f"more than {LIMIT_S} s")


sys.exit(main())
