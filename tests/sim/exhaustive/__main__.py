"""`python -m tests.sim.exhaustive`: all orders of events of a small group, and how many states there are.

Status 1 with the events that lead to it, if a promise is broken.
"""

import argparse
import sys
import time

from kgroup.group.member.settings import GroupProtocol
from tests.sim.exhaustive.search import Found, search
from tests.sim.exhaustive.small_world import SmallWorld


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.exhaustive", description=__doc__)
    parser.add_argument(
        "--protocol", action="append", choices=[*GroupProtocol], help="of each member in turn"
    )
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--joined", type=int, default=0, help="so many are in the group at the start")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--faults", type=int, default=1, help="crash, lost message, fail-over, leave")
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--late-requests", action="store_true", help="broken connections deliver")
    given = parser.parse_args()
    spoken = [GroupProtocol(name) for name in given.protocol or ["consumer"]]
    protocols = [spoken[number % len(spoken)] for number in range(given.members)]
    began_s = time.monotonic()

    def tell(found: Found) -> None:
        took_s = time.monotonic() - began_s
        depth = len(found.states) - 1
        print(
            f"depth {depth}: {found.states[-1]} new states, {found.total} in all, {took_s:.0f} s", flush=True
        )

    found = search(
        lambda: SmallWorld(
            protocols,
            given.partitions,
            given.faults,
            late_requests=given.late_requests,
            joined=given.joined,
        ),
        given.depth,
        tell,
    )
    print(f"{found.total} states, {found.steps} steps, {found.settled} played to their end")
    if found.violation is None:
        return 0
    path, why = found.violation
    print(f"broken: {why}\nafter: " + ", ".join(f"{event.what} {event.number}" for event in path))
    return 1


if __name__ == "__main__":
    sys.exit(main())
