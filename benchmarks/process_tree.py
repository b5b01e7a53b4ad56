"""Memory held and CPU used by a process and all below it, as Linux counts them in /proc."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


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
