"""Every benchmark once, as small as it goes: `python -m benchmarks.smallest`, to see that each still runs.

Figures mean nothing, as several run side by side, and are not shown. Fails with the first that fails, and
says what it printed.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final

_LOG: Final = "LOG"
_OUT: Final = "OUT"
CALLS: Final = {
    "make_log": ("--size", "1MB", "--out", _LOG),
    "all": ("--size", "1MB", "--print"),
    "windows": ("--size", "100KB", "--length", "1d"),
    "causes_twins": ("--seeds", "1"),
    "data_sources": (_LOG, "--rounds", "1"),
    "deadlines_backtest": ("--only", "real"),
    "groups": ("--groups", "100", "--rounds", "1"),
    "ledger_simulated": ("--seeds", "1"),
    "many_groups": ("--groups", "100", _OUT),
    "newest": (_LOG,),
    "own_logs": ("--size", "1MB", "--groups", "100", "--rounds", "1"),
    "process": (sys.executable, "-c", "pass"),
    "record": ("--rates", "100", "--seconds", "1"),
    "serve_limits": ("--seconds", "1", "--connections", "50"),
    "spark_growth": ("--what", "groups", "--numbers", "100"),
    "stream": ("--batches", "1", "--groups", "10", "--new", "1"),
}
"""Arguments by benchmark, with LOG and OUT for folders; what `all` measures is not run again."""
_AT_ONCE: Final = 2


def main() -> None:
    """Run them, the longest first."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smallest", description=__doc__)
    parser.add_argument("--only", choices=CALLS, action="append", help="these, not all")
    wanted = parser.parse_args().only or CALLS
    with tempfile.TemporaryDirectory(prefix="kgroup-") as folder:
        places = {_LOG: f"{folder}/log", _OUT: f"{folder}/out"}
        commands = {name: [places.get(one, one) for one in arguments] for name, arguments in CALLS.items()}
        print(_run("make_log", commands.pop("make_log")), flush=True)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            running = [pool.submit(_run, name, commands[name]) for name in commands if name in wanted]
            for done in as_completed(running):
                if done.exception():
                    pool.shutdown(cancel_futures=True)
                print(done.result(), flush=True)


def _run(name: str, arguments: list[str]) -> str:
    """A line that says how long it took."""
    began = time.perf_counter()
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}benchmarks.{name} {' '.join(arguments)}: exit status {done.returncode}")
    return f"benchmarks.{name}: {time.perf_counter() - began:.0f} s"


if __name__ == "__main__":
    main()
