"""History on Spark beside the local one: `python -m benchmarks.windows [DIR...] [--length 15m]`.

Whole commands, into one Parquet file each, and whether both wrote the same. `python -m benchmarks.make_log
--data-logs` makes a DIR that has log ends of the past, without which nothing is judged. Give a small and a
large one to see whose memory grows: that of the driver should not.
"""

import argparse
import tempfile
from pathlib import Path

from pyarrow import parquet

from benchmarks.make_log import Options, make_log, parse_size
from benchmarks.process_tree import run_kgroup


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.windows",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("logs", metavar="DIR", nargs="*")
    parser.add_argument("--size", type=parse_size, default=parse_size("25MB"), help="of one made without DIR")
    parser.add_argument("--length", default="15m", help="of a window")
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgroup-") as folder:
        if not given.logs:
            given.logs = [str(Path(folder, "log"))]
            make_log(Options(out=Path(folder, "log"), size=given.size, data_logs=True))
        for log in given.logs:
            print(_line(log, given.length, given.cores, Path(folder)), flush=True)


def _line(log: str, length: str, cores: int, folder: Path) -> str:
    here, there = folder / "here.parquet", folder / "there.parquet"
    command = ["lag-report", "-q", log, "--windows", length, "-o", "parquet", "--output"]
    local = run_kgroup(*command, str(here))
    spark = run_kgroup(*command, str(there), "--spark", "--master", f"local[{cores}]")
    rows = parquet.read_table(here)
    same = "the same rows" if parquet.read_table(there).equals(rows) else "OTHER ROWS"
    return (
        f"{log}: {rows.num_rows / 1e6:.2f} M rows; local {local.cpu:.1f} s CPU, {local.driver_mb} MB;"
        f" Spark on {cores}: {same}, {spark.cpu:.1f} s CPU, {spark.cpu / local.cpu:.1f} times local's,"
        f" {spark.elapsed:.0f} s; peak MB: driver {spark.driver_mb}, JVM {spark.jvm_mb},"
        f" worker {spark.worker_mb}"
    )


if __name__ == "__main__":
    main()
