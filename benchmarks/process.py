"""Cost of a whole process, from its start to its end: `python -m benchmarks.process COMMAND...`.

On Linux the peak memory of a child counts that of the process that started it, so a small one, this, is
put between.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU is that of all threads."""

    cpu_seconds: float
    elapsed_seconds: float
    peak_mb: int


def cost(command: Sequence[str]) -> Cost:
    """Run the command with its output thrown away. Raises CalledProcessError if it fails."""
    measuring = [sys.executable, "-m", "benchmarks.process", *command]
    answer = subprocess.run(measuring, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(answer.stdout))


def cost_of_kgroup(*arguments: str) -> Cost:
    """The cost of a kgroup command."""
    return cost([sys.executable, "-m", "kgroup", *arguments])


def main() -> None:
    """Run the command and print its cost as JSON."""
    began = time.perf_counter()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(sys.argv[1:])}: exit status {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    spent = Cost(
        cpu_seconds=used.ru_utime + used.ru_stime,
        elapsed_seconds=elapsed,
        peak_mb=used.ru_maxrss * unit // 10**6,
    )
    print(json.dumps(asdict(spent)))


if __name__ == "__main__":
    main()
