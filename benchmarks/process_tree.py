"""Memory held and CPU used by a process and all below it, as Linux counts them in /proc."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds, and peaks in MB of the command's own process, the JVM and the largest Python worker."""

    elapsed: float
    cpu: float
    driver_mb: int
    jvm_mb: int
    worker_mb: int


def run_python(*arguments: str) -> Run:
    """Run Python with these arguments, output thrown away, and look at all processes every now and then."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    cpu: dict[int, float] = {}
    peaks = (0, 0, 0)
    while process.poll() is None:
        cpu |= cpu_seconds(process.pid)
        driver, jvm, worker = peaks_mb(process.pid)
        peaks = max(peaks[0], driver), max(peaks[1], jvm), max(peaks[2], worker)
        time.sleep(_LOOK_SECONDS)
    if process.returncode:
        sys.exit(f"python {' '.join(arguments)}: exit status {process.returncode}")
    return Run(time.perf_counter() - began, sum(cpu.values()), *peaks)


def run_kgroup(*arguments: str) -> Run:
    """The same of a kgroup command."""
    return run_python("-m", "kgroup", *arguments)


def peaks_mb(root: int) -> tuple[int, int, int]:
    """Peak resident sets in MB: of a process, the JVM below it, and the largest of the others there."""
    here, jvm, worker = 0, 0, 0
    for process in processes_below(root, stat_fields()):
        try:
            status = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        match = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
        peak = int(match[1]) // 1000 if match else 0
        if process == root:
            here = peak
        elif status.startswith("Name:\tjava"):
            jvm = max(jvm, peak)
        else:
            worker = max(worker, peak)
    return here, jvm, worker


def cpu_seconds(root: int) -> dict[int, float]:
    """The CPU seconds by process, those that have ended left out."""
    fields = stat_fields()
    used = {process: map(int, fields[process][11:13]) for process in processes_below(root, fields)}
    return {process: sum(ticks) / TICKS_PER_SECOND for process, ticks in used.items()}


def processes_below(root: int, fields: dict[int, list[str]]) -> Iterator[int]:
    """The process itself and all below it."""
    parents = {process: int(stat[1]) for process, stat in fields.items()}
    for process in parents:
        above: int | None = process
        while above is not None and above != root:
            above = parents.get(above)
        if above is not None:
            yield process


def stat_fields() -> dict[int, list[str]]:
    """The fields by process: state, parent and so on; 11 to 14 are user and system time, also of children."""
    fields = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        fields[int(folder.name)] = line.rpartition(")")[2].split()
    return fields
