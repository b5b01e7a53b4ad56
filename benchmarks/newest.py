"""The scan that a lag report needs, as a process of its own: `python -m benchmarks.newest DIR...`.

What `kgroup lag-report` costs beyond it is the report itself; `benchmarks.lag_report` holds one against the
other.
"""

import argparse

from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import newest, split


def main() -> None:
    """Scan, and print how many records there were."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.newest", description=__doc__)
    parser.add_argument(
        "paths", nargs="+", metavar="DIR", help="a log directory, partition folder or segment"
    )
    sources = open_sources(parser.parse_args().paths)
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    print(f"{newest(slices).records:,} records")


if __name__ == "__main__":
    main()
